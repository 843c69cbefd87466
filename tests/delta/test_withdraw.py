"""Withdrawn rows are in no later version; rows of other writers stay."""

from contextlib import nullcontext
from datetime import date
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_lagoon.delta.files import LiveFile
from kafka_lagoon.delta.kernel_errors import Conflict
from kafka_lagoon.delta.publish import publish, snapshot_lock
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.delta.withdraw import withdraw
from kafka_lagoon.errors import TableError
from tests.clock import CLOCK
from tests.delta import other_run
from tests.delta.test_publish import rows_of


def test_one_file_is_taken_back(warehouse: Warehouse) -> None:
    """The rows of one file are removed; withdrawing a missing file does nothing."""
    with snapshot_lock(warehouse, "default", CLOCK) as lock:
        publish(lock, other_run.attempt(1))
    (url,) = warehouse.kernel.files(warehouse.state("brokers"), {"snapshot_id": "0192-0001-default"})
    withdraw(warehouse, {"brokers": url, "topics": f"{warehouse.locations['topics']}/joined.parquet"}, CLOCK)
    assert rows_of(warehouse, "brokers") == []
    assert len(rows_of(warehouse, "topics")) == 1
    assert warehouse.kernel.storage.size(url)  # readers of the version before may still read it


class _Overtaken:
    """Stands for a warehouse whose tables get commits of others: the first `faults` attempts to replace files fail."""

    def __init__(self, *faults: Exception) -> None:
        self.locations = {"brokers": "lake/brokers", "topics": "lake/topics"}
        self.kernel = SimpleNamespace(live_files=lambda _: self.live, replace=self._replace)
        self.live = [
            LiveFile(path=name, day=date(2026, 1, 1), size=1, modified_at_ms=1, rows=1) for name in ("own", "new")
        ]
        self.faults, self.removed, self.states = list(faults), list[str](), list[str]()

    def exclusively(self, *_: Any) -> nullcontext[None]:
        return nullcontext()

    def state(self, table: str) -> str:
        self.states.append(table)
        return table

    def _replace(self, table: str, removed: list[LiveFile], files: dict[Any, Any], _: int) -> int:
        assert not files
        if self.faults:
            raise self.faults.pop(0)
        self.removed += [f"{table}/{file.path}" for file in removed]
        return 1


OWN = {"brokers": "lake/brokers/own"}


@pytest.mark.parametrize("conflicts", [0, 1, 4])
def test_commits_of_others_in_between(conflicts: int) -> None:
    """Each attempt reads the table again; the file is removed, once, and the files of others stay."""
    lake = _Overtaken(*[Conflict("lake/brokers")] * conflicts)
    withdraw(lake, OWN, CLOCK)  # type: ignore[arg-type]
    assert (lake.removed, len(lake.states)) == (["brokers/own"], conflicts + 1)


def test_a_table_that_cannot_be_written_does_not_keep_the_others() -> None:
    """Rows of one table may stay, which no view shows; those of the next table are removed."""
    lake = _Overtaken(TableError("full"))
    withdraw(lake, {**OWN, "topics": "lake/topics/own"}, CLOCK)  # type: ignore[arg-type]
    assert lake.removed == ["topics/own"]


def test_a_table_that_others_never_leave_alone() -> None:
    """After five attempts the rows stay: a run that has nothing to publish must end."""
    lake = _Overtaken(*[Conflict("lake/brokers")] * 9)
    withdraw(lake, OWN, CLOCK)  # type: ignore[arg-type]
    assert (lake.removed, len(lake.states)) == ([], 5)
