"""A RESTORE of table `records` during an ingest, which continues or is killed: no record is lost silently or doubled."""

from pathlib import Path

import pytest
from confluent_kafka.admin import NewTopic
from pyspark.sql import SparkSession

from kafka_lagoon.sandbox.kafka import LocalKafka
from tests.integration.state import create_topics
from tests.jobs.archived import archived, assert_tiled, consumed
from tests.jobs.commands import here
from tests.jobs.processes import Job
from tests.jobs.test_kill import (
    ATTEMPTS,
    arguments,
    commit_lock,
    commits,
    killed_before_its_commit,
    killed_between_its_commits,
    load,
    started,
)

pytestmark = [pytest.mark.proof, pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(1800)]


def restore(spark: SparkSession, warehouse: Path) -> None:
    """Restore the version before the last one."""
    version = commits(warehouse, "records") - 2
    spark.sql(f"RESTORE delta.`{warehouse}/records` TO VERSION AS OF {version}").collect()


def lives_on(job: Job, spark: SparkSession) -> bool:
    """Restore while the run waits for its commit."""
    job.wait_until(lambda: job.begins("read"))
    with commit_lock(job.warehouse):
        job.wait_until(lambda: job.begins("commit") and job.files("records/_lagoon/*/*-record_ranges.parquet"))
        restore(spark, job.warehouse)
    job.end()
    assert job.process.returncode == 1, "".join(job.output)
    assert "nothing is committed" in "".join(job.output)
    return True


def is_killed_before(job: Job, spark: SparkSession) -> bool:
    """Restore after a run died that had committed nothing."""
    if not killed_before_its_commit(job):
        return False
    restore(spark, job.warehouse)
    return True


def is_killed_between(job: Job, spark: SparkSession) -> bool:
    """Restore away the records of a run whose ranges are pending."""
    if not killed_between_its_commits(job):
        return False
    restore(spark, job.warehouse)
    return True


@pytest.mark.parametrize("state", [lives_on, is_killed_before, is_killed_between])
def test_a_restore_during_an_ingest(kafka: LocalKafka, spark: SparkSession, tmp_path: Path, state: object) -> None:
    """The next run exits with 1 and names the choices; with `repeat` every record exists once, and ranges have no gaps."""
    assert callable(state)
    topic = f"restored-{state.__name__}"
    create_topics(kafka.bootstrap_servers, [NewTopic(topic, 4, 3)])
    command = ("ingest", *arguments(kafka, tmp_path, topic))
    for _ in range(2):
        load(kafka, topic)
        assert here(*command).returncode == 0
    for _ in range(ATTEMPTS):
        load(kafka, topic)
        with started(kafka, tmp_path, topic) as job:
            if state(job, spark):
                break
    else:
        pytest.fail("".join(job.output))
    for _ in range(2):
        refused = here(*command)
        assert refused.returncode == 1, refused.stdout + refused.stderr
        assert "--after-restore repeat" in refused.stderr
    repeated = here(*command, "--after-restore", "repeat")
    assert repeated.returncode == 0, repeated.stdout + repeated.stderr
    assert here(*command).returncode == 0
    assert archived(tmp_path) == consumed(kafka.bootstrap_servers, [topic])
    assert_tiled(tmp_path)
