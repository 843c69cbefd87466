"""Which offsets were read in which leader epoch, and where that history and a leader's log part (KIP-101, KIP-279).

A leader epoch has one leader, and logs that hold the same record at an offset in the same epoch are equal up to it. So what
was read is part of a log if for each epoch, asked by OffsetForLeaderEpoch, the log's end offset is not below ours.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple


class EpochRange(NamedTuple):
    """Offsets that were read in one leader epoch: the first, and the one after the last batch that was seen."""

    leader_epoch: int
    first_offset: int
    end_offset: int


class EpochEnd(NamedTuple):
    """The leader's answer to OffsetForLeaderEpoch: the largest epoch up to the asked one and its end offset; -1 if unknown."""

    leader_epoch: int
    end_offset: int


class Divergence(NamedTuple):
    """The first offset at which a log is not what was read, and the leader epoch of the record before (-1 unknown)."""

    offset: int
    leader_epoch: int


def joined(epochs: Iterable[EpochRange]) -> tuple[EpochRange, ...]:
    """The ranges in their order; neighbours of one epoch become one."""
    found: list[EpochRange] = []
    for one in epochs:
        if found and found[-1].leader_epoch == one.leader_epoch:
            found[-1] = found[-1]._replace(end_offset=one.end_offset)
        else:
            found.append(one)
    return tuple(found)


def cut(epochs: Iterable[EpochRange], end_offset: int) -> tuple[EpochRange, ...]:
    """The ranges, or the parts of them, before an offset."""
    return tuple(
        one._replace(end_offset=min(one.end_offset, end_offset)) for one in epochs if one.first_offset < end_offset
    )


def contradicts(one: EpochRange, told: EpochEnd | None) -> bool:
    """Whether a leader's answer says that its log lacks some of these offsets; no answer says nothing.

    Brokers before Kafka 2.0 tell an end offset without its epoch: -1.
    """
    if told is None or told.end_offset < 0 or told.leader_epoch > one.leader_epoch:
        return False
    return 0 <= told.leader_epoch < one.leader_epoch or told.end_offset < one.end_offset


def confirms(one: EpochRange, told: EpochEnd | None) -> bool:
    """Whether a leader's answer says that its log has all of these offsets."""
    return told is not None and told.leader_epoch == one.leader_epoch and told.end_offset >= one.end_offset


def divergence(epochs: Sequence[EpochRange], told: Sequence[EpochEnd | None]) -> Divergence | None:
    """Where the first of the ranges that a leader's answers contradict leaves its log; None if there is no such range.

    Where an epoch is missing from the leader's log, that is at the end of the range before: compaction may have left
    nothing between the two, so nobody knows where the missing epoch began.
    """
    before: EpochRange | None = None
    for one, end in zip(epochs, told, strict=True):
        if end is None or not contradicts(one, end):
            before = one
            continue
        is_there = end.leader_epoch in (one.leader_epoch, -1)
        if is_there and end.end_offset > one.first_offset:
            return Divergence(end.end_offset, one.leader_epoch)
        if before is not None:
            return Divergence(before.end_offset, before.leader_epoch)
        if end.end_offset <= one.first_offset:
            return Divergence(end.end_offset, end.leader_epoch)
        return Divergence(one.first_offset, -1)
    return None
