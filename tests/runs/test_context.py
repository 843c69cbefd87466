"""The warehouse is opened when a run needs it, and once."""

import pytest

from kafka_lagoon.runs import context
from kafka_lagoon.runs.context import RunContext
from tests.clock import CLOCK
from tests.warehouses import settings


def test_the_warehouse_is_opened_once_and_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """No Spark for a cluster that does not answer, one session for several that do."""
    calls: list[str] = []
    monkeypatch.setattr(context, "session", lambda name: calls.append(name) or "spark")
    monkeypatch.setattr(context, "open_warehouse", lambda spark, *_: (spark, "opened"))
    monkeypatch.setattr(context, "find_warehouse", lambda spark, _: (spark, "found"))
    run = RunContext("snapshot", settings("warehouse=w"), CLOCK)
    assert calls == []
    assert run.warehouse == run.warehouse == ("spark", "opened")
    assert calls == ["lagoon snapshot"]
    assert run.existing_warehouse == ("spark", "found")
