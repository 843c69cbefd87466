"""No batch exceeds its limit, and all batches together do not exceed theirs."""

from hypothesis import given
from hypothesis import strategies as st

from kafka_lagoon.produce.batching import RecordAccumulator
from kafka_lagoon.records.encoding import BATCH_OVERHEAD, Record, encode_batch

BATCH_BYTES, BUFFER_BYTES = 500, 1_200


def accumulator() -> RecordAccumulator:
    return RecordAccumulator(batch_bytes=BATCH_BYTES, buffer_bytes=BUFFER_BYTES)


def record(size: int) -> Record:
    return Record(0, None, bytes(size))


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 700)), max_size=60))
def test_limits_hold(appended: list[tuple[int, int]]) -> None:
    """Batches that are drained when they are full keep to both limits; only a larger record gets its own batch."""
    batches, collected = accumulator(), []
    for index, (partition, size) in enumerate(appended):
        added = record(size)
        if not batches.append(partition, index, added, added.size()):
            collected.append(batches.drain())
            assert batches.append(partition, index, added, added.size())
    collected.append(batches.drain())
    assert batches.is_empty
    for drained in collected:
        records = [one for batch in drained.values() for one in batch.records]
        assert sum(one.size() for one in records) <= BUFFER_BYTES or len(records) == 1
        for batch in drained.values():
            assert len(encode_batch(batch.records)) <= batch.size
            assert batch.size <= BATCH_BYTES or len(batch.records) == 1
    by_index = {
        index: (partition, len(one.value or b""))
        for drained in collected
        for partition, batch in drained.items()
        for index, one in zip(batch.indexes, batch.records, strict=True)
    }
    assert [by_index[index] for index in range(len(appended))] == appended


def test_a_record_that_just_fits() -> None:
    """The overhead of a batch counts, and a record that exactly fills the remaining space fits."""
    batches, added = accumulator(), record(10)
    assert batches.append(0, 0, added, added.size())
    left = BATCH_BYTES - BATCH_OVERHEAD - added.size()
    assert not batches.append(0, 1, added, left + 1)
    assert batches.append(0, 1, added, left)
    assert batches.append(1, 2, added, left + 1)
    assert [batch.indexes for batch in batches.drain().values()] == [[0, 1], [2]]
