"""Our batches against Kafka's MemoryRecords: byte for byte as Java builds them, and read by Java with every codec.

Both encoders: that of tuples and that of columns.
"""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from kafka_lagoon.records.compressing import CODECS
from kafka_lagoon.records.encode_columns import ColumnEncoder, RecordColumns
from kafka_lagoon.records.encoding import NOT_IDEMPOTENT, TRANSACTIONAL, Producer, Record, encode_batch
from tests.effort import first
from tests.oracle.memory_records import JavaRecords, Row, batch, record

pytestmark = pytest.mark.java

_SEED = 20_261_121
_SIZES = (0, 1, 63, 64, 127, 128, 8191, 8192, 20_000)
_NAMES = ("", "a", "trace", "ключ \U0001f511", "k" * 300)


def _field(random: Random) -> bytes | None:
    return None if random.random() < 0.2 else random.randbytes(random.choice(_SIZES))


def _record(random: Random) -> Record:
    headers = [(random.choice(_NAMES).encode(), _field(random)) for _ in range(random.choice((0, 0, 1, 5)))]
    time = random.choice((-1, 0, 1_700_000_000_000, 1_700_000_000_000 + random.randrange(10_000), 2**62))
    return Record(time, _field(random), _field(random), headers + headers[:1])


def _examples() -> list[tuple[list[Record], Producer, int]]:
    """Make batches with nulls, repeated and null headers, decreasing times, and producers of every kind; one is large."""
    random = Random(_SEED)
    examples = []
    for count in (1, 1, 2, 3, 10, 40, 70, 130):
        producer = random.choice((NOT_IDEMPOTENT, Producer(4_000, 0, 0), Producer(2**62, 7, 2**31 - 1)))
        is_transactional = producer != NOT_IDEMPOTENT and random.random() < 0.5
        made = [_record(random) for _ in range(count)]
        examples.append((made, producer, TRANSACTIONAL if is_transactional else 0))
    large = [Record(1_700_000_000_000 + number, b"%d" % number, b"x" * (number % 50)) for number in range(9_000)]
    return [*examples, (large, Producer(1, 0, 5), 0)]


def _of_tuples(made: list[Record], producer: Producer, bits: int) -> bytes:
    return encode_batch(made, producer=producer, attributes=bits)


def _of_columns(made: list[Record], producer: Producer, bits: int, codec: int = 0) -> bytes:
    pairs = [[{"key": name.decode(), "value": value} for name, value in one.headers] for one in made]
    columns = RecordColumns(
        key=pa.array([one.key for one in made], pa.binary()),
        value=pa.array([one.value for one in made], pa.large_binary()),
        headers=pa.array(pairs, pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))),
        timestamp_ms=pa.array([one.timestamp_ms for one in made]),
    )
    encoder = ColumnEncoder(codec=codec, attributes=bits, target_batch_bytes=64 << 20, max_batch_bytes=64 << 20)
    (batch,) = encoder.encode(columns, producer=producer)
    return bytes(batch.data)


def _described(made: Sequence[Record], producer: Producer, attributes: int) -> dict[str, Any]:
    """Describe the same batch for Java."""
    return batch(
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        base_sequence=producer.sequence,
        transactional=bool(attributes),
        records=[
            record(
                offset,
                timestamp_ms=one.timestamp_ms,
                key=one.key,
                value=one.value,
                headers=[(name.decode(), value) for name, value in one.headers],
            )
            for offset, one in enumerate(made)
        ],
    )


@pytest.mark.parametrize("encode", [_of_tuples, _of_columns])
def test_java_builds_the_same_bytes(kafkas: Sequence[JavaRecords], encode: Callable[..., bytes]) -> None:
    """Uncompressed batches are equal byte by byte: lengths, attributes, times, producer, sequence, checksum, records."""
    examples = _examples()
    ours = [encode(*example) for example in examples]
    for kafka in kafkas:
        assert kafka.build([_described(*example) for example in examples]) == ours


@pytest.mark.parametrize("codec", first(["zstd", *sorted({*CODECS} - {"zstd"})]))
def test_java_reads_what_was_given(kafkas: Sequence[JavaRecords], codec: str) -> None:
    """Every field is equal, with each codec."""
    examples = _examples()
    ours = [_of_columns(*example, CODECS[codec]) for example in examples]  # the tuple encoder makes the same bytes
    for kafka in kafkas:
        for (made, producer, bits), answer in zip(examples, kafka.read(ours), strict=True):
            assert answer.broken is None
            (batch,) = answer.batches
            assert batch.refusal is None
            assert (batch.magic, batch.base_offset, batch.last_offset) == (2, 0, len(made) - 1)
            assert (batch.producer_id, batch.producer_epoch) == producer[:2]
            assert (batch.leader_epoch, batch.transactional, batch.control) == (-1, bool(bits), False)
            assert batch.rows == tuple(
                Row(offset, one[0], 0, *one[1:3], tuple(one[3])) for offset, one in enumerate(made)
            )


@pytest.mark.parametrize("codec", CODECS)
def test_java_reads_batches_that_were_cut(kafkas: Sequence[JavaRecords], codec: str) -> None:
    """Each has its sequence number and is below the limit; decreasing times, and times before 1970, are kept."""
    random = Random(_SEED)
    values = [random.randbytes(random.randrange(200)) for _ in range(500)]
    times = [1_700_000_000_000 - 10**10 * number for number in range(500)]
    columns = RecordColumns(value=pa.array(values, pa.binary()), timestamp_ms=pa.array(times))
    encoder = ColumnEncoder(codec=CODECS[codec], target_batch_bytes=9_000, max_batch_bytes=5_000)
    batches = list(encoder.encode(columns, producer=Producer(77, 1, 2**31 - 200)))
    assert max(len(batch.data) for batch in batches) <= 5_000
    assert len(batches) > 5
    for kafka in kafkas:
        (answer,) = kafka.read([b"".join(batch.data for batch in batches)])
        assert answer.broken is None
        read = [(row.timestamp_ms, row.value) for batch in answer.batches for row in batch.rows or ()]
        assert read == list(zip(times, values, strict=True))
        assert {batch.producer_id for batch in answer.batches} == {77}
    assert [batch.producer.sequence for batch in batches] == [(2**31 - 200 + batch.first) % 2**31 for batch in batches]
