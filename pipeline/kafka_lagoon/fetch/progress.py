"""How far a split is read, and what its offsets were: each is counted once, so that the counts add up at any time."""

from collections import deque
from collections.abc import Sequence

from kafka_lagoon.fetch.epochs import EpochRange, joined
from kafka_lagoon.fetch.split import Outcome, Split
from kafka_lagoon.records.decoding import Counts, Problem

_MOST_EPOCHS = 1_000  # kept of one split: more is damage, and must not fill the memory


class Progress:
    """How far a split has been read, and why no further."""

    def __init__(self, split: Split) -> None:
        self._split = split
        self.position = split.from_offset
        self.last_epoch = split.last_epoch  # leader epoch of the record before the position, -1 unknown
        self._counts = Counts()
        self._problems: list[Problem] = []
        self._leader_epoch = -1
        self._epochs: deque[EpochRange] = deque(maxlen=_MOST_EPOCHS)
        self._failure: str | None = None
        self._detail: str | None = None
        self._truncated_to: int | None = None

    @property
    def ended(self) -> bool:
        """Whether everything is read, or nothing more can be."""
        return self.position >= self._split.to_offset or self._failure is not None

    @property
    def outcome(self) -> Outcome:
        """What has come of the split up to now."""
        return Outcome(
            split=self._split,
            next_offset=self.position,
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
        """Count what lies before the log's start as lost; False if nothing of the split does."""
        start = min(log_start_offset, self._split.to_offset)
        if start <= self.position:
            return False
        self._counts.lost += start - self.position
        self.position, self.last_epoch = start, -1
        return True

    def skip_void(self) -> None:
        """Count the rest as compacted: the log goes on behind it and has nothing there."""
        self._counts.compacted += self._split.to_offset - self.position
        self.position = self._split.to_offset

    def add(self, counts: Counts, problems: Sequence[Problem], next_offset: int, leader_epoch: int) -> None:
        """Take over what a decoder made of the offsets from the position to `next_offset`."""
        self._counts.add(counts)
        self._problems += problems
        self.position, self.last_epoch = next_offset, leader_epoch
        self._leader_epoch = max(self._leader_epoch, leader_epoch)

    def meet(self, epochs: Sequence[EpochRange]) -> None:
        """Note in which leader epochs offsets were written that are told (those of old formats are not)."""
        for one in epochs:
            if one.leader_epoch >= 0 and one.end_offset > one.first_offset:
                last = [self._epochs.pop()] if self._epochs else []
                self._epochs.extend(joined([*last, one]))

    def repair(self, problem: Problem, counts: Counts) -> None:
        """Replace a problem by what its offsets turned out to be."""
        self._problems.remove(problem)
        self._counts.corrupt -= counts.offsets()
        self._counts.add(counts)
