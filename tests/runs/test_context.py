"""The warehouse is opened once, when a run first needs it."""

from contextlib import ExitStack
from pathlib import Path

import pytest
from pyspark import SparkContext

from kafka_lagoon.runs import context
from kafka_lagoon.runs.context import RunContext
from tests.clock import CLOCK
from tests.warehouses import settings


def test_the_warehouse_is_opened_once_and_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """Creating the context starts no session of Spark; using the warehouse twice starts one."""
    calls: list[str] = []
    monkeypatch.setattr(context, "session", lambda name: calls.append(name) or "spark")
    monkeypatch.setattr(context, "open_warehouse", lambda spark, *_: (spark, "opened"))
    monkeypatch.setattr(context, "find_warehouse", lambda spark, _: (spark, "found"))
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

    monkeypatch.setattr(context, "session", lambda name: name)
    monkeypatch.setattr(context, "without_session", without_session)
    monkeypatch.setattr(context, "open_warehouse", lambda spark, *_: f"by {spark}")
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
