"""Tasks that fail, are killed or run twice while they write: no row is written twice, and no task is committed in part.

Each case is a Spark job of its own, because the session of the tests does not repeat tasks.
"""

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql.types import StringType, StructField, StructType

from kafka_lagoon.protocol.messages.api_versions import API_VERSIONS
from kafka_lagoon.sandbox.kafka import LocalKafka
from kafka_lagoon.source.sink import SparkTask, TaskFailed, TaskWritten, new_sink
from kafka_lagoon.source.write_options import parse_sink
from kafka_lagoon.source.write_task import write_task
from tests.cluster.standalone import Standalone
from tests.fake.broker import FakeBroker
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Close, Fault
from tests.integration.producers import consume
from tests.source.faulty_write import ROWS
from tests.source.source_topics import create

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(600)]
PROJECT = Path(__file__).resolve().parents[2]
REPEATING = "local[2,4]"


def job(
    kafka: LocalKafka, topic: str, transactions: str, fault: str, master: str, options: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run the job to its end."""
    words = [
        sys.executable,
        "-m",
        "tests.source.faulty_write",
        kafka.bootstrap_servers,
        topic,
        transactions,
        fault,
        master,
    ]
    environment = os.environ | {
        "PYTHONPATH": f"{PROJECT / 'pipeline'}:{PROJECT}",
        "SPARK_CONF_DIR": str(PROJECT / "conf"),
        "PYSPARK_PYTHON": sys.executable,
    }
    environment["PYSPARK_SUBMIT_ARGS"] = (
        f'{options}--driver-java-options "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC" pyspark-shell'
    )
    return subprocess.run(words, env=environment, cwd=PROJECT, capture_output=True, text=True, check=False, timeout=500)


def committed(kafka: LocalKafka, topic: str) -> list[int]:
    """Return the committed records of both partitions as librdkafka reads them, in order; it waits for open transactions."""
    return sorted(
        int(one.value or b"-1")
        for partition in range(2)
        for one in consume(kafka, {topic: 0}, "read_committed", partition)[topic]
    )


@pytest.mark.proof
@pytest.mark.parametrize("fault", ["kill", "raise"])
def test_transactions_of_tasks(kafka: LocalKafka, fault: str) -> None:
    """After its Python worker was killed a task is repeated: each record exists once, and no transaction stays open."""
    check_once(kafka, fault, REPEATING)


@pytest.mark.proof
def test_transactions_of_tasks_that_run_twice(kafka: LocalKafka, tmp_path: Path) -> None:
    """Speculation repeats a hanging task on another host; the records of the first attempt are aborted."""
    with Standalone(tmp_path / "cluster") as cluster:
        check_once(kafka, "stall", cluster.master, f"--properties-file {cluster.properties} ")


def check_once(kafka: LocalKafka, fault: str, master: str, options: str = "") -> None:
    """Run the job: committed records have each row once, and records of the first attempt are aborted."""
    topic = f"faulty-task-{fault}"
    create(kafka, topic, partitions=2)
    done = job(kafka, topic, "task", fault, master, options)
    assert done.returncode == 0, done.stderr
    assert committed(kafka, topic) == list(range(ROWS))
    # Records of the first attempt are aborted.
    assert len(consume(kafka, {topic: 0}, "read_uncommitted")[topic]) > ROWS // 2


@pytest.mark.proof
@pytest.mark.parametrize("fault", ["kill", "raise"])
@pytest.mark.parametrize("transactions", ["none", "run"])
def test_without_them_a_task_is_not_repeated(kafka: LocalKafka, transactions: str, fault: str) -> None:
    """The job fails with one line. One transaction for all commits nothing; without transactions no row is written twice."""
    topic = f"faulty-{transactions}-{fault}"
    create(kafka, topic, partitions=2)
    done = job(kafka, topic, transactions, fault, REPEATING)
    assert done.returncode != 0
    assert "task 0 was run before and may have written already, so it is not run again" in done.stderr
    values = committed(kafka, topic)
    assert values == [] if transactions == "run" else len(values) == len(set(values)) < ROWS


@pytest.mark.proof
@pytest.mark.parametrize("transactions", ["none", "run"])
def test_the_first_reason_is_reported(kafka: LocalKafka, transactions: str) -> None:
    """If Spark repeats the task, the job fails with the fault of the data, not with the refusal of a later attempt."""
    topic = f"faulty-data-{transactions}"
    create(kafka, topic, partitions=2)
    done = job(kafka, topic, transactions, "data", REPEATING)
    assert done.returncode != 0
    assert f"task 0: row 0: partition 99 is not one of the 2 of topic {topic}" in done.stderr
    assert "was run before" not in done.stderr
    values = committed(kafka, topic)
    assert values == ([] if transactions == "run" else list(range(ROWS // 2, ROWS)))


def test_a_broker_that_starts_later_than_a_task(state: FakeCluster, brokers: dict[int, FakeBroker]) -> None:
    """The task waits for it: other attempts, if there may be any, would fail as soon."""
    assert brokers
    state.faults.append(Fault(API_VERSIONS.key, Close(), times=40))
    state.add_topic("t", 1, end=0)
    rows = pa.RecordBatch.from_arrays([pa.array(["t"]), pa.array(["v"])], names=["topic", "value"])
    schema = StructType([StructField(name, StringType()) for name in rows.schema.names])
    servers = ",".join(f"{host}:{port}" for host, port in state.addresses.values())
    options = {
        "kafka.bootstrap.servers": servers,
        "kafka.retry.backoff.max.ms": "200",
        "transactions": "none",
        "kafka.acks": "1",
    }
    sink = new_sink(parse_sink(options, schema, overwrite=False, is_stream=False), schema)
    written = write_task(sink, None, SparkTask(partition=0, attempt=0, batch=None), iter([rows]))
    assert isinstance(written, TaskWritten)
    assert sum(written.records.values()) == 1


@pytest.mark.parametrize("names", [[b"\xff"], [b"t", b"t\xff"]])
def test_a_topic_that_is_no_text(state: FakeCluster, brokers: dict[int, FakeBroker], names: list[bytes]) -> None:  # noqa: ARG001
    """Spark makes strings of any bytes, as of a value that is cast: the task names them, and nothing is written."""
    state.add_topic("t", 1, end=0)
    schema = StructType([StructField(name, StringType()) for name in ("topic", "value")])
    servers = ",".join(f"{host}:{port}" for host, port in state.addresses.values())
    sink = new_sink(parse_sink({"kafka.bootstrap.servers": servers}, schema, overwrite=False, is_stream=False), schema)
    topics = pa.array(names, pa.binary()).view(pa.string())
    rows = pa.RecordBatch.from_arrays([topics, pa.array(["v"] * len(names))], names=schema.names)
    task = SparkTask(partition=0, attempt=0, batch=None)
    failed = write_task(sink, None, task, iter([rows]))
    assert failed == TaskFailed(task=task, reason=f"column topic: {names[-1]!r} is not UTF-8")
    assert not state.topics["t"].partitions[0].log
