"""Plans the next offsets to read of a partition, from the end of its archive and the bounds of its log.

The ranges of a partition join: each begins where the range before it ended. Offsets that cannot be read any more, or were
replaced by other records, are a range, too, with that problem; nothing is skipped in silence and nothing is read twice.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from kafka_lagoon.fetch.leader_epochs import Divergence, EpochRange, cut, joined
from kafka_lagoon.frozen import frozen
from kafka_lagoon.topic_partition import TopicPartition

LOST, LOG_TRUNCATED, TOPIC_RECREATED, TOPIC_DELETED = "LOST", "LOG_TRUNCATED", "TOPIC_RECREATED", "TOPIC_DELETED"
LOSSES = frozenset({LOST, LOG_TRUNCATED, TOPIC_RECREATED, TOPIC_DELETED})  # no later run can read the missing records
END_BEFORE_POSITION = "END_BEFORE_POSITION"  # the log ends before the next offset, and no epoch explains it


@frozen
class Position:
    """The end of a partition's archive: the next offset, and the leader epoch of the last record (-1 unknown).

    `epochs` are the last ranges read, oldest first; comparing them with the leader's log shows a divergence.
    `confirmed`: a leader had all of them, so that only the last one needs to be compared from then on.
    """

    next_offset: int
    leader_epoch: int = -1
    epochs: tuple[EpochRange, ...] = ()
    confirmed: bool = False

    @property
    def read_epochs(self) -> tuple[EpochRange, ...]:
        """`epochs`, or the last record where only its epoch is known; empty if there is no record."""
        if self.epochs or self.leader_epoch < 0 or self.next_offset <= 0:
            return self.epochs
        return (EpochRange(self.leader_epoch, self.next_offset - 1, self.next_offset),)

    @property
    def last_epoch(self) -> int:
        """Leader epoch of the record right before `next_offset`; -1 if unknown, or if there is no such record."""
        last = self.read_epochs[-1:]
        return last[0].leader_epoch if last and last[0].end_offset == self.next_offset else -1

    def back_at(self, diverged: Divergence) -> "Position":
        """The position after the log was truncated to an offset before it."""
        return Position(
            next_offset=diverged.offset,
            leader_epoch=diverged.leader_epoch,
            epochs=cut(self.read_epochs, diverged.offset),
        )


@frozen
class LogBounds:
    """The bounds of a partition's log at planning.

    This run may read up to `end`: the last stable offset (readers of committed records) or the high watermark at most.
    """

    log_start_offset: int
    high_watermark: int
    last_stable_offset: int
    end: int


@frozen
class Event:
    """A range without records, so that a partition's ranges join: a truncation goes back, others have no length.

    Without a `problem` a sequence of ranges begins here.
    """

    topic: str
    topic_id: str | None
    partition: int
    from_offset: int
    to_offset: int
    problem: str | None
    leader_epoch: int = -1


@frozen
class PlannedRange:
    """Offsets of one partition that this run reads; those below `log_start_offset` are lost already."""

    topic: str
    topic_id: str | None
    partition: int
    from_offset: int
    to_offset: int
    log_start_offset: int
    stable_end: int
    last_epoch: int = -1
    epochs: tuple[EpochRange, ...] = ()
    confirmed: bool = False  # whether the leader has all of `epochs`

    @property
    def topic_partition(self) -> TopicPartition:
        """The partition that the offsets are of."""
        return TopicPartition(self.topic, self.partition)

    @property
    def first_readable(self) -> int:
        """The first offset that the log still has, or the end of the range."""
        return max(self.from_offset, min(self.log_start_offset, self.to_offset))

    @property
    def offsets(self) -> int:
        """Number of offsets that the range spans."""
        return self.to_offset - self.from_offset


def next_range(
    topic: str,
    topic_id: str | None,
    partition: int,
    position: Position,
    log: LogBounds,
    diverged: Divergence | None = None,
) -> tuple[list[Event], PlannedRange | None]:
    """The range to read of a partition that continues at `position`, None if nothing is new, and a truncation before it.

    A log that ends before the position gives neither: the caller reports it as END_BEFORE_POSITION.
    """
    events = []
    if diverged is not None:
        events.append(
            Event(
                topic=topic,
                topic_id=topic_id,
                partition=partition,
                from_offset=position.next_offset,
                to_offset=diverged.offset,
                problem=LOG_TRUNCATED,
                leader_epoch=diverged.leader_epoch,
            )
        )
        position = position.back_at(diverged)
    start = position.next_offset
    if log.end <= start:
        return events, None
    return events, PlannedRange(
        topic=topic,
        topic_id=topic_id,
        partition=partition,
        from_offset=start,
        to_offset=log.end,
        log_start_offset=log.log_start_offset,
        stable_end=log.last_stable_offset,
        last_epoch=position.last_epoch if start >= log.log_start_offset else -1,
        epochs=position.read_epochs,
        confirmed=position.confirmed,
    )


def limited(ranges: Sequence[PlannedRange], most: int | None) -> list[PlannedRange]:
    """The ranges, shortened so that together they span `most` offsets, each in proportion to its backlog.

    No backlog is left out, so many small ones may exceed `most` by one offset each. Lost offsets cost nothing and do not
    count.
    """
    backlog = {index: planned.to_offset - planned.first_readable for index, planned in enumerate(ranges)}
    total = sum(backlog.values())
    if most is None or total <= most:
        return list(ranges)
    shortened = []
    for index, planned in enumerate(ranges):
        share = max(1, most * backlog[index] // total)
        shortened.append(replace(planned, to_offset=min(planned.to_offset, planned.first_readable + share)))
    return shortened


def with_epochs(epochs: Iterable[EpochRange], more: Iterable[EpochRange], keep: int = 20) -> tuple[EpochRange, ...]:
    """The epochs of a position with those of a range read after it; the last `keep` of them."""
    return joined([*epochs, *more])[-keep:]
