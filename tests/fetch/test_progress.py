"""The progress of a split: the counts always add up to the passed offsets."""

from kafka_lagoon.fetch.leader_epochs import EpochRange
from kafka_lagoon.fetch.progress import SplitProgress
from kafka_lagoon.fetch.split import Split
from kafka_lagoon.records.decoding import Counts, Problem

SPLIT = Split(topic="t", topic_id=None, partition=0, from_offset=10, to_offset=30, stable_end=30, last_epoch=3)


def adds_up(progress: SplitProgress) -> bool:
    outcome = progress.outcome
    return outcome.counts.offsets() == outcome.next_offset - SPLIT.from_offset


def test_offsets_are_counted_once() -> None:
    """Decoded, lost and skipped offsets are consecutive; the outcome has the newest read epoch."""
    progress = SplitProgress(SPLIT)
    assert (progress.next_offset, progress.last_epoch, progress.ended) == (10, 3, False)
    progress.add(Counts(records=3, compacted=2), [], 15, 4)
    assert (progress.next_offset, progress.last_epoch) == (15, 4)
    assert progress.lose_before(18)
    assert not progress.lose_before(18)
    assert (progress.next_offset, progress.last_epoch) == (18, -1)
    assert adds_up(progress)
    progress.skip_rest()
    assert (progress.ended, progress.outcome.leader_epoch, progress.outcome.counts.lost) == (True, 4, 3)
    assert adds_up(progress)


def test_a_log_that_starts_after_the_split() -> None:
    """A split loses at most its own offsets."""
    progress = SplitProgress(SPLIT)
    assert progress.lose_before(100)
    assert (progress.outcome.counts.lost, progress.outcome.next_offset, progress.ended) == (20, 30, True)


def test_the_first_failure_stays() -> None:
    """The first failure is kept, because later ones follow from it."""
    progress = SplitProgress(SPLIT)
    progress.fail("LOG_TRUNCATED", "the log ends at 7", truncated_to=7)
    progress.fail("NO_PROGRESS", None)
    outcome = progress.outcome
    assert (outcome.failure, outcome.detail, outcome.truncated_to) == ("LOG_TRUNCATED", "the log ends at 7", 7)
    assert progress.ended


def test_a_forgotten_epoch() -> None:
    """The next request has no epoch, and all other fields are unchanged."""
    progress = SplitProgress(SPLIT)
    progress.forget_last_epoch()
    assert (progress.last_epoch, progress.next_offset, progress.ended) == (-1, 10, False)


def test_a_problem_that_is_repaired() -> None:
    """The offsets move from corrupt to their dispositions."""
    progress = SplitProgress(SPLIT)
    problem = Problem(base_offset=12, last_offset=14, reason="CORRUPT_BATCH")
    progress.add(Counts(records=2, corrupt=3), [problem], 15, 3)
    progress.repair(problem, Counts(records=2, compacted=1))
    counts = progress.outcome.counts
    assert (counts.records, counts.compacted, counts.corrupt, progress.outcome.problems) == (4, 1, 0, ())
    assert adds_up(progress)


def test_epochs_are_joined_and_bounded() -> None:
    """Consecutive ranges of an epoch are joined; batches without an epoch have none; damage cannot exhaust memory."""
    progress = SplitProgress(SPLIT)
    progress.add_epochs([EpochRange(0, 10, 12), EpochRange(-1, 12, 13), EpochRange(0, 13, 15), EpochRange(2, 15, 15)])
    assert progress.outcome.epochs == ((0, 10, 15),)
    progress.add_epochs([EpochRange(epoch, epoch, epoch + 1) for epoch in range(15, 5_000)])
    assert len(progress.outcome.epochs) == 1_000
