"""A Spark without a JVM is refused in one line, before anything is started, without the token of its address."""

from pathlib import Path

import pytest

from kafka_lagoon.delta import spark_connect
from kafka_lagoon.delta.spark_connect import refuse_remote
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.notebooks import register
from tests.jobs.commands import lagoon

REMOTE = "sc://spark.example.org:443/;token=hush"


@pytest.mark.parametrize(
    ("environ", "named"),
    [
        ({"SPARK_REMOTE": REMOTE}, "SPARK_REMOTE is set"),
        ({"SPARK_CONNECT_MODE_ENABLED": "1"}, "SPARK_CONNECT_MODE_ENABLED is set"),
        ({"SPARK_API_MODE": "Connect"}, "spark.api.mode is connect"),
    ],
)
def test_what_makes_a_session_remote_is_refused(environ: dict[str, str], named: str) -> None:
    """The setting that selects Spark Connect is named without its value, with the remedy."""
    with pytest.raises(ConfigError, match=named) as refused:
        refuse_remote(environ)
    assert "spark-submit --master" in str(refused.value)
    assert "hush" not in str(refused.value)


def test_a_pyspark_that_is_remote_by_default_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The package pyspark-connect makes every session remote unless the mode is set."""
    monkeypatch.setattr(spark_connect, "default_api_mode", lambda: "connect")
    with pytest.raises(ConfigError, match=r"spark\.api\.mode is connect"):
        refuse_remote({})
    refuse_remote({"SPARK_API_MODE": "classic"})


def test_a_classic_spark_is_not_refused() -> None:
    """This holds without settings and with a named master."""
    refuse_remote({})
    refuse_remote({"MASTER": "spark://head:7077", "SPARK_API_MODE": "classic"})


def test_a_notebooks_session_of_spark_connect_is_refused(tmp_path: Path) -> None:
    """`register` with such a session gives the reason; the session itself would only report a missing attribute."""
    remote = type("SparkSession", (), {"__module__": "pyspark.sql.connect.session"})()
    with pytest.raises(ConfigError, match=r"session of Spark Connect: .*serverless"):
        register(remote, str(tmp_path))


def test_a_command_refuses_in_one_line(tmp_path: Path) -> None:
    """Exit 2 without a traceback and without Java: `lagoon sql` with Spark opens the session first."""
    refused = lagoon("sql", "SELECT 1", "--engine", "spark", "--warehouse", str(tmp_path), SPARK_REMOTE=REMOTE)
    assert refused.returncode == 2, refused.stdout + refused.stderr
    assert refused.stderr.startswith("lagoon: SPARK_REMOTE is set: ")
    assert refused.stderr.count("\n") == 1
    assert "hush" not in refused.stderr
