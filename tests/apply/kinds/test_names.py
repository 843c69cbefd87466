"""Names of resources with several parts are read back as they were."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_lagoon.apply.kinds.names import (
    parse_directory_id,
    parse_listener,
    parse_partition,
    parse_quota_name,
    quota_entity,
    quota_name,
    quoted,
)
from kafka_lagoon.protocol.messages.describe_client_quotas import QuotaEntity
from kafka_lagoon.topic_partition import TopicPartition

NAMES = st.none() | st.text(min_size=1, max_size=8) | st.sampled_from(["<default>", "a, ip=b", 'x"y'])
ENTITIES = st.dictionaries(st.sampled_from(["user", "client-id"]), NAMES, min_size=1) | st.fixed_dictionaries(
    {"ip": NAMES}
)
WORD = re.compile(r'"(?:[^"\\]|\\.)*"|[^\s"]+')
TEXTS = st.text(min_size=0, max_size=12) | st.text(alphabet='a "\\=,', max_size=8)


@given(st.from_regex(r"[a-zA-Z0-9._-]{1,20}", fullmatch=True), st.integers(0, 2**31 - 1))
def test_partitions_are_split_at_the_last_dash(topic: str, partition: int) -> None:
    """Dashes and dots of a topic's name stay in it."""
    item = TopicPartition(topic, partition)
    assert parse_partition(str(item)) == item


@pytest.mark.parametrize("name", ["orders", "orders-", "-0", "orders-x", "orders-0 "])
def test_what_is_no_partition(name: str) -> None:
    """Names without a partition number are refused."""
    with pytest.raises(ValueError, match="TOPIC-PARTITION"):
        parse_partition(name)


@given(st.lists(TEXTS, min_size=1, max_size=5))
def test_words_are_what_was_quoted(texts: list[str]) -> None:
    """Blanks, quotes, escapes and empty texts stay different in a line of several words."""
    words = WORD.findall(" ".join(map(quoted, texts)))
    assert [json.loads(word) if word.startswith('"') else word for word in words] == texts


@given(ENTITIES.map(quota_entity))
def test_an_entity_is_read_back(about: QuotaEntity) -> None:
    """Entities are parsed from their names, with any characters in the names; <default> differs from a user of this name."""
    assert parse_quota_name(quota_name(about)) == about


def test_the_name_of_an_entity() -> None:
    """The name has the user first, and defaults in angle brackets."""
    assert quota_name((("client-id", None), ("user", "alice"))) == "user=alice, client-id=<default>"


@pytest.mark.parametrize(
    "name", ["", "alice", "group=a", "user=a, user=b", "user=a, ip=b", "user=", "user=a client-id=b"]
)
def test_names_that_are_no_entity(name: str) -> None:
    """Names that are no entity are refused."""
    with pytest.raises(ValueError, match=r"is not like|a quota is about"):
        parse_quota_name(name)


def test_listeners() -> None:
    """A listener has a name, a host and a port; the brackets of an IPv6 address are no part of the host."""
    assert parse_listener("CONTROLLER://k3.example:9093") == ("CONTROLLER", "k3.example", 9093)
    assert parse_listener("CONTROLLER://[::1]:9093") == ("CONTROLLER", "::1", 9093)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "CONTROLLER",
        "CONTROLLER://",
        "k3:9093",
        "://k3:9093",
        "CONTROLLER://:9093",
        "CONTROLLER://k3",
        "CONTROLLER://k3:x",
        "CONTROLLER://k3:0",
        "CONTROLLER://k3:65536",
        f"CONTROLLER://k3:{'9' * 5_000}",
    ],
)
def test_texts_that_are_no_listener(text: str) -> None:
    """Texts with a missing part are refused, and ports that there are not."""
    with pytest.raises(ValueError, match="NAME://host:port"):
        parse_listener(text)


def test_ids_of_directories() -> None:
    """Only what brokers return: 16 bytes in Kafka's spelling, of which the last character has only four possible values."""
    assert parse_directory_id("AQEBAQEBAQEBAQEBAQEBAQ") == "AQEBAQEBAQEBAQEBAQEBAQ"
    for text in (
        "",
        "d",
        "AQEBAQEBAQEBAQEBAQEBAR",
        "AQEBAQEBAQEBAQEBAQEBAQ==",
        "A" * 22,
        "AQEB" * 8,
        "ä" * 22,
        "+" * 22,
    ):
        with pytest.raises(ValueError, match="not the id of a directory"):
            parse_directory_id(text)
