"""Where a partition was left and where its log is now in; the offsets to read next, and what happened in between, out.

Guards one rule: the ranges of a partition tile. What cannot be read any more, or is another history now, is a range that
says so; nothing is skipped in silence and nothing is read twice.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

LOST, LOG_TRUNCATED, TOPIC_RECREATED, TOPIC_DELETED = "LOST", "LOG_TRUNCATED", "TOPIC_RECREATED", "TOPIC_DELETED"
END_BEFORE_POSITION = "END_BEFORE_POSITION"  # the log ends before what was read, and no epoch explains it


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """Where a partition's archive ends: the next offset, and the term of the record before it (-1 unknown).

    `epochs` are the last terms seen with their first offsets, oldest first: where histories part is told by them.
    """

    next_offset: int
    leader_epoch: int = -1
    epochs: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LogNow:
    """A partition's log at planning; `end` is where this run may read to, at most the last stable offset or the watermark."""

    log_start_offset: int
    high_watermark: int
    last_stable_offset: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochEnd:
    """The leader's answer to OffsetForLeaderEpoch: where the largest term up to the asked one ends; -1 and -1 if unknown."""

    leader_epoch: int
    end_offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """A range without records that keeps a partition's ranges tiled: a truncation goes back, others have no length.

    Without a `problem` a sequence begins here.
    """

    topic: str
    topic_id: str | None
    partition: int
    from_offset: int
    to_offset: int
    problem: str | None
    leader_epoch: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
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
    epochs: tuple[tuple[int, int], ...] = ()

    @property
    def first_readable(self) -> int:
        """The first offset that is still there, or the end of the range."""
        return max(self.from_offset, min(self.log_start_offset, self.to_offset))

    @property
    def offsets(self) -> int:
        """How many offsets the range spans."""
        return self.to_offset - self.from_offset


def truncation(position: Position, told: EpochEnd | None) -> int | None:
    """Where the archived history and the leader's part, if before the position; None if they do not.

    The leader's log parts from ours where its largest common term ends, or where we began a term that it never had,
    whichever comes first (KIP-101, KIP-279).
    """
    if told is None or told.leader_epoch < 0 or told.end_offset < 0:
        return None
    ours = [first for epoch, first in position.epochs if epoch > told.leader_epoch]
    parts_at = min([told.end_offset, *ours])
    return parts_at if parts_at < position.next_offset else None


def next_range(
    topic: str,
    topic_id: str | None,
    partition: int,
    position: Position,
    log: LogNow,
    told: EpochEnd | None = None,
) -> tuple[list[Event], PlannedRange | None]:
    """What to read of a partition that goes on at `position`; the range is None where there is nothing new.

    An empty pair of a log that ends before the position is for the caller to report as END_BEFORE_POSITION.
    """
    events = []
    epoch, epochs, start = position.leader_epoch, position.epochs, position.next_offset
    parted = truncation(position, told)
    if parted is not None and told is not None:
        events.append(
            Event(
                topic=topic,
                topic_id=topic_id,
                partition=partition,
                from_offset=start,
                to_offset=parted,
                problem=LOG_TRUNCATED,
                leader_epoch=min(told.leader_epoch, epoch),
            )
        )
        start = parted
        epochs = tuple(one for one in epochs if one[1] < parted)
        epoch = epochs[-1][0] if epochs else min(told.leader_epoch, epoch)
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
        last_epoch=epoch if start >= log.log_start_offset else -1,
        epochs=epochs,
    )


def limited(ranges: Sequence[PlannedRange], most: int | None) -> list[PlannedRange]:
    """The ranges cut so that together they span `most` offsets, each in proportion to its backlog.

    No backlog is left out, so many small ones may exceed `most` by one offset each. Lost offsets cost nothing and do not
    count.
    """
    backlog = {index: one.to_offset - one.first_readable for index, one in enumerate(ranges)}
    total = sum(backlog.values())
    if most is None or total <= most:
        return list(ranges)
    cut = []
    for index, one in enumerate(ranges):
        share = max(1, most * backlog[index] // total) if backlog[index] else 0
        cut.append(replace(one, to_offset=min(one.to_offset, one.first_readable + share)))
    return cut


def with_epochs(
    epochs: Sequence[tuple[int, int]], more: Mapping[int, int], keep: int = 20
) -> tuple[tuple[int, int], ...]:
    """The terms of a position with those of a range read behind it; the last `keep` of them."""
    merged = dict(epochs)
    for epoch, first in more.items():
        merged.setdefault(epoch, first)
    return tuple(sorted(merged.items(), key=lambda one: one[1]))[-keep:]
