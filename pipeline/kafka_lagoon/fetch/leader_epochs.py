"""Finds where the records that were read differ from a leader's log, by leader epochs alone (KIP-101, KIP-279).

An epoch has one leader, and logs that hold the same record at an offset in the same epoch are equal up to it. So the log has
all records that were read if for each epoch its end offset, from OffsetForLeaderEpoch, is not below ours.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple


class EpochRange(NamedTuple):
    """Offsets that were read in one leader epoch: the first one, and the one after the last batch."""

    leader_epoch: int
    first_offset: int
    end_offset: int


class EpochEnd(NamedTuple):
    """A leader's answer to OffsetForLeaderEpoch: the largest epoch up to the requested one, and its end; -1 if unknown."""

    leader_epoch: int
    end_offset: int


class Divergence(NamedTuple):
    """The first offset at which a log differs from the records read, and the leader epoch of the record before (-1 unknown)."""

    offset: int
    leader_epoch: int


def joined(epochs: Iterable[EpochRange]) -> tuple[EpochRange, ...]:
    """The ranges in their order; neighbours of the same epoch become one."""
    ranges: list[EpochRange] = []
    for epoch_range in epochs:
        if ranges and ranges[-1].leader_epoch == epoch_range.leader_epoch:
            ranges[-1] = ranges[-1]._replace(end_offset=epoch_range.end_offset)
        else:
            ranges.append(epoch_range)
    return tuple(ranges)


def cut(epochs: Iterable[EpochRange], end_offset: int) -> tuple[EpochRange, ...]:
    """The ranges, or the parts of them, before an offset."""
    return tuple(
        one._replace(end_offset=min(one.end_offset, end_offset)) for one in epochs if one.first_offset < end_offset
    )


def contradicts(epoch_range: EpochRange, end: EpochEnd | None) -> bool:
    """True if a leader's answer shows that its log lacks some of these offsets; without an answer False.

    Brokers before Kafka 2.0 answer with an end offset and no epoch: -1.
    """
    if end is None or end.end_offset < 0 or end.leader_epoch > epoch_range.leader_epoch:
        return False
    return 0 <= end.leader_epoch < epoch_range.leader_epoch or end.end_offset < epoch_range.end_offset


def confirms(epoch_range: EpochRange, end: EpochEnd | None) -> bool:
    """True if a leader's answer shows that its log has all of these offsets."""
    return end is not None and end.leader_epoch == epoch_range.leader_epoch and end.end_offset >= epoch_range.end_offset


def divergence(epochs: Sequence[EpochRange], ends: Sequence[EpochEnd | None]) -> Divergence | None:
    """The divergence in the first range that a leader's answers contradict; None if there is no such range.

    Where the leader's log lacks an epoch, that is the end of the range before: compaction may have removed everything
    between the two, so nobody knows where the missing epoch began.
    """
    before: EpochRange | None = None
    for epoch_range, end in zip(epochs, ends, strict=True):
        if end is None or not contradicts(epoch_range, end):
            before = epoch_range
            continue
        has_epoch = end.leader_epoch in (epoch_range.leader_epoch, -1)
        if has_epoch and end.end_offset > epoch_range.first_offset:
            return Divergence(end.end_offset, epoch_range.leader_epoch)
        if before is not None:
            return Divergence(before.end_offset, before.leader_epoch)
        if end.end_offset <= epoch_range.first_offset:
            return Divergence(end.end_offset, end.leader_epoch)
        return Divergence(epoch_range.first_offset, -1)
    return None
