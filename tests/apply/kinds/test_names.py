"""Names of resources with several parts are read back as they were."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_lagoon.apply.kinds.names import parse_partition, partition_name, quoted, words
from kafka_lagoon.client.cluster import TopicPartition

TEXTS = st.text(min_size=0, max_size=12) | st.text(alphabet='a "\\=,', max_size=8)


@given(st.from_regex(r"[a-zA-Z0-9._-]{1,20}", fullmatch=True), st.integers(0, 2**31 - 1))
def test_partitions_are_split_at_the_last_dash(topic: str, partition: int) -> None:
    """Dashes and dots of a topic's name stay in it."""
    item = TopicPartition(topic, partition)
    assert parse_partition(partition_name(item)) == item


@pytest.mark.parametrize("name", ["orders", "orders-", "-0", "orders-x", "orders-0 "])
def test_what_is_no_partition(name: str) -> None:
    """Names without a partition number are refused."""
    with pytest.raises(ValueError, match="TOPIC-PARTITION"):
        parse_partition(name)


@given(st.lists(TEXTS, min_size=1, max_size=5))
def test_words_are_what_was_quoted(texts: list[str]) -> None:
    """Blanks, quotes, escapes and empty texts stay different."""
    assert words(" ".join(map(quoted, texts))) == texts


@pytest.mark.parametrize("line", ['a "b', 'a"b"', '"a"b', '"'])
def test_quotes_that_do_not_match(line: str) -> None:
    """A line that `quoted` cannot have made is refused."""
    with pytest.raises(ValueError, match="do not match"):
        words(line)
