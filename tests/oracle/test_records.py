"""Our decoders against Kafka's MemoryRecords: equal rows, or a refusal by all, for whole batches and for damaged ones.

Where we are stricter or more lenient than Java is said once, in `explained`. `python -m tests.proof.differential` does the same
with a million of them.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from random import Random
from typing import Any, NamedTuple

import pytest

from kafka_lagoon.records.batches import find_batches
from kafka_lagoon.records.columns import decode
from kafka_lagoon.records.decoding import DecodeOptions
from tests.oracle.generated import any_batch, damaged
from tests.oracle.jars import KAFKAS
from tests.oracle.memory_records import JavaAnswer, JavaBatch, JavaRecords, Row
from tests.reference import answers as reference

pytestmark = pytest.mark.java

_LARGEST = 2**63 - 1
_CHUNK = 500  # number of batches per call of Java
_BASES = (0, 1, 1000, 2**40, 2**62, 2**63 - 2**17)
_SEED = 20_261_121
_OLD_LZ4 = "lz4 in magic 0, which the reference decoder does not know"
_LZ4_MAGIC = b"\x04\x22\x4d\x18"

Values = tuple[Any, ...]


class Reading(NamedTuple):
    """A decoder's result for a buffer: rows of the columns below, the reason for missing rows, and the next offset."""

    rows: list[Values]
    refusals: list[str]
    next_offset: int = 0


_COLUMNS = ("offset", "timestamp_ms", "timestamp_type", "key", "value", "headers", "leader_epoch")
_COLUMNS += ("producer_id", "producer_epoch", "is_transactional")


def fast(raw: bytes) -> Reading:
    """Return the rows of the columns, and check that every offset is counted."""
    batches = find_batches(raw)
    decoding = decode(
        batches,
        from_offset=0,
        to_offset=_LARGEST,
        aborted=(),
        read_committed=False,
        stable_end=_LARGEST,
        options=DecodeOptions(),
    )
    rows = [tuple(row[name] for name in _COLUMNS) for batch in decoding for row in batch.to_pylist()]
    refusals = [f"{problem.reason}: {problem.detail}" for problem in decoding.problems if problem.raw is not None]
    assert decoding.counts.records == len(rows), raw.hex()
    assert decoding.counts.offsets() == decoding.next_offset, raw.hex()
    refusals += ["no batch"] * (batches.broken_at is not None)
    return Reading(rows, refusals, decoding.next_offset)


def slow(raw: bytes) -> Reading:
    """Return the rows of the reference decoder."""
    answer = reference.decode(raw, from_offset=0, to_offset=_LARGEST, read_committed=False, stable_end=_LARGEST)
    rows = [tuple(row[name] for name in _COLUMNS) for row in answer.rows]
    return Reading(rows, [reason for *_, reason in answer.problems if reason != "HEADER_KEY_NOT_UTF8"])


def java(answer: JavaAnswer) -> Reading:
    """Return the rows that a consumer would get, spelled as in the columns."""
    rows = [_spelled(batch, row) for batch in answer.batches if not batch.control for row in batch.rows or ()]
    refusals = [batch.refusal for batch in answer.batches if batch.refusal]
    return Reading(rows, refusals + ([answer.broken] if answer.broken else []))


def _spelled(batch: JavaBatch, row: Row) -> Values:
    known = (None if value == -1 else value for value in (batch.leader_epoch, batch.producer_id, batch.producer_epoch))
    keys = [key for key, _ in row.headers]
    if not all(map(_is_text, keys)):
        keys = [key.replace(b"\\", b"\\\\") for key in keys]
    headers = [
        {"key": key.decode("utf-8", "backslashreplace"), "value": value}
        for key, (_, value) in zip(keys, row.headers, strict=True)
    ]
    return (*row[:5], headers, *known, batch.transactional)


def _is_text(key: bytes) -> bool:
    try:
        key.decode()
    except UnicodeDecodeError:
        return False
    return True


def compare(raw: bytes, answer: JavaAnswer) -> str:
    """Compare the results for a buffer; AssertionError for an unexplained difference."""
    theirs, ours = java(answer), fast(raw)
    if ours.rows == theirs.rows and bool(ours.refusals) == bool(theirs.refusals):
        if ours.refusals:
            return "refused by all"
        third = slow(raw)
        if third.refusals:
            return _OLD_LZ4 if _has_old_lz4(answer, raw) else "read by all but the reference decoder"
        assert third.rows == ours.rows, raw.hex()
        return "same rows" if ours.rows else "no rows"
    why = explained(answer, ours)
    assert why, f"{raw.hex()}\nours: {ours}\nJava: {theirs}"
    return why


# Refusals of ours that Java does not have, by our messages.
_STRICTER = {
    "inner message that is cut": "Java ends there without a word; a record would be missing, counted as compacted",
    "UNSUPPORTED_MAGIC": "another magic inside, which brokers do not store: offsets of two kinds could not be distinguished",
    "bad lz4 data: it ends in the middle": "an end mark with the bit of an uncompressed block, an end to Java only",
}
# Refusals of Java that we do not have, by its messages.
_MORE_LENIENT = {
    "newLimit < 0": "a length that overflows with the 12 bytes before it: to us a batch that is cut, and far too large",
    "Invalid magic found": "Java ends there; we refuse this one and go on behind it, or find first that it is cut",
    "Dependent block stream": "lz4 with linked blocks, which the library reads",
}


def _has_old_lz4(answer: JavaAnswer, raw: bytes) -> bool:
    return _LZ4_MAGIC in raw and any(batch.magic == 0 for batch in answer.batches)


def explained(answer: JavaAnswer, ours: Reading) -> str | None:
    """Return the reason for a difference to Java, for the few cases in which either is more lenient."""
    if not _offsets_are_kafkas(answer):
        # Accounting needs increasing offsets within a batch; Java does not check, and brokers store no others.
        return "offsets that no broker stores"
    last = answer.batches[-1] if answer.batches else None
    if last and last.refusal and len(answer.batches) > 1 and ours.next_offset <= (last.base_offset or 0):
        return "a bad batch behind good ones, which is fetched again to see where the next one begins"
    if ours.refusals and ours.rows == java(answer).rows and any(batch.rows == () for batch in answer.batches):
        return "bytes in a batch of no records, which Java does not look at"
    theirs = " ".join(java(answer).refusals)
    for words in _STRICTER:
        if any(words in refusal for refusal in ours.refusals):
            return words
    return next((words for words in _MORE_LENIENT if words in theirs), None)


def _offsets_are_kafkas(answer: JavaAnswer) -> bool:
    """Return True if offsets increase within their batches, and batches are consecutive and end before the last."""
    end = -1
    for batch in answer.batches:
        if batch.last_offset is None:
            continue
        offsets = [max(end, batch.base_offset - 1), *(row.offset for row in batch.rows or ())]
        if any(after <= before for before, after in pairwise(offsets)):
            return False
        if batch.base_offset < 0 or not max(offsets[-1], end + 1) <= batch.last_offset < _LARGEST:
            return False
        end = batch.last_offset
    return True


def described(random: Random, count: int) -> Iterator[list[Any]]:
    """Draw descriptions of batches, as many as one call of Java takes."""
    for start in range(0, count, _CHUNK):
        yield [any_batch(random, random.choice(_BASES)) for _ in range(min(_CHUNK, count - start))]


def campaign(kafkas: Sequence[JavaRecords], count: int, seed: int) -> Counter[str]:
    """Compare batches that one release writes, whole and damaged, with the other one and with us; count the results."""
    met: Counter[str] = Counter()
    random = Random(seed)
    for number, chunk in enumerate(described(random, count // 2)):
        writer, reader = kafkas[number % 2], kafkas[(number + 1) % 2]
        whole = [raw for raw in writer.build(chunk) if raw]
        buffers = whole + [damaged(random, raw) for raw in whole]
        met.update(map(compare, buffers, reader.read(buffers)))
    return met


# `make test` has some of every format, codec and kind of damage; `make proof` has many, so that rules meet each other.
each_count = pytest.mark.parametrize("count", [50, pytest.param(8_000, marks=pytest.mark.proof)])


@each_count
@pytest.mark.parametrize("writer", [0, 1], ids=KAFKAS)
def test_whole_batches(kafkas: Sequence[JavaRecords], writer: int, count: int) -> None:
    """Every row that Kafka writes is read as Kafka reads it, in all codecs, formats and kinds; nothing is refused."""
    met: Counter[str] = Counter()
    for chunk in described(Random(_SEED + writer), count // 2):
        whole = [raw for raw in kafkas[writer].build(chunk) if raw]
        met.update(map(compare, whole, kafkas[1 - writer].read(whole)))
    assert set(met) <= {"same rows", "no rows", _OLD_LZ4}, met
    assert met["same rows"] > count // 4, met


@each_count
def test_damaged_batches(kafkas: Sequence[JavaRecords], count: int) -> None:
    """A damaged batch with a valid checksum is read equally, or refused by all."""
    met = campaign(kafkas, 2 * count, _SEED + 2)
    assert met["same rows"] > 2 * count // 3, met
    assert met["refused by all"] > count // 5, met


def test_torn_answers(kafkas: Sequence[JavaRecords]) -> None:
    """Of several batches that are cut anywhere, as by brokers, the complete ones are read and nothing is refused."""
    random = Random(_SEED + 3)
    chunk = [any_batch(random, 10_000 * (number + 1)) for number in range(300)]
    raws = kafkas[0].build(chunk)
    buffers = []
    for start in range(0, len(raws), 3):
        several = b"".join(raws[start : start + 3])
        buffers += [several[: random.randrange(len(several))] for _ in range(3)]
    met = Counter(map(compare, buffers, kafkas[1].read(buffers)))
    assert set(met) <= {"same rows", "no rows", _OLD_LZ4}, met


def test_garbage(kafkas: Sequence[JavaRecords]) -> None:
    """Random bytes are refused, or taken for an incomplete batch, by all."""
    random = Random(_SEED + 4)
    buffers = [random.randbytes(random.randrange(200)) for _ in range(300)]
    met = Counter(map(compare, buffers, kafkas[0].read(buffers)))
    assert met["same rows"] == 0, met
