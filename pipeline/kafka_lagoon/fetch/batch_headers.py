"""Reads the headers of fetched batches: how far their offsets can be trusted, and in which leader epochs they were written.

Checksums do not cover a batch's base offset and leader epoch, so an offset is trusted only if it is after the offset before it
and not after the high watermark, which no answer exceeds.
"""

from collections.abc import Sequence

import numpy as np

from kafka_lagoon.fetch.leader_epochs import EpochRange
from kafka_lagoon.records.batches import Batches
from kafka_lagoon.records.decoding import Problem
from kafka_lagoon.records.layout import BASE_OFFSET, LAST_OFFSET, LEADER_EPOCH


def trusted_end(batches: Batches, high_watermark: int) -> int:
    """The offset after the last batch before the first impossible one; -1 if there is none."""
    bases, ends = batches.table[:, BASE_OFFSET], batches.table[:, LAST_OFFSET] + 1
    # The checksum refuses a last offset beyond the high watermark if the next batch shows where this batch ends.
    ends[:-1] = np.where(ends[:-1] > high_watermark, bases[1:], ends[:-1])
    follows = bases >= np.concatenate(([0], ends[:-1]))[: len(bases)]
    wrong = np.flatnonzero(~(follows & (ends > bases) & (ends <= high_watermark)))
    count = int(wrong[0]) if len(wrong) else batches.count
    return int(ends[count - 1]) if count else -1


def first_base(batches: Batches | None) -> int | None:
    """The base offset of the first batch, None if there is none."""
    return int(batches.table[0, BASE_OFFSET]) if batches and batches.count else None


def epoch_ranges(
    batches: Batches, from_offset: int, to_offset: int, broken: Sequence[Problem] = ()
) -> list[EpochRange]:
    """The leader epochs of the batches of a range, without broken ones; -1 for batches without an epoch."""
    bases, ends, epochs = (
        batches.table[:, BASE_OFFSET],
        batches.table[:, LAST_OFFSET] + 1,
        batches.table[:, LEADER_EPOCH],
    )
    is_inside = bases < to_offset
    for problem in broken:
        is_inside &= (bases > problem.last_offset) | (ends <= problem.base_offset)
    rows = np.flatnonzero(is_inside)
    changes = np.flatnonzero(np.diff(epochs[rows])) + 1
    ranges = []
    for first, after in zip([0, *changes], [*changes, len(rows)], strict=True):
        if first < after:
            base, end = int(bases[rows[first]]), int(ends[rows[after - 1]])
            following = int(bases[rows[after]]) if after < len(rows) else to_offset
            end = min(end, following, to_offset)
            ranges.append(EpochRange(int(epochs[rows[first]]), max(base, from_offset), end))
    return ranges
