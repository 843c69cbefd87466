"""The settings say if a run may open the warehouse without Spark, and create it."""

from pathlib import Path

import pytest

from kafka_lagoon.settings_sources import load
from kafka_lagoon.warehouse_settings import creation_fault, opens_without_session, own_folder


def test_a_platform_that_knows_where_files_are_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """With Hadoop's settings, or under spark-submit, a path may be in another file system; a URL may be in any case."""
    for name in ("PYSPARK_GATEWAY_PORT", "HADOOP_CONF_DIR", "PYSPARK_SUBMIT_ARGS"):
        monkeypatch.delenv(name, raising=False)
    places = [
        load(None, {}, [f"warehouse={place}"], cluster_needed=False)
        for place in ("/data/lake", "s3a://lake/x", "gs://lake/x")
    ]
    assert [opens_without_session(one) for one in places] == [True, True, False]
    assert [own_folder(one) for one in places] == [Path("/data/lake"), None, None]
    for name, value in (("HADOOP_CONF_DIR", "/etc/hadoop"), ("PYSPARK_GATEWAY_PORT", "25333")):
        with monkeypatch.context() as patch:
            patch.setenv(name, value)
            assert not any(opens_without_session(one) or own_folder(one) for one in places)
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--packages a:b:1 pyspark-shell")
    assert [opens_without_session(one) for one in places] == [True, False, False]


def test_a_typo_starts_no_second_history(tmp_path: Path) -> None:
    """A warehouse is created where the folder above it is empty, or if that is asked for."""

    def fault(place: Path, *more: str) -> str | None:
        return creation_fault(load(None, {}, [f"warehouse={place}", *more], cluster_needed=False))

    lake = tmp_path / "lake"
    assert fault(lake) is None
    (tmp_path / "laek").mkdir()
    assert fault(lake) == (
        f"warehouse: there is no {lake}, and only --create, or create = true in the settings, creates it: "
        "a typo would start a second history"
    )
    assert fault(tmp_path / "none" / "lake") is not None
    assert fault(lake, "create=true") is None
    lake.mkdir()
    assert fault(lake) is None
    (tmp_path / "file").touch()
    assert fault(tmp_path / "file" / "lake") is None  # that it cannot be written is said by what writes
    assert fault(Path("s3a://bucket/lake")) is None  # only Spark can tell
