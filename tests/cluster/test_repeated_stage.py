"""A stream writes in one transaction while an executor with shuffled rows dies, so that Spark runs the writing stage again."""

import os
import signal
import sys
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition

from kafka_lagoon.sandbox.kafka import LocalKafka
from tests.cluster.shuffled_stream import TASKS
from tests.cluster.standalone import Standalone
from tests.cluster.test_standalone import THIS_CLONE, asks, on
from tests.installed import CLONE
from tests.integration.restore_process import send
from tests.jobs.processes import running
from tests.librdkafka import READ_UNCOMMITTED, messages
from tests.source.source_topics import create, produce

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.proof, pytest.mark.timeout(600)]
RECORDS, BYTES = 400, 4_000
# The task that writes fetches the shuffled rows one by one, so that it misses those of an executor that dies meanwhile.
LAZY = {
    "spark.reducer.maxReqsInFlight": "1",
    "spark.reducer.maxBlocksInFlightPerAddress": "1",
    "spark.reducer.maxSizeInFlight": "1k",
    "spark.shuffle.io.maxRetries": "0",
    "spark.sql.adaptive.fetchShuffleBlocksInBatch": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "20",
}
SCRIPT = CLONE / "tests" / "cluster" / "shuffled_stream.py"


def values(kafka: LocalKafka, topic: str, **options: str) -> list[int]:
    """Return the numbers of the records as librdkafka reads them; those that are committed wait for open transactions."""
    read = messages(kafka.bootstrap_servers, [TopicPartition(topic, 0, 0)], **options)
    return [int((one.value() or b"").rstrip(b"-")) for one in read]


def test_a_stage_that_is_run_again(kafka: LocalKafka, tmp_path: Path) -> None:
    """The task's second attempt, which has the number of the first, writes nothing: the query fails, and then writes each row once."""
    source, target = "repeated-stage-source", "repeated-stage-target"
    create(kafka, source, partitions=TASKS)
    create(kafka, target)
    for partition in range(TASKS):
        numbers = range(partition, RECORDS, TASKS)
        produce(kafka, source, [str(number).encode().ljust(BYTES, b"-") for number in numbers], partition)
    environ = os.environ | {"PYSPARK_PYTHON": sys.executable}
    arguments = [kafka.bootstrap_servers, source, target, str(tmp_path / "checkpoint")]
    with Standalone(tmp_path / "cluster") as cluster:

        def writes(executor: int) -> bool:
            return any(asks(pid, kafka.bootstrap_servers) for pid in cluster.python_workers(executor))

        command = ["spark-submit", *on(cluster, **THIS_CLONE, **LAZY), str(SCRIPT), *arguments]
        with running(command, environ, tmp_path) as job:
            job.wait_until(lambda: values(kafka, target, isolation_level=READ_UNCOMMITTED))
            (idle,) = [executor for executor in cluster.executors() if not writes(executor)]
            send(idle, signal.SIGKILL)
            job.end()
    output = "".join(job.output)
    assert "FetchFailed" in output
    assert "task 0 was run before and may have written already" in output
    assert job.process.returncode == 0, output
    assert sorted(values(kafka, target)) == list(range(RECORDS))
