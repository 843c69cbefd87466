"""Jars in PySpark's own folder."""

from pathlib import Path

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
