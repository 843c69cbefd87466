"""Parses the options of the sink, and checks the columns that are to be written.

Names are those of Spark's Kafka connector and of Kafka's producer. An option is applied, or refused with its name and an
alternative; all faults, including those of columns, are listed at once and before anything is sent. Properties of Kafka's
clients that change no record are accepted.
"""

import dataclasses
import difflib
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kafka_lagoon.errors import ConfigError
from kafka_lagoon.frozen import frozen
from kafka_lagoon.integers import MOST_INT32
from kafka_lagoon.produce.batch_sender import MAX_REQUEST_BYTES
from kafka_lagoon.protocol.messages.produce import ALL_ACKS, LEADER_ACKS, NO_ACKS
from kafka_lagoon.records.compressing import CODECS
from kafka_lagoon.source.kafka_properties import misspelt
from kafka_lagoon.source.options import OptionTexts

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

NO_TRANSACTIONS, OF_TASKS, OF_THE_RUN = "none", "task", "run"
DEFAULT_PREFIX = "lagoon"

_TEXT = ("string", "binary")
# The types of each column, in Spark's spelling. Columns of the read side that brokers assign cannot be written.
_COLUMNS: Mapping[str, Sequence[str]] = {
    "topic": ("string",),
    "partition": ("int", "smallint", "tinyint"),
    "key": _TEXT,
    "value": _TEXT,
    "headers": tuple(f"array<struct<key:{key},value:{value}>>" for key in _TEXT for value in ("binary", "string")),
    "timestamp": ("timestamp",),
    "timestamp_ms": ("bigint",),
}
_DECIDED_BY_BROKERS = frozenset(
    {
        "offset",
        "timestamptype",
        "timestamp_type",
        "topic_id",
        "leader_epoch",
        "producer_id",
        "producer_epoch",
        "is_transactional",
        "is_aborted",
    }
)
_NAMES = ("topic", "transactions", "includeHeaders")
_SET_BY_SPARK = ("checkpointLocation", "queryName")
_INSTEAD = {"path": "save() takes no name: set option topic"}
_ACKS = {"all": ALL_ACKS, "-1": ALL_ACKS, "1": LEADER_ACKS, "0": NO_ACKS}
_PRODUCER_INSTEAD = {
    "key.serializer": "keys are strings or binary: cast the column",
    "value.serializer": "values are strings or binary: cast the column",
    "interceptor.classes": "there is no producer of Kafka's here",
    "partitioner.class": "set column partition; without it keys choose as in Kafka's own producer",
    **{f"compression.{codec}.level": f"{codec} has one level here: leave it out" for codec in ("gzip", "lz4", "zstd")},
}
_KAFKA = "kafka."


@frozen
class SinkOptions:
    """The target of a write, and how to write; `kafka` are the properties of the connection, under Kafka's dotted names.

    `prefix` begins the transactional ids, None if none was given.
    """

    kafka: Mapping[str, str] = dataclasses.field(repr=False)  # with passwords as text
    topic: str | None
    transactions: str
    prefix: str | None
    transaction_timeout_ms: int
    acks: int
    codec: int
    batch_bytes: int
    buffer_bytes: int
    delivery_timeout_ms: int


def parse_sink(given: Mapping[str, str], schema: "StructType", *, overwrite: bool, is_stream: bool) -> SinkOptions:
    """Parse options, whose names may have any case; ConfigError lists every fault."""
    kafka = {name.lower().removeprefix(_KAFKA): text for name, text in given.items() if name.lower().startswith(_KAFKA)}
    ours = {name.lower(): text for name, text in given.items() if not name.lower().startswith(_KAFKA)}
    texts, producer = OptionTexts(ours), OptionTexts({f"kafka.{name}": text for name, text in kafka.items()})
    transactions = texts.word(
        "transactions",
        (OF_TASKS, NO_TRANSACTIONS, OF_THE_RUN) if is_stream else (NO_TRANSACTIONS, OF_TASKS, OF_THE_RUN),
    )
    acks, request_bytes = producer.word("kafka.acks", tuple(_ACKS)), producer.number("kafka.max.request.size")
    options = SinkOptions(
        kafka=kafka,
        topic=texts.text("topic"),
        transactions=transactions,
        prefix=kafka.get("transactional.id") or (texts.text("queryName") if is_stream else None) or None,
        # As long as brokers allow by default: a transaction is open from the first record until the last task is done.
        transaction_timeout_ms=producer.number("kafka.transaction.timeout.ms") or 900_000,
        acks=_ACKS.get(acks, ALL_ACKS),
        codec=CODECS.get(producer.word("kafka.compression.type", tuple(CODECS)), 0),
        batch_bytes=producer.number("kafka.batch.size") or 512 << 10,
        buffer_bytes=producer.number("kafka.buffer.memory") or 32 << 20,
        delivery_timeout_ms=producer.number("kafka.delivery.timeout.ms") or 120_000,
    )
    problems = [
        *(["mode must be append: records of a topic are not overwritten"] if overwrite else []),
        *texts.problems,
        *producer.problems,
        *_unknown(ours),
        *_kafka_problems(kafka),
        *_size_problems(request_bytes, options.batch_bytes),
        *_too_large(options),
        *_contradictions(options, is_stream=is_stream),
        *_column_problems(schema, options.topic),
    ]
    if problems:
        raise ConfigError(problems)
    return options


def _unknown(ours: Mapping[str, str]) -> list[str]:
    canonical = {name.lower(): name for name in (*_NAMES, *_SET_BY_SPARK)}
    problems = []
    for name in sorted(ours.keys() - canonical.keys()):
        close = difflib.get_close_matches(name, canonical, n=1)
        hint = f" (did you mean {canonical[close[0]]}?)" if close else f"; there are {', '.join(_NAMES)} and kafka.*"
        problems.append(f"{name}: {_INSTEAD[name]}" if name in _INSTEAD else f"{name}: no such option{hint}")
    return problems


def _kafka_problems(kafka: Mapping[str, str]) -> list[str]:
    problems = [f"kafka.{name}: {cure}" for name, cure in _PRODUCER_INSTEAD.items() if name in kafka]
    problems += misspelt(kafka)
    if not kafka.get("bootstrap.servers"):
        problems.append("kafka.bootstrap.servers: must be set, to host:port of some brokers")
    if kafka.get("enable.idempotence", "true").lower() != "true":
        problems.append("kafka.enable.idempotence: with acks=all it is always on; acks=1 writes without it")
    if kafka.get("partitioner.ignore.keys", "false").lower() != "false":
        problems.append("kafka.partitioner.ignore.keys: keys always choose the partition: set column partition")
    return problems


def _size_problems(most: int | None, batch_bytes: int) -> list[str]:
    """Refuse a limit below the size of our requests, which is fixed; a topic alone limits the size of its records."""
    needed = max(MAX_REQUEST_BYTES, batch_bytes)
    if most is None or most >= needed:
        return []
    return [
        f"kafka.max.request.size: requests have up to {needed} bytes, and records up to max.message.bytes: leave it out"
    ]


def _too_large(options: SinkOptions) -> list[str]:
    """Faults of numbers that Kafka's producer refuses, too: they do not fit into its int."""
    numbers = {
        "transaction.timeout.ms": options.transaction_timeout_ms,
        "batch.size": options.batch_bytes,
        "delivery.timeout.ms": options.delivery_timeout_ms,
    }
    return [
        f"kafka.{name}: {number} is more than {MOST_INT32}" for name, number in numbers.items() if number > MOST_INT32
    ]


def _contradictions(options: SinkOptions, *, is_stream: bool) -> list[str]:
    """Options that contradict each other."""
    problems = []
    if options.transactions == NO_TRANSACTIONS:
        if "transactional.id" in options.kafka:
            problems.append("kafka.transactional.id: set transactions=task or transactions=run with it")
        return problems
    if options.acks != ALL_ACKS:
        problems.append(f"kafka.acks: transactions={options.transactions} needs acks=all")
    if is_stream and options.prefix is None:
        problems.append(
            "kafka.transactional.id: must be set, or the query named by queryName: under it the sink finds again what it "
            "has written; transactions=none does without, and writes a micro-batch twice that is run again"
        )
    return problems


def _column_problems(schema: "StructType", topic: str | None) -> list[str]:
    problems, names = [], [field.name.lower() for field in schema.fields]
    for field in schema.fields:
        name, kind = field.name.lower(), field.dataType.simpleString()
        if name in _COLUMNS and kind not in _COLUMNS[name]:
            problems.append(f"column {field.name}: it must be {' or '.join(_COLUMNS[name])}, not {kind}: cast it")
        elif name not in _COLUMNS and name not in _DECIDED_BY_BROKERS:
            close = difflib.get_close_matches(name, _COLUMNS, n=1)
            hint = f" (did you mean {close[0]}?)" if close else f"; there are {', '.join(_COLUMNS)}"
            problems.append(f"column {field.name}: records have no such column{hint}")
    problems += [f"column {name}: there are two of it" for name, count in sorted(Counter(names).items()) if count > 1]
    if "value" not in names:
        problems.append("column value: must be there")
    if topic is None and "topic" not in names:
        problems.append("topic: set the option, or write a column topic")
    return problems


def written_columns(names: Sequence[str], topic: str | None) -> dict[str, int]:
    """The positions of the columns that are written, by our names; option topic takes precedence over the column."""
    places = {name.lower(): place for place, name in enumerate(names) if name.lower() in _COLUMNS}
    if topic is not None:
        places.pop("topic", None)
    if "timestamp_ms" in places:
        places.pop("timestamp", None)  # with that much of the time left, or less
    return places
