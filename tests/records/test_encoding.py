"""A plain reader of Kafka's format finds the given records in encoded batches."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_lagoon.errors import CorruptBatch, UnsupportedCodec
from kafka_lagoon.records.compressing import CODECS, SNAPPY
from kafka_lagoon.records.encoding import (
    BATCH_OVERHEAD,
    TRANSACTIONAL,
    Producer,
    Record,
    encode_batch,
    next_sequence,
    producer_of,
)
from tests.reference.batches import header, records, split

_FIELDS = st.none() | st.binary(max_size=20) | st.sampled_from([b"v" * size for size in (63, 64, 8191, 8192, 70_000)])
_HEADERS = st.lists(st.tuples(st.binary(max_size=5) | st.just(b"k" * 70), _FIELDS), max_size=4).map(tuple)
_TIMES = st.sampled_from([-1, 0, 1_600_000_000_000, 1_600_000_000_063, 2**63 - 1]) | st.integers(-1, 2**63 - 1)
_RECORDS = st.lists(st.builds(Record, _TIMES, _FIELDS, _FIELDS, _HEADERS), min_size=1, max_size=20)
_PRODUCERS = st.builds(
    Producer, st.integers(-1, 2**63 - 1), st.integers(-1, 2**15 - 1), st.sampled_from([-1, 0, 2**31 - 1])
)


@given(
    given=_RECORDS,
    codec=st.sampled_from(sorted(CODECS.values())),
    producer=_PRODUCERS,
    attributes=st.sampled_from([0, TRANSACTIONAL]),
)
def test_a_batch_holds_what_it_was_given(given: list[Record], codec: int, producer: Producer, attributes: int) -> None:
    """Times, keys, values and headers are unchanged, in order, under a correct checksum."""
    raw = encode_batch(given, codec=codec, producer=producer, attributes=attributes)
    assert split(raw) == [raw]
    batch = header(raw)
    assert batch.is_trusted
    assert (batch.magic, batch.base_offset, batch.last_offset, batch.count) == (2, 0, len(given) - 1, len(given))
    assert (batch.attributes, batch.leader_epoch) == (codec | attributes, -1)
    assert (batch.base_timestamp, batch.max_timestamp) == (given[0].timestamp_ms, max(one[0] for one in given))
    assert (batch.producer_id, batch.producer_epoch) == producer[:2]
    assert producer_of(raw) == producer
    decoded = records(batch)
    assert [one.offset for one in decoded] == list(range(len(given)))
    assert [(one.timestamp_ms, one.key, one.value, one.headers) for one in decoded] == given


@given(given=_RECORDS)
def test_a_record_is_not_larger_than_it_says(given: list[Record]) -> None:
    """The sizes of the records and the overhead of a batch are an upper bound of the batch before compression."""
    assert len(encode_batch(given)) <= BATCH_OVERHEAD + sum(one.size() for one in given)


def test_many_records() -> None:
    """Offsets and times beyond the table of precomputed numbers are correct, too."""
    given = [Record(1_600_000_000_000 - 1000 * number, None, b"%d" % number) for number in range(20_000)]
    decoded = records(header(encode_batch(given)))
    assert [(one.offset, one.timestamp_ms, one.value) for one in decoded] == [
        (number, one.timestamp_ms, one.value) for number, one in enumerate(given)
    ]


def test_snappy_comes_in_blocks() -> None:
    """Snappy blocks have 32 KiB, as Java's: readers that limit the size of a block can read ours."""
    value = bytes(range(256)) * 1024
    (record,) = records(header(encode_batch([Record(0, None, value)], codec=SNAPPY)))
    assert record.value == value


def test_sequences_go_round() -> None:
    """Sequence numbers continue with 0 after 2,147,483,647."""
    assert next_sequence(0, 5) == 5
    assert next_sequence(2**31 - 3, 5) == 2


@pytest.mark.parametrize(
    ("given", "reason"), [([], "without records"), ([Record(2**63, None, None)], "a batch cannot carry this")]
)
def test_what_no_batch_can_carry(given: list[Record], reason: str) -> None:
    """Values that a batch cannot carry are refused, not truncated."""
    with pytest.raises(CorruptBatch, match=reason):
        encode_batch(given)


def test_a_codec_that_kafka_does_not_have() -> None:
    """Only codecs 0 to 4 are accepted."""
    with pytest.raises(UnsupportedCodec, match="codec 5"):
        encode_batch([Record(0, None, None)], codec=5)


def test_encoding_imports_little() -> None:
    """Neither numpy, numba nor pyarrow is imported, and a codec's library only when it is used: a command starts at once."""
    program = (
        "import sys\nfrom kafka_lagoon.records.encoding import Record, encode_batch\nencode_batch([Record(0, None, b'')])\n"
        "print(*({'numpy', 'numba', 'pyarrow', 'zstandard', 'lz4', 'cramjam', 'isal'} & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not run.stdout.strip()
