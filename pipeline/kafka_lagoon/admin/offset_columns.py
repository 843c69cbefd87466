"""Keeps offsets of many partitions by column, in the order of the requested partitions.

A snapshot asks for seven offsets of every partition: an answer, a source and a name for each would be two million objects.
"""

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence

from kafka_lagoon.client.routing import Intake, Refusal, Source
from kafka_lagoon.errors import Contradiction
from kafka_lagoon.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsResponse,
    ListOffsetsResponsePartition,
    ListOffsetsResponseTopic,
    ListOffsetsTopic,
)
from kafka_lagoon.topic_partition import TopicPartition
from kafka_lagoon.wire.columns import Lists, Structs, by_column

_NONE = -1


class PartitionChunk:
    """Some partitions of a request by topic, and their places in the order."""

    def __init__(self, order: "PartitionOrder", items: Sequence[TopicPartition]) -> None:
        self.items = items
        by_topic: dict[str, list[int]] = {}
        for topic, partition in items:
            if topic in by_topic:
                by_topic[topic].append(partition)
            else:
                by_topic[topic] = [partition]
        self._names, self._counts = list(by_topic), list(map(len, by_topic.values()))
        self._partitions = array("i", [partition for some in by_topic.values() for partition in some])
        self._places = _sorted(order.places_of(self._names, self._counts, self._partitions))
        self._answered: tuple[list[str], Sequence[int], Sequence[int]] | None = None
        self._answered_places: list[int] = []

    def places_of(self, order: "PartitionOrder", topics: Structs[ListOffsetsResponseTopic]) -> list[int] | None:
        """The places of the partitions in a response; None if they are not exactly those of this chunk.

        Responses about the same chunk mostly have the same order.
        """
        partitions = topics.lists("partitions")
        answered = list(topics.column("name")), partitions.counts, partitions.items.column("partition_index")
        if answered != self._answered:
            try:
                places = order.places_of(*answered)
            except KeyError:
                return None
            if _sorted(places) != self._places:
                return None
            self._answered, self._answered_places = answered, places
        return self._answered_places

    def topics(self, timestamp: int) -> Sequence[ListOffsetsTopic]:
        """The topics of a request for the offset that a timestamp stands for."""
        count = len(self._partitions)
        columns = {
            "partition_index": self._partitions,
            "current_leader_epoch": array("i", [_NONE]) * count,
            "timestamp": array("q", [timestamp]) * count,
            "max_num_offsets": array("i", [1]) * count,
        }
        partitions = Structs.of(ListOffsetsPartition, columns)
        return Structs.of(ListOffsetsTopic, {"name": self._names, "partitions": Lists(self._counts, partitions)})


class PartitionOrder:
    """The requested partitions, each once, and the place of each."""

    def __init__(self, partitions: Sequence[TopicPartition]) -> None:
        self.partitions, places = partitions, _numbered(partitions)
        if sum(map(len, places.values())) < len(partitions):
            self.partitions = list(dict.fromkeys(partitions))
            places = _numbered(self.partitions)
        self._places = {topic: _compact(some) for topic, some in places.items()}
        self._chunks: dict[TopicPartition, PartitionChunk] = {}  # by the first partition of each

    def chunk(self, items: Sequence[TopicPartition]) -> PartitionChunk:
        """The items of one request. Requests for several kinds of offset share a chunk while their items are equal."""
        known = self._chunks.get(items[0])
        if known is None or known.items != items:
            known = self._chunks[items[0]] = PartitionChunk(self, items)
        return known

    def forget_chunks(self) -> None:
        """Free the memory of the chunks, once all requests are answered."""
        self._chunks.clear()

    def places_of(self, names: Sequence[str], counts: Sequence[int], partitions: Sequence[int]) -> list[int]:
        """The places of partitions of some topics; KeyError for a partition that was not requested."""
        places: list[int] = []
        start = 0
        if partitions and min(partitions) < 0:  # a range would count it from its end
            raise KeyError(min(partitions))
        try:
            for name, count in zip(names, counts, strict=True):
                places += map(self._places[name].__getitem__, partitions[start : start + count])
                start += count
        except IndexError as beyond:
            raise KeyError(name) from beyond
        return places

    def place(self, partition: TopicPartition) -> int:
        """The place of a partition; KeyError if it was not requested."""
        topic, number = partition
        if number >= 0:
            try:
                return self._places[topic][number]
            except IndexError:
                pass
        raise KeyError(partition)


def _numbered(partitions: Sequence[TopicPartition]) -> dict[str, dict[int, int]]:
    """The place of each partition, by topic and partition; of one that is named twice the last place."""
    places: dict[str, dict[int, int]] = {}
    for place, (topic, partition) in enumerate(partitions):
        places.setdefault(topic, {})[partition] = place
    return places


def _compact(places: dict[int, int]) -> "range | dict[int, int]":
    """The places of a topic's partitions. Mostly all are requested in their order, and a range says the same."""
    first = next(iter(places.values()))
    if list(places) == list(range(len(places))) and list(places.values()) == list(range(first, first + len(places))):
        return range(first, first + len(places))
    return places


def _sorted(places: Iterable[int]) -> "array[int]":
    return array("i", sorted(places))


class OffsetColumns(Intake[TopicPartition, ListOffsetsResponsePartition]):
    """One kind of offset of partitions: -1 in each column where there is no answer, or no such offset."""

    def __init__(self, order: PartitionOrder) -> None:
        self.order, count = order, len(order.partitions)
        self.offsets = array("q", [_NONE]) * count
        self.timestamps = array("q", [_NONE]) * count
        self.leader_epochs = array("i", [_NONE]) * count
        self.source_places = array("i", [_NONE]) * count  # of its source in `several_sources`; -1 without an answer
        self.several_sources: list[Source] = []

    # As attributes they would be a reference cycle, which keeps some 30 MB of 100,000 partitions until the next collection.
    @property
    def answers(self) -> "_AnswersByPartition":  # type: ignore[override]
        """The answers as messages, by partition."""
        return _AnswersByPartition(self)

    @property
    def sources(self) -> "_SourcesByPartition":  # type: ignore[override]
        """The sources, by partition."""
        return _SourcesByPartition(self)

    def take(
        self, response: ListOffsetsResponse, items: Sequence[TopicPartition], source: Source
    ) -> Mapping[TopicPartition, Refusal]:
        """Keep a response as a whole if it answers for exactly these partitions, without an error."""
        wanted, topics = self.order.chunk(items), by_column(response.topics, ListOffsetsResponseTopic)
        answers = topics.lists("partitions").items
        self.several_sources.append(source)
        places = wanted.places_of(self.order, topics)
        if places is None or any(answers.column("error_code")):
            return self._take_each(response, items)
        self._keep(places, answers)
        return {}

    def _keep(self, places: Sequence[int], answers: Structs[ListOffsetsResponsePartition]) -> None:
        number = len(self.several_sources) - 1
        offsets, timestamps, leader_epochs = self.offsets, self.timestamps, self.leader_epochs
        given = [answers.column(name) for name in ("offset", "timestamp", "leader_epoch")]
        for place, offset, timestamp, leader_epoch in zip(places, *given, strict=True):
            offsets[place], timestamps[place], leader_epochs[place] = offset, timestamp, leader_epoch
            self.source_places[place] = number

    def _take_each(
        self, response: ListOffsetsResponse, items: Sequence[TopicPartition]
    ) -> Mapping[TopicPartition, Refusal]:
        """Sort the answers; partitions that were not requested are ignored, and two different answers are not believed."""
        refused: dict[TopicPartition, Refusal] = dict.fromkeys(items)
        answers: dict[TopicPartition, ListOffsetsResponsePartition] = {}
        for topic in response.topics:
            for answer in topic.partitions:
                item = TopicPartition(topic.name, answer.partition_index)
                if item not in refused:
                    continue
                if answers.setdefault(item, answer) != answer:
                    refused[item] = Contradiction()
                elif refused[item] is None and answer.error_code:
                    refused[item] = answer.error_code
        for item, answer in answers.items():
            if refused[item] is None:
                del refused[item]
                self._keep([self.order.place(item)], by_column((answer,), ListOffsetsResponsePartition))
        return refused

    def take_back_absent(self) -> list[TopicPartition]:
        """Remove the answers that there is no such offset, and return their partitions."""
        if not self.offsets or min(self.offsets) >= 0:
            return []
        absent = [place for place, source in enumerate(self.source_places) if self.offsets[place] < 0 <= source]
        for place in absent:
            self.offsets[place], self.source_places[place] = _NONE, _NONE
        return [self.order.partitions[place] for place in absent]


class _AnswersByPartition(Mapping[TopicPartition, ListOffsetsResponsePartition]):
    """The answers as messages, by partition."""

    def __init__(self, columns: OffsetColumns) -> None:
        self.columns = columns

    def __getitem__(self, partition: TopicPartition) -> ListOffsetsResponsePartition:
        columns, place = self.columns, self.columns.order.place(partition)
        if columns.source_places[place] < 0:
            raise KeyError(partition)
        return ListOffsetsResponsePartition(
            partition_index=partition.partition,
            error_code=0,
            timestamp=columns.timestamps[place],
            offset=columns.offsets[place],
            leader_epoch=columns.leader_epochs[place],
        )

    def __iter__(self) -> Iterator[TopicPartition]:
        columns = self.columns
        for partition, source in zip(columns.order.partitions, columns.source_places, strict=True):
            if source >= 0:
                yield partition

    def __len__(self) -> int:
        return len(self.columns.source_places) - self.columns.source_places.count(_NONE)


class _SourcesByPartition(Mapping[TopicPartition, Source]):
    """The sources, by partition."""

    def __init__(self, columns: OffsetColumns) -> None:
        self._columns = columns

    def __getitem__(self, partition: TopicPartition) -> Source:
        number = self._columns.source_places[self._columns.order.place(partition)]
        if number < 0:
            raise KeyError(partition)
        return self._columns.several_sources[number]

    def __iter__(self) -> Iterator[TopicPartition]:
        return iter(self._columns.answers)

    def __len__(self) -> int:
        return len(self._columns.answers)


def columns_of(
    answers: Mapping[TopicPartition, ListOffsetsResponsePartition],
    sources: Mapping[TopicPartition, Source],
    partitions: Sequence[TopicPartition],
) -> OffsetColumns:
    """Answers by column in the order of `partitions`; answers in another form are converted."""
    if isinstance(answers, _AnswersByPartition) and answers.columns.order.partitions == partitions:
        return answers.columns
    columns = OffsetColumns(PartitionOrder(partitions))
    for place, partition in enumerate(columns.order.partitions):
        answer = answers.get(partition)
        if answer is not None:
            columns.several_sources.append(sources[partition])
            columns.offsets[place], columns.timestamps[place] = answer.offset, answer.timestamp
            columns.leader_epochs[place] = answer.leader_epoch
            columns.source_places[place] = len(columns.several_sources) - 1
    return columns
