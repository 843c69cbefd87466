"""Tells from the URL of a warehouse where its tables are."""

from os.path import normpath
from pathlib import Path


def local_folder(warehouse: str) -> Path | None:
    """The folder of a warehouse on this machine, None for a warehouse elsewhere.

    It is the folder that Hadoop means: no `%20` is decoded, and `..` goes back in the text, whatever is a symbolic link.
    """
    scheme, colon, path = warehouse.partition(":")
    if not colon or "/" in scheme:
        return Path(normpath(warehouse))
    host, path = ("", path) if not path.startswith("//") else path[2:].partition("/")[::2]
    return Path("/", normpath(path)) if scheme.lower() == "file" and host in ("", "localhost") else None


def in_s3(warehouse: str) -> bool:
    """True if a warehouse is in a bucket of S3, which Hadoop's s3a serves."""
    return warehouse.startswith("s3a://")
