"""Memory for decompressed records: it is filled and cleared, stays within its limit, and is reused."""

import ctypes
from itertools import pairwise

import pytest

from kafka_lagoon.errors import ExpandedTooLarge
from kafka_lagoon.records import arena
from kafka_lagoon.records.compressing import GZIP, compress

LIMIT = 64 << 20


def packed(size: int) -> tuple[bytes, memoryview]:
    plain = bytes(range(256)) * (size // 256)
    return plain, memoryview(compress(GZIP, plain))


def test_records_lie_where_it_says() -> None:
    """Batches are expanded one after another until there is no space; after `clear` the next batch is expanded at the start."""
    memory, (plain, source) = arena.Arena(), packed(200 << 10)
    places = []
    while place := memory.expand(GZIP, source, LIMIT):
        places.append(place)
    assert len(places) > 2
    assert all(ctypes.string_at(start, end - start) == plain for start, end in places)
    assert all(before[1] == after[0] for before, after in pairwise(places))
    memory.clear()
    assert memory.expand(GZIP, source, LIMIT) == places[0]


def test_it_grows_for_a_larger_batch_but_not_beyond_the_limit() -> None:
    """An empty arena grows for a batch up to the limit; a larger batch is refused."""
    memory, (plain, source) = arena.Arena(), packed(5 << 20)
    place = memory.expand(GZIP, source, LIMIT)
    assert place
    assert ctypes.string_at(place[0], place[1] - place[0]) == plain
    with pytest.raises(ExpandedTooLarge):
        arena.Arena().expand(GZIP, source, len(plain) - 1)


def test_usual_arenas_are_used_again() -> None:
    """A returned arena is used next; an arena that has grown much is freed."""
    usual = arena.take()
    arena.give_back(usual)
    assert arena.take() is usual
    large = arena.Arena()
    large.expand(GZIP, packed(20 << 20)[1], LIMIT)
    before = len(arena._spare)
    arena.give_back(large)
    assert len(arena._spare) == before
    arena.give_back(usual)
