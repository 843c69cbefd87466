"""Topics that exist, continue, are deleted or are re-created, while brokers disagree about them."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from kafka_lagoon.client.failures import Scope
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.fetch.accounting import reconcile
from kafka_lagoon.fetch.archived import Archived
from kafka_lagoon.fetch.ranges import (
    TOPIC_DELETED,
    TOPIC_RECREATED,
    Position,
)
from kafka_lagoon.fetch.topic_identity import NOT_CONFIRMED
from kafka_lagoon.protocol.messages.metadata import METADATA, MetadataResponse, MetadataTopic
from kafka_lagoon.wire.primitives import uuid_text
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Altered, Fault
from tests.fetch.plans import RUN, Connect, archived_to, events, of_another_id, planned, spans, spec, stale


def test_a_pattern_finds_topics_as_they_come(state: FakeCluster, connect: Connect):
    """The same arguments select one more topic."""
    state.add_topic("orders", 1)
    assert {one.topic for one in planned(connect, spec(pattern="ord.*")).ranges} == {"orders"}
    state.add_topic("orders-eu", 1)
    assert {one.topic for one in planned(connect, spec(pattern="ord.*")).ranges} == {"orders", "orders-eu"}


@pytest.mark.parametrize("node_id", [1, 2, 3])
def test_one_broker_does_not_hide_topics_of_a_pattern(state: FakeCluster, connect: Connect, node_id: int):
    """Topics that one broker calls internal, or does not list, are read."""
    state.topics["t"].partitions[0].high_watermark = 100
    state.add_topic("other", 1)

    def hide(answer: MetadataResponse) -> MetadataResponse:
        topics = (replace(topic, is_internal=True) for topic in answer.topics if topic.name != "other")
        return replace(answer, topics=tuple(topics))

    state.faults.append(Fault(METADATA.key, Altered(hide), node_id=node_id, times=1000))
    assert {one.topic for one in planned(connect, spec(pattern="t|other")).ranges} == {"t", "other"}


def test_an_unknown_topic_is_refused(connect: Connect):
    """The error suggests a similar name."""
    with pytest.raises(ConfigError, match="there is no topic tt \\(did you mean t"):
        planned(connect, spec("tt", "t"))


def test_a_topic_that_we_may_not_see_costs_itself_only(state: FakeCluster, connect: Connect):
    """The topic is a failure with the broker's error, and other topics are planned."""
    state.add_topic("secret", 1, end=5)
    state.topics["t"].partitions[0].high_watermark = 100

    def hide(answer: MetadataResponse) -> MetadataResponse:
        for topic in answer.topics:
            if topic.name == "secret":
                topic.error_code, topic.partitions = 29, ()  # type: ignore[misc]  frozen to the checker
        return answer

    state.faults.append(Fault(METADATA.key, Altered(hide), times=1000))
    result = planned(connect, spec("secret", "t"))
    assert [(one.scope, one.name) for one in result.failures] == [
        (Scope.of_topic("secret"), "TOPIC_AUTHORIZATION_FAILED")
    ]
    assert spans(result) == [("t", 0, 0, 100)]


def test_a_name_that_no_topic_has_costs_itself_only(state: FakeCluster, connect: Connect):
    """A name that is not valid could become a path: it is a failure, and other matching topics are planned."""
    state.topics["t"].partitions[0].high_watermark = 100
    state.add_topic("../t", 1, end=5)
    result = planned(connect, spec(pattern=".*t"))
    assert [(one.scope, one.name) for one in result.failures] == [(Scope.of_topic("../t"), "NAME_REFUSED")]
    assert spans(result) == [("t", 0, 0, 100)]


def test_a_re_created_topic_ends_one_sequence_and_begins_another(state: FakeCluster, connect: Connect):
    """A topic is identified by its id, with any offsets."""
    archived = archived_to(state, 80)
    state.topics["t"].topic_id = (99).to_bytes(16, "big")
    state.topics["t"].partitions[0].high_watermark = 100
    result = planned(connect, spec("t"), archived)
    assert events(result) == [("t", 0, 80, 80, TOPIC_RECREATED)]
    assert spans(result) == [("t", 0, 0, 100)]


def test_a_deleted_topic_ends_its_sequence_once(state: FakeCluster, connect: Connect):
    """A deletion is an event, also if only a pattern selected the topic; a second run has none."""
    archived = archived_to(state, 80)
    state.add_topic("other", 1)
    del state.topics["t"]
    result = planned(connect, spec(pattern="t|other"), archived)
    assert events(result) == [("t", 0, 80, 80, TOPIC_DELETED)]
    assert spans(result) == [("other", 0, 0, 100)]
    closed = {"t": Archived(topic_id=archived["t"].topic_id, partitions={})}
    assert events(planned(connect, spec(pattern="t|other"), closed)) == []


def deny(topic: MetadataTopic) -> None:
    """Describe no such topic."""
    topic.error_code, topic.partitions, topic.topic_id = 3, (), bytes(16)  # type: ignore[misc]


def of_no_id(topic: MetadataTopic) -> None:
    """Describe topics without ids, as brokers before Kafka 2.8."""
    topic.topic_id = bytes(16)  # type: ignore[misc]


@pytest.mark.parametrize("change", [deny, of_another_id])
@pytest.mark.parametrize("pattern", [None, "t"])
def test_one_broker_does_not_end_a_topic(
    state: FakeCluster, connect: Connect, change: Callable[[MetadataTopic], None], pattern: str | None
):
    """Other brokers have the archived topic, so it is read, and neither deleted nor begun again."""
    archived = archived_to(state, 80)
    state.topics["t"].partitions[0].high_watermark = 100
    stale(state, change, 1)
    result = planned(connect, spec("t", pattern=pattern), archived)
    assert (spans(result), events(result), result.failures) == ([("t", 0, 80, 100)], [], [])
    assert result.archived == archived


@pytest.mark.parametrize(("first", "second"), [(deny, of_another_id), (of_another_id, deny)])
def test_a_topic_that_nobody_confirms_waits(
    state: FakeCluster,
    connect: Connect,
    first: Callable[[MetadataTopic], None],
    second: Callable[[MetadataTopic], None],
):
    """If brokers contradict the archive and each other, next offsets stay, and the ranges have the reason."""
    archived = archived_to(state, 80)
    stale(state, first, 1)
    stale(state, second, 2, 3)
    result = planned(connect, spec("t"), archived)
    assert (spans(result), events(result)) == ([], [("t", 0, 80, 80, NOT_CONFIRMED)])
    assert [(one.scope, one.name) for one in result.failures] == [(Scope.of_topic("t"), NOT_CONFIRMED)]
    assert reconcile(RUN, result, []).topics == archived


def test_a_new_topic_that_one_broker_does_not_know(state: FakeCluster, connect: Connect):
    """A topic that a broker does not know yet is no fault of the arguments, and is read."""
    state.topics["t"].partitions[0].high_watermark = 100
    stale(state, deny, 1)
    assert spans(planned(connect, spec("t"))) == [("t", 0, 0, 100)]


def test_an_id_that_returns_goes_on_where_it_was(state: FakeCluster, connect: Connect):
    """Next offsets are found again after an apparent deletion, or another topic with the name."""
    state.topics["t"].partitions[0].high_watermark = 100
    archived = archived_to(state, 80)["t"]
    for between in (archived.deleted(), archived.re_created("other")):
        result = planned(connect, spec("t"), {"t": between})
        assert spans(result) == [("t", 0, 80, 100)]
        assert reconcile(RUN, result, []).topics["t"].partitions.keys() == {0}
    other = Archived(topic_id="other", partitions={0: Position(next_offset=7)}, former=archived.deleted().former)
    result = planned(connect, spec("t"), {"t": other})
    assert (spans(result), events(result)) == ([("t", 0, 80, 100)], [("t", 0, 7, 7, TOPIC_RECREATED)])
    assert result.archived["t"].former == {"other": {0: Position(next_offset=7)}}


def test_brokers_that_are_upgraded_give_the_topic_an_id(state: FakeCluster, connect: Connect):
    """Its ranges continue under the id, at the same offsets; while some brokers return none, under the known id."""
    state.topics["t"].partitions[0].high_watermark = 100
    topic_id = uuid_text(state.topics["t"].topic_id)
    positions = {0: Position(next_offset=80, leader_epoch=0)}
    result = planned(connect, spec("t"), {"t": Archived(topic_id=None, partitions=positions)})
    assert (spans(result), events(result)) == ([("t", 0, 80, 100)], [("t", 0, 80, 80, None)])
    assert {one.topic_id for one in (*result.ranges, *result.events)} == {topic_id}
    assert reconcile(RUN, result, []).topics["t"].partitions[0].next_offset == 80
    stale(state, of_no_id, None)
    result = planned(connect, spec("t"), archived_to(state, 80))
    assert (spans(result), events(result), result.ranges[0].topic_id) == ([("t", 0, 80, 100)], [], topic_id)


def test_partitions_do_not_go(state: FakeCluster, connect: Connect):
    """A partition that no broker lists keeps its next offset and is a failure; one that the first broker lacks is read."""
    state.topics["t"].partitions[0].high_watermark = 100
    archived = archived_to(state, 80, 60)
    result = planned(connect, spec("t"), archived)
    assert events(result) == [("t", 1, 60, 60, "UNKNOWN_TOPIC_OR_PARTITION")]
    assert (spans(result), [one.scope for one in result.failures]) == (
        [("t", 0, 80, 100)],
        [Scope.of_partition("t", 1)],
    )
    assert reconcile(RUN, result, []).topics["t"].partitions[1].next_offset == 60
