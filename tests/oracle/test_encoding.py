"""Our batches against Kafka's MemoryRecords: byte for byte as Java builds them, and read by Java with every codec.

Both encoders: that of tuples and that of columns.
"""

from collections.abc import Callable, Sequence
from random import Random

import pyarrow as pa
import pytest

from kafka_lagoon.records.compressing import CODECS
from kafka_lagoon.records.encode_columns import ColumnEncoder, RecordColumns
from kafka_lagoon.records.encoding import Producer, Record
from tests.effort import first
from tests.oracle.memory_records import JavaRecords
from tests.oracle.our_batches import Batch, any_batch, check_read, described, of_columns, of_tuples

pytestmark = pytest.mark.java

_SEED = 20_261_121


def _examples() -> list[Batch]:
    """Make batches of all sizes; one is large."""
    random = Random(_SEED)
    examples = [any_batch(random, count) for count in (1, 1, 2, 3, 10, 40, 70, 130)]
    large = [Record(1_700_000_000_000 + number, b"%d" % number, b"x" * (number % 50)) for number in range(9_000)]
    return [*examples, Batch(large, Producer(1, 0, 5), 0)]


@pytest.mark.parametrize("encode", [of_tuples, of_columns])
def test_java_builds_the_same_bytes(kafkas: Sequence[JavaRecords], encode: Callable[..., bytes]) -> None:
    """Uncompressed batches are equal byte by byte: lengths, attributes, times, producer, sequence, checksum, records."""
    examples = _examples()
    ours = [encode(example) for example in examples]
    for kafka in kafkas:
        assert kafka.build([described(example) for example in examples]) == ours


@pytest.mark.parametrize("codec", first(["zstd", *sorted({*CODECS} - {"zstd"})]))
def test_java_reads_what_was_given(kafkas: Sequence[JavaRecords], codec: str) -> None:
    """Every field is equal, with each codec."""
    examples = _examples()
    ours = [of_columns(example, CODECS[codec]) for example in examples]  # the tuple encoder makes the same bytes
    for kafka in kafkas:
        for example, answer in zip(examples, kafka.read(ours), strict=True):
            check_read(example, answer)


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
