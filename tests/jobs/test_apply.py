"""The job as schedulers start it: by spark-submit, whose JVM writes the rows, without a terminal."""

import json
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from kafka_lagoon.query import duckdb_engine
from kafka_lagoon.sandbox.kafka import LocalKafka
from tests.jobs.commands import submit
from tests.jobs.test_outcome import assert_all_fields, finished


@pytest.mark.proof
def test_apply_by_spark_submit(kafka: LocalKafka, tmp_path: Path) -> None:
    """The desired state is reached and recorded, with one object per action and one event of the run."""
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    cluster_id = admin.describe_cluster().result(30).cluster_id
    state, log = tmp_path / "state.toml", tmp_path / "log"
    state.write_text(
        f'cluster_id = "{cluster_id}"\n[topics.applied-by-spark]\npartitions = 2\nreplication_factor = 1\n'
    )
    options = ("--warehouse", str(tmp_path / "lake"), "--set", f"kafka.bootstrap_servers={kafka.bootstrap_servers}")
    done = submit("apply", str(state), *options, "--yes", "--json", "--log-file", str(log))
    assert done.returncode == 0, done.stdout
    (action,) = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert (action["action"], action["resource_name"], action["outcome"]) == (
        "create_topic",
        "applied-by-spark",
        "done",
    )
    assert "applied-by-spark" in admin.list_topics(timeout=30).topics
    (event,) = finished(log)
    assert_all_fields(event)
    assert (event["job"], event["status"], event["done"], event["plan_id"]) == (
        "apply",
        "complete",
        1,
        action["plan_id"],
    )
    with duckdb_engine.opened(tmp_path / "lake", {"admin_outcomes"}) as ask:
        result = ask("SELECT run_id, outcome FROM admin_outcomes")
        assert [tuple(row.values()) for batch in result.batches for row in batch.to_pylist()] == [
            (event["run_id"], "done")
        ]
