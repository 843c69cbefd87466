"""Finds where the last batch of an answer ends if neither its count of records nor another batch confirms its last offset.

Compaction removes records and keeps a batch's last offset, so fewer records than offsets are legal. A wrong last offset looks
the same, and reading on after it would skip the batches in between. A leader answers with the first batch whose last offset is
not below the requested offset, in the segment of that offset, which shows the batches that follow.
"""

from collections.abc import Callable

from kafka_lagoon.fetch.batch_headers import first_base
from kafka_lagoon.records.batches import Batches
from kafka_lagoon.records.layout import BASE_OFFSET, COUNT, CURRENT_MAGIC, DECODE, DISPOSITION, LAST_OFFSET, MAGIC

Look = Callable[[int], Batches | None]  # the leader's answer at an offset, None if there is none


def is_doubtful(batches: Batches, to_offset: int, high_watermark: int, last_stable_offset: int) -> bool:
    """True if the last batch may end elsewhere than it says; not if the log ends there, or `to_offset` is among its records."""
    if not batches.count or batches.next_base is not None:
        return False
    base, last, count, magic, disposition = batches.table[
        -1, [BASE_OFFSET, LAST_OFFSET, COUNT, MAGIC, DISPOSITION]
    ].tolist()
    if magic != CURRENT_MAGIC or disposition != DECODE or count == last - base + 1:
        return False
    if last + 1 in (high_watermark, last_stable_offset):
        return False
    return bool(last >= high_watermark or base + count < to_offset)


def next_base(batches: Batches, high_watermark: int, look: Look) -> int | None:
    """The base offset of the batch after the last one.

    The high watermark if there is none, None if the last offset seems right.
    """
    base, last, count = (int(batches.table[-1, column]) for column in (BASE_OFFSET, LAST_OFFSET, COUNT))
    if count > last - base + 1:
        return first_base(look(last + 1))
    reach = min(last, high_watermark - 1)
    seen = look(reach)
    first = first_base(seen)
    if seen is None or first is None:
        return None
    if first != base:
        return _search(base + count - 1, reach, first, base, look)
    following = int(seen.table[1, BASE_OFFSET]) if seen.count > 1 else seen.next_base
    return high_watermark if following is None and last >= high_watermark else following


def _search(low: int, high: int, later: int, base: int, look: Look) -> int:
    """The base offset of the first batch after the one at `base`.

    `low` is an offset of that one; `later` is where another batch begins, at or before `high`.
    """
    high = min(high, later)
    while high - low > 1:
        middle = (low + high) // 2
        first = first_base(look(middle))
        if first is None:
            break
        if first <= base:
            low = middle
        else:
            high, later = min(middle, first), first
    return later
