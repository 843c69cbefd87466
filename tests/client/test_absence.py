"""Rounds without a broker, or with a broker that does not know the topic, are counted since any other answer."""

from kafka_lagoon.client.absence import PRESENT
from kafka_lagoon.errors import ConnectionFailed, PipelineError

LEADER_NOT_AVAILABLE, NOT_LEADER, UNKNOWN_ID, UNKNOWN_TOPIC = 5, 6, 100, 3
AWAY = ConnectionFailed("kafka-1:9092", "connect", "refused")


def test_a_topic_is_gone_after_the_fourth_round() -> None:
    """The name and the id of a topic count together, and a round without a leader is neither for nor against it."""
    absence = PRESENT
    for node_id, reason in [(1, UNKNOWN_TOPIC), (2, UNKNOWN_ID), (None, LEADER_NOT_AVAILABLE), (1, UNKNOWN_TOPIC)]:
        absence = absence.after(node_id, reason)
        assert not absence.is_gone
    assert absence.after(1, UNKNOWN_TOPIC).is_gone
    assert absence.unroutable == 1


def test_another_answer_begins_again() -> None:
    """A broker that is away, or not the leader, may not know the topic afterwards for as long as any."""
    others: tuple[PipelineError | int, ...] = (AWAY, NOT_LEADER)
    for reason in others:
        absence = PRESENT.after(None, LEADER_NOT_AVAILABLE).after(1, UNKNOWN_TOPIC)
        assert absence.after(1, reason) is PRESENT
