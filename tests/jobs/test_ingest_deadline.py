"""A run past its deadline: the read records are committed, the rest is reported, and the next run reads it."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka.admin import NewTopic

from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.fetch.tasks import Task
from kafka_lagoon.ingest.archive_task import TaskResult, TaskSettings, archive
from kafka_lagoon.runs import ingest as ingest_module
from kafka_lagoon.sandbox.kafka import LocalKafka
from tests.integration.state import create_topics, produce
from tests.jobs.archived import archived, assert_tiled, consumed
from tests.jobs.commands import here

pytestmark = [pytest.mark.kafka, pytest.mark.spark]


def slow(_: Warehouse, settings: TaskSettings, tasks: Sequence[Task], __: object) -> list[TaskResult]:
    """Runs tasks like `execution.run_tasks` on one core; the deadline passes when half of the tasks are done."""
    assert settings.options.ends_at_ms is not None
    late = replace(settings, options=replace(settings.options, ends_at_ms=1))
    half = len(tasks) // 2
    assert half
    return [archive(settings if number < half else late, task) for number, task in enumerate(tasks)]


@pytest.mark.proof
@pytest.mark.usefixtures("spark")
def test_out_of_time(kafka: LocalKafka, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit 3 and a line with the number of remaining offsets; the next run has no gap and doubles nothing."""
    create_topics(kafka.bootstrap_servers, [NewTopic("deadline", 2, 3)])
    produce(kafka.bootstrap_servers, "deadline", 40_000)
    options = ["--warehouse", str(tmp_path), "--set", f"kafka.bootstrap_servers={kafka.bootstrap_servers}"]
    options += ["--topics", "deadline", "--set", "ingest.task_mb=1"]
    with monkeypatch.context() as patch:
        patch.setattr(ingest_module, "run_tasks", slow)
        first = here("ingest", *options, "--set", "ingest.deadline_ms=600000")
    assert first.returncode == 3, first.stdout + first.stderr
    assert "RUN_DEADLINE_PASSED in " in first.stdout
    assert "offsets left to the next run" in first.stdout
    assert 0 < archived(tmp_path).total() < 40_000
    second = here("ingest", *options)
    assert second.returncode == 0, second.stdout + second.stderr
    assert archived(tmp_path) == consumed(kafka.bootstrap_servers, ["deadline"])
    assert_tiled(tmp_path)
