"""Asks Hadoop's s3a how the driver reaches a bucket of S3, so that tasks on executors reach it in the same way.

So Hadoop's settings (`spark.hadoop.fs.s3a.*`) are the only place for endpoint, region and credentials. Where s3a looks at its
machine for credentials, each executor looks at its own.
"""

from collections.abc import Iterator
from typing import Any

from kafka_lagoon.delta.s3_access import S3Access
from kafka_lagoon.delta.storage import JAVA_ERRORS, Storage, reason
from kafka_lagoon.errors import ConfigError, TableError
from kafka_lagoon.secret import Secret

# Amazon encrypts in this way (SSE-S3) what nobody asks to be encrypted in another. Arrow cannot ask.
_AS_BY_DEFAULT = ("", "AES256")
_OF_THE_MACHINE = ("software.amazon.awssdk.", "org.apache.hadoop.fs.s3a.auth.IAMInstanceCredentialsProvider")


def s3_access(storage: Storage, url: str) -> S3Access | None:
    """Access to a bucket that Hadoop's s3a serves, None for other file systems; TableError if s3a cannot open it."""
    if not url.startswith("s3"):
        return None
    path = storage.jvm.org.apache.hadoop.fs.Path(url)
    try:
        files = path.getFileSystem(storage.conf)
        if not files.getClass().getName().endswith(".S3AFileSystem"):
            return None
        conf = files.getConf()  # with the settings of this bucket
        endpoint = conf.get("fs.s3a.endpoint", "") or ""
        named, _, host = endpoint.rpartition("://")
        return S3Access(
            region=conf.get("fs.s3a.endpoint.region", "") or _region_of(path.toUri().getHost(), endpoint),
            endpoint=host or None,
            scheme=named or ("https" if conf.getBoolean("fs.s3a.connection.ssl.enabled", True) else "http"),
            path_style=conf.getBoolean("fs.s3a.path.style.access", False),
            **_credentials(files),
        )
    except JAVA_ERRORS as error:
        raise TableError(f"{url}: {reason(error)}") from error


def refuse_encryption(storage: Storage, url: str) -> None:
    """ConfigError if Hadoop's settings ask for an encryption that objects written by Arrow would not have.

    TableError as `s3_access`.
    """
    if not url.startswith("s3"):
        return
    try:
        files = storage.jvm.org.apache.hadoop.fs.Path(url).getFileSystem(storage.conf)
        algorithm = str(files.getConf().get("fs.s3a.encryption.algorithm", "") or "").strip()
    except JAVA_ERRORS as error:
        raise TableError(f"{url}: {reason(error)}") from error
    if algorithm.upper() not in _AS_BY_DEFAULT:
        why = f"fs.s3a.encryption.algorithm is {algorithm}, and Arrow would write files of records to {url} without it"
        cure = 'leave it out if the bucket has it by default, or set records.writer = "spark", with records.staging elsewhere'
        raise ConfigError([f"records.writer: {why}: {cure}"])


def _credentials(files: Any) -> dict[str, Any]:
    """Credentials of the first of s3a's providers that has some; none if that provider asks the machine."""
    shared = files.getS3AInternals().shareCredentials("executors of Kafka Lagoon")
    try:
        providers = shared.getProviders()
        return _first_of(providers.get(number) for number in range(providers.size()))
    finally:
        shared.close()  # decrements the reference count


def _first_of(providers: Iterator[Any]) -> dict[str, Any]:
    for provider in providers:
        name = provider.getClass().getName()
        if name.startswith(_OF_THE_MACHINE):
            return {}
        if name.endswith(".AnonymousAWSCredentialsProvider"):
            return {"anonymous": True}
        try:
            credentials = provider.resolveCredentials()
        except JAVA_ERRORS:
            continue
        is_session = credentials.getClass().getSimpleName() == "AwsSessionCredentials"
        return {
            "access_key": credentials.accessKeyId(),
            "secret_key": Secret(credentials.secretAccessKey()),
            "session_token": Secret(credentials.sessionToken()) if is_session else None,
        }
    return {}


def _region_of(bucket: str, endpoint: str) -> str | None:
    """The region that Amazon returns for a bucket; None if it returns none, or for another store."""
    from pyarrow import fs  # noqa: PLC0415  no driver needs it for tables in folders

    if endpoint and not endpoint.endswith("amazonaws.com"):
        return None
    try:
        region: str = fs.resolve_s3_region(bucket)
    except OSError:
        return None
    return region
