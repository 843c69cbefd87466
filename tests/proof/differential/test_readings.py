"""Differences between two readings of a topic are found, whatever differs."""

import pytest

from tests.integration.producers import Consumed
from tests.proof.differential.readings import check_equal, in_order

FIRST = Consumed(0, 1_000, 0, b"k", b"v", (("h", None),))
SECOND = Consumed(5, 1_000, 0, None, b"", ())
BOTH = {0: [FIRST, SECOND], 1: []}


def test_equal_readings() -> None:
    """Nothing is said; without offsets two logs are equal that have other markers."""
    check_equal("t", BOTH, {0: [FIRST, SECOND], 1: []})
    check_equal("t", in_order(BOTH), in_order({0: [FIRST._replace(offset=7), SECOND._replace(offset=8)], 1: []}))


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({0: [FIRST], 1: []}, "1 records instead of 2; record 1 is \\[\\]"),
        ({0: [FIRST, SECOND, SECOND], 1: []}, "3 records instead of 2; record 2"),
        ({0: [SECOND, FIRST], 1: []}, "record 0"),
        ({0: [FIRST._replace(offset=1), SECOND], 1: []}, "record 0"),
        ({0: [FIRST._replace(timestamp_ms=1_001), SECOND], 1: []}, "record 0"),
        ({0: [FIRST._replace(timestamp_type=1), SECOND], 1: []}, "record 0"),
        ({0: [FIRST, SECOND._replace(key=b"")], 1: []}, "record 1"),
        ({0: [FIRST, SECOND._replace(value=None)], 1: []}, "record 1"),
        ({0: [FIRST._replace(headers=(("h", b""),)), SECOND], 1: []}, "record 0"),
        ({0: [FIRST], 1: [SECOND]}, "partition 0"),
        ({0: [FIRST, SECOND]}, "partitions \\[0\\] of \\[0, 1\\]"),
    ],
)
def test_a_difference_is_found(other: dict[int, list[Consumed]], words: str) -> None:
    """A missing, doubled or moved record, and each of its fields; null is not empty."""
    with pytest.raises(AssertionError, match=words):
        check_equal("t", other, BOTH)
