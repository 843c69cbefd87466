"""The topics that a run reads."""

from kafka_lagoon.fetch.offset_specs import EARLIEST, OffsetSpecs
from kafka_lagoon.fetch.read_spec import ReadSpec


def spec(*topics: str, pattern: str | None = None) -> ReadSpec:
    return ReadSpec(topics=topics, pattern=pattern, start=OffsetSpecs(name="start", default=EARLIEST))


def test_a_pattern_means_whole_names_and_no_internal_topics():
    """Internal topics are archived only if they are named."""
    topics = ["orders", "orders-eu", "my-orders", "__consumer_offsets"]
    assert spec(pattern="orders.*").select(topics) == ["orders", "orders-eu"]
    assert spec(pattern=".*").select(topics, internal=["__consumer_offsets"]) == ["my-orders", "orders", "orders-eu"]
    assert spec("__consumer_offsets", pattern="my-.*").select(topics, internal=["__consumer_offsets"]) == [
        "__consumer_offsets",
        "my-orders",
    ]
