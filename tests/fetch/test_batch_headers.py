"""Trusted batch headers, and their leader epochs."""

from kafka_lagoon.fetch.batch_headers import epoch_ranges, first_base, trusted_end
from kafka_lagoon.records.batches import Batches, find_batches
from kafka_lagoon.records.decoding import Problem
from tests.fake.batches import batch


def scanned(*bounds: tuple[int, int, int]) -> Batches:
    """Make batches of (base offset, last offset delta, leader epoch)."""
    made = [batch(base, [b"v"], last_delta=delta, leader_epoch=epoch) for base, delta, epoch in bounds]
    return find_batches(b"".join(one.data for one in made))


def test_batches_that_follow_each_other() -> None:
    """Gaps are valid; everything up to the high watermark is trusted."""
    assert trusted_end(scanned((0, 3, 0), (9, 0, 0), (10, 4, 0)), 15) == 15
    assert trusted_end(scanned(), 15) == -1


def test_batches_that_cannot_be() -> None:
    """A decreasing offset, or one beyond the high watermark, ends the trusted batches."""
    assert trusted_end(scanned((3, 0, 0), (3, 0, 0), (10, 4, 0)), 15) == 4
    assert trusted_end(scanned((0, 3, 0), (4, 11, 0)), 15) == 4
    assert trusted_end(scanned((20, 3, 0)), 15) == -1
    assert trusted_end(scanned((0, 3, 0), (2**63 - 1, 0, 0)), 15) == 4


def test_a_header_that_contradicts_itself() -> None:
    """Only the next header shows the end of such a batch; the decoder reports it."""
    assert trusted_end(scanned((0, 3, 0), (4, -5, 0), (8, 0, 0)), 15) == 9
    assert trusted_end(scanned((0, 3, 0), (4, 99, 0), (8, 0, 0)), 15) == 9


def test_epoch_ranges() -> None:
    """Each leader epoch with its first offset and the end of its last batch, within the range."""
    batches = scanned((0, 3, 1), (4, 3, 1), (10, 3, 4), (14, 3, 6))
    assert epoch_ranges(batches, 2, 18) == [(1, 2, 8), (4, 10, 14), (6, 14, 18)]
    assert epoch_ranges(batches, 2, 12) == [(1, 2, 8), (4, 10, 12)]
    assert epoch_ranges(scanned(), 2, 14) == []


def test_epochs_of_broken_batches() -> None:
    """A broken batch has no leader epoch, and a batch with a wrong last offset ends at the next one."""
    batches = scanned((0, 3, 1), (4, 3, 9), (10, 3, 1), (14, 9, 2), (18, 1, 3))
    broken = [Problem(base_offset=4, last_offset=7, reason="CORRUPT_BATCH")]
    assert epoch_ranges(batches, 0, 20, broken) == [(1, 0, 14), (2, 14, 18), (3, 18, 20)]


def test_the_first_base() -> None:
    """The result is the base offset of the first batch."""
    assert first_base(scanned((7, 3, 0), (11, 0, 0))) == 7
    assert first_base(scanned()) is None
