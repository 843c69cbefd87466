"""Tables in a schema of Hive's metastore, embedded in Spark: each job is a process of its own, and finds what others made."""

from pathlib import Path

import pytest
from confluent_kafka.admin import NewTopic

from kafka_lagoon.sandbox.kafka import LocalKafka
from tests.integration.state import create_topics, produce
from tests.jobs.archived import archived, consumed
from tests.jobs.commands import ROOT, lagoon, submit

pytestmark = [pytest.mark.proof, pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(900)]


def test_jobs(kafka: LocalKafka, tmp_path: Path) -> None:
    """Snapshot, two ingests, maintenance and a query of a view with `catalog` and `schema`, in a database that lasts."""
    create_topics(kafka.bootstrap_servers, [NewTopic("in-hive", 3, 1)])
    produce(kafka.bootstrap_servers, "in-hive", 1_000)
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "spark-defaults.conf").write_text(
        (ROOT / "conf" / "spark-defaults.conf").read_text()
        + f"\nspark.sql.catalogImplementation hive\nspark.sql.warehouse.dir {tmp_path}/tables\n"
        + f"spark.hadoop.javax.jdo.option.ConnectionURL jdbc:derby:;databaseName={tmp_path}/metastore;create=true\n"
    )
    environ = {"SPARK_CONF_DIR": str(tmp_path / "conf")}
    tables = ["--set", "catalog=spark_catalog", "--set", "schema=default"]
    cluster = ["--set", f"kafka.bootstrap_servers={kafka.bootstrap_servers}"]
    outputs = [
        submit("snapshot", *tables, *cluster, **environ),
        submit("ingest", *tables, *cluster, "--topics", "in-hive", **environ),
        submit("ingest", *tables, *cluster, "--topics", "in-hive", **environ),
        submit("maintain", *tables, **environ),
        lagoon("sql", "SELECT status FROM snapshots_now", *tables, "--format", "csv", **environ),
    ]
    for output in outputs:
        assert output.returncode == 0, output.stdout + output.stderr
    assert "1,000 records of" in outputs[1].stdout
    assert archived(tmp_path / "tables") == consumed(kafka.bootstrap_servers, ["in-hive"])
