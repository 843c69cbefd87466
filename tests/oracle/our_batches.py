"""Writes random records with our two encoders, that of tuples and that of columns, and describes the same batches for Java."""

from collections.abc import Sequence
from random import Random
from typing import Any, NamedTuple

import pyarrow as pa

from kafka_lagoon.records.encode_columns import ColumnEncoder, RecordColumns
from kafka_lagoon.records.encoding import NOT_IDEMPOTENT, TRANSACTIONAL, Producer, Record, encode_batch
from tests.oracle.memory_records import JavaAnswer, Row, batch, record

_SIZES = (0, 1, 63, 64, 127, 128, 8191, 8192, 20_000)
_NAMES = ("", "a", "trace", "ключ \U0001f511", "k" * 300)
_TIMES = (-1, 0, 1_700_000_000_000, 2**62, 2**63 - 1)


class Batch(NamedTuple):
    """Records, their producer, and the bits of attributes beside the codec's."""

    records: list[Record]
    producer: Producer
    attributes: int


def any_batch(random: Random, count: int) -> Batch:
    """Draw a batch with nulls, repeated and null headers, decreasing times, and a producer of any kind."""
    producer = random.choice((NOT_IDEMPOTENT, Producer(4_000, 0, 0), Producer(2**62, 7, 2**31 - 1)))
    is_transactional = producer != NOT_IDEMPOTENT and random.random() < 0.5
    return Batch([_record(random) for _ in range(count)], producer, TRANSACTIONAL if is_transactional else 0)


def _record(random: Random) -> Record:
    headers = [(random.choice(_NAMES).encode(), _field(random)) for _ in range(random.choice((0, 0, 1, 5)))]
    time = random.choice((*_TIMES, 1_700_000_000_000 + random.randrange(10_000)))
    return Record(time, _field(random), _field(random), headers + headers[:1])


def _field(random: Random) -> bytes | None:
    return None if random.random() < 0.2 else random.randbytes(random.choice(_SIZES))


def of_tuples(made: Batch, codec: int = 0) -> bytes:
    """The bytes that the encoder of tuples writes."""
    return encode_batch(made.records, codec=codec, producer=made.producer, attributes=made.attributes)


def of_columns(made: Batch, codec: int = 0) -> bytes:
    """The bytes that the encoder of columns writes."""
    pairs = [[{"key": name.decode(), "value": value} for name, value in one.headers] for one in made.records]
    columns = RecordColumns(
        key=pa.array([one.key for one in made.records], pa.binary()),
        value=pa.array([one.value for one in made.records], pa.large_binary()),
        headers=pa.array(pairs, pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))),
        timestamp_ms=pa.array([one.timestamp_ms for one in made.records]),
    )
    most = 64 << 20
    encoder = ColumnEncoder(codec=codec, attributes=made.attributes, target_batch_bytes=most, max_batch_bytes=most)
    (written,) = encoder.encode(columns, producer=made.producer)
    return bytes(written.data)


def described(made: Batch) -> dict[str, Any]:
    """Describe the same batch for Java."""
    return batch(
        producer_id=made.producer.producer_id,
        producer_epoch=made.producer.epoch,
        base_sequence=made.producer.sequence,
        transactional=bool(made.attributes),
        records=[
            record(
                offset,
                timestamp_ms=one.timestamp_ms,
                key=one.key,
                value=one.value,
                headers=[(name.decode(), value) for name, value in one.headers],
            )
            for offset, one in enumerate(made.records)
        ],
    )


def check_read(made: Batch, answer: JavaAnswer) -> None:
    """AssertionError if Java does not read every field as it was given."""
    assert answer.broken is None, answer.broken
    (read,) = answer.batches
    assert read.refusal is None, read.refusal
    expected = (2, 0, len(made.records) - 1, *made.producer[:2], -1, bool(made.attributes), False)
    ids = (read.producer_id, read.producer_epoch, read.leader_epoch, read.transactional, read.control)
    assert (read.magic, read.base_offset, read.last_offset, *ids) == expected, f"{read} is not {expected}"
    assert read.rows == rows(made.records), f"Java reads {read.rows} in {made}"


def rows(records: Sequence[Record]) -> tuple[Row, ...]:
    """The records as Java reads them."""
    return tuple(Row(offset, one[0], 0, *one[1:3], tuple(one[3])) for offset, one in enumerate(records))
