"""An archive of classes is used where only we can have written it."""

from pathlib import Path

import pytest

from kafka_lagoon.jars.class_archives import KERNEL, archive, archive_options


def test_archives_of_others_are_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is in one is run as code; where there is none, a JVM starts as ever."""
    monkeypatch.setenv("LAGOON_CACHE", str(tmp_path / "cache"))
    assert archive_options(KERNEL) == []
    archive(KERNEL).parent.mkdir(parents=True)
    archive(KERNEL).touch(0o600)
    assert archive_options(KERNEL)[0] == f"-XX:SharedArchiveFile={tmp_path}/cache/classes/{KERNEL}"
    archive(KERNEL).chmod(0o620)
    assert archive_options(KERNEL) == []
