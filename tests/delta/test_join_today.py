"""Small files of a day are joined while the day goes on, without those that a run may still be writing."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from kafka_lagoon.delta.join_today import AT_ONCE, join_today
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.errors import TableError
from tests.clock import clock_at
from tests.delta.samples import lag_row, snapshot
from tests.delta.test_publish import publish_once, rows_of

pytestmark = pytest.mark.spark
NAMES = ("consumer_lag", "snapshots")


@pytest.fixture
def noon() -> datetime:
    """Noon of tomorrow: files that are written now are older than an hour then."""
    return datetime.now(UTC).replace(hour=12, minute=0, second=0, microsecond=0) + timedelta(days=1)


def fill(warehouse: Warehouse, moment: datetime, numbers: range) -> None:
    """Publish snapshots of one lag row each."""
    for number in numbers:
        made = snapshot(number, lag_row("g", "t", 0, lag=number))
        captured_at_ms = round(moment.timestamp() * 1000) + number
        publish_once(warehouse, replace(made, header=replace(made.header, captured_at_ms=captured_at_ms)))


def files(warehouse: Warehouse, table: str) -> list[str]:
    """Return the names of a table's files."""
    return sorted(file.path for file in warehouse.kernel.live_files(warehouse.state(table)))


def test_enough_old_files_become_one(warehouse: Warehouse, noon: datetime) -> None:
    """Twelve files of each table become one, with the same rows; what comes later waits for twelve more."""
    clock = clock_at(noon)
    fill(warehouse, noon, range(1, AT_ONCE))
    assert join_today(warehouse, clock) == 0
    fill(warehouse, noon, range(AT_ONCE, AT_ONCE + 1))
    before = {name: sorted(map(str, rows_of(warehouse, name))) for name in NAMES}
    assert join_today(warehouse, clock) >= 2 * AT_ONCE
    for name in NAMES:
        assert len(files(warehouse, name)) == 1
        assert sorted(map(str, rows_of(warehouse, name))) == before[name]
    assert join_today(warehouse, clock) == 0
    fill(warehouse, noon, range(AT_ONCE + 1, 2 * AT_ONCE + 1))
    assert join_today(warehouse, clock) >= 2 * AT_ONCE
    assert len(files(warehouse, "consumer_lag")) == 2
    assert sorted(row["lag"] for row in rows_of(warehouse, "consumer_lag")) == list(range(1, 2 * AT_ONCE + 1))


def test_files_of_the_last_hour_stay(warehouse: Warehouse) -> None:
    """A run that has not published yet may have written them."""
    now = datetime.now(UTC)
    fill(warehouse, now, range(1, AT_ONCE + 1))
    for minutes in (0, 59):
        assert join_today(warehouse, clock_at(now + timedelta(minutes=minutes))) == 0
    assert len(files(warehouse, "consumer_lag")) == AT_ONCE


def test_files_of_other_days_stay(warehouse: Warehouse, noon: datetime) -> None:
    """Maintenance joins them when their day is over."""
    fill(warehouse, noon, range(1, AT_ONCE + 1))
    for now in (noon - timedelta(days=1), noon + timedelta(days=1)):
        assert join_today(warehouse, clock_at(now)) == 0
    assert len(files(warehouse, "consumer_lag")) == AT_ONCE


def test_deltas_words_are_an_error(warehouse: Warehouse, noon: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that cannot be read is a TableError, which the snapshot survives; nothing is removed."""
    fill(warehouse, noon, range(1, AT_ONCE + 1))

    def broken(*_: object) -> bytes:
        raise TableError("the disk is broken")

    monkeypatch.setattr("kafka_lagoon.delta.compact._rewritten", broken)
    with pytest.raises(TableError, match="the disk is broken"):
        join_today(warehouse, clock_at(noon))
    assert len(files(warehouse, "consumer_lag")) == AT_ONCE
