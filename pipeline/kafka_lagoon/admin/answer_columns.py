"""Keeps answers about many partitions by column, in the order of the requested partitions.

A snapshot asks for seven offsets of every partition: an answer, a source and a name for each would be two million objects.
"""

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import getitem, itemgetter
from typing import Any, Generic, TypeVar

from kafka_lagoon.client.intake import Intake, Refusal, Source
from kafka_lagoon.errors import Contradiction
from kafka_lagoon.frozen import frozen
from kafka_lagoon.topic_partition import TopicPartition
from kafka_lagoon.wire.columns import Structs, by_column

A = TypeVar("A")
NONE = -1


@frozen
class Form:
    """The structs of a response's topics and of their partitions, and the fields that name them."""

    topics: type
    answers: type
    topic: str
    partition: str
    kept: Mapping[str, str]  # fields that become columns, with their type codes


class PartitionChunk:
    """The partitions of one request, and their `places` in the order; `by_topic` has them topic by topic, as it names them."""

    def __init__(self, order: "PartitionOrder", items: Sequence[TopicPartition]) -> None:
        self.items, self.by_topic = items, items
        self.topics, self.counts = [topic for topic, _ in items], [1] * len(items)
        if len(set(self.topics)) < len(items):
            by_topic: dict[str, list[TopicPartition]] = {topic: [] for topic in self.topics}
            for item in items:
                by_topic[item[0]].append(item)
            self.topics, self.counts = list(by_topic), list(map(len, by_topic.values()))
            self.by_topic = [item for some in by_topic.values() for item in some]
        self.partitions = array("i", [partition for _, partition in self.by_topic])
        self.places = order.places_of(self.topics, self.counts, self.partitions)
        self._answered: tuple[list[str], Sequence[int], Sequence[int]] = self.topics, self.counts, self.partitions
        self._answered_places = self.places

    def places_of(self, order: "PartitionOrder", topics: Structs[Any], form: Form) -> "array[int] | None":
        """The places of the partitions in a response; None if they are not exactly those of this chunk.

        Responses about the same chunk mostly have the same order, often that of the request.
        """
        partitions = topics.lists("partitions")
        answered = list(topics.column(form.topic)), partitions.counts, partitions.items.column(form.partition)
        if answered != self._answered:
            try:
                places = order.places_of(*answered)
            except KeyError:
                return None
            if sorted(places) != sorted(self.places):
                return None
            self._answered, self._answered_places = answered, places
        return self._answered_places


class PartitionOrder:
    """The requested partitions, each once, and the place of each."""

    def __init__(self, partitions: Sequence[TopicPartition]) -> None:
        self.partitions, self._places = partitions, _numbered(partitions)
        if sum(map(len, self._places.values())) < len(partitions):
            self.partitions = list(dict.fromkeys(partitions))
            self._places = _numbered(self.partitions)
        self._chunks: dict[TopicPartition, PartitionChunk] = {}  # by the first partition of each

    @property
    def topics(self) -> Iterable[str]:
        """The topics of the partitions."""
        return self._places.keys()

    def chunk(self, items: Sequence[TopicPartition]) -> PartitionChunk:
        """The items of one request. Requests for several kinds of offset share a chunk while their items are equal."""
        known = self._chunks.get(items[0])
        if known is None or known.items != items:
            known = self._chunks[items[0]] = PartitionChunk(self, items)
        return known

    def forget_chunks(self) -> None:
        """Free the memory of the chunks, once all requests are answered."""
        self._chunks.clear()

    def places_of(self, names: Sequence[str], counts: Sequence[int], partitions: Sequence[int]) -> "array[int]":
        """The places of partitions of some topics; KeyError for a partition that was not requested."""
        places = array("i")
        start = 0
        if partitions and min(partitions) < 0:  # a range would count it from its end
            raise KeyError(min(partitions))
        of_topics = map(self._places.__getitem__, names)
        try:
            if counts.count(1) == len(counts):  # as of most topics, if there are more brokers than partitions
                return array("i", map(getitem, of_topics, partitions))
            for of_topic, count in zip(of_topics, counts, strict=True):
                places.extend(map(of_topic.__getitem__, partitions[start : start + count]))
                start += count
        except IndexError as beyond:
            raise KeyError(max(partitions)) from beyond
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


def _numbered(partitions: Sequence[TopicPartition]) -> "dict[str, range | dict[int, int]]":
    """The place of each partition, by topic and partition; of one that is named twice the last place.

    Mostly all partitions of a topic are requested in their order, and a range says the same as a dictionary.
    """
    places: dict[str, range | dict[int, int]] = {}
    start = 0
    for topic, neighbours in groupby(partitions, itemgetter(0)):
        numbers = [number for _, number in neighbours]
        here = range(start, start + len(numbers))
        start = here.stop
        known = places.get(topic)
        if known is None and numbers == list(range(len(numbers))):
            places[topic] = here
        else:
            before = dict(enumerate(known)) if isinstance(known, range) else known or {}
            places[topic] = before | dict(zip(numbers, here, strict=True))
    return places


class AnswerColumns(Intake[TopicPartition, A], Generic[A]):
    """Answers of one kind about partitions: -1 in each column where there is no answer.

    `codes_of` gives the error codes of those topics whose partitions all have one.
    """

    def __init__(
        self, order: PartitionOrder, form: Form, codes_of: Callable[[Iterable[str]], Mapping[str, int]] | None = None
    ) -> None:
        self.order, self.form, self._codes_of = order, form, codes_of or _no_codes
        count = len(order.partitions)
        self.columns = {name: array(code, [NONE]) * count for name, code in form.kept.items()}
        self.source_places = array("i", [NONE]) * count  # of its source in `several_sources`; -1 without an answer
        self.several_sources: list[Source] = []

    # As attributes they would be a reference cycle, which keeps some 30 MB of 100,000 partitions until the next collection.
    @property
    def answers(self) -> "AnswersByPartition[A]":  # type: ignore[override]
        """The answers as messages, by partition."""
        return AnswersByPartition(self)

    @property
    def sources(self) -> "_SourcesByPartition":  # type: ignore[override]
        """The sources, by partition."""
        return _SourcesByPartition(self)

    def take(self, response: Any, items: Sequence[TopicPartition], source: Source) -> Mapping[TopicPartition, Refusal]:
        """Keep a response as a whole if it answers for exactly these partitions, without an error."""
        wanted, topics = self.order.chunk(items), by_column(response.topics, self.form.topics)
        answers = topics.lists("partitions").items
        self.several_sources.append(source)
        places = wanted.places_of(self.order, topics, self.form)
        codes = self._codes_of(topics.column(self.form.topic))
        if places is None or codes or any(answers.column("error_code")):
            return self._take_each(response, items, codes)
        self._keep(places, answers)
        return {}

    def _keep(self, places: "array[int]", answers: Structs[A]) -> None:
        for name, column in self.columns.items():
            for place, value in zip(places, answers.column(name), strict=True):
                column[place] = value
        number = len(self.several_sources) - 1
        for place in places:
            self.source_places[place] = number

    def _take_each(
        self, response: Any, items: Sequence[TopicPartition], codes: Mapping[str, int]
    ) -> Mapping[TopicPartition, Refusal]:
        """Sort the answers; partitions that were not requested are ignored, and two different answers are not believed."""
        form = self.form
        refused: dict[TopicPartition, Refusal] = dict.fromkeys(items)
        answers: dict[TopicPartition, Any] = {}
        for topic in response.topics:
            name = getattr(topic, form.topic)
            code = codes.get(name, 0)
            for answer in topic.partitions:
                item = TopicPartition(name, getattr(answer, form.partition))
                if item not in refused:
                    continue
                if answers.setdefault(item, answer) != answer:
                    refused[item] = Contradiction()
                elif refused[item] is None and (code or answer.error_code):
                    refused[item] = code or answer.error_code
        for item, answer in answers.items():
            if refused[item] is None:
                del refused[item]
                self._keep(array("i", [self.order.place(item)]), by_column((answer,), form.answers))
        return refused


def _no_codes(_topics: Iterable[str]) -> Mapping[str, int]:
    """No topic has an error."""
    return {}


class AnswersByPartition(Mapping[TopicPartition, A], Generic[A]):
    """The answers as messages, by partition."""

    def __init__(self, columns: AnswerColumns[A]) -> None:
        self.columns = columns

    def __getitem__(self, partition: TopicPartition) -> A:
        columns, place = self.columns, self.columns.order.place(partition)
        if columns.source_places[place] < 0:
            raise KeyError(partition)
        values = {name: column[place] for name, column in columns.columns.items()}
        answer: A = columns.form.answers(**{columns.form.partition: partition.partition, "error_code": 0, **values})
        return answer

    def __iter__(self) -> Iterator[TopicPartition]:
        columns = self.columns
        for partition, source in zip(columns.order.partitions, columns.source_places, strict=True):
            if source >= 0:
                yield partition

    def __len__(self) -> int:
        return len(self.columns.source_places) - self.columns.source_places.count(NONE)


class _SourcesByPartition(Mapping[TopicPartition, Source]):
    """The sources, by partition."""

    def __init__(self, columns: AnswerColumns[Any]) -> None:
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
