"""Arrow columns are encoded by the kernel to the same bytes as by a slow encoder, for all forms of columns."""

import gc
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_lagoon.errors import RecordTooLarge, RowRefused
from kafka_lagoon.records import encode_columns
from kafka_lagoon.records.compressing import CODECS, NONE, compress
from kafka_lagoon.records.encode_columns import ColumnEncoder, EncodedBatch, RecordColumns
from kafka_lagoon.records.encoding import NOT_IDEMPOTENT, TRANSACTIONAL, Producer, Record, encode_batch, producer_of
from tests.reference.batches import header, records
from tests.reference.encode import Encoded, Plain, TooLarge, encode

_SIZES = (0, 1, 62, 63, 64, 65, 127, 128, 8191, 8192)
_FIELDS = st.none() | st.binary(max_size=12) | st.sampled_from([b"v" * size for size in _SIZES])
_HEADERS = st.lists(st.tuples(st.sampled_from([b"", b"a", b"k" * 70]), _FIELDS), max_size=3).map(tuple)
_TIMES = st.sampled_from([-(2**63), -5, -1, 0, 1_600_000_000_000, 1_600_000_000_063, 2**63 - 1]) | st.integers(
    -(2**63), 2**63 - 1
)
_RECORDS = st.lists(st.builds(Plain, _TIMES, _FIELDS, _FIELDS, _HEADERS), min_size=1, max_size=25)
_PRODUCERS = st.sampled_from([NOT_IDEMPOTENT, Producer(4_000, 3, 0), Producer(2**62, 2**15 - 1, 2**31 - 3)])
_BINARY, _STRING = pa.binary(), pa.string()
_KINDS = st.sampled_from([pa.binary(), pa.large_binary()])
_TEXTS = st.sampled_from([pa.string(), pa.large_string(), pa.binary(), pa.large_binary()])


def _headers(given: Sequence[Plain], names: pa.DataType, contents: pa.DataType, *, is_wide: bool = False) -> pa.Array:
    kind = pa.struct([("key", names), ("value", contents)])
    lists = [[{"key": name, "value": content} for name, content in one.headers] for one in given]
    return pa.array(lists, pa.large_list(kind) if is_wide else pa.list_(kind))


def _columns(
    given: Sequence[Plain], kind: pa.DataType = _BINARY, text: pa.DataType = _STRING, *, skipped: int = 0
) -> RecordColumns:
    """Return the records as Arrow arrays of these types, which begin after `skipped` other records in the same buffers."""
    padded = [*[Plain(7, b"other", None, ((b"h", b"x"),))] * skipped, *given]
    return RecordColumns(
        key=pa.array([one.key for one in padded], kind)[skipped:],
        value=pa.array([one.value for one in padded], kind)[skipped:],
        headers=_headers(padded, text, kind, is_wide=kind == pa.large_binary())[skipped:],
        timestamp_ms=pa.array([one.timestamp_ms for one in padded], pa.int64())[skipped:],
    )


def _plainly(batches: Sequence[EncodedBatch]) -> list[Encoded]:
    return [Encoded(one.first, one.count, bytes(one.data)) for one in batches]


@given(
    given=_RECORDS,
    codec=st.sampled_from(sorted(CODECS.values())),
    producer=_PRODUCERS,
    attributes=st.sampled_from([0, TRANSACTIONAL]),
    target=st.sampled_from([0, 70, 100, 300, 9_000, 1 << 20]),
    largest=st.sampled_from([75, 130, 8_300, 1 << 20]),
    kind=_KINDS,
    text=_TEXTS,
    skipped=st.integers(0, 9),
)
def test_the_bytes_of_the_slow_encoder(
    given: list[Plain],
    codec: int,
    producer: Producer,
    attributes: int,
    target: int,
    largest: int,
    kind: pa.DataType,
    text: pa.DataType,
    skipped: int,
) -> None:
    """Batches, sequence numbers and refusals are the same for every type of column, with nulls, and for slices."""
    encoder = ColumnEncoder(codec=codec, max_batch_bytes=largest, target_batch_bytes=target, attributes=attributes)
    batches, refused = list[EncodedBatch](), None
    try:
        batches.extend(encoder.encode(_columns(given, kind, text, skipped=skipped), producer=producer))
    except RecordTooLarge as error:
        refused = TooLarge(error.index, error.size, error.limit)
    expected, too_large = encode(
        given,
        codec=codec,
        compress=lambda plain: compress(codec, plain),
        attributes=attributes,
        producer=producer,
        target=target,
        largest=largest,
    )
    assert refused == too_large
    assert _plainly(batches) == expected
    assert [one.producer for one in batches] == [producer_of(bytes(one.data)) for one in batches]


@given(given=_RECORDS, order=st.permutations(range(25)), count=st.integers(0, 25))
def test_rows_in_any_order(given: list[Plain], order: list[int], count: int) -> None:
    """Only the chosen rows are encoded, in the given order, even twice; `first` is a position among the chosen rows."""
    rows = [row % len(given) for row in order[:count]]
    batches = list(ColumnEncoder(target_batch_bytes=500).encode(_columns(given), np.array(rows, np.int64)))
    read = [one for batch in batches for one in records(header(bytes(batch.data)))]
    assert [(one.timestamp_ms, one.key, one.value, one.headers) for one in read] == [given[row] for row in rows]
    assert [one.first for one in batches] == [sum(one.count for one in batches[:n]) for n in range(len(batches))]


@given(given=_RECORDS, codec=st.sampled_from(sorted(CODECS.values())))
def test_the_encoder_of_tuples_gives_the_same(given: list[Plain], codec: int) -> None:
    """The batches equal those of `lagoon kafka produce` for the same records; Java builds the same bytes (tests/oracle)."""
    (batch,) = ColumnEncoder(codec=codec).encode(_columns(given), producer=Producer(1, 2, 3))
    records_ = [Record(*one) for one in given]
    assert bytes(batch.data) == encode_batch(records_, codec=codec, producer=Producer(1, 2, 3))


def test_columns_that_are_missing_or_all_null() -> None:
    """Missing columns are null fields; a missing time is the caller's default; there may be no rows at all."""
    for columns in (
        RecordColumns(value=pa.array([b"v", b"w"]), default_timestamp_ms=5),
        RecordColumns(
            key=pa.array([None, None], pa.binary()),
            value=pa.array(["v", "w"]),
            headers=pa.nulls(2, pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))),
            timestamp_ms=pa.nulls(2, pa.int64()),
            default_timestamp_ms=5,
        ),
    ):
        (batch,) = ColumnEncoder().encode(columns)
        read = records(header(bytes(batch.data)))
        assert [(one.timestamp_ms, one.key, one.value, one.headers) for one in read] == [
            (5, None, b"v", ()),
            (5, None, b"w", ()),
        ]
    assert not list(ColumnEncoder().encode(RecordColumns(value=pa.array([], pa.binary()))))
    assert not list(ColumnEncoder().encode(RecordColumns()))
    assert not list(ColumnEncoder().encode(columns, np.array([], np.int64)))


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([b"ab", None, b""], pa.binary_view()),
        (["ab", None, ""], pa.string_view()),
        ([b"ab", None, b"cd"], pa.binary(2)),
        (["ab", None, "ab"], pa.dictionary(pa.int8(), pa.string())),
    ],
)
def test_other_kinds_of_columns(values: list[Any], kind: pa.DataType) -> None:
    """Views, dictionaries of text and fixed-size binaries are encoded as their bytes."""
    (batch,) = ColumnEncoder().encode(RecordColumns(value=pa.array(values, kind)))
    texts = [one.encode() if isinstance(one, str) else one for one in values]
    assert [one.value for one in records(header(bytes(batch.data)))] == texts


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_timestamps_of_arrow(unit: str) -> None:
    """Timestamps are read as milliseconds, rounded down also before 1970."""
    finer = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}[unit]
    given = [0, None, 12 * finer, *([-1, 1_500_001] if unit == "us" else [])]
    columns = RecordColumns(timestamp_ms=pa.array(given, pa.timestamp(unit, tz="UTC")), default_timestamp_ms=9)
    (batch,) = ColumnEncoder().encode(columns)
    times = [one.timestamp_ms for one in records(header(bytes(batch.data)))]
    assert times == [0, 9, 12_000, *([-1, 1_500] if unit == "us" else [])]


def test_timestamps_of_an_hour_that_clocks_show_twice() -> None:
    """Spark gives times the zone of its session. An hour at the end of summer time has two times for each of its minutes."""
    given = [1_792_886_400_000_999 + 60_000_000 * minute for minute in range(240)]
    column = pa.array(given, pa.int64()).cast(pa.timestamp("us", "Europe/Berlin"))
    (batch,) = ColumnEncoder().encode(RecordColumns(timestamp_ms=column.slice(1)))
    times = [one.timestamp_ms for one in records(header(bytes(batch.data)))]
    assert times == [time // 1_000 for time in given[1:]]


def test_headers_that_nobody_sees() -> None:
    """Headers of a null list are not written; a header without a key is refused, with its row."""
    kind = pa.struct([("key", pa.string()), ("value", pa.binary())])
    pairs = pa.array([{"key": None, "value": b"hidden"}, {"key": "a", "value": None}], kind)
    lists = pa.ListArray.from_arrays(pa.array([0, 1, 2], pa.int32()), pairs, mask=pa.array([True, False]))
    (batch,) = ColumnEncoder().encode(RecordColumns(headers=lists))
    assert [one.headers for one in records(header(bytes(batch.data)))] == [(), ((b"a", None),)]
    for broken in ([[], [None]], [[{"key": "a", "value": b""}], [{"key": None, "value": b""}]]):
        with pytest.raises(RowRefused, match="row 1: it has a header without a name"):
            RecordColumns(headers=pa.array(broken, pa.list_(kind)))


def test_a_batch_that_does_not_shrink_is_cut() -> None:
    """A compressed batch above the limit is divided, and later batches are made smaller at once."""
    given = [Plain(0, None, np.random.default_rng(number).bytes(1_000)) for number in range(100)]
    encoder = ColumnEncoder(codec=CODECS["lz4"], max_batch_bytes=10_000, target_batch_bytes=60_000)
    batches = list(encoder.encode(_columns(given)))
    assert [one.count for one in batches] == [7] * 14 + [2]
    assert max(len(one.data) for one in batches) <= 10_000


def test_a_record_larger_than_a_block_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A large record gets its own batch; batches before a refused record have been yielded."""
    monkeypatch.setattr(encode_columns, "_BLOCK_BYTES", 1 << 20)  # the reference takes 0.2 s for a megabyte
    large = b"x" * (5 << 18)
    columns = _columns([Plain(0, b"a", b"b"), Plain(0, b"c", large), Plain(0, None, None)])
    batches = list(ColumnEncoder(max_batch_bytes=7 << 20).encode(columns))
    assert [one.count for one in batches] == [1, 1, 1]
    assert records(header(bytes(batches[1].data)))[0].value == large
    assert [one.count for one in ColumnEncoder(codec=CODECS["zstd"]).encode(columns)] == [1, 1, 1]
    some = ColumnEncoder().encode(columns)
    assert next(some).count == 1
    with pytest.raises(
        RecordTooLarge, match=r"record 1: a batch of it alone has \d+ bytes, more than max.message.bytes, 1048588"
    ):
        next(some)


def test_memory_is_used_again_only_when_nobody_refers_to_it() -> None:
    """A kept batch does not change while others are encoded; the memory of a freed batch is kept for reuse."""
    gc.collect()  # memory of other tests
    encode_columns._spare.clear()
    given = [Plain(0, None, bytes([number]) * 40_000) for number in range(256)]
    kept = list(ColumnEncoder(target_batch_bytes=100_000).encode(_columns(given)))
    copies = [bytes(one.data) for one in kept]
    list(ColumnEncoder(target_batch_bytes=100_000).encode(_columns(given[::-1])))
    assert [bytes(one.data) for one in kept] == copies
    kept.clear()
    gc.collect()
    assert len(encode_columns._spare) == 6


def test_columns_beyond_two_gigabytes() -> None:
    """Offsets of 64 bits are supported: values beyond 2 GiB of a column are encoded unchanged."""
    size = (1 << 31) + 5
    memory = np.zeros(size, np.uint8)  # needs address space, but memory only for the pages that are written
    memory[-5:] = list(b"after")
    ends = pa.py_buffer(np.array([0, size - 5, size], np.int64))
    column = pa.Array.from_buffers(pa.large_binary(), 2, [None, ends, pa.py_buffer(memory)])
    (batch,) = ColumnEncoder().encode(RecordColumns(value=column), np.array([1]))
    assert records(header(bytes(batch.data)))[0].value == b"after"
    for codec in (NONE, CODECS["lz4"]):
        with pytest.raises(RecordTooLarge):
            list(ColumnEncoder(codec=codec).encode(RecordColumns(value=column)))


def test_memory_that_another_thread_takes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two writers of a process may see the same spare memory; the second one gets new memory."""

    class Contested(list[Any]):
        def __bool__(self) -> bool:
            self.clear()  # by the other thread
            return True

    monkeypatch.setattr(encode_columns, "_spare", Contested())
    (batch,) = ColumnEncoder().encode(RecordColumns(value=pa.array([b"a"])))
    assert batch.count == 1
