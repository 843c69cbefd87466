"""The kernel on hostile bytes: the fast decoder returns the same as the reference decoder."""

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_lagoon.records.batches import find_batches
from kafka_lagoon.records.columns import decode
from kafka_lagoon.records.decoding import DecodeOptions
from tests.effort import examples
from tests.records.examples import Batch, Record, logs, marker, record, sealed, varint
from tests.records.test_columns import assert_equal, written

RECORD = Record(delta=0, key=b"key", value=b"value", headers=((b"a", b"b"), (b"c", None)))


@settings(deadline=None)
@given(st.binary(max_size=40), st.integers(-1, 4))
def test_any_bytes_for_records(plain, count):
    """Both decoders return the same rows, or the same refusal, for any bytes in place of records with a valid checksum."""
    assert_equal(Batch(last_delta=9, count=count).around(plain) + Batch(base_offset=10, records=(RECORD,)).write())


@settings(max_examples=examples(300), deadline=None)
@given(st.data())
def test_any_change_to_records(data):
    """The same holds for records with a few changed bytes."""
    several = tuple(Record(delta=delta, key=b"k", value=b"v" * delta, headers=RECORD.headers) for delta in range(3))
    plain = bytearray(b"".join(map(record, several)))
    for _ in range(data.draw(st.integers(1, 3))):
        plain[data.draw(st.integers(0, len(plain) - 1))] = data.draw(
            st.sampled_from([0, 1, 2, 3, 127, 128, 255]) | _BYTES
        )
    cut = data.draw(st.integers(0, len(plain)) | st.just(len(plain)))
    batch = Batch(records=several, codec=data.draw(st.sampled_from([0, 0, 4])))
    from_offset = data.draw(st.integers(0, 3))
    assert_equal(
        batch.around(bytes(plain[:cut])) + Batch(base_offset=3, records=(RECORD,)).write(), from_offset=from_offset
    )


_BYTES = st.integers(0, 255)


@pytest.mark.parametrize("count", [-(2**31), -1, 0, 1, 3, 2**31 - 1])
def test_counts_that_lie(count):
    """A batch must have exactly as many records as its header says; a large number allocates no memory."""
    assert_equal(Batch(records=(RECORD, Record(delta=1)), count=count).write())


@pytest.mark.parametrize("size", [-1, -(2**31), 2**31 - 1, 7, 40])
@pytest.mark.parametrize("where", range(4))
def test_lengths_that_lie(size, where):
    """A length inside a record cannot exceed the record."""
    parts = [varint(2) + b"kk", varint(2) + b"vv", varint(1), varint(1) + b"h" + varint(1) + b"x"]
    parts[where] = varint(size) + parts[where][1:]
    body = b"\0\0\0" + b"".join(parts)
    assert_equal(Batch(count=1).around(varint(len(body)) + body))


@pytest.mark.parametrize("deltas", [(0, 0), (1, 0), (-1, 0), (0, 3)])
def test_offsets_must_ascend_within_the_batch(deltas):
    """A batch is refused if offsets of its records repeat, descend or are outside of it."""
    assert_equal(Batch(records=tuple(Record(delta=delta) for delta in deltas), last_delta=2).write())


@pytest.mark.parametrize("key", [None, b"", b"\0\0\0", b"\xff\xff\0\1", b"\0\7\0\0", b"\0\0\x7f\0", b"\0\0\xff\xff??"])
def test_control_records(key):
    """Unknown versions and types are accepted, negative versions and short keys are refused."""
    end = Batch(records=(Record(delta=0, key=key),), flags=0x30, producer_id=1)
    assert_equal(end.write(), aborted=[(1, 0)])


@pytest.mark.parametrize("change", ["nothing", "bytes after it", "count", "no count", "twice", "offset"])
def test_control_batches_that_lie(change):
    """A control batch that contradicts itself is corrupt like any other, and ends no transaction; one without records is none."""
    end = Record(delta=0, key=b"\0\0\0\0")
    fields = {
        "flags": 0x30,
        "producer_id": 1,
        "last_delta": 1,
        "count": {"count": -1, "no count": 0, "twice": 2}.get(change, 1),
    }
    plain = record(replace(end, delta=2) if change == "offset" else end) * (2 if change == "twice" else 1)
    plain += {"bytes after it": b"\0\0"}.get(change, b"")
    data = Batch(base_offset=2, records=(RECORD,), flags=0x10, producer_id=1).write()
    assert_equal(Batch(**fields).around(b"" if change == "no count" else plain) + data, aborted=[(1, 0)])


@settings(deadline=None)
@given(logs(), st.data())
def test_flipped_bits(log, data):
    """A bit that flips after offset and length makes one batch corrupt, in both decoders alike."""
    raw, starts = bytearray(written(log)), _starts(log)
    if starts:
        start, end = data.draw(st.sampled_from(starts))
        raw[data.draw(st.integers(start + 12, end - 1))] ^= 1 << data.draw(st.integers(0, 7))
    assert_equal(bytes(raw))


def _starts(log) -> list[tuple[int, int]]:
    starts, position = [], 0
    for batch in log:
        size = len(batch.write())
        starts.append((position, position + size))
        position += size
    return starts


@pytest.mark.long
@pytest.mark.examples
def test_garbage_in_bulk():
    """Mutated buffers of every kind give rows or problems, and every offset is counted once."""
    mutate(examples(3_000), seed=5)


def mutate(times: int, seed: int) -> int:
    """Decode mutated logs, half of them with correct checksums, and return the number of problems."""
    random_ = random.Random(seed)
    log = _some_log()
    problems = 0
    for time in range(times):
        entries = [bytearray(entry) for entry in log]
        for _ in range(random_.choice([1, 1, 2, 8])):
            entry = random_.choice(entries)
            _damage(random_, entry)
            if time % 2 and len(entry) > 61:
                entry[:] = sealed(bytes(entry))
        problems += _check(b"".join(entries), random_)
    return problems


def _some_log() -> list[bytes]:
    records = tuple(
        Record(delta=delta, key=b"k" * delta or None, value=b"v" * 20, headers=RECORD.headers[: delta % 3])
        for delta in range(6)
    )
    log = [Batch(base_offset=10 * codec, records=records, codec=codec, producer_id=codec) for codec in range(5)]
    log += [Batch(base_offset=50, records=records, flags=0x10, producer_id=2), marker(60, 2, 0), marker(61, 3, 1)]
    return [batch.write() for batch in log]


def _damage(random_: random.Random, entry: bytearray) -> None:
    position = random_.randrange(len(entry))
    match random_.randrange(5):
        case 0:
            entry[position] ^= 1 << random_.randrange(8)
        case 1:
            entry[position] = random_.choice([0, 1, 127, 128, 255])
        case 2:
            del entry[position : position + random_.randrange(1, 9)]
        case 3:
            entry[position:position] = random_.randbytes(random_.randrange(1, 9))
        case 4:
            position = min(position, max(0, len(entry) - 8))
            entry[position : position + 4] = random_.choice([2**31 - 1, 2**31, 0, 2**32 - 1]).to_bytes(4, "big")


def _check(raw: bytes, random_: random.Random) -> int:
    limit = 1 << 16
    from_offset = random_.choice([0, 0, 3, 17])
    decoding = decode(
        find_batches(raw),
        from_offset=from_offset,
        to_offset=random_.choice([2**62, 44]),
        aborted=random_.choice([(), ((2, 50),)]),
        read_committed=random_.choice([True, False]),
        stable_end=60,
        options=DecodeOptions(expanded_bytes=limit, batch_limit_bytes=limit),
    )
    rows = 0
    for arrow_batch in decoding:
        arrow_batch.validate(full=True)
        rows += arrow_batch.num_rows
        assert arrow_batch.nbytes < 30 * limit
    assert decoding.counts.records == rows
    assert decoding.counts.offsets() == decoding.next_offset - from_offset
    return len(decoding.problems)
