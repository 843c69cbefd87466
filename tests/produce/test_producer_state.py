"""The producer id of each partition and its next sequence number."""

import copy

import pytest

from kafka_lagoon.produce.producer_state import ProducerState
from kafka_lagoon.records.encoding import NOT_IDEMPOTENT, Producer
from kafka_lagoon.topic_partition import TopicPartition

FIRST, OTHER = TopicPartition("news", 0), TopicPartition("news", 1)


def test_one_producer_counts_by_partition() -> None:
    """Each partition starts at the producer's sequence number and continues after its own records."""
    state = ProducerState(Producer(7, 1, 0))
    state.advance(FIRST, 3)
    state.advance(FIRST, 2)
    passed_on = copy.deepcopy(state)
    assert (passed_on.of(FIRST), passed_on.of(OTHER)) == (Producer(7, 1, 5), Producer(7, 1, 0))
    assert passed_on.is_idempotent


def test_a_producer_for_each_partition() -> None:
    """Only partitions with a producer may be written to; sequence numbers wrap to 0 after the largest."""
    state = ProducerState(None, {FIRST: Producer(7, 1, 2**31 - 2)})
    assert state.is_idempotent
    state.advance(FIRST, 3)
    assert state.of(FIRST) == Producer(7, 1, 1)
    with pytest.raises(LookupError, match="no producer writes to news-1"):
        state.of(OTHER)


def test_without_an_id_nothing_is_counted() -> None:
    """Without a producer id batches have no sequence numbers."""
    state = ProducerState()
    state.advance(FIRST, 3)
    assert (state.of(FIRST), state.is_idempotent) == (NOT_IDEMPOTENT, False)
    assert not ProducerState(Producer(7, 1, 0), {FIRST: NOT_IDEMPOTENT}).is_idempotent
