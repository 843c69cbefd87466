"""Paths and URLs of file systems, as Hadoop spells them."""

from pathlib import Path

import pytest

from kafka_lagoon.warehouse_urls import credentials_fault, in_s3, local_folder


@pytest.mark.parametrize(
    ("place", "folder"),
    [
        ("lake/here", "lake/here"),
        ("/a:b/c", "/a:b/c"),
        ("../lake/", "../lake"),
        ("/a/link/../b", "/a/b"),
        ("file:/a/link/../b", "/a/b"),
        ("file:/a%20b", "/a%20b"),
        ("file:/a b", "/a b"),
        ("file:///a/b", "/a/b"),
        ("file://localhost/a", "/a"),
        ("file://elsewhere/a", None),
        ("s3a://bucket/lake", None),
        ("hdfs:///lake", None),
        ("abfss://x@y.z/lake", None),
    ],
)
def test_which_places_are_folders_of_this_machine(place: str, folder: str | None) -> None:
    """Paths and file URLs are local folders, all other URLs are for Spark. As in Hadoop, nothing is decoded and no link followed."""
    assert local_folder(place) == (folder and Path(folder))


def test_which_places_are_in_s3() -> None:
    """Hadoop's s3a serves them; s3 and s3n are other file systems, or none."""
    places = ("s3a://lake", "s3://lake", "/data/s3a://lake", "gs://lake")
    assert list(map(in_s3, places)) == [True, False, False, False]


@pytest.mark.parametrize(
    "place",
    [
        "s3a://AKIA:s3cret@bucket/lake",
        "s3a://AKIA:with/slash+@bucket/lake",
        "S3://AKIA:s3cret@bucket",
        "abfss://container:s3cret/==@account.dfs.core.windows.net/lake",
        "hdfs://user:s3cret@name:8020/lake",
        "abfss://c@account.dfs.core.windows.net/lake?sv=2026-01-01&sig=s3cret",
        "https://bucket.s3.amazonaws.com/lake?X-Amz-Signature=s3cret",
    ],
)
def test_credentials_in_a_url(place: str) -> None:
    """They are a fault, which does not show them."""
    fault = credentials_fault(place)
    assert fault
    assert "s3cret" not in fault
    assert "AKIA" not in fault


@pytest.mark.parametrize(
    "place",
    [
        "s3a://bucket/a:b@c",
        "abfss://container@account.dfs.core.windows.net:10000/a:b",
        "hdfs://user@name:8020/lake",
        "/data/a:b@c?sig=d",
        "file:/a:b@c",
        "dbfs:/lake",
    ],
)
def test_places_without_credentials(place: str) -> None:
    """A colon and an at sign have other meanings, too."""
    assert credentials_fault(place) is None
