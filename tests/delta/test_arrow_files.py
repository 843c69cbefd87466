"""Hadoop's URLs name the same places for Arrow."""

import pytest
from pyarrow import fs

from kafka_lagoon.delta.arrow_files import arrow_uri, file_system
from kafka_lagoon.delta.s3_access import S3Access
from kafka_lagoon.errors import TableError
from kafka_lagoon.secret import Secret


@pytest.mark.parametrize("scheme", ["s3", "s3a", "s3n"])
def test_amazons_store_has_one_name(scheme: str) -> None:
    """Hadoop has three schemes for S3, Arrow one (which would request the bucket's region from Amazon at once)."""
    assert arrow_uri(f"{scheme}://bucket/a b%/ingest_date=2026-11-21") == "s3://bucket/a%20b%25/ingest_date=2026-11-21"


def test_an_access_is_all_that_is_needed() -> None:
    """With region and keys no request is made for them, on the network or on the machine."""
    access = S3Access(region="eu-west-3", access_key="AKIA", secret_key=Secret("secret"))
    files, path = file_system("s3a://bucket/a b%/ingest_date=2026-11-21", access)
    assert isinstance(files, fs.S3FileSystem)
    assert files.region == "eu-west-3"
    assert path == "bucket/a b%/ingest_date=2026-11-21"


def test_a_scheme_that_arrow_does_not_know_is_named() -> None:
    """The message names a remedy."""
    with pytest.raises(TableError, match=r'^wasb://c@a/x: Arrow cannot write there .*; set records\.writer = "spark"$'):
        file_system("wasb://c@a/x")
