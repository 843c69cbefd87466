"""One holder at a time, however it ends."""

import os
from pathlib import Path

import pytest

from kafka_lagoon.clock import Clock
from kafka_lagoon.delta.lock import locked
from kafka_lagoon.errors import LockHeld, TableError
from tests.clock import CLOCK


def test_the_second_learns_who_holds_it(tmp_path: Path) -> None:
    """Who comes second gets LockHeld with the holder's process and since when, and may try again afterwards."""
    lock = tmp_path / "a.lock"
    with (
        locked(lock, CLOCK),
        pytest.raises(LockHeld, match=rf"process {os.getpid()} on .* since 20\d\d-"),
        locked(lock, CLOCK),
    ):
        pass
    with locked(lock, CLOCK):
        pass


def test_a_wait_ends_when_the_lock_is_free(tmp_path: Path) -> None:
    """Waiting takes over as soon as the holder is gone, and gives up after its time."""
    lock = tmp_path / "a.lock"
    first = locked(lock, CLOCK)
    first.__enter__()
    naps: list[float] = []

    def sleep(seconds: float) -> None:
        naps.append(seconds)
        if len(naps) == 3:
            first.__exit__(None, None, None)

    clock = Clock(now_ms=CLOCK.now_ms, monotonic=lambda: sum(naps), sleep=sleep)
    with locked(lock, clock, wait_ms=10_000):
        assert len(naps) == 3
        with pytest.raises(LockHeld), locked(lock, clock, wait_ms=1_000):
            pass
    assert 1.2 < sum(naps) < 1.5


def test_a_dead_holders_name_is_overwritten(tmp_path: Path) -> None:
    """What a longer-named earlier holder left in the file is gone."""
    lock = tmp_path / "a.lock"
    lock.write_text("process 1234567890 on " + "x" * 100)
    with locked(lock, CLOCK):
        assert lock.read_text().startswith(f"process {os.getpid()} on ")
        assert "xxx" not in lock.read_text()


def test_a_folder_that_is_gone_is_a_table_error(tmp_path: Path) -> None:
    """A lock that cannot be made is said in one line."""
    with (
        pytest.raises(TableError, match=r"a\.lock cannot be locked: No such file"),
        locked(tmp_path / "no" / "a.lock", CLOCK),
    ):
        pass
