"""Limits of decoding one response: a few megabytes cannot take gigabytes of memory or minutes of time."""

import time
import tracemalloc
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from kafka_lagoon.errors import DecodeError
from kafka_lagoon.protocol.apis import APIS
from kafka_lagoon.protocol.messages.describe_log_dirs import DESCRIBE_LOG_DIRS
from kafka_lagoon.protocol.messages.metadata import METADATA
from kafka_lagoon.wire import budget
from kafka_lagoon.wire.reading import decode
from kafka_lagoon.wire.schema import Api, Array, Nested, fields_of
from kafka_lagoon.wire.writing import encode

ROOM = 1 << 18


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit that tests can reach."""
    monkeypatch.setattr(budget, "DECODED_MAX_BYTES", ROOM)


def _bomb(api: Api, path: Sequence[str], count: int, version: int) -> bytes:  # type: ignore[type-arg]
    """Make a response whose list at this path has this many of its smallest structs.

    Two short lists show where the number and a struct are: a list of 100,000 takes a second to encode. In a tagged field the size
    of the field would change, too.
    """
    shorter, longer = (_answer(api, path, few, version) for few in (1, 2))
    number = next(place for place, (one, two) in enumerate(zip(shorter, longer, strict=False)) if one != two)
    begin, size = number + 1, len(longer) - len(shorter)
    before, item, after = shorter[:number], shorter[begin : begin + size], shorter[begin + size :]

    def with_structs(several: int) -> bytes:
        if api.is_flexible(version):
            return before + _uvarint(several + 1) + item * several + after
        return before[:-3] + several.to_bytes(4, "big") + item * several + after

    return (
        with_structs(count) if with_structs(3) == _answer(api, path, 3, version) else _answer(api, path, count, version)
    )


def _answer(api: Api, path: Sequence[str], count: int, version: int) -> bytes:  # type: ignore[type-arg]
    message = api.response()
    holder = message
    for name in path[:-1]:
        item = _item(type(holder), name)()
        setattr(holder, name, (item,))
        holder = item
    setattr(holder, path[-1], (_item(type(holder), path[-1])(),) * count)
    return bytes(encode(message, version, api.is_flexible(version)))


def _uvarint(number: int) -> bytes:
    groups = [number >> shift & 0x7F for shift in range(0, number.bit_length(), 7)]
    return bytes([*(group | 0x80 for group in groups[:-1]), groups[-1]])


def _item(cls: type, name: str) -> type:
    (field,) = (one for one in fields_of(cls) if one.name == name)
    assert isinstance(field.kind, Array)
    assert isinstance(field.kind.item, Nested)
    return field.kind.item.cls


def _lists(cls: type, version: int, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Yield the lists of structs in a message, including nested ones."""
    several = []
    for field in fields_of(cls):
        if field.spec.present(version) and isinstance(field.kind, Array) and isinstance(field.kind.item, Nested):
            several += [(*path, field.name), *_lists(field.kind.item.cls, version, (*path, field.name))]
    return several


_EVERY_LIST = [(api, path) for api in APIS.values() for path in _lists(api.response, api.versions.highest)]


_BY_COLUMN = ("OffsetFetch", "ListOffsets", "OffsetForLeaderEpoch", "DescribeLogDirs")  # takes so little that they pass


@pytest.mark.usefixtures("small")
def test_every_list_is_bounded() -> None:
    """For every API the memory stays near the limit, and a larger response is refused."""
    passed, high, reasons = [], {}, set()
    for api, path in _EVERY_LIST:
        name, version = f"{api.name} {'.'.join(path)}", api.versions.highest
        encoded = _bomb(api, path, 3_000, version)
        tracemalloc.start()
        try:
            decode(api.response, version, api.is_flexible(version), encoded)
            passed.append(name)
        except DecodeError as error:
            reasons.add(error.reason.partition(": ")[2])
        if (peak := tracemalloc.get_traced_memory()[1]) > 3 * ROOM + 4 * len(encoded):
            high[name] = peak
        tracemalloc.stop()
    assert high == {}
    assert reasons == {f"more than {ROOM:,} bytes of memory"}
    assert {name for name in passed if not name.startswith(_BY_COLUMN)} == set()


@pytest.mark.long
def test_a_megabyte_of_empty_directories() -> None:
    """It once took 7.8 s as DescribeLogDirs v1. Now a struct costs about as much as a partition of Metadata."""
    encoded = _bomb(DESCRIBE_LOG_DIRS, ("results",), 131_072, 1)
    assert len(encoded) > 1 << 20
    plain = _bomb(METADATA, ("topics", "partitions"), 131_072, 12)

    def seconds(api: Api, version: int, answer: bytes) -> float:  # type: ignore[type-arg]
        started = time.process_time()
        decode(api.response, version, api.is_flexible(version), answer)
        return time.process_time() - started

    assert seconds(DESCRIBE_LOG_DIRS, 1, encoded) < 10 * seconds(METADATA, 12, plain)


@pytest.mark.long
def test_a_large_answer_is_read() -> None:
    """100,000 partitions are far below the limit, and each message in each thread has all of it."""
    encoded = _bomb(METADATA, ("topics", "partitions"), 100_000, 12)

    def left_after() -> int:
        for _ in range(2):
            message = decode(METADATA.response, 12, True, encoded)
            assert len(message.topics[0].partitions) == 100_000
        return budget.BUDGET.left

    for _ in range(2):
        with ThreadPoolExecutor(1) as thread:  # a new thread, for which no connection has set a deadline
            assert thread.submit(left_after).result() > budget.DECODED_MAX_BYTES * 0.9


@pytest.mark.long
def test_what_a_deadline_leaves() -> None:
    """A response that would take longer than the time left is refused; small responses are always decoded."""
    few, many = (_bomb(METADATA, ("topics", "partitions"), count, 12) for count in (1_000, 300_000))
    with ThreadPoolExecutor(1) as thread:  # each thread has its own budget
        thread.submit(budget.BUDGET.obey, lambda: 0.0).result()
        assert thread.submit(decode, METADATA.response, 12, True, few).result()
        with pytest.raises(DecodeError, match="bytes of memory"):
            thread.submit(decode, METADATA.response, 12, True, many).result()
        thread.submit(budget.BUDGET.obey, lambda: 30.0).result()
        assert thread.submit(decode, METADATA.response, 12, True, many).result()
