"""Aligns two sequences of hashes: finds the blocks that both have in the same order, and so the gaps between them.

Hashes that both sides have once are anchors, the longest chain of them that ascends on both sides is
kept, and what lies between two anchors is aligned by itself. Records that differ in place cost time, equal ones hardly any.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kafka_lagoon.records.digests import Hashes

_MOST_PAIRS = 1 << 18  # records in a gap that are compared one by one
_AT_ONCE = 1 << 13  # records that are compared before the next are read
_Positions = NDArray[np.int64]


class Block(NamedTuple):
    """Records that are equal on both sides: `size` records from these positions on."""

    left: int
    right: int
    size: int


def equal_prefix(left: Hashes, right: Hashes) -> int:
    """The number of equal records at the beginning of both."""
    shared, start = min(len(left), len(right)), 0
    while start < shared:
        end = min(shared, start + _AT_ONCE)
        is_equal = left[start:end] == right[start:end]
        if not is_equal.all():
            return start + int(np.argmin(is_equal)) // 2
        start = end
    return shared


def align(left: Hashes, right: Hashes) -> list[Block]:
    """Blocks in ascending order on both sides, without any that could be joined."""
    blocks: list[Block] = []
    left_start = right_start = 0
    for left_anchor, right_anchor in [*_anchors(left, right), (len(left), len(right))]:
        if left_anchor < left_start or right_anchor < right_start:
            continue  # within a block already
        for block in _align_gap(left[left_start:left_anchor], right[right_start:right_anchor]):
            _add(blocks, Block(left_start + block.left, right_start + block.right, block.size))
        size = equal_prefix(left[left_anchor:], right[right_anchor:])
        _add(blocks, Block(left_anchor, right_anchor, size))
        left_start, right_start = left_anchor + size, right_anchor + size
    return blocks


def _add(blocks: list[Block], block: Block) -> None:
    if not block.size:
        return
    if blocks and blocks[-1].left + blocks[-1].size == block.left and blocks[-1].right + blocks[-1].size == block.right:
        before = blocks.pop()
        block = Block(before.left, before.right, before.size + block.size)
    blocks.append(block)


def _anchors(left: Hashes, right: Hashes) -> Iterator[tuple[int, int]]:
    """Positions of hashes that occur once on each side: the longest chain that ascends on both."""
    left_words, left_positions = _once(left)
    right_words, right_positions = _once(right)
    _, of_left, of_right = np.intersect1d(left_words, right_words, assume_unique=True, return_indices=True)
    positions = np.stack([left_positions[of_left], right_positions[of_right]], axis=1)
    positions = positions[(left[positions[:, 0]] == right[positions[:, 1]]).all(axis=1)]
    positions = positions[np.argsort(positions[:, 0])]
    for index in _longest_ascending(positions[:, 1]):
        yield int(positions[index, 0]), int(positions[index, 1])


def _once(hashes: Hashes) -> tuple[NDArray[np.uint64], _Positions]:
    words, positions, counts = np.unique(hashes[:, 0], return_index=True, return_counts=True)
    return words[counts == 1], positions[counts == 1]


def _longest_ascending(values: _Positions) -> Sequence[int]:
    """Indexes of a longest subsequence that ascends."""
    if len(values) < 2 or (np.diff(values) > 0).all():  # noqa: PLR2004  one value ascends
        return range(len(values))
    ends: list[int] = []  # the smallest value that ends a chain of each length
    at_end: list[int] = []  # and its index
    before = [-1] * len(values)
    for index, value in enumerate(values.tolist()):
        length = bisect_left(ends, value)
        before[index] = at_end[length - 1] if length else -1
        if length == len(ends):
            ends.append(value)
            at_end.append(index)
        else:
            ends[length], at_end[length] = value, index
    chain, index = [], at_end[-1]
    while index >= 0:
        chain.append(index)
        index = before[index]
    return chain[::-1]


def _align_gap(left: Hashes, right: Hashes) -> Iterator[Block]:
    """Equal records between two anchors: at both ends of the gap, and in a small gap all that are in order."""
    first = equal_prefix(left, right)
    last = equal_prefix(left[first:][::-1], right[first:][::-1])
    yield Block(0, 0, first)
    inner_left, inner_right = left[first : len(left) - last], right[first : len(right) - last]
    if 0 < len(inner_left) * len(inner_right) <= _MOST_PAIRS:
        pairs_left, pairs_right = (list(map(tuple, side.tolist())) for side in (inner_left, inner_right))
        for block in SequenceMatcher(None, pairs_left, pairs_right, autojunk=False).get_matching_blocks():
            yield Block(first + block.a, first + block.b, block.size)
    yield Block(len(left) - last, len(right) - last, last)
