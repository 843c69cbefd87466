"""Rows of configs, from messages made by hand."""

from kafka_lagoon.protocol.messages.describe_configs import (
    BROKER,
    TOPIC,
    DescribeConfigsEntry,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)
from kafka_lagoon.snapshot.configs import config_columns, config_rows
from kafka_lagoon.tables.cluster_rows import ConfigRow, ConfigSynonym
from kafka_lagoon.tables.table_states import digest_of
from kafka_lagoon.wire.reading import decode
from kafka_lagoon.wire.writing import encode

TOPIC_CONFIG, DEFAULT_CONFIG, STATIC_BROKER_CONFIG = 1, 5, 4


def result(name: str, *configs: DescribeConfigsEntry, resource_type: int = TOPIC) -> DescribeConfigsResult:
    """Make a described resource."""
    return DescribeConfigsResult(error_code=0, resource_type=resource_type, resource_name=name, configs=configs)


def test_every_config_is_a_row() -> None:
    """A config has its source, and the values that other sources have."""
    config = DescribeConfigsEntry(
        name="retention.ms",
        value="1",
        read_only=True,
        config_source=TOPIC_CONFIG,
        config_type=5,
        synonyms=(DescribeConfigsSynonym(name="log.retention.ms", value="2", source=DEFAULT_CONFIG),),
    )
    assert list(config_rows([result("orders", config)])) == [
        ConfigRow(
            resource_type="topic",
            resource_name="orders",
            name="retention.ms",
            value="1",
            source="TOPIC_CONFIG",
            config_type="LONG",
            is_default=False,
            is_sensitive=False,
            is_read_only=True,
            synonyms=(ConfigSynonym(name="log.retention.ms", value="2", source="DEFAULT_CONFIG"),),
        )
    ]


def test_rows_are_ordered_by_resource_and_name() -> None:
    """Rows are ordered, whatever the order of the response."""
    b, a = (DescribeConfigsEntry(name=name, value="1", config_source=TOPIC_CONFIG) for name in ("b", "a"))
    rows = config_rows([result("two", b, a), result("one", a)])
    assert [(row.resource_name, row.name) for row in rows] == [("one", "a"), ("two", "a"), ("two", "b")]


def test_old_brokers_return_no_source() -> None:
    """DescribeConfigs v0 has only a flag for defaults."""
    old = DescribeConfigsEntry(name="a", value="1", is_default=True)
    [row] = config_rows([result("orders", old)])
    assert (row.source, row.config_type, row.is_default) == (None, None, True)


def test_the_default_is_a_source() -> None:
    """From v1 on `is_default` in the message has no meaning; DEFAULT_CONFIG has. A config with an unknown source has a row."""
    default, newer = (
        DescribeConfigsEntry(name=name, value="1", config_source=source)
        for name, source in (("a", DEFAULT_CONFIG), ("b", 99))
    )
    rows = list(config_rows([result("orders", default, newer)]))
    assert [(row.source, row.is_default) for row in rows] == [("DEFAULT_CONFIG", True), ("UNKNOWN_99", False)]


def test_sensitive_values_are_null() -> None:
    """Value and synonyms are null, even if a message has them."""
    synonym = DescribeConfigsSynonym(name="ssl.key.password", value="s", source=STATIC_BROKER_CONFIG)
    secret = DescribeConfigsEntry(
        name="ssl.key.password", value="s", is_sensitive=True, config_source=4, synonyms=(synonym,)
    )
    [row] = config_rows([result("1", secret, resource_type=BROKER)])
    assert (row.resource_type, row.value, row.is_sensitive) == ("broker", None, True)
    assert row.synonyms == (ConfigSynonym(name="ssl.key.password", value=None, source="STATIC_BROKER_CONFIG"),)


def test_what_brokers_share_has_a_name() -> None:
    """The default of all brokers has the name that kafka-configs.sh uses, which no topic can have."""
    [row] = config_rows([result("", DescribeConfigsEntry(name="a", value="1", config_source=3), resource_type=BROKER)])
    assert (row.resource_type, row.resource_name, row.source) == (
        "broker",
        "<default>",
        "DYNAMIC_DEFAULT_BROKER_CONFIG",
    )


def entry(name: str, value: str) -> DescribeConfigsEntry:
    synonym = DescribeConfigsSynonym(name=f"log.{name}", value="0", source=DEFAULT_CONFIG)
    return DescribeConfigsEntry(name=name, value=value, config_source=TOPIC_CONFIG, synonyms=(synonym,))


def test_rows_that_share_configs_are_those_of_each_resource() -> None:
    """Rows equal those of each resource alone, if equal configs are one object, two objects, or decoded."""
    shared = (entry("b", "1"), entry("a", "2"))
    apart = (entry("b", "1"), entry("a", "2"))
    topics = [
        result("t3", *shared),
        result("t1", *shared),
        result("t2"),
        result("t0", *apart),
        result("t4", *apart[:1]),
    ]
    brokers = [result("", *shared, resource_type=BROKER), result("1", entry("c", "3"), resource_type=BROKER)]
    wanted = [*config_rows(topics), *config_rows(brokers)]
    columns = config_columns([topics, brokers])
    assert columns == wanted
    assert [columns[3], *columns[-2:]] == [wanted[3], *wanted[-2:]]
    sent = encode(DescribeConfigsResponse(results=tuple(topics)), 4, flexible=True)
    for _ in range(2):
        read = decode(DescribeConfigsResponse, 4, True, sent).results
        assert config_columns([read, brokers]) == wanted
        assert digest_of(config_columns([read, brokers]), ConfigRow) == digest_of(columns, ConfigRow)
    assert list(config_columns([])) == []


def test_a_digest_of_shared_configs_sees_every_change() -> None:
    """Another value, another name, and configs that two topics swapped change the digest."""
    first, second = (entry("a", "1"),), (entry("a", "2"),)
    digests = {
        digest_of(config_columns([topics]), ConfigRow)
        for topics in (
            [result("t1", *first), result("t2", *second)],
            [result("t1", *second), result("t2", *first)],
            [result("t1", *first), result("t2", *first)],
            [result("t1", *first), result("t3", *second)],
            [result("t1", *first)],
        )
    }
    assert len(digests) == 5
