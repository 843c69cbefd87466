"""Options and columns of the sink: their meaning, and refusals that say what to do."""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from kafka_lagoon.errors import ConfigError
from kafka_lagoon.source import write_options
from kafka_lagoon.source.write_options import SinkOptions, parse_sink, written_columns
from tests.comparisons import Comparisons

KINDS: Mapping[str, DataType] = {
    "binary": BinaryType(),
    "string": StringType(),
    "int": IntegerType(),
    "bigint": LongType(),
    "headers": ArrayType(StructType([StructField("key", StringType()), StructField("value", BinaryType())])),
}
SERVERS = {"kafka.bootstrap.servers": "broker:9092"}


def schema_of(columns: str) -> StructType:
    """Make a schema of `name kind` pairs; Spark's own parser needs a session."""
    pairs = [pair.split() for pair in columns.split(",")]
    return StructType([StructField(name, KINDS[kind]) for name, kind in pairs])


def parsed(options: Mapping[str, str], columns: str = "value binary", *, is_stream: bool = False) -> SinkOptions:
    return parse_sink({**SERVERS, "topic": "t", **options}, schema_of(columns), overwrite=False, is_stream=is_stream)


def problems(options: Mapping[str, str], columns: str = "value binary", *, is_stream: bool = False) -> list[str]:
    with pytest.raises(ConfigError) as refused:
        parsed(options, columns, is_stream=is_stream)
    return list(refused.value.problems)


def test_no_password_is_shown() -> None:
    """The text form of options does not contain the properties of the connection, which may hold passwords."""
    options = parsed({"kafka.sasl.jaas.config": 'x.PlainLoginModule required username="u" password="hunter2";'})
    assert "hunter2" in options.kafka["sasl.jaas.config"]
    assert "hunter2" not in repr(options)


def test_what_options_mean() -> None:
    """Kafka's producer properties have any case; a batch has no transactions unless an option says so."""
    plain = parsed({})
    assert (plain.transactions, plain.acks, plain.codec, plain.prefix) == ("none", -1, 0, None)
    given = {"Transactions": "run", "kafka.transactional.id": "nightly", "kafka.transaction.timeout.ms": "30000"}
    options = parsed(given | {"kafka.compression.type": "lz4", "kafka.batch.size": "1000", "kafka.ACKS": "all"})
    assert (options.transactions, options.prefix, options.transaction_timeout_ms) == ("run", "nightly", 30_000)
    assert (options.codec, options.batch_bytes) == (3, 1_000)
    assert parsed({"kafka.acks": "1", "kafka.linger.ms": "5"}).acks == 1
    assert parsed({"kafka.delivery.timeout.ms": "2147483647"}).delivery_timeout_ms == (1 << 31) - 1
    parsed({"kafka.partitioner.ignore.keys": "false", "kafka.max.request.size": "4194304"})


def test_streams_are_in_transactions() -> None:
    """Without an option each task has a transaction, named after the query; without a query name or an id it is refused."""
    named = parsed({"queryName": "orders", "checkpointLocation": "/c"}, is_stream=True)
    assert (named.transactions, named.prefix) == ("task", "orders")
    assert parsed({"transactions": "none"}, is_stream=True).prefix is None
    for given in ({}, {"queryName": ""}, {"queryName": "", "kafka.transactional.id": ""}):
        (line,) = problems(given, is_stream=True)
        assert line.startswith("kafka.transactional.id: must be set, or the query named by queryName")


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"path": "orders"}, "path: save() takes no name: set option topic"),
        ({"transaction": "run"}, "transaction: no such option (did you mean transactions?)"),
        ({"kafka.bootstrap.servers": ""}, "kafka.bootstrap.servers: must be set, to host:port of some brokers"),
        ({"kafka.key.serializer": "x"}, "kafka.key.serializer: keys are strings or binary: cast the column"),
        ({"kafka.enable.idempotence": "false"}, "kafka.enable.idempotence: with acks=all it is always on; acks=1 writes without it"),
        ({"kafka.partitioner.ignore.keys": "TRUE"}, "kafka.partitioner.ignore.keys: keys always choose the partition: set column partition"),
        ({"kafka.max.request.size": "1000"}, "kafka.max.request.size: requests have up to 4194304 bytes, and records up to max.message.bytes: leave it out"),
        ({"kafka.max.request.size": "5000000", "kafka.batch.size": "6000000"}, "kafka.max.request.size: requests have up to 6000000 bytes, and records up to max.message.bytes: leave it out"),
        ({"kafka.max.request.size": "1M"}, "kafka.max.request.size: '1M' is not a whole number above 0"),
        ({"kafka.acks": "1", "transactions": "task"}, "kafka.acks: transactions=task needs acks=all"),
        ({"kafka.transactional.id": "x"}, "kafka.transactional.id: set transactions=task or transactions=run with it"),
        ({"kafka.batch.size": "0"}, "kafka.batch.size: '0' is not a whole number above 0"),
        ({"kafka.transaction.timeout.ms": "2147483648"}, "kafka.transaction.timeout.ms: 2147483648 is more than 2147483647"),
        ({"kafka.batch.size": "9999999999"}, "kafka.batch.size: 9999999999 is more than 2147483647"),
        ({"kafka.delivery.timeout.ms": "1000000000000000000"}, "kafka.delivery.timeout.ms: 1000000000000000000 is more than 2147483647"),
        ({"kafka.compression.zstd.level": "19"}, "kafka.compression.zstd.level: zstd has one level here: leave it out"),
        ({"kafka.ack": "0"}, "kafka.ack: no such property (did you mean acks?)"),
        ({"kafka.compression.type": "zip"}, "kafka.compression.type: 'zip' is neither none nor gzip nor snappy nor lz4 nor zstd"),
    ],
)  # fmt: skip
def test_options_that_are_refused(options: Mapping[str, str], line: str) -> None:
    """Each refusal has the name of the option and says what to do."""
    assert problems(options) == [line]


def test_columns_that_are_refused() -> None:
    """Misspelt, repeated or missing columns, and wrong types, are refused; columns that brokers set are not written."""
    assert problems({}, "vlaue binary, timestamp bigint, key string, KEY string") == [
        "column vlaue: records have no such column (did you mean value?)",
        "column timestamp: it must be timestamp, not bigint: cast it",
        "column key: there are two of it",
        "column value: must be there",
    ]
    with pytest.raises(ConfigError, match="topic: set the option, or write a column topic"):
        parse_sink(SERVERS, schema_of("value string"), overwrite=False, is_stream=False)
    parsed({}, "value string, offset bigint, timestampType int, headers headers")


def test_which_columns_are_written() -> None:
    """Columns are found in any case; the topic of the option and timestamp_ms take precedence."""
    names = ["Value", "offset", "topic", "timestamp", "timestamp_ms"]
    assert written_columns(names, None) == {"value": 0, "topic": 2, "timestamp_ms": 4}
    assert written_columns(names[:4], "t") == {"value": 0, "timestamp": 3}


def test_columns_are_counted_once() -> None:
    """Each column is not compared with all others: a frame may have thousands."""
    of = Comparisons()

    class Name(str):
        __slots__ = ()

        def lower(self) -> Any:
            return of.counting(str(self))

    fields = [SimpleNamespace(name=Name(f"C{number}"), dataType=StringType()) for number in range(200)]
    assert len(write_options._column_problems(SimpleNamespace(fields=fields), "copy")) == len(fields) + 1  # type: ignore[arg-type]
    assert of.count <= 20 * len(fields)
