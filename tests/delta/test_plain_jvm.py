"""Delta Kernel runs in a JVM that has no session of Spark, and ends with it."""

from pathlib import Path

import pytest
from pyspark import SparkContext
from pyspark.sql import SparkSession

from kafka_lagoon.delta.plain_jvm import plain_kernel
from kafka_lagoon.errors import TableError


def test_no_java_is_an_error_in_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It says where Java was looked for."""
    monkeypatch.setattr(SparkContext, "_gateway", None)  # that of other tests
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(TableError, match="no JVM for Delta Kernel: no java in JAVA_HOME"), plain_kernel():
        pass


def test_the_jvm_of_a_session_is_used(spark: SparkSession) -> None:
    """PySpark would take exceptions of another one for its own."""
    with plain_kernel() as kernel:
        assert kernel.storage.jvm is spark.sparkContext._jvm
    assert spark.range(1).count() == 1
