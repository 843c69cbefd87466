"""Paths and URLs of file systems, as Hadoop spells them."""

from pathlib import Path

import pytest

from kafka_lagoon.warehouse_urls import in_s3, local_folder


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
