"""What the headers of fetched batches tell: how far they can be believed, and in which leader epochs they were written.

Checksums do not cover a batch's offset and leader epoch, so an offset is believed only where it follows the one before and
is not after the high watermark, which no answer goes beyond.
"""

from collections.abc import Sequence

import numpy as np

from kafka_lagoon.fetch.epochs import EpochRange
from kafka_lagoon.records.batches import Batches
from kafka_lagoon.records.decoding import Problem
from kafka_lagoon.records.layout import BASE_OFFSET, LAST_OFFSET, LEADER_EPOCH


def believable(batches: Batches, high_watermark: int) -> int:
    """The offset behind the last batch before the first one that cannot be; -1 if there is none."""
    bases, ends = batches.table[:, BASE_OFFSET], batches.table[:, LAST_OFFSET] + 1
    # A last offset beyond the high watermark is for the checksum to refuse, if the next batch tells where this one ends.
    ends[:-1] = np.where(ends[:-1] > high_watermark, bases[1:], ends[:-1])
    follows = bases >= np.concatenate(([0], ends[:-1]))[: len(bases)]
    wrong = np.flatnonzero(~(follows & (ends > bases) & (ends <= high_watermark)))
    count = int(wrong[0]) if len(wrong) else batches.count
    return int(ends[count - 1]) if count else -1


def first_base(batches: Batches) -> int | None:
    """Where the first batch begins, None if there is none."""
    return int(batches.table[0, BASE_OFFSET]) if batches.count else None


def epoch_ranges(
    batches: Batches, from_offset: int, to_offset: int, broken: Sequence[Problem] = ()
) -> list[EpochRange]:
    """The leader epochs of the batches of a range, without broken ones; epoch -1 where none is told."""
    bases, ends, epochs = (
        batches.table[:, BASE_OFFSET],
        batches.table[:, LAST_OFFSET] + 1,
        batches.table[:, LEADER_EPOCH],
    )
    is_inside = bases < to_offset
    for one in broken:
        is_inside &= (bases > one.last_offset) | (ends <= one.base_offset)
    lines = np.flatnonzero(is_inside)
    changes = np.flatnonzero(np.diff(epochs[lines])) + 1
    found = []
    for first, after in zip([0, *changes], [*changes, len(lines)], strict=True):
        if first < after:
            base, end = int(bases[lines[first]]), int(ends[lines[after - 1]])
            following = int(bases[lines[after]]) if after < len(lines) else to_offset
            end = min(end, following, to_offset)
            found.append(EpochRange(int(epochs[lines[first]]), max(base, from_offset), end))
    return found
