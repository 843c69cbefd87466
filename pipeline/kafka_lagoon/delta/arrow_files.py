"""Opens data files with Arrow, on executors and without a JVM, by the URLs that Hadoop uses."""

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pyarrow as pa
from pyarrow import fs

from kafka_lagoon.errors import TableError

if TYPE_CHECKING:
    from kafka_lagoon.delta.s3_access import S3Access

_ARROW_SCHEMES = {"s3a": "s3", "s3n": "s3"}
_UNREACHABLE = 'Arrow cannot write there ({}); set records.writer = "spark"'
_FAILURES = (OSError, pa.ArrowException)
# As s3a, by which the driver writes, waits and repeats. Arrow itself makes 3 attempts, and waits 3 s for a byte of an answer.
_S3_ATTEMPTS = 8  # with pauses that double, about half a minute
_S3_ANSWER_TIMEOUT_S = 60


def file_system(url: str, access: "S3Access | None" = None) -> tuple[Any, str]:
    """Arrow's file system for a URL of Hadoop's, and the path in it; TableError if Arrow has none.

    Without `access`, Arrow finds credentials and region as its documentation says.
    """
    if url.startswith("file:"):
        return fs.LocalFileSystem(), f"/{url.removeprefix('file:').lstrip('/')}"
    try:
        if access:
            return _s3(access), url.partition("://")[2]
        opened: tuple[Any, str] = fs.FileSystem.from_uri(arrow_uri(url))
    except _FAILURES as error:
        raise TableError(f"{url}: {_UNREACHABLE.format(str(error).partition(chr(10))[0])}") from error
    return opened


def arrow_file(url: str, access: "S3Access | None" = None) -> Any:
    """Open a data file for reading; OSError, ArrowException or TableError if that fails."""
    files, path = file_system(url, access)
    if url.startswith("abfs"):
        # To open a file without a token of Azure ends the whole process (pyarrow 26: an exception of C++ that nothing catches).
        files.get_file_info(path)
    return files.open_input_file(path)


def arrow_uri(url: str) -> str:
    """Convert a URL of Hadoop's to Arrow's form: its scheme for Amazon, and escaped."""
    scheme, _, rest = url.partition(":")
    return quote(f"{_ARROW_SCHEMES.get(scheme, scheme)}:{rest}", ":/@=")


def _s3(access: "S3Access") -> fs.S3FileSystem:
    key, secret_key = access.access_key, access.secret_key
    keys = {"access_key": key, "secret_key": secret_key.reveal()} if key and secret_key else {}
    if access.session_token:
        keys["session_token"] = access.session_token.reveal()
    return fs.S3FileSystem(
        region=access.region,
        endpoint_override=access.endpoint,
        scheme=access.scheme,
        anonymous=access.anonymous,
        force_virtual_addressing=access.endpoint is not None and not access.path_style,
        retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=_S3_ATTEMPTS),
        request_timeout=_S3_ANSWER_TIMEOUT_S,
        **keys,
    )
