"""Copies a warehouse in a folder to a bucket, because writing it there takes ten times as long."""

from pathlib import Path

import boto3

from tests.object_store import BUCKET, KEY, SECRET, ObjectStore


def upload(store: ObjectStore, folder: Path) -> None:
    """Write the files of a folder to objects below a prefix of its name; not those that only Hadoop's local file system has."""
    keys = {"aws_access_key_id": KEY, "aws_secret_access_key": SECRET, "region_name": "eu-west-3"}
    client = boto3.client("s3", endpoint_url=store.endpoint, **keys)
    for path in folder.rglob("*"):
        if path.is_file() and not path.name.startswith(".") and not path.name.endswith(".crc"):
            client.upload_file(str(path), BUCKET, f"{folder.name}/{path.relative_to(folder)}")
