"""What a run is told to read: spelled out by people, refused when it cannot mean anything."""

import pytest

from kafka_lagoon.client.cluster import TopicPartition
from kafka_lagoon.fetch.offset_specs import Start, Wanted, parse_start

NOW_MS = 1_795_300_000_000


def wanted(*topics: str, pattern: str | None = None) -> Wanted:
    return Wanted(topics=topics, pattern=pattern, start=Start(), until_ms=None, read_committed=True, most_offsets=None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("earliest", Start()),
        (" Latest ", Start(latest=True)),
        ("2026-11-21T06:00:00Z", Start(timestamp_ms=1_795_240_800_000)),
        ("2026-11-21", Start(timestamp_ms=1_795_219_200_000)),
        ("2h ago", Start(timestamp_ms=NOW_MS - 7_200_000)),
        ("a.b-c_d:0=5,x:12=0", Start(offsets={TopicPartition("a.b-c_d", 0): 5, TopicPartition("x", 12): 0})),
    ],
)
def test_starts(text: str, expected: Start):
    """Every spelling that the setting names."""
    assert parse_start(text, NOW_MS) == expected


@pytest.mark.parametrize("text", ["", "soon", "orders=5", "orders:x=5", "a:0=5,", "a:0=-1"])
def test_no_start(text: str):
    """Anything else is refused with the words that were given."""
    with pytest.raises(ValueError, match="is not"):
        parse_start(text, NOW_MS)


def test_a_pattern_means_whole_names_and_no_internal_topics():
    """Internal topics are archived when somebody names them, never by accident."""
    topics = ["orders", "orders-eu", "my-orders", "__consumer_offsets"]
    assert wanted(pattern="orders.*").matching(topics) == ["orders", "orders-eu"]
    assert wanted(pattern=".*").matching(topics, internal=["__consumer_offsets"]) == [
        "my-orders",
        "orders",
        "orders-eu",
    ]
    assert wanted("__consumer_offsets", pattern="my-.*").matching(topics, internal=["__consumer_offsets"]) == [
        "__consumer_offsets",
        "my-orders",
    ]
