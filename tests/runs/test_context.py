"""The warehouse is opened once, when a run first needs it."""

from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from pyspark import SparkContext

from kafka_lagoon.delta.jvm_start import StartingJvm
from kafka_lagoon.errors import NeedsSession, TableError
from kafka_lagoon.runs import context as runs_context
from kafka_lagoon.runs.context import RunContext
from tests.clock import CLOCK
from tests.warehouses import settings


def test_the_warehouse_is_opened_once_and_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """Creating the context starts no session of Spark; using the warehouse twice starts one."""
    calls: list[str] = []
    monkeypatch.setattr(runs_context, "session", lambda name, _: calls.append(name) or "spark")
    monkeypatch.setattr(runs_context, "open_warehouse", lambda spark, *_: (spark, "opened"))
    monkeypatch.setattr(runs_context, "find_warehouse", lambda spark, _: (spark, "found"))
    run = RunContext("snapshot", settings("warehouse=w"), CLOCK)
    assert calls == []
    assert run.warehouse == run.warehouse == ("spark", "opened")
    assert calls == ["lagoon snapshot"]
    assert run.existing_warehouse == ("spark", "found")


def test_a_run_without_need_of_spark(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A local folder is opened without a session, unless one is running or the run needs one; it is closed with the context."""
    opened: list[str] = []

    def without_session(stack: ExitStack, *_: object) -> str:
        stack.callback(opened.append, "closed")
        return "folder"

    monkeypatch.setattr(runs_context, "session", lambda name, _: name)
    monkeypatch.setattr(runs_context, "without_session", without_session)
    monkeypatch.setattr(runs_context, "open_warehouse", lambda spark, *_: f"by {spark}")
    for running, needs_session, expected in (
        (None, False, "folder"),
        (None, True, "by lagoon snapshot"),
        ("context", False, "by lagoon snapshot"),
    ):
        monkeypatch.setattr(SparkContext, "_active_spark_context", running)
        with RunContext("snapshot", settings(f"warehouse={tmp_path}"), CLOCK, needs_session=needs_session) as run:
            assert run.warehouse == expected
            assert opened == ([] if expected == "folder" else ["closed"])
    assert opened == ["closed"]


def test_a_jvm_is_handed_on_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It has ended if it could not open the warehouse, so the next cluster that asks for the warehouse starts another one."""
    given: list[object] = []

    def without_session(*arguments: object) -> None:
        given.append(arguments[-1])
        raise TableError("the lock of commits is held")

    monkeypatch.setattr(SparkContext, "_active_spark_context", None)
    monkeypatch.setattr(runs_context, "without_session", without_session)
    starting = cast("StartingJvm", object())
    chosen = settings(f"warehouse={tmp_path}")
    with RunContext("snapshot", chosen, CLOCK, needs_session=False, starting=starting) as run:
        for _ in range(2):
            with pytest.raises(TableError):
                _ = run.warehouse
    assert given == [starting, None]


def test_a_run_that_turns_out_to_need_a_session(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It runs again with the warehouse that Spark opens; any other error ends it, and a run with a session is not repeated."""

    def run() -> object:
        if context.warehouse.session is None:
            raise NeedsSession("too much for one process")
        return context.warehouse.session

    def fails() -> object:
        raise TableError("no")

    monkeypatch.setattr(SparkContext, "_active_spark_context", None)
    monkeypatch.setattr(runs_context, "session", lambda name, _: name)
    monkeypatch.setattr(runs_context, "without_session", lambda *_: SimpleNamespace(session=None))
    monkeypatch.setattr(runs_context, "open_warehouse", lambda spark, *_: SimpleNamespace(session=spark))
    with RunContext("ingest", settings(f"warehouse={tmp_path}"), CLOCK, needs_session=False) as context:
        assert context.with_or_without_session(lambda: context.warehouse.session) is None
        with pytest.raises(TableError):
            context.with_or_without_session(fails)
        assert context.with_or_without_session(run) == "lagoon ingest"
        assert context.with_or_without_session(run) == "lagoon ingest"
