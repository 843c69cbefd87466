"""Tells from the URL of a warehouse where its tables are."""

from pathlib import Path
from urllib.parse import unquote


def local_folder(warehouse: str) -> Path | None:
    """The folder of a warehouse on this machine, None for a warehouse elsewhere."""
    scheme, colon, path = warehouse.partition(":")
    if not colon or "/" in scheme:
        return Path(warehouse)
    host, path = ("", path) if not path.startswith("//") else path[2:].partition("/")[::2]
    return Path("/", unquote(path)) if scheme.lower() == "file" and host in ("", "localhost") else None


def in_s3(warehouse: str) -> bool:
    """True if a warehouse is in a bucket of S3, which Hadoop's s3a serves."""
    return warehouse.startswith("s3a://")
