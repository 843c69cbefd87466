"""The fast decoder against the reference decoder, and features of its own: limits, columns, several Arrow batches."""

import gc
from collections.abc import Sequence
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_lagoon.records import buffers, columns, layout
from kafka_lagoon.records.batches import find_batches
from kafka_lagoon.records.buffers import DECODED
from kafka_lagoon.records.columns import Decoding, decode
from kafka_lagoon.records.decoding import DecodeOptions
from kafka_lagoon.tables.record_tables import RECORDS
from tests.effort import examples
from tests.records.examples import ABORT, COMMIT, CONTROL, GZIP, TRANSACTIONAL, ZSTD, Batch, Record, logs, marker
from tests.records.test_legacy import compressed, message
from tests.reference import answers

IN_HEADERS = [name for name in DECODED.names if buffers.are_in_headers(buffers.schema_of(frozenset({name})))]
EVERYTHING = {"from_offset": 0, "to_offset": 2**62, "aborted": (), "read_committed": True, "stable_end": 2**62}


def fast(data: bytes, *, options: DecodeOptions | None = None, **request) -> tuple[list[dict], Decoding]:
    decoding = decode(find_batches(data), options=options or DecodeOptions(), **{**EVERYTHING, **request})
    arrow_batches = list(decoding)
    for arrow_batch in arrow_batches:
        arrow_batch.validate(full=True)
        assert arrow_batch.num_rows
    return [row for arrow_batch in arrow_batches for row in arrow_batch.to_pylist()], decoding


def assert_equal(data: bytes, *, options: DecodeOptions | None = None, **request) -> None:
    """Both decoders give the same rows, counts and problems."""
    request = {**EVERYTHING, **request}
    rows, decoding = fast(data, options=options, **request)
    expected = answers.decode(data, **request)
    assert rows == expected.rows
    assert decoding.next_offset == expected.next_offset
    assert {name: getattr(decoding.counts, name) for name in expected.counts} == expected.counts
    assert decoding.counts.offsets() == decoding.next_offset - request["from_offset"]
    problems = [(problem.last_offset, problem.reason) for problem in decoding.problems]
    assert problems == [(last, reason) for _, last, reason in sorted(expected.problems)]


def written(log: Sequence[Batch]) -> bytes:
    return b"".join(batch.write() for batch in log)


@st.composite
def requests(draw: st.DrawFn, log: Sequence[Batch]) -> dict:
    """Ranges that cut batches, and lists of aborted transactions in any order."""
    end = log[-1].last_offset + 5 if log else 10
    start = log[0].base_offset if log else 0
    from_offset = draw(st.integers(max(0, start - 3), end))
    return {
        "from_offset": from_offset,
        "to_offset": draw(st.integers(from_offset, end) | st.just(2**62)),
        "aborted": draw(st.lists(st.tuples(st.integers(0, 3), st.integers(start, end)), max_size=4)),
        "read_committed": draw(st.booleans()),
        "stable_end": draw(st.integers(start, end)),
    }


@settings(max_examples=examples(150), deadline=None)
@given(st.data(), logs())
def test_equal_to_the_reference(data, log):
    """Both decoders return the same for any log, and any part of it."""
    assert_equal(written(log), **data.draw(requests(log)))


@settings(max_examples=examples(50), deadline=None)
@given(st.data(), logs())
def test_small_arrow_batches_hold_the_same(data, log):
    """The number of bytes decompressed at a time changes the number of Arrow batches, and nothing else."""
    options = DecodeOptions(expanded_bytes=data.draw(st.sampled_from([1, 100, 1000])))
    assert_equal(written(log), options=options, **data.draw(requests(log)))


@settings(max_examples=examples(50), deadline=None)
@given(st.data(), logs(), st.sampled_from([1, 20, 300]))
def test_large_batches_in_slices_hold_the_same(data, log, size):
    """Decoding a batch in slices changes nothing either, even if the batch is corrupt."""
    entries = [batch.write() for batch in log]
    if entries and data.draw(st.booleans()):
        number = data.draw(st.integers(0, len(entries) - 1))
        entries[number] = spoiled(entries[number], data.draw(st.integers(17, len(entries[number]) - 1)))
    with patch.object(columns, "_MIN_SLICE", size), patch.object(columns, "_ROW_BYTES", size):
        assert_equal(b"".join(entries), options=DecodeOptions(expanded_bytes=1), **data.draw(requests(log)))


def test_slices_begin_where_the_slice_before_ended():
    """No record is read by two slices: a batch of millions of records takes linear time."""
    batch = Batch(base_offset=100, records=tuple(Record(delta=2 * number) for number in range(30)))
    slices, real = list[tuple[int, int, int]](), columns.decode_batches

    def noted(table: int, index: int, stop: int, state: int) -> int:
        slices.append(tuple(decoding._table[index, [layout.RECORDS_START, layout.RECORDS_END, layout.COUNT]].tolist()))
        return real(table, index, stop, state)

    options = DecodeOptions(expanded_bytes=1)
    with patch.object(columns, "_MIN_SLICE", 20), patch.object(columns, "_ROW_BYTES", 5):
        decoding = decode(
            find_batches(batch.write()), options=options, **(EVERYTHING | {"from_offset": 106, "to_offset": 150})
        )
        with patch.object(columns, "decode_batches", noted):
            offsets = pa.Table.from_batches(list(decoding))["offset"].to_pylist()
    assert offsets == list(range(106, 150, 2))
    whole, *parts = slices  # the first pass reads all of the batch
    starts, ends, counts = zip(*parts, strict=True)
    assert starts[1:] == ends[:-1]
    assert len(parts) > len(offsets) // 5
    assert sum(counts) == len(offsets)
    assert whole[0] < starts[0] < ends[-1] < whole[1]  # not the records that are not wanted


@settings(max_examples=examples(100), deadline=None)
@given(st.data(), logs(), st.sampled_from([64, 256]))
def test_small_windows_tell_the_same(data, log, window):
    """The window size changes nothing in the results, even if a batch is corrupt."""
    entries = [batch.write() for batch in log]
    if entries and data.draw(st.booleans()):
        number = data.draw(st.integers(0, len(entries) - 1))
        entries[number] = spoiled(entries[number], data.draw(st.integers(17, len(entries[number]) - 1)))
    with patch.object(columns, "_WINDOW", window):
        assert_equal(b"".join(entries), **data.draw(requests(log)))


@settings(max_examples=examples(50), deadline=None)
@given(logs(), st.sets(st.sampled_from(DECODED.names)))
def test_only_the_wanted_columns(log, wanted):
    """Columns that are not requested are absent, and the others are unchanged."""
    all_rows, _ = fast(written(log))
    rows, decoding = fast(written(log), options=DecodeOptions(columns=frozenset(wanted)))
    assert rows == [{name: row[name] for name in DECODED.names if name in wanted} for row in all_rows]
    assert decoding.counts.records == len(all_rows)


@settings(max_examples=examples(150), deadline=None)
@given(st.data(), logs(), st.sets(st.sampled_from(IN_HEADERS)))
def test_columns_of_headers_alone(data, log, wanted):
    """Without columns of single records, the batch headers give the same rows and counts, also for corrupt batches."""
    entries, request = [batch.write() for batch in log], data.draw(requests(log))
    if entries and data.draw(st.booleans()):
        number = data.draw(st.integers(0, len(entries) - 1))
        entries[number] = spoiled(entries[number], data.draw(st.integers(17, len(entries[number]) - 1)))
    all_rows, full = fast(b"".join(entries), **request)
    rows, decoding = fast(b"".join(entries), options=DecodeOptions(columns=frozenset(wanted)), **request)
    assert rows == [{name: row[name] for name in DECODED.names if name in wanted} for row in all_rows]
    assert decoding.next_offset == full.next_offset
    assert decoding.problems == [one for one in full.problems if one.reason != columns.HEADER_KEY_NOT_UTF8]
    assert replace(decoding.counts, bytes_decoded=0) == replace(full.counts, bytes_decoded=0)


def test_records_that_only_count_are_not_decompressed():
    """A batch whose offsets are all in the range is not decompressed; a batch that the range cuts is."""
    sound, broken = lines(3, base_offset=10, codec=ZSTD), Batch(base_offset=13, codec=ZSTD, count=3, last_delta=2)
    raw = sound + broken.around(b"nothing that could be a record")
    _, whole = fast(raw, from_offset=10, options=DecodeOptions(columns=frozenset()))
    assert (whole.counts.records, whole.counts.corrupt, whole.counts.bytes_decoded) == (6, 0, 0)
    _, cut = fast(raw, from_offset=11, to_offset=15, options=DecodeOptions(columns=frozenset()))
    assert (cut.counts.records, cut.counts.corrupt) == (2, 2)


@pytest.mark.parametrize("count", [-1, 5])
def test_a_number_of_records_that_cannot_be_is_not_counted(count):
    """A header with a negative number of records, or with more records than offsets, is not trusted."""
    lying = Batch(base_offset=3, records=(Record(delta=0), Record(delta=1)), count=count).write()
    _, decoding = fast(lines(3) + lying, options=DecodeOptions(columns=frozenset()))
    assert (decoding.counts.records, decoding.counts.corrupt) == (3, 2)


@settings(max_examples=examples(50), deadline=None)
@given(logs(), st.lists(st.integers(0, 1), max_size=4), st.data())
def test_old_messages_among_batches(log, magics, data):
    """Entries of magic 0 and 1, compressed or not, are read in order between batches; ranges cut them, too."""
    offset, entries = 0, []
    for magic in magics:
        inner = [
            message(position if magic else offset + position, b"k", b"v" * position, magic=magic) for position in (0, 2)
        ]
        entries += [compressed(offset + 2, inner, magic=magic), message(offset + 5, None, b"x", magic=magic)]
        offset += 6
    later = [replace(batch, base_offset=batch.base_offset + offset) for batch in log]
    raw = b"".join(entries[:2]) + written(later) if data.draw(st.booleans()) else b"".join(entries)
    from_offset = data.draw(st.integers(0, offset))
    assert_equal(
        raw, from_offset=from_offset, to_offset=data.draw(st.integers(from_offset, offset + 3) | st.just(2**62))
    )


def test_a_batch_that_claims_to_begin_earlier_hides_nothing():
    """The base offset has no checksum: a false one beyond the range must not hide the batches before it."""
    raw = lines(2, base_offset=4) + lines(3, base_offset=6) + lines(1, base_offset=0)
    rows, decoding = fast(raw, from_offset=6, to_offset=9)
    assert [row["offset"] for row in rows] == [6, 7, 8]
    assert decoding.next_offset == 9


def test_a_batch_that_claims_the_same_beginning_hides_nothing():
    """Nor does one that begins where the batch before it does, be it readable or not."""
    second = lines(1, base_offset=3)
    for raw in (lines(3) + bytes(8) + second[8:], lines(3) + bytes(8) + second[8:23] + b"\xff" + second[24:]):
        rows, _ = fast(raw)
        assert [row["offset"] for row in rows] == [0, 1, 2]


def test_the_columns_of_table_records():
    """Names, types and nullability are those of table records, except for the columns that an ingest adds."""
    known = [name for name in RECORDS.file_schema().names if name in DECODED.names]
    assert known == DECODED.names
    for field in DECODED:
        assert RECORDS.file_schema().field(field.name).type == field.type
        assert RECORDS.file_schema().field(field.name).nullable == field.nullable


def lines(count: int, **fields) -> bytes:
    """Make a batch of this many records, each with a value of 100 bytes."""
    records = tuple(Record(delta=delta, key=b"%d" % delta, value=b"v" * 100) for delta in range(count))
    return Batch(records=records, **fields).write()


def test_arrow_batches_are_not_larger_than_asked_for():
    """A response becomes several Arrow batches; only a single batch may exceed the limit."""
    raw = b"".join(lines(100, base_offset=100 * position, codec=ZSTD) for position in range(50))
    decoding = decode(find_batches(raw), **EVERYTHING, options=DecodeOptions(expanded_bytes=100_000))
    sizes = [arrow_batch.column("value").nbytes for arrow_batch in decoding]
    assert len(sizes) > 5
    assert max(sizes) < 110_000
    whole = decode(find_batches(raw), **EVERYTHING, options=DecodeOptions(expanded_bytes=1))
    assert [arrow_batch.num_rows for arrow_batch in whole] == [100] * 50


@pytest.mark.parametrize("codec", [GZIP, 2, 3, ZSTD])
def test_a_bomb_is_a_problem(codec):
    """A batch that expands beyond the limit is refused, and the next batch is read."""
    bomb = Batch(records=(Record(delta=0, value=bytes(3_000_000)),), codec=codec).write()
    rows, decoding = fast(
        bomb + lines(2, base_offset=1), options=DecodeOptions(batch_limit_bytes=1 << 21, raw_limit_bytes=10)
    )
    assert [row["offset"] for row in rows] == [1, 2]
    (problem,) = decoding.problems
    assert (problem.base_offset, problem.last_offset, problem.reason) == (0, 0, "EXPANDED_TOO_LARGE")
    assert problem.raw == bomb[:10]
    assert decoding.counts.corrupt == 1


def test_a_large_batch_is_read_whole():
    """A batch may be larger than the amount that is usually decompressed at once, up to its own limit."""
    value = np.random.default_rng(1).bytes(3_000_000)
    raw = Batch(records=(Record(delta=0, value=value),), codec=ZSTD).write() + lines(2, base_offset=1)
    rows, _ = fast(raw, options=DecodeOptions(expanded_bytes=1 << 20))
    assert [len(row["value"]) for row in rows] == [3_000_000, 100, 100]


@pytest.mark.long
def test_memory_is_lent_again_only_when_nobody_uses_it():
    """Arrow batches that are kept do not change during later decoding; buffers are reused once their batches are freed."""
    raw = [
        b"".join(lines(500, base_offset=500 * position, leader_epoch=epoch) for position in range(30))
        for epoch in range(3)
    ]
    kept, expected = [], []
    for answer in raw:
        kept += list(decode(find_batches(answer), **EVERYTHING, options=DecodeOptions()))
        expected.append(kept[-1].to_pylist())
    assert [arrow_batch.to_pylist() for arrow_batch in kept] == expected
    gc.collect()
    before = len(buffers._spare)
    del kept
    assert len(buffers._spare) > before
    again = list(decode(find_batches(raw[0]), **EVERYTHING, options=DecodeOptions()))
    assert len(buffers._spare) == before + 2
    assert [arrow_batch.to_pylist() for arrow_batch in again] == expected[:1]


def test_an_iteration_that_ends_early_gives_the_arena_back():
    """Data of a reader that stops early cannot be seen by the next reader."""
    raw = b"".join(lines(100, base_offset=100 * position, codec=ZSTD) for position in range(20))
    first = iter(decode(find_batches(raw), **EVERYTHING, options=DecodeOptions(expanded_bytes=1)))
    second = decode(find_batches(raw), **EVERYTHING, options=DecodeOptions(expanded_bytes=1))
    next(first)
    assert [arrow_batch.column("offset")[0].as_py() for arrow_batch in second] == list(range(0, 2000, 100))
    assert next(first).column("offset")[0].as_py() == 100
    del first
    assert_equal(raw)


def test_header_keys_that_are_not_text():
    """All header keys of such a record are escaped, and the record has a problem; records beside it are unchanged."""
    halves = ((b"\xc3", b"1"), (b"\xa9", None), (b"a\\b", b""))
    records = (Record(delta=0, headers=((b"a\\b", b""),)), Record(delta=1, headers=halves), Record(delta=2))
    rows, decoding = fast(Batch(base_offset=5, records=records).write())
    assert [[pair["key"] for pair in row["headers"]] for row in rows] == [["a\\b"], ["\\xc3", "\\xa9", "a\\\\b"], []]
    (problem,) = decoding.problems
    assert (problem.base_offset, problem.last_offset) == (6, 6)
    assert (problem.reason, problem.raw) == ("HEADER_KEY_NOT_UTF8", None)
    _, silent = fast(Batch(records=records).write(), options=DecodeOptions(columns=frozenset(["value"])))
    assert not silent.problems


def spoiled(raw: bytes, position: int = -1) -> bytes:
    """Return the bytes with one byte changed."""
    changed = bytearray(raw)
    changed[position] ^= 0xFF
    return bytes(changed)


def test_a_corrupt_batch_ends_where_the_next_one_begins():
    """The last offset of a batch with a wrong checksum is not trusted if another batch follows."""
    lying = spoiled(lines(3, base_offset=10), 26)  # last offset delta
    rows, decoding = fast(lines(3) + lying + lines(2, base_offset=20))
    assert [row["offset"] for row in rows] == [0, 1, 2, 20, 21]
    (problem,) = decoding.problems
    assert (problem.base_offset, problem.last_offset, problem.reason) == (10, 19, "CORRUPT_BATCH")
    assert (problem.detail, problem.raw) == ("checksum", lying)


def test_a_last_batch_that_lies_about_its_end_is_asked_for_again():
    """Such a batch ends the response; if it is the only one, it is corrupt up to its last offset or the end of the range."""
    lying = spoiled(lines(3, base_offset=3), 24)
    rows, decoding = fast(lines(3) + lying)
    assert (len(rows), decoding.next_offset, decoding.problems) == (3, 3, [])
    _, alone = fast(lying, from_offset=3, to_offset=100)
    assert (alone.next_offset, alone.counts.corrupt) == (100, 97)
    _, honest = fast(lines(3) + spoiled(lines(3, base_offset=3)))
    assert (honest.next_offset, honest.counts.corrupt) == (6, 3)


def transaction(offset: int, producer_id: int = 1) -> bytes:
    return lines(2, base_offset=offset, producer_id=producer_id, flags=TRANSACTIONAL)


@pytest.mark.parametrize("codec", [0, ZSTD])
def test_a_producer_that_goes_on_after_an_abort(codec: int):
    """The marker ends the aborted transaction alone: what the same producer commits after it is read, in each response."""
    aborts = [marker(offset, 1, ABORT, codec=codec).write() for offset in (2, 5)]
    raw = transaction(0) + aborts[0] + transaction(3) + aborts[1] + transaction(6) + marker(8, 1, COMMIT).write()
    rows, decoding = fast(raw, aborted=[(1, 0), (1, 3)])
    assert [row["offset"] for row in rows] == [6, 7]
    assert (decoding.counts.aborted, decoding.counts.control, decoding.counts.corrupt) == (4, 3, 0)
    rows, decoding = fast(raw, aborted=[(1, 3)])
    assert [row["offset"] for row in rows] == [0, 1, 6, 7]
    assert_equal(raw, aborted=[(1, 0), (1, 3)])


def test_a_corrupt_batch_may_have_been_a_marker():
    """Reading stops after it if an aborted transaction is open: only a new response shows which transactions are aborted."""
    lost = spoiled(marker(2, 1, ABORT).write())
    raw = transaction(0) + lost + transaction(3) + marker(5, 1, COMMIT).write()
    rows, decoding = fast(raw, aborted=[(1, 0)])
    assert (rows, decoding.next_offset) == ([], 3)
    assert (decoding.counts.aborted, decoding.counts.corrupt) == (2, 1)
    rows, decoding = fast(raw, aborted=[(1, 3)])
    assert ([row["offset"] for row in rows], decoding.next_offset) == ([0, 1], 6)


def test_a_corrupt_marker_of_a_transaction_of_which_nothing_is_left():
    """Compaction removed its records: reading stops there, too, or what the producer commits next would count as aborted."""
    lost, rest = spoiled(marker(2, 1, ABORT).write()), transaction(3) + marker(5, 1, COMMIT).write()
    rows, decoding = fast(lost + rest, aborted=[(1, 0)])
    assert (rows, decoding.next_offset, decoding.counts.aborted) == ([], 3, 0)
    rows, decoding = fast(lost + rest, aborted=[(1, 3)])
    assert (len(rows), decoding.counts.aborted, decoding.next_offset) == (0, 2, 6)
    rows, _ = fast(lost + rest, from_offset=3)
    assert len(rows) == 2


def test_a_corrupt_batch_before_the_range_is_no_marker_in_it():
    """A response may begin before the range. A next batch that begins where the corrupt one does hides nothing of the range."""
    raw = spoiled(lines(1)) + lines(1) + transaction(3, producer_id=2)
    rows, decoding = fast(raw, from_offset=3, aborted=[(1, 0)])
    assert ([row["offset"] for row in rows], decoding.next_offset, decoding.counts.corrupt) == ([3, 4], 5, 0)
    assert_equal(raw, from_offset=3, aborted=[(1, 0)])


def test_a_batch_that_ends_before_the_range_repeats_nothing():
    """Its number of records is wrong, and the next batch begins before the range: reading does not go back to there."""
    wrong = Batch(records=(Record(delta=0),), last_delta=9, count=7).write()
    rows, decoding = fast(wrong + lines(5, base_offset=1), from_offset=3, aborted=[(1, 0)])
    assert ([row["offset"] for row in rows], decoding.next_offset, decoding.counts.corrupt) == ([3, 4, 5], 6, 0)
    assert_equal(wrong + lines(5, base_offset=1), from_offset=3, aborted=[(1, 0)])


def test_a_base_offset_that_no_batch_can_have():
    """Such a batch is corrupt up to the end of the range; counted by its own offset, it was passed without a word."""
    _, decoding = fast(Batch(base_offset=2**63 - 1).write(), from_offset=3, to_offset=10)
    (problem,) = decoding.problems
    assert (problem.base_offset, problem.last_offset, decoding.next_offset, decoding.counts.corrupt) == (3, 9, 10, 7)


def test_aborted_and_open_transactions_are_flagged():
    """read_uncommitted keeps aborted records; for transactions that were open when the range was planned the flag is null."""
    raw = transaction(0) + marker(2, 1, ABORT).write() + transaction(3, 2) + lines(1, base_offset=5) + transaction(6, 3)
    rows, decoding = fast(raw, aborted=[(1, 0)], read_committed=False, stable_end=6)
    assert [row["is_aborted"] for row in rows] == [True, True, False, False, False, None, None]
    assert (decoding.counts.control, decoding.counts.aborted) == (1, 0)


def test_nothing_of_an_aborted_batch_is_read():
    """An aborted batch with broken records is left out like any other; its checksum is still checked."""
    broken = Batch(flags=TRANSACTIONAL, producer_id=1, count=9, codec=ZSTD).around(b"?")
    rows, decoding = fast(broken + lines(1, base_offset=1), aborted=[(1, 0)])
    assert (len(rows), decoding.counts.aborted, decoding.problems) == (1, 1, [])
    _, decoding = fast(broken + lines(1, base_offset=1))
    assert decoding.counts.corrupt == 1


def test_empty_batches_and_gaps():
    """Batches emptied by compaction are counted; an empty batch that has bytes is corrupt."""
    raw = Batch(base_offset=2, last_delta=7).write() + lines(1, base_offset=12)
    rows, decoding = fast(raw)
    assert (len(rows), decoding.next_offset, decoding.counts.compacted) == (1, 13, 12)
    assert decoding.leader_epoch == 0
    _, decoding = fast(Batch(count=0).around(b"\0"))
    assert decoding.counts.corrupt == 1


def test_bytes_and_codecs_are_counted():
    """Bytes are counted as fetched and as decompressed, and so are the codecs of batches."""
    raw = lines(50) + lines(50, base_offset=50, codec=ZSTD) + lines(1, base_offset=100, flags=CONTROL)
    _, decoding = fast(raw)
    assert decoding.counts.bytes_fetched == len(raw)
    assert decoding.counts.bytes_decoded == 2 * (len(lines(50)) - 61)
    assert decoding.counts.codecs == {"none", "zstd"}


def test_checksums_can_be_left_unchecked():
    """Without checks a wrong checksum is not noticed."""
    raw = bytearray(lines(1))
    raw[20] ^= 1
    assert fast(bytes(raw))[0] == []
    assert len(fast(bytes(raw), options=DecodeOptions(check_crcs=False))[0]) == 1


def test_a_gap_before_the_end_is_counted():
    """Missing offsets are only counted as compacted if a trusted batch at or after the end of the range follows."""
    raw = lines(2) + lines(2, base_offset=50)
    assert fast(raw, to_offset=30)[1].next_offset == 30
    assert fast(lines(2), to_offset=30)[1].next_offset == 2
    assert fast(lines(2) + spoiled(lines(2, base_offset=50)), to_offset=30)[1].next_offset == 2


def test_unknown_magic():
    """A batch of an unknown format is a problem, and reading continues after it."""
    raw = bytearray(lines(1, base_offset=1))
    raw[16] = 3
    rows, decoding = fast(lines(1) + bytes(raw) + lines(1, base_offset=2))
    assert [row["offset"] for row in rows] == [0, 2]
    assert [problem.reason for problem in decoding.problems] == ["UNSUPPORTED_MAGIC"]


def test_a_corrupt_old_message():
    """A refused old entry is corrupt from the end of the entry before it, because only its last offset is known."""
    raw = (
        message(3, None, b"a")
        + spoiled(compressed(9, [message(0, None, b"b"), message(5, None, b"c")]))
        + lines(1, base_offset=10)
    )
    rows, decoding = fast(raw)
    assert [row["offset"] for row in rows] == [3, 10]
    assert [(one.base_offset, one.last_offset, one.reason) for one in decoding.problems] == [(4, 9, "CORRUPT_BATCH")]


def test_a_record_with_too_many_headers():
    """Memory for headers is bounded by the limit of a batch: the batch is a problem, other batches are read."""
    many = Batch(base_offset=1, records=(Record(delta=0, headers=((b"", None),) * 70),)).write()
    rows, decoding = fast(lines(1) + many + lines(1, base_offset=2), options=DecodeOptions(batch_limit_bytes=1024))
    assert [row["offset"] for row in rows] == [0, 2]
    (problem,) = decoding.problems
    assert (problem.base_offset, problem.last_offset, problem.reason) == (1, 1, "EXPANDED_TOO_LARGE")
    assert len(fast(many, options=DecodeOptions(batch_limit_bytes=70 * 16))[0]) == 1


@settings(max_examples=examples(100), deadline=None)
@given(logs(), st.data())
def test_headers_that_lie(log, data):
    """This holds for wrong offsets and counts with a correct checksum in any batch, and for any cut of the response."""
    if log:
        number = data.draw(st.integers(0, len(log) - 1))
        log[number] = replace(
            log[number],
            base_offset=log[number].base_offset - data.draw(st.integers(0, 3)),
            last_delta=data.draw(st.integers(-2, 60) | st.sampled_from([1 << 20])),
            count=data.draw(st.none() | st.integers(0, 9)),
        )
    raw = written(log)
    cut = data.draw(st.just(len(raw)) | st.integers(0, len(raw)))
    assert_equal(raw[:cut], **data.draw(requests(log)))


def test_a_last_offset_that_lies_costs_its_own_batch():
    """The start of the next batch shows where it ends, even if the next one is cut off."""
    wrong = replace(Batch(base_offset=2, records=(Record(delta=0), Record(delta=1))), last_delta=1 << 20).write()
    for rest, left in ((lines(3, base_offset=4), 3), (lines(3, base_offset=4)[:17], 0)):
        rows, decoding = fast(lines(2) + wrong + rest)
        assert len(rows) == 2 + left
        (problem,) = decoding.problems
        assert (problem.base_offset, problem.last_offset, problem.raw) == (2, 3, wrong)
        assert (decoding.counts.corrupt, decoding.counts.compacted, decoding.next_offset) == (2, 0, 4 + left)


def test_an_old_entry_with_an_offset_that_lies():
    """An entry with a larger offset than later entries is corrupt, and the later entries are read."""
    entries = [message(offset, None, b"v") for offset in (0, 1, 1 << 20, 3, 4)]
    rows, decoding = fast(b"".join(entries))
    assert [row["offset"] for row in rows] == [0, 1, 3, 4]
    assert [(one.base_offset, one.last_offset) for one in decoding.problems] == [(2, 2)]
    packed = compressed(1 << 20, [message(0, None, b"b"), message(1, None, b"c")])
    rows, decoding = fast(message(1, None, b"a") + packed + lines(2, base_offset=4))
    assert [row["offset"] for row in rows] == [1, 4, 5]
