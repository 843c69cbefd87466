"""Parses the options of the data source, which have the names of Spark's Kafka connector.

An option is applied, or refused with its name and an alternative; all faults are listed at once. Properties of Kafka's clients
that change no row are accepted. Modules that load slowly are not imported: Spark starts a Python process for each `load`.
"""

import difflib
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kafka_lagoon.errors import ConfigError
from kafka_lagoon.fetch.offset_specs import (
    EARLIEST,
    LATEST,
    AtOffset,
    AtTime,
    OffsetSpec,
    OffsetSpecs,
)
from kafka_lagoon.fetch.split import READ_COMMITTED, READ_UNCOMMITTED
from kafka_lagoon.frozen import frozen
from kafka_lagoon.integers import MOST_INT64
from kafka_lagoon.patterns import compile_pattern
from kafka_lagoon.source.kafka_properties import misspelt
from kafka_lagoon.topic_partition import TopicPartition

_EARLIEST, _LATEST = -2, -1  # as the connector spells them in JSON
_PARTITION = re.compile(r"0|[1-9]\d{0,9}", re.ASCII)  # no leading zeros, with which it could be named twice
# Keys beside the topics of a stream's offsets, which no topic can have as its name.
TOPIC_IDS, STARTED_AT = "#topic_ids", "#started_at"

_TOPICS = ("subscribe", "assign", "subscribePattern")
_STREAM_ONLY = ("maxOffsetsPerTrigger",)
_BATCH_ONLY = ("endingOffsets", "endingOffsetsByTimestamp", "endingTimestamp")
_NAMES = (
    *_TOPICS,
    *_STREAM_ONLY,
    *_BATCH_ONLY,
    "startingOffsets",
    "startingOffsetsByTimestamp",
    "startingTimestamp",
    "startingOffsetsByTimestampStrategy",
    "minPartitions",
    "maxRecordsPerPartition",
    "failOnDataLoss",
    "includeHeaders",
)
# Options of the connector's consumers: this source has none, so these have no effect on rows and are accepted.
_MEANINGLESS = (
    "kafkaConsumer.pollTimeoutMs",
    "fetchOffset.numRetries",
    "fetchOffset.retryIntervalMs",
    "groupIdPrefix",
)
# Options of the connector that would delay a micro-batch until there are enough records.
_WAITS = {"minoffsetspertrigger": "minOffsetsPerTrigger", "maxtriggerdelay": "maxTriggerDelay"}
_INSTEAD = {
    "auto.offset.reset": "use startingOffsets",
    "enable.auto.commit": "nothing is committed to Kafka",
    "key.deserializer": "keys are binary: cast the column",
    "value.deserializer": "values are binary: cast the column",
    "interceptor.classes": "there is no consumer here",
}
_KAFKA = "kafka."


@frozen
class SourceOptions:
    """The topics to read and how; `kafka` are the properties of the connection, under Kafka's dotted names."""

    kafka: Mapping[str, str] = field(repr=False)  # with passwords as text
    topics: tuple[str, ...]
    pattern: str | None
    assigned: frozenset[TopicPartition] | None
    start: OffsetSpecs | None  # None: batches start at the earliest, streams at the latest
    end: OffsetSpecs
    latest_if_no_record: bool
    min_partitions: int | None
    max_records_per_partition: int | None
    max_offsets_per_trigger: int | None
    fail_on_data_loss: bool
    include_headers: bool
    isolation_level: str
    given: frozenset[str]

    def require_batch(self) -> "SourceOptions":
        """Return the options; ConfigError for those that only streams have."""
        problems = [f"{name}: only streams have triggers" for name in _STREAM_ONLY if name in self.given]
        return self._without(problems + _empty_by_definition(self.start, self.end))

    def require_stream(self) -> "SourceOptions":
        """Return the options; ConfigError for those that only batches have."""
        return self._without([f"{name}: a stream has no end" for name in _BATCH_ONLY if name in self.given])

    def _without(self, problems: Sequence[str]) -> "SourceOptions":
        if problems:
            raise ConfigError(problems)
        return self


def parse(given: Mapping[str, str]) -> SourceOptions:
    """Parse options, whose names may have any case; ConfigError lists every fault."""
    kafka = {name.lower().removeprefix(_KAFKA): text for name, text in given.items() if name.lower().startswith(_KAFKA)}
    ours = {name.lower(): text for name, text in given.items() if not name.lower().startswith(_KAFKA)}
    texts = OptionTexts(ours)
    texts.problems += _unknown(ours)
    isolation = kafka.get("isolation.level", READ_COMMITTED)
    texts.problems += _kafka_problems(kafka, isolation)
    topics, pattern, assigned = _selection(texts)
    options = SourceOptions(
        kafka=kafka,
        topics=topics,
        pattern=pattern,
        assigned=assigned,
        start=_offset_specs(texts, "starting"),
        end=_offset_specs(texts, "ending") or OffsetSpecs(name="endingOffsets", default=LATEST),
        latest_if_no_record=texts.word("startingOffsetsByTimestampStrategy", ("error", "latest")) == "latest",
        min_partitions=texts.number("minPartitions"),
        max_records_per_partition=texts.number("maxRecordsPerPartition"),
        max_offsets_per_trigger=texts.number("maxOffsetsPerTrigger"),
        fail_on_data_loss=texts.word("failOnDataLoss", ("true", "false")) == "true",
        include_headers=texts.word("includeHeaders", ("false", "true")) == "true",
        isolation_level=isolation,
        given=frozenset(name for name in _NAMES if name.lower() in ours),
    )
    if texts.problems:
        raise ConfigError(texts.problems)
    return options


@dataclass(slots=True)
class OptionTexts:
    """Options by lower-case name, and the faults of those that were parsed."""

    given: Mapping[str, str]
    problems: list[str] = field(default_factory=list)

    def text(self, name: str) -> str | None:
        """An option as it was given."""
        return self.given.get(name.lower())

    def word(self, name: str, allowed: Sequence[str]) -> str:
        """One of the allowed words, of which the first is the default."""
        word = (self.text(name) or allowed[0]).strip().lower()
        if word not in allowed:
            self.problems.append(f"{name}: {word!r} is neither {' nor '.join(allowed)}")
        return word

    def number(self, name: str) -> int | None:
        """A number above 0."""
        text = self.text(name)
        if text is None:
            return None
        if not re.fullmatch(r"0*[1-9]\d{0,18}", text.strip()):
            self.problems.append(f"{name}: {text!r} is not a whole number above 0")
            return None
        if int(text) > MOST_INT64:  # Spark's and Kafka's numbers are int64 at most
            self.problems.append(f"{name}: {text.strip()} is more than {MOST_INT64}")
            return None
        return int(text)

    def time(self, name: str) -> int | None:
        """A time in epoch milliseconds."""
        text = self.text(name)
        if text is None:
            return None
        if not re.fullmatch(r"\d{1,18}", text.strip()):
            self.problems.append(f"{name}: {text!r} is not a time in milliseconds since 1970")
            return None
        return int(text)

    def json(self, name: str, example: str) -> Mapping[str, Any]:
        """A JSON object; empty if there is none, or after a fault. A name that it has twice is a fault."""

        def object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
            repeated = sorted(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
            self.problems += [f"{name}: {key} is named twice" for key in repeated]
            return dict(pairs)

        try:
            value = json.loads(self.text(name) or "", object_pairs_hook=object_of)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict) and value:
            return value
        self.problems.append(f"{name}: not JSON like {example}")
        return {}


def _selection(texts: OptionTexts) -> tuple[tuple[str, ...], str | None, frozenset[TopicPartition] | None]:
    """Topics, a pattern or partitions: exactly one of them must be given."""
    given = [name for name in _TOPICS if texts.text(name) is not None]
    if len(given) != 1:
        texts.problems.append(f"{' and '.join(given) or 'no topics'}: set one of {', '.join(_TOPICS)}")
        return (), None, None
    match given[0]:
        case "subscribe":
            return _names(texts), None, None
        case "subscribePattern":
            return (), _pattern(texts), None
        case _:
            assigned = _assigned(texts)
            return tuple(sorted({topic for topic, _ in assigned})), None, assigned


def _names(texts: OptionTexts) -> tuple[str, ...]:
    names = [name.strip() for name in (texts.text("subscribe") or "").split(",")]
    if not any(names):
        texts.problems.append("subscribe: no topics; write it as topicA,topicB")
    return tuple(sorted({name for name in names if name}))


def _pattern(texts: OptionTexts) -> str:
    pattern = texts.text("subscribePattern") or ""
    try:
        compile_pattern(pattern)
    except ValueError as error:
        texts.problems.append(f"subscribePattern: {error}")
    if not pattern:
        texts.problems.append("subscribePattern: empty; write it as topic-.*")
    return pattern


def _assigned(texts: OptionTexts) -> frozenset[TopicPartition]:
    example = '{"topicA":[0,1]}'
    assigned = set[TopicPartition]()
    for topic, numbers in texts.json("assign", example).items():
        if not isinstance(numbers, list) or not all(type(number) is int and number >= 0 for number in numbers):
            texts.problems.append(f"assign: {topic}: not partition numbers as in {example}")
            continue
        assigned |= {TopicPartition(topic, number) for number in numbers}
    return frozenset(assigned)


def _offset_specs(texts: OptionTexts, side: str) -> OffsetSpecs | None:
    """The offsets at which reading starts or ends.

    Times of partitions take precedence over a time for all, and offsets over both.
    """
    offsets, times, time = f"{side}Offsets", f"{side}OffsetsByTimestamp", f"{side}Timestamp"
    if texts.text(time) is not None:
        return OffsetSpecs(name=time, default=AtTime(texts.time(time) or 0))
    if texts.text(times) is not None:
        numbers = _by_partition(texts, times, texts.json(times, '{"topicA":{"0":1700000000000}}'), 0)
        return OffsetSpecs(name=times, by_partition={partition: AtTime(ms) for partition, ms in numbers.items()})
    text = texts.text(offsets)
    words: dict[str, OffsetSpec] = {"earliest": EARLIEST, "latest": LATEST}
    if text is None:
        return None
    if text.strip().lower() in words:
        return OffsetSpecs(name=offsets, default=words[text.strip().lower()])
    shape = dict(texts.json(offsets, 'earliest, latest or {"topicA":{"0":23,"1":-2}}'))
    topic_ids = shape.pop(TOPIC_IDS, {})
    shape.pop(STARTED_AT, None)
    if not isinstance(topic_ids, dict) or not all(type(topic_id) is str for topic_id in topic_ids.values()):
        texts.problems.append(f'{offsets}: {TOPIC_IDS}: not ids of topics as in {{"topicA":"WR1Vk3DJQAmDmPhJSP1WRQ"}}')
        topic_ids = {}
    numbers = _by_partition(texts, offsets, shape, _EARLIEST)
    specs = {partition: _offset_spec(number) for partition, number in numbers.items()}
    return OffsetSpecs(name=offsets, by_partition=specs, topic_ids=topic_ids)


def _offset_spec(number: int) -> OffsetSpec:
    return EARLIEST if number == _EARLIEST else LATEST if number == _LATEST else AtOffset(number)


def _by_partition(texts: OptionTexts, name: str, shape: Mapping[str, Any], lowest: int) -> dict[TopicPartition, int]:
    values: dict[TopicPartition, int] = {}
    for topic, partitions in shape.items():
        for partition, value in partitions.items() if isinstance(partitions, dict) else [("", None)]:
            if _PARTITION.fullmatch(partition) and type(value) is int and lowest <= value < MOST_INT64:
                values[TopicPartition(topic, int(partition))] = value
            else:
                texts.problems.append(
                    f"{name}: {topic}: not a partition with a number from {lowest} to {MOST_INT64 - 1}"
                )
    return values


def _empty_by_definition(start: OffsetSpecs | None, end: OffsetSpecs) -> list[str]:
    """Faults of a batch that would have no records because of where it starts or ends."""
    problems = []
    if start is not None and LATEST in (start.default, *start.by_partition.values()):
        problems.append(f"{start.name}: a batch cannot start at latest ({_LATEST})")
    if EARLIEST in (end.default, *end.by_partition.values()):
        problems.append(f"{end.name}: a batch cannot end at earliest ({_EARLIEST})")
    return problems + (_after_their_end(start, end) if start is not None else [])


def _after_their_end(start: OffsetSpecs, end: OffsetSpecs) -> list[str]:
    """Faults of starts that are after their ends, where both are offsets or both are times."""
    problems = []
    for partition in (None, *sorted(start.by_partition.keys() | end.by_partition.keys())):
        first = start.by_partition.get(partition, start.default) if partition else start.default
        last = end.by_partition.get(partition, end.default) if partition else end.default
        match first, last:
            case (AtOffset(begin), AtOffset(stop)) | (AtTime(begin), AtTime(stop)) if begin > stop:
                where = f"{partition.topic}:{partition.partition}: " if partition else ""
                problems.append(f"{start.name}: {where}{begin} is after {stop} of {end.name}")
    return problems


def _unknown(ours: Mapping[str, str]) -> list[str]:
    canonical = {name.lower(): name for name in (*_NAMES, *_MEANINGLESS)}
    cure = "a micro-batch waits for no number of records: set a longer processingTime of the trigger"
    problems = [f"{_WAITS[name]}: {cure}" for name in sorted(ours.keys() & _WAITS.keys())]
    for name in sorted(ours.keys() - canonical.keys() - _WAITS.keys()):
        close = difflib.get_close_matches(name, canonical, n=1)
        hint = f" (did you mean {canonical[close[0]]}?)" if close else f"; there are {', '.join(_NAMES)} and kafka.*"
        problems.append(f"{name}: no such option{hint}")
    return problems


def _kafka_problems(kafka: Mapping[str, str], isolation: str) -> list[str]:
    problems = [f"kafka.{name}: {cure}" for name, cure in _INSTEAD.items() if name in kafka]
    problems += misspelt(kafka)
    if not kafka.get("bootstrap.servers"):
        problems.append("kafka.bootstrap.servers: must be set, to host:port of some brokers")
    if isolation not in {READ_COMMITTED, READ_UNCOMMITTED}:
        problems.append(f"kafka.isolation.level: {isolation!r} is neither {READ_COMMITTED} nor {READ_UNCOMMITTED}")
    return problems
