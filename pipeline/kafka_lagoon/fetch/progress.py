"""Keeps the progress of a split, and counts its offsets by disposition: each once, so the counts add up at any time.

The reader is its only writer.
"""

from collections import deque
from collections.abc import Sequence

from kafka_lagoon.fetch.leader_epochs import EpochRange, joined
from kafka_lagoon.fetch.split import Split, SplitOutcome
from kafka_lagoon.records.decoding import Counts, Problem

_MAX_EPOCHS = 1_000  # kept of one split: more can only be damage, which must not fill the memory


class SplitProgress:
    """The progress of a split, and the reason why reading ended before its end."""

    def __init__(self, split: Split) -> None:
        self._split = split
        self._next_offset = split.from_offset
        self._last_epoch = split.last_epoch
        self._counts = Counts()
        self._problems: list[Problem] = []
        self._leader_epoch = -1
        self._epochs: deque[EpochRange] = deque(maxlen=_MAX_EPOCHS)
        self._failure: str | None = None
        self._detail: str | None = None
        self._truncated_to: int | None = None

    @property
    def next_offset(self) -> int:
        """The first offset that is not read yet."""
        return self._next_offset

    @property
    def last_epoch(self) -> int:
        """Leader epoch of the record before the next offset; -1 if unknown."""
        return self._last_epoch

    @property
    def ended(self) -> bool:
        """True if the whole split is read, or no more of it can be."""
        return self._next_offset >= self._split.to_offset or self._failure is not None

    @property
    def outcome(self) -> SplitOutcome:
        """The outcome up to now."""
        return SplitOutcome(
            split=self._split,
            next_offset=self._next_offset,
            counts=self._counts,
            problems=tuple(self._problems),
            leader_epoch=self._leader_epoch,
            epochs=tuple(self._epochs),
            failure=self._failure,
            detail=self._detail,
            truncated_to=self._truncated_to,
        )

    def fail(self, name: str, detail: str | None, truncated_to: int | None = None) -> None:
        """Keep the first reason why reading ends here."""
        if self._failure is None:
            self._failure, self._detail, self._truncated_to = name, detail, truncated_to

    def lose_before(self, log_start_offset: int) -> bool:
        """Count what is before the log's start as lost; False if nothing of the split is."""
        start = min(log_start_offset, self._split.to_offset)
        if start <= self._next_offset:
            return False
        self._counts.lost += start - self._next_offset
        self._next_offset, self._last_epoch = start, -1
        return True

    def forget_last_epoch(self) -> None:
        """Continue without the leader epoch of the last record, which the leader does not know any more."""
        self._last_epoch = -1

    def skip_rest(self) -> None:
        """Count the rest as compacted: the log continues after it and has nothing there."""
        self._counts.compacted += self._split.to_offset - self._next_offset
        self._next_offset = self._split.to_offset

    def add(self, counts: Counts, problems: Sequence[Problem], next_offset: int, leader_epoch: int) -> None:
        """Add what was decoded, up to `next_offset`."""
        self._counts.add(counts)
        self._problems += problems
        self._next_offset, self._last_epoch = next_offset, leader_epoch
        self._leader_epoch = max(self._leader_epoch, leader_epoch)

    def add_epochs(self, epochs: Sequence[EpochRange]) -> None:
        """Keep the leader epochs in which offsets were written; batches of old formats have none."""
        for epoch_range in epochs:
            if epoch_range.leader_epoch >= 0 and epoch_range.end_offset > epoch_range.first_offset:
                last = [self._epochs.pop()] if self._epochs else []
                self._epochs.extend(joined([*last, epoch_range]))

    def repair(self, problem: Problem, counts: Counts) -> None:
        """Replace a problem by the counts of its offsets, which could be read after all."""
        self._problems.remove(problem)
        self._counts.corrupt -= counts.offsets()
        self._counts.add(counts)
