"""The end of the last batch of a response, found by requests for the batch after it."""

import pytest

from kafka_lagoon.fetch.last_batch import Look, is_doubtful, next_base
from kafka_lagoon.records.batches import Batches, find_batches
from tests.fake.batches import batch
from tests.fake.cluster import FakeBatch


def answer(*batches: FakeBatch) -> Batches:
    """Make one response of these batches."""
    return find_batches(b"".join(one.data for one in batches))


def of(base: int, records: int, last_delta: int) -> FakeBatch:
    """Make a batch with this many records, which declares that it ends `last_delta` after its base."""
    return batch(base, [b"v"] * records, last_delta=last_delta)


@pytest.mark.parametrize(
    ("last", "doubtful"),
    [
        (of(8, 4, 3), False),  # as many records as offsets
        (of(8, 4, 7), True),  # fewer: compaction, or a wrong last offset
        (of(8, 2, 91), False),  # the log ends with the batch
        (of(8, 2, 200), True),  # beyond the log
        (of(8, 4, 1), True),  # more records than offsets
    ],
)
def test_which_batches_are_doubtful(last: FakeBatch, doubtful: bool) -> None:
    """Only a last batch whose end neither its count nor the log's end confirms is doubtful."""
    assert is_doubtful(answer(last), to_offset=50, high_watermark=100, last_stable_offset=100) is doubtful
    followed = answer(last).followed_by(30)
    assert not is_doubtful(followed, to_offset=50, high_watermark=100, last_stable_offset=100)


def test_the_end_of_the_split_is_among_the_records() -> None:
    """If the split ends within the batch, its end does not matter."""
    assert not is_doubtful(answer(of(8, 4, 7)), to_offset=10, high_watermark=100, last_stable_offset=100)
    assert not is_doubtful(answer(of(8, 4, 7)), to_offset=12, high_watermark=100, last_stable_offset=100)


@pytest.mark.parametrize("last_delta", [4, 5])
def test_a_last_offset_that_the_log_cannot_have(last_delta: int) -> None:
    """No record has the high watermark, so the batch is doubtful also if the split ends among its records."""
    assert is_doubtful(answer(of(8, 4, last_delta)), to_offset=12, high_watermark=12, last_stable_offset=12)


def log_of(*batches: FakeBatch, requested: list[int], at_once: int | None = None) -> Look:
    """Make a leader that returns the first batch whose declared last offset is not below the requested one.

    Responses also have the batches after it, or `at_once` batches, as at the end of a segment.
    """

    def look(offset: int) -> Batches | None:
        requested.append(offset)
        following = [one for one in batches if one.last_offset >= offset]
        return answer(*following[:at_once]) if following else None

    return look


@pytest.mark.parametrize("last_delta", [4, 9, 20, 87])
@pytest.mark.parametrize("records", [1, 4])
def test_the_next_batch_is_found(last_delta: int, records: int) -> None:
    """A few requests find the true next batch at 12, for any declared last offset."""
    wrong = of(8, 4, last_delta)
    others = [of(base, records, records - 1) for base in range(12, 96, records)]
    requested: list[int] = []
    look = log_of(FakeBatch(8, 11, wrong.data), *others, requested=requested)
    assert next_base(answer(wrong), 96, look) == 12
    assert len(requested) <= 8


@pytest.mark.parametrize("last_delta", [0, 1, 2])
def test_a_last_offset_that_is_too_small(last_delta: int) -> None:
    """The next batch is the one that the leader has after it, also if that one is in another segment."""
    wrong = of(8, 4, last_delta)
    requested: list[int] = []
    look = log_of(wrong, of(12, 4, 3), requested=requested, at_once=1)
    assert next_base(answer(wrong), 16, look) == 12
    assert requested == [9 + last_delta]


def test_a_last_offset_over_the_batches_up_to_the_end_of_the_log() -> None:
    """The leader takes the batch for those at any later offset, and shows the batches after it."""
    wrong = of(8, 4, 99)
    requested: list[int] = []
    look = log_of(wrong, of(12, 4, 3), requested=requested)
    assert next_base(answer(wrong), 16, look) == 12
    assert requested == [15]


def test_nothing_contradicts_a_thinned_batch() -> None:
    """Compaction keeps a batch's last offset: the leader returns the same batch, and the next one follows it."""
    thinned = of(8, 2, 9)
    look = log_of(FakeBatch(8, 17, thinned.data), of(18, 4, 3), requested=[])
    assert next_base(answer(thinned), 22, look) == 18
    assert next_base(answer(thinned), 22, lambda _: None) is None
    assert next_base(answer(thinned), 22, lambda _: answer()) is None


def test_a_thinned_batch_at_the_end_of_a_segment() -> None:
    """The leader returns it alone: nothing shows where the next batch begins, which need not be the end of the log."""
    thinned = of(8, 2, 9)
    requested: list[int] = []
    look = log_of(thinned, of(20, 4, 3), requested=requested, at_once=1)
    assert next_base(answer(thinned), 24, look) is None
    assert requested == [17]


@pytest.mark.parametrize("last_delta", [2, 99])
def test_a_batch_that_goes_beyond_the_log(last_delta: int) -> None:
    """Without a batch after it, it ends at the high watermark."""
    wrong = of(8, 2, last_delta)
    assert next_base(answer(wrong), 10, lambda _: answer(wrong)) == 10
