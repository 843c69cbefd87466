"""Ids of snapshots are UUIDv7, and sort by time."""

import uuid

from hypothesis import given
from hypothesis import strategies as st

from kafka_lagoon.uuid7 import new_id

times = st.integers(0, 2**48 - 1)


@given(now_ms=times)
def test_version_and_time(now_ms: int) -> None:
    """An id has version 7, the RFC's variant, and begins with the milliseconds."""
    made = uuid.UUID(new_id(now_ms))
    assert (made.version, made.variant) == (7, uuid.RFC_4122)
    assert made.int >> 80 == now_ms


@given(first=times, second=times)
def test_ids_sort_by_time(first: int, second: int) -> None:
    """The texts sort as their times do."""
    if first < second:
        assert new_id(first) < new_id(second)


def test_ids_differ_within_a_millisecond() -> None:
    """Attempts in the same millisecond have different ids."""
    assert len({new_id(1) for _ in range(1000)}) == 1000
