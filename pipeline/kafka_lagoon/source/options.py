"""Options of the data source in, under the names of Spark's Kafka connector; what they ask for out.

Guards one rule: an option is understood, or refused with its name and the cure; all faults are listed at once. Nothing is
imported here that costs time: Spark starts a Python process for each `load`.
"""

import difflib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kafka_lagoon.errors import ConfigError
from kafka_lagoon.fetch.split import READ_COMMITTED, READ_UNCOMMITTED

EARLIEST, LATEST = -2, -1  # as the connector spells them in JSON
TOPIC_IDS = "#topic_ids"  # beside the topics of a stream's offsets: no topic can be called so

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
# How the connector's consumers are run: we have none, so that these mean nothing here and change no row.
_MEANINGLESS = (
    "kafkaConsumer.pollTimeoutMs",
    "fetchOffset.numRetries",
    "fetchOffset.retryIntervalMs",
    "groupIdPrefix",
)
_INSTEAD = {
    "auto.offset.reset": "use startingOffsets",
    "enable.auto.commit": "nothing is committed to Kafka",
    "key.deserializer": "keys are binary: cast the column",
    "value.deserializer": "values are binary: cast the column",
    "interceptor.classes": "there is no consumer here",
}
_KAFKA = "kafka."

Partition = tuple[str, int]  # what TopicPartition is, without what importing it costs


@dataclass(frozen=True, slots=True, kw_only=True)
class Offsets:
    """Where reading starts or ends: EARLIEST or LATEST everywhere, or a number (or one of these) for each partition."""

    option: str
    everywhere: int | None = None
    each: Mapping[Partition, int] = field(default_factory=dict)
    topic_ids: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """Where reading starts or ends: at the first record at or behind a time (epoch milliseconds)."""

    option: str
    everywhere: int | None = None
    each: Mapping[Partition, int] = field(default_factory=dict)


Edge = Offsets | Times


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    """What is to be read and how; `kafka` are the properties of the connection, under Kafka's dotted names."""

    kafka: Mapping[str, str]
    topics: tuple[str, ...]
    pattern: str | None
    assigned: frozenset[Partition] | None
    start: Edge | None  # None: batches start at the earliest, streams at the latest
    end: Edge
    latest_if_no_record: bool
    min_partitions: int | None
    max_records_per_partition: int | None
    max_offsets_per_trigger: int | None
    fail_on_data_loss: bool
    include_headers: bool
    isolation_level: str
    given: frozenset[str]

    def require_batch(self) -> "SourceOptions":
        """These options; ConfigError where they only make sense for streams."""
        problems = [f"{name}: only streams have triggers" for name in _STREAM_ONLY if name in self.given]
        return self._without(problems + _refused_edge(self.start, LATEST) + _refused_edge(self.end, EARLIEST))

    def require_stream(self) -> "SourceOptions":
        """These options; ConfigError where they only make sense for batches."""
        return self._without([f"{name}: a stream has no end" for name in _BATCH_ONLY if name in self.given])

    def _without(self, problems: Sequence[str]) -> "SourceOptions":
        if problems:
            raise ConfigError(problems)
        return self


def parse(given: Mapping[str, str]) -> SourceOptions:
    """The options, whose names may have any case; ConfigError lists every fault."""
    kafka = {name.lower().removeprefix(_KAFKA): text for name, text in given.items() if name.lower().startswith(_KAFKA)}
    ours = {name.lower(): text for name, text in given.items() if not name.lower().startswith(_KAFKA)}
    reading = _Reading(ours)
    reading.problems += _unknown(ours)
    isolation = kafka.get("isolation.level", READ_COMMITTED)
    reading.problems += _kafka_problems(kafka, isolation)
    topics, pattern, assigned = _choice(reading)
    options = SourceOptions(
        kafka=kafka,
        topics=topics,
        pattern=pattern,
        assigned=assigned,
        start=_edge(reading, "starting"),
        end=_edge(reading, "ending") or Offsets(option="endingOffsets", everywhere=LATEST),
        latest_if_no_record=reading.word("startingOffsetsByTimestampStrategy", ("error", "latest")) == "latest",
        min_partitions=reading.number("minPartitions"),
        max_records_per_partition=reading.number("maxRecordsPerPartition"),
        max_offsets_per_trigger=reading.number("maxOffsetsPerTrigger"),
        fail_on_data_loss=reading.word("failOnDataLoss", ("true", "false")) == "true",
        include_headers=reading.word("includeHeaders", ("false", "true")) == "true",
        isolation_level=isolation,
        given=frozenset(name for name in _NAMES if name.lower() in ours),
    )
    if reading.problems:
        raise ConfigError(reading.problems)
    return options


@dataclass(slots=True)
class _Reading:
    """Options under their names in lower case, and what is wrong with those that were looked at."""

    given: Mapping[str, str]
    problems: list[str] = field(default_factory=list)

    def text(self, name: str) -> str | None:
        """An option as it was given."""
        return self.given.get(name.lower())

    def word(self, name: str, allowed: Sequence[str]) -> str:
        """One of the words allowed, of which the first is the default."""
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
        """A JSON object; an empty one if there is none, or another fault."""
        try:
            found = json.loads(self.text(name) or "")
        except ValueError:
            found = None
        if isinstance(found, dict) and found:
            return found
        self.problems.append(f"{name}: not JSON like {example}")
        return {}


def _choice(reading: _Reading) -> tuple[tuple[str, ...], str | None, frozenset[Partition] | None]:
    """Topics, pattern and partitions: one of them is given."""
    given = [name for name in _TOPICS if reading.text(name) is not None]
    if len(given) != 1:
        reading.problems.append(f"{' and '.join(given) or 'no topics'}: set one of {', '.join(_TOPICS)}")
        return (), None, None
    match given[0]:
        case "subscribe":
            return _names(reading), None, None
        case "subscribePattern":
            return (), _pattern(reading), None
        case _:
            assigned = _assigned(reading)
            return tuple(sorted({topic for topic, _ in assigned})), None, assigned


def _names(reading: _Reading) -> tuple[str, ...]:
    names = [name.strip() for name in (reading.text("subscribe") or "").split(",")]
    if not any(names):
        reading.problems.append("subscribe: no topics; write it as topicA,topicB")
    return tuple(sorted({name for name in names if name}))


def _pattern(reading: _Reading) -> str:
    pattern = reading.text("subscribePattern") or ""
    try:
        re.compile(pattern)
    except re.error as error:
        reading.problems.append(f"subscribePattern: {pattern!r} is not a regular expression: {error}")
    if not pattern:
        reading.problems.append("subscribePattern: empty; write it as topic-.*")
    return pattern


def _assigned(reading: _Reading) -> frozenset[Partition]:
    example = '{"topicA":[0,1]}'
    found = set()
    for topic, partitions in reading.json("assign", example).items():
        if not isinstance(partitions, list) or not all(type(one) is int and one >= 0 for one in partitions):
            reading.problems.append(f"assign: {topic}: not partition numbers as in {example}")
            continue
        found |= {(topic, one) for one in partitions}
    return frozenset(found)


def _edge(reading: _Reading, side: str) -> Edge | None:
    """Where reading starts or ends; a time for all goes before times of partitions, and these before offsets."""
    offsets, times, time = f"{side}Offsets", f"{side}OffsetsByTimestamp", f"{side}Timestamp"
    if reading.text(time) is not None:
        return Times(option=time, everywhere=reading.time(time) or 0)
    if reading.text(times) is not None:
        example = '{"topicA":{"0":1700000000000}}'
        return Times(option=times, each=_by_partition(reading, times, reading.json(times, example), 0))
    text = reading.text(offsets)
    words = {"earliest": EARLIEST, "latest": LATEST}
    if text is None:
        return None
    if text.strip().lower() in words:
        return Offsets(option=offsets, everywhere=words[text.strip().lower()])
    found = dict(reading.json(offsets, 'earliest, latest or {"topicA":{"0":23,"1":-2}}'))
    topic_ids = found.pop(TOPIC_IDS, {})
    return Offsets(option=offsets, each=_by_partition(reading, offsets, found, EARLIEST), topic_ids=topic_ids)


def _by_partition(reading: _Reading, name: str, found: Mapping[str, Any], lowest: int) -> dict[Partition, int]:
    values: dict[Partition, int] = {}
    for topic, partitions in found.items():
        for partition, value in partitions.items() if isinstance(partitions, dict) else [("", None)]:
            if partition.isdecimal() and type(value) is int and value >= lowest:
                values[topic, int(partition)] = value
            else:
                reading.problems.append(f"{name}: {topic}: not a partition with a number from {lowest} on")
    return values


def _refused_edge(edge: Edge | None, refused: int) -> list[str]:
    """What a batch cannot start or end at: it would be empty by definition."""
    if isinstance(edge, Offsets) and refused in (edge.everywhere, *edge.each.values()):
        word = "latest (-1)" if refused == LATEST else "earliest (-2)"
        return [f"{edge.option}: a batch cannot {'start' if refused == LATEST else 'end'} at {word}"]
    return []


def _unknown(ours: Mapping[str, str]) -> list[str]:
    canonical = {name.lower(): name for name in (*_NAMES, *_MEANINGLESS)}
    problems = []
    for name in sorted(ours.keys() - canonical.keys()):
        close = difflib.get_close_matches(name, canonical, n=1)
        hint = f" (did you mean {canonical[close[0]]}?)" if close else f"; there are {', '.join(_NAMES)} and kafka.*"
        problems.append(f"{name}: no such option{hint}")
    return problems


def _kafka_problems(kafka: Mapping[str, str], isolation: str) -> list[str]:
    problems = [f"kafka.{name}: {cure}" for name, cure in _INSTEAD.items() if name in kafka]
    if not kafka.get("bootstrap.servers"):
        problems.append("kafka.bootstrap.servers: must be set, to host:port of some brokers")
    if isolation not in {READ_COMMITTED, READ_UNCOMMITTED}:
        problems.append(f"kafka.isolation.level: {isolation!r} is neither {READ_COMMITTED} nor {READ_UNCOMMITTED}")
    return problems
