"""Hashes of records follow their definition for all forms of columns; digests depend on order and number."""

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_lagoon.records.buffers import HEADERS
from kafka_lagoon.records.digests import ALL_FIELDS, HASHED, SequenceDigest, record_hashes
from tests.effort import examples
from tests.reference import digests as reference

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_BYTES = st.one_of(st.none(), st.binary(max_size=40))
_HEADER = st.tuples(st.text(max_size=20), _BYTES)
_RECORD = st.tuples(st.integers(-(1 << 63), (1 << 63) - 1), _BYTES, _BYTES, st.lists(_HEADER, max_size=4))
_RECORDS = st.lists(_RECORD, max_size=12)
Record = tuple[int, bytes | None, bytes | None, list[tuple[str, bytes | None]]]
STORED = [
    "59c648d3f6bd09c7b7c22441f9dd2e9b",
    "058a7665a57fe45bb8c181c2b34b47fe",
    "0e10f94a1b8c51141d92dff9a6c1e0985f50bf399c3cee227083a604ad287699",
]
SCHEMA = pa.schema(
    [("timestamp_ms", pa.int64()), ("key", pa.binary()), ("value", pa.binary()), ("headers", HEADERS)],
)
_LARGE = pa.schema(
    [
        ("timestamp_ms", pa.int64()),
        ("key", pa.large_binary()),
        ("value", pa.large_binary()),
        ("headers", pa.large_list(pa.struct([("key", pa.large_binary()), ("value", pa.large_binary())]))),
    ]
)


def arrow(records: list[Record], schema: pa.Schema = SCHEMA) -> pa.RecordBatch:
    """Return the records as columns."""
    times, keys, values, headers = zip(*records, strict=True) if records else ((), (), (), ())
    pairs = [[{"key": key.encode(), "value": value} for key, value in one] for one in headers]
    columns = [times, keys, values, pairs]
    return pa.RecordBatch.from_arrays(
        [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)], schema=schema
    )


def expected(records: list[Record], what: int = 0b1111) -> list[tuple[int, int]]:
    """Return the hashes by the slow twin."""
    return [
        reference.murmur3(
            reference.canonical(time, key, value, [(name.encode(), content) for name, content in headers], what=what)
        )
        for time, key, value, headers in records
    ]


def hashes(batch: pa.RecordBatch | pa.Table, fields: frozenset[str] = ALL_FIELDS) -> list[tuple[int, int]]:
    """Return the hashes by the kernel."""
    return [(low, high) for low, high in record_hashes(batch, fields).tolist()]


@given(_RECORDS, st.sets(st.sampled_from(sorted(HASHED))))
def test_hashes_are_those_of_the_definition(records: list[Record], fields: set[str]) -> None:
    """Hashes over all fields and over some are equal, with offsets of 32 and 64 bits, and with text and bytes."""
    what = sum(HASHED[name] for name in fields)
    assert hashes(arrow(records), frozenset(fields)) == expected(records, what)
    assert hashes(arrow(records, _LARGE)) == hashes(arrow(records)) == expected(records)


@given(_RECORDS, st.integers(0, 12), st.integers(0, 12))
def test_parts_of_columns_hash_alike(records: list[Record], first: int, count: int) -> None:
    """A slice may begin within a byte of the validity bits; a table has chunks."""
    batch = arrow(records)
    assert hashes(batch.slice(first, count)) == expected(records)[first : first + count]
    table = pa.Table.from_batches([batch.slice(0, first), batch.slice(first)], SCHEMA)
    assert hashes(table) == expected(records)


def test_other_forms_of_columns_hash_alike() -> None:
    """Dictionaries and views, which Parquet readers may return, null lists and null times hash alike."""
    batch = arrow([(-1, b"key", None, []), (5, b"key", b"", [("a", b"b")])])
    table = pa.Table.from_batches([batch])
    as_dictionary = table.set_column(1, "key", table["key"].dictionary_encode())
    as_views = table.set_column(1, "key", table["key"].cast(pa.binary_view()))
    with_nulls = table.set_column(0, "timestamp_ms", pa.array([None, 5], pa.int64())).set_column(
        3, "headers", pa.array([None, [{"key": "a", "value": b"b"}]], HEADERS)
    )
    assert hashes(as_dictionary) == hashes(as_views) == hashes(with_nulls) == hashes(batch)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ((0, None, b"v", []), (0, b"", b"v", [])),
        ((0, b"k", None, []), (0, b"k", b"", [])),
        ((0, b"ab", b"c", []), (0, b"a", b"bc", [])),
        ((0, b"a", b"", []), (0, b"a\0", b"", [])),
        ((0, b"a", b"b", [("h", None)]), (0, b"a", b"b", [("h", b"")])),
        ((0, b"a", b"b", [("h", b"1"), ("i", b"2")]), (0, b"a", b"b", [("i", b"2"), ("h", b"1")])),
        ((0, b"a", b"b", []), (1, b"a", b"b", [])),
        ((0, b"a", b"b", []), (0, b"b", b"a", [])),
    ],
)
def test_what_differs_hashes_differently(first: Record, second: Record) -> None:
    """Null and empty, borders between fields, trailing zeros, the order of headers, and time change the hash."""
    ours, theirs = hashes(arrow([first, second]))
    assert ours != theirs


def test_hashes_are_those_of_another_implementation(spark: "SparkSession") -> None:
    """Guava computes the same hashes of the bytes that the definition names."""
    records: list[Record] = [
        (
            number * 1_000,
            None if number % 5 == 0 else b"k" * number,
            b"v" * (7 * number % 50),
            [("h" * number, b"x" * number)],
        )
        for number in range(40)
    ]
    assert spark._jvm is not None
    guava = spark._jvm.com.google.common.hash.Hashing.murmur3_128()
    for (time, key, value, headers), pair in zip(records, record_hashes(arrow(records)), strict=True):
        data = reference.canonical(time, key, value, [(name.encode(), content) for name, content in headers])
        assert bytes(guava.hashBytes(bytearray(data)).asBytes()) == pair.astype("<u8").tobytes()


def test_hashes_stay_as_they_are() -> None:
    """The hashes must not change, because digests of earlier versions must stay comparable."""
    records: list[Record] = [
        (1_700_000_000_000, b"key", b"value", [("name", b"x"), ("name", None)]),
        (-1, None, b"", []),
    ]
    words = [f"{low:016x}{high:016x}" for low, high in hashes(arrow(records))]
    digest = SequenceDigest().then(record_hashes(arrow(records)))
    assert [*words, str(digest)] == STORED


@pytest.mark.long
def test_bits_of_hashes_are_even() -> None:
    """Over records with small differences each bit is set in about half of the hashes, and no two hashes are equal."""
    count = 20_000
    batch = arrow([(0, None, str(number).encode(), []) for number in range(count)])
    words = record_hashes(batch)
    for bit in range(64):
        for half in (0, 1):
            assert abs(int((words[:, half] >> bit & 1).sum()) - count / 2) < 400  # 5.6 standard deviations
    assert len({tuple(pair) for pair in words.tolist()}) == count
    assert len(set(words[:, 0].tolist())) == len(set(words[:, 1].tolist())) == count


@settings(max_examples=examples(50))
@given(_RECORDS, st.integers(0, 12), st.integers(0, 12))
def test_a_digest_is_the_sum_of_its_parts(records: list[Record], first: int, second: int) -> None:
    """It can be cut, continued, added, and parsed from its text."""
    all_hashes = record_hashes(arrow(records))
    first, second = sorted((first, second))
    whole = SequenceDigest().then(all_hashes)
    parts = [SequenceDigest().then(all_hashes[low:high]) for low, high in ((0, first), (first, second), (second, 12))]
    assert parts[0] + parts[1] + parts[2] == parts[0] + (parts[1] + parts[2]) == whole
    assert SequenceDigest().then(all_hashes[:first]).then(all_hashes[first:]) == whole
    assert SequenceDigest.parse(whole.records, str(whole)) == whole
    assert whole.ordered == reference.ordered_digest(expected(records))
    assert whole.records == len(records)


@given(_RECORDS.filter(lambda records: len(records) > 1), st.data())
def test_a_digest_knows_the_order(records: list[Record], data: st.DataObject) -> None:
    """Swapping two records changes only the ordered digest; a doubled or missing record changes both."""
    left, right = sorted(data.draw(st.sets(st.integers(0, len(records) - 1), min_size=2, max_size=2)))
    swapped = records.copy()
    swapped[left], swapped[right] = swapped[right], swapped[left]
    before, after = (SequenceDigest().then(record_hashes(arrow(batch))) for batch in (records, swapped))
    assert before.has_same_records(after)
    assert (before == after) == (hashes(arrow(records)) == hashes(arrow(swapped)))
    assert not before.has_same_records(SequenceDigest().then(record_hashes(arrow([*records, records[left]]))))
    assert not before.has_same_records(SequenceDigest().then(record_hashes(arrow(records[1:]))))
