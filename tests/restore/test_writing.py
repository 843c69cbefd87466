"""Rounds of tasks, and maps of partitions from the rows of all runs; integration/test_restore.py writes and reads back."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kafka_lagoon.delta.executors import on_driver
from kafka_lagoon.job_settings import RestoreSettings
from kafka_lagoon.restore import writing as module
from kafka_lagoon.restore.offset_map import OffsetRange
from kafka_lagoon.restore.progress import start_of
from kafka_lagoon.restore.tasks import TaskSettings, Work, WorkResult
from kafka_lagoon.restore.writing import Writing
from kafka_lagoon.topic_partition import TopicPartition
from tests.clock import CLOCK
from tests.restore.test_progress import KEY, PLAN, PLANNED

OTHER = TopicPartition("other", 0)


def test_rows_that_contradict_each_other() -> None:
    """They cost their own partition: the others have maps, and are read back."""
    plan = replace(PLAN, partitions=[PLANNED, replace(PLANNED, target=OTHER)])
    rows = {KEY: [OffsetRange(5, 11, 10), OffsetRange(10, 30, 1)], OTHER: [OffsetRange(5, 11, 3)]}
    unused: Any = None
    writing = Writing(
        warehouse=unused,
        cluster=unused,
        clock=unused,
        limits=unused,
        plan=plan,
        files={},
        store=cast("Any", SimpleNamespace(ranges=lambda _: rows)),
    )
    maps, failures = writing.maps()
    assert {target: found.records for target, found in maps.items()} == {OTHER: 3}
    assert list(failures) == [KEY]
    assert "cannot both be true): start another restore with --new" in failures[KEY]


def test_tasks_whose_clocks_are_ahead_get_more_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A task begins nothing after the end of a round. If no task has begun anything, the next round is twice as long."""
    ahead_ms, rounds = 300_000, list[int]()

    def task(settings: TaskSettings, works: list[Work]) -> list[WorkResult]:
        rounds.append(settings.ends_at_ms - CLOCK.now_ms())
        assert len(rounds) < 10
        is_late = CLOCK.now_ms() + ahead_ms >= settings.ends_at_ms
        return [
            WorkResult(target=one.planned.target, position=replace(one.position, is_done=not is_late)) for one in works
        ]

    monkeypatch.setattr(module, "restore_partitions", task)
    monkeypatch.setattr(module, "s3_access", lambda *_: None)
    monkeypatch.setattr(
        module,
        "run_tasks",
        lambda _, work, settings, tasks: [one for some in on_driver(work, settings, tasks) for one in some],
    )
    unused: Any = None
    warehouse = SimpleNamespace(session=None, kernel=SimpleNamespace(storage=None), locations={"records": ""})
    writing = Writing(
        warehouse=cast("Any", warehouse),
        cluster=cast("Any", SimpleNamespace(settings=None)),
        clock=CLOCK,
        limits=RestoreSettings(),
        plan=PLAN,
        files={PLANNED.source.topic: []},
        store=cast("Any", SimpleNamespace(commit=lambda progress, _: progress)),
    )
    progress, failures = writing.write(start_of(PLAN), lambda *_: unused)
    assert (progress.positions[KEY].is_done, failures) == (True, {})
    assert [round(one / 60_000) for one in rounds] == [1, 2, 4, 8]
