"""The places of partitions in a request, and answers about partitions that were not requested."""

from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_lagoon.admin.answer_columns import PartitionOrder
from kafka_lagoon.admin.offsets import OffsetColumns
from kafka_lagoon.client.intake import Source
from kafka_lagoon.protocol.messages.list_offsets import (
    ListOffsetsResponse,
    ListOffsetsResponsePartition,
    ListOffsetsResponseTopic,
)
from kafka_lagoon.topic_partition import TopicPartition

SOURCE = Source(1, 0)
partitions = st.lists(st.builds(TopicPartition, st.sampled_from("ab"), st.integers(0, 5)), max_size=12)


def _answer(topic: str, *numbers: int) -> ListOffsetsResponse:
    answers = tuple(ListOffsetsResponsePartition(partition_index=number, offset=100 + number) for number in numbers)
    return ListOffsetsResponse(topics=(ListOffsetsResponseTopic(name=topic, partitions=answers),))


@given(wanted=partitions, other=st.builds(TopicPartition, st.sampled_from("abc"), st.integers(-7, 7)))
def test_places(wanted: list[TopicPartition], other: TopicPartition) -> None:
    """Each partition has its place in the order, counted once; others have none, whatever their numbers."""
    order = PartitionOrder(wanted)
    assert list(order.partitions) == list(dict.fromkeys(wanted))
    assert [order.place(one) for one in order.partitions] == list(range(len(order.partitions)))
    if other not in wanted:
        with pytest.raises(KeyError):
            order.place(other)


@pytest.mark.parametrize("numbers", [(0, 1, -1), (0, 1, 3), (0, 1, 1), (0, 1), (-3, -2, -1)])
def test_an_answer_about_other_partitions(numbers: tuple[int, ...]) -> None:
    """A number that was not requested is never taken for one that was."""
    wanted = [TopicPartition("a", number) for number in range(3)]
    columns = OffsetColumns(PartitionOrder(wanted))
    refused = columns.take(_answer("a", *numbers), wanted, SOURCE)
    answered = sorted({number for number in numbers if number in range(3)})
    assert sorted(columns.answers) == [TopicPartition("a", number) for number in answered]
    assert set(refused) == set(wanted) - set(columns.answers)
    assert all(one.offset == 100 + partition.partition for partition, one in columns.answers.items())


@pytest.mark.parametrize("numbers", [(0, 1, 2), (2, 0, 1)])
def test_an_answer_in_any_order(numbers: tuple[int, ...]) -> None:
    """The answers are kept by partition, and no partition is left."""
    wanted = [TopicPartition("a", number) for number in range(3)]
    columns = OffsetColumns(PartitionOrder(wanted))
    assert columns.take(_answer("a", *numbers), wanted, SOURCE) == {}
    assert {partition: one.offset for partition, one in columns.answers.items()} == {
        TopicPartition("a", number): 100 + number for number in range(3)
    }


def test_partitions_without_an_answer() -> None:
    """Each value gets to its place, and the others stay -1."""
    columns = OffsetColumns(PartitionOrder([TopicPartition("a", number) for number in range(5)]))
    wanted = [TopicPartition("a", number) for number in (3, 0)]
    assert columns.take(_answer("a", 3, 0), wanted, SOURCE) == {}
    assert columns.offsets == array("q", [100, -1, -1, 103, -1])
    assert columns.source_places == array("i", [0, -1, -1, 0, -1])
