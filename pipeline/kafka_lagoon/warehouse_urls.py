"""Tells from the URL of a warehouse where its tables are, and if it has credentials in it."""

import re
from os.path import normpath
from pathlib import Path

# Keys may have slashes, so the bucket of s3a://KEY:SECRET@bucket may be behind one. No name of a bucket has a colon.
_KEY_OF_A_BUCKET = re.compile(r"(s3[an]?|gs|abfss?|wasbs?)://[^/@]*:", re.IGNORECASE)
_PASSWORD = re.compile(r"[a-z][a-z0-9+.-]*://[^/]*:[^/]*@", re.IGNORECASE)
_SIGNATURE = re.compile(r"[a-z][a-z0-9+.-]*://.*[?&](sig|x-amz-signature|x-goog-signature)=", re.IGNORECASE)
_HAS_CREDENTIALS = (
    "this URL has credentials in it, and logs and messages show URLs: docs/object-stores.md says where they belong"
)


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


def credentials_fault(url: str) -> str | None:
    """The fault of a URL that has credentials in it, without them; None for other URLs and for paths."""
    return _HAS_CREDENTIALS if any(one.match(url) for one in (_KEY_OF_A_BUCKET, _PASSWORD, _SIGNATURE)) else None
