"""Finds where the last batch of an answer ends if neither its count of records nor another batch confirms what it says.

Compaction removes records and keeps a batch's last offset, so fewer records than offsets are legal. A last offset that lies
looks the same, and reading on after it would pass over the batches in between. A leader answers with the first batch whose
last offset is not below the wanted one, in the segment that the wanted offset belongs to; so it shows what follows.
"""

from collections.abc import Callable

from kafka_lagoon.records.batches import Batches
from kafka_lagoon.records.layout import BASE_OFFSET, COUNT, CURRENT_MAGIC, DECODE, DISPOSITION, LAST_OFFSET, MAGIC

Look = Callable[[int], Batches | None]  # what the leader answers at an offset, None if it does not


def is_doubtful(batches: Batches, to_offset: int, high_watermark: int, last_stable_offset: int) -> bool:
    """Whether the last batch may end elsewhere than it says; not if the log ends there, or `to_offset` is among its records."""
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
    """Where the batch after the last one begins; the high watermark if there is none, None if nothing contradicts it."""
    base, last, count = (int(batches.table[-1, column]) for column in (BASE_OFFSET, LAST_OFFSET, COUNT))
    if count > last - base + 1:
        return _first_base(look(last + 1))
    reach = min(last, high_watermark - 1)
    found = look(reach)
    first = _first_base(found)
    if found is None or first is None:
        return None
    if first != base:
        return _search(base + count - 1, reach, first, base, look)
    following = int(found.table[1, BASE_OFFSET]) if found.count > 1 else found.next_base
    return high_watermark if following is None and last >= high_watermark else following


def _search(low: int, high: int, found: int, base: int, look: Look) -> int:
    """The first batch after the one at `base`: `low` is an offset of that one, `found` begins a batch at or before `high`."""
    high = min(high, found)
    while high - low > 1:
        middle = (low + high) // 2
        first = _first_base(look(middle))
        if first is None:
            break
        if first <= base:
            low = middle
        else:
            high, found = min(middle, first), first
    return found


def _first_base(batches: Batches | None) -> int | None:
    return int(batches.table[0, BASE_OFFSET]) if batches and batches.count else None
