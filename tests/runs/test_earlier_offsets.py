"""The time at which an offset was written is estimated from the end offsets of two snapshots."""

import pytest

from kafka_lagoon.runs.earlier_offsets import _written_ms


@pytest.mark.parametrize(
    ("offset", "expected"),
    [(100, 1_000), (125, 1_250), (199, 1_990), (99, None), (200, None)],
)
def test_in_proportion_and_never_outside(offset: int, expected: int | None) -> None:
    """The estimate is linear from the end offset of one snapshot up to that of the next, which is excluded."""
    assert _written_ms(offset, (1_000, 100), (2_000, 200)) == expected


def test_what_is_not_known() -> None:
    """Without an earlier snapshot, or if the log was truncated in between, there is no estimate."""
    assert _written_ms(5, None, (2_000, 200)) is None
    assert _written_ms(150, (3_000, 100), (2_000, 200)) is None
