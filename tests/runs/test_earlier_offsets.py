"""Estimated write time of an offset, by the ends of a log in two snapshots."""

import pytest

from kafka_lagoon.runs.earlier_offsets import _written_ms


@pytest.mark.parametrize(
    ("offset", "expected"),
    [(100, 1_000), (125, 1_250), (199, 1_990), (99, None), (200, None)],
)
def test_in_proportion_and_never_outside(offset: int, expected: int | None) -> None:
    """From the end of one snapshot to the one before the end of the next."""
    assert _written_ms(offset, (1_000, 100), (2_000, 200)) == expected


def test_what_is_not_known() -> None:
    """Nothing before the first snapshot, or where the log was truncated in between."""
    assert _written_ms(5, None, (2_000, 200)) is None
    assert _written_ms(150, (3_000, 100), (2_000, 200)) is None
