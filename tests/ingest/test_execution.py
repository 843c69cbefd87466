"""Tasks of an ingest that fail."""

from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import MagicMock

import pytest

from kafka_lagoon.delta import executors
from kafka_lagoon.errors import TableError
from kafka_lagoon.ingest.execution import run_tasks


def test_files_of_failed_tasks_that_cannot_be_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error is that of the first task that failed, because it is the cause; every other file is removed all the same."""
    results = [
        SimpleNamespace(error=None, files=[SimpleNamespace(url="a"), SimpleNamespace(url="b")]),
        SimpleNamespace(error="the disk is full", files=[]),
    ]
    monkeypatch.setattr(executors, "run_tasks", lambda *_: results)
    warehouse = MagicMock(session=None)
    warehouse.kernel.storage.delete.side_effect = TableError("cannot be removed")
    with pytest.raises(TableError, match="the disk is full"):
        run_tasks(warehouse, cast("Any", None), [])
    assert [call.args for call in warehouse.kernel.storage.delete.call_args_list] == [("a",), ("b",)]
