"""A description of a topic is kept for a second, and failures are not kept."""

import pytest

from kafka_lagoon.errors import ConfigError
from kafka_lagoon.restore.recent_topics import RecentTopics
from tests.clock import Hands


def test_a_topic_is_described_once_a_second() -> None:
    """Each topic has a second of its own."""
    hands, described = Hands(), list[str]()

    def describe(topic: str) -> int:
        described.append(topic)
        return len(described)

    topics = RecentTopics(hands.clock(), describe)
    assert [topics.of(topic) for topic in ("a", "a", "b", "a")] == [1, 1, 2, 1]
    hands.move(0.75)
    assert [topics.of("a"), topics.of("b")] == [1, 2]
    hands.move(0.25)
    assert [topics.of("a"), topics.of("a"), topics.of("b")] == [3, 3, 4]
    assert described == ["a", "b", "a", "b"]


def test_a_failure_is_not_kept() -> None:
    """The next partition of the topic tries again."""
    answers = iter([ConfigError(["no"]), None, 7])

    def describe(_topic: str) -> int | None:
        answer = next(answers)
        if isinstance(answer, ConfigError):
            raise answer
        return answer

    topics = RecentTopics(Hands().clock(), describe)
    with pytest.raises(ConfigError):
        topics.of("a")
    assert [topics.of("a"), topics.of("a")] == [None, None]
