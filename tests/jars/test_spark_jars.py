"""Jars in PySpark's own folder."""

from pathlib import Path

import pytest

from kafka_lagoon.jars.__main__ import main
from kafka_lagoon.jars.spark_jars import install_into_spark
from tests.jars.conftest import Registry


def test_spark_gets_one_revision(registry: Registry, tmp_path: Path) -> None:
    """Installing into Spark's folder replaces other revisions of the same jars and touches nothing else."""
    folder = tmp_path / "pyspark" / "jars"
    for name in ("one-0.9.jar", "one-more-0.9.jar"):
        (folder / name).touch()
    assert install_into_spark("two") == folder
    assert registry.count() == 1
    assert sorted(path.name for path in folder.iterdir()) == ["ivy-2.jar", "one-1.jar", "one-more-0.9.jar", "two-1.jar"]


@pytest.mark.usefixtures("registry")
def test_a_folder_that_cannot_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """PySpark may be installed for the whole system: the command that `lagoon doctor` names ends with a line."""
    (tmp_path / "locks" / "two.lock").rename(tmp_path / "locks" / "delta-two.lock")
    (tmp_path / "pyspark" / "jars" / "one-1.jar.part").mkdir()  # as a folder without permission; tests may run as root
    assert main(["delta-two"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line == f"delta-two: {tmp_path}/pyspark/jars/one-1.jar.part: Is a directory"
