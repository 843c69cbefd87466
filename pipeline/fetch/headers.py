"""Batch headers in; how far they can be believed, and the terms that they tell, out.

Guards one rule: checksums do not cover a batch's offset and term, so an offset is believed only where it follows the one
before and is not behind the high watermark, which no answer goes beyond.
"""

import numpy as np

from pipeline.records.batches import Batches
from pipeline.records.layout import BASE, EPOCH, LAST


def believable(batches: Batches, high_watermark: int) -> int:
    """The offset behind the last batch before the first one that cannot be; -1 if there is none."""
    bases, ends = batches.table[:, BASE], batches.table[:, LAST] + 1
    # A last offset beyond the high watermark is for the checksum to refuse, if the next batch tells where this one ends.
    ends[:-1] = np.where(ends[:-1] > high_watermark, bases[1:], ends[:-1])
    follows = bases >= np.concatenate(([0], ends[:-1]))[: len(bases)]
    wrong = np.flatnonzero(~(follows & (ends > bases) & (ends <= high_watermark)))
    count = int(wrong[0]) if len(wrong) else batches.count
    return int(ends[count - 1]) if count else -1


def first_base(batches: Batches) -> int | None:
    """Where the first batch begins, None if there is none."""
    return int(batches.table[0, BASE]) if batches.count else None


def terms(batches: Batches, from_offset: int, to_offset: int) -> list[tuple[int, int]]:
    """Each change of term among the batches of a range, with the first offset of the range in it; -1 where none is told."""
    bases, epochs = batches.table[:, BASE], batches.table[:, EPOCH]
    inside = np.flatnonzero(bases < to_offset)
    changes = [number for number in inside if number == 0 or epochs[number] != epochs[number - 1]]
    return [(int(epochs[number]), max(int(bases[number]), from_offset)) for number in changes]
