"""Misspelt properties of Kafka's clients are faults; known ones, and those of nobody that we know, are accepted."""

import pytest

from kafka_lagoon.source.kafka_properties import misspelt


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("isolaton.level", "isolation.level"),
        ("isolation_level", "isolation.level"),
        ("request.timout.ms", "request.timeout.ms"),
        ("compresion.type", "compression.type"),
        ("ack", "acks"),
        ("transaction.id", "transactional.id"),
        ("enable.idempotance", "enable.idempotence"),
        ("securty.protocol", "security.protocol"),
        ("partitoner.rack.aware", "partitioner.rack.aware"),
    ],
)
def test_a_misspelt_name(name: str, meant: str) -> None:
    """The line suggests the known name."""
    assert misspelt(["acks", name]) == [f"kafka.{name}: no such property (did you mean {meant}?)"]


def test_names_that_are_accepted() -> None:
    """Properties without an effect here, the spelling of the settings, and what resembles none of Kafka's names."""
    known = ["group.id", "max.poll.records", "linger.ms", "auto.include.jmx.reporter", "receive.message.max.bytes"]
    assert not misspelt([*known, "request_timeout_ms", "sasl.login.class", "frobnicate", "schema.registry.url"])
    of_others = [
        "key.deserializer.encoding",
        "config.providers.file.class",
        "list.value.deserializer.inner",
        "consumer.id",
    ]
    assert not misspelt([*of_others, "fetch.message.max.bytes", "consumer.interceptor.classes", "timeout.ms"])
