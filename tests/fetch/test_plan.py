"""Plans with brokers in every state: each partition is planned, or is a failure with its reason."""

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import replace

import pytest

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Scope
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.fetch.accounting import RunIdentity, reconcile
from kafka_lagoon.fetch.archived import Archived
from kafka_lagoon.fetch.leader_epochs import EpochRange
from kafka_lagoon.fetch.offset_specs import EARLIEST, LATEST, AtOffset, AtTime, BeforeEnd, OffsetSpec, OffsetSpecs
from kafka_lagoon.fetch.plan import Plan, plan
from kafka_lagoon.fetch.ranges import (
    END_BEFORE_POSITION,
    LOG_TRUNCATED,
    TOPIC_DELETED,
    TOPIC_RECREATED,
    Position,
)
from kafka_lagoon.fetch.read_spec import ReadSpec
from kafka_lagoon.fetch.split import READ_COMMITTED, READ_UNCOMMITTED
from kafka_lagoon.fetch.topic_identity import NOT_CONFIRMED
from kafka_lagoon.protocol.messages.describe_log_dirs import DESCRIBE_LOG_DIRS
from kafka_lagoon.protocol.messages.metadata import METADATA, MetadataResponse, MetadataTopic
from kafka_lagoon.protocol.messages.offset_for_leader_epoch import OFFSET_FOR_LEADER_EPOCH
from kafka_lagoon.topic_partition import TopicPartition
from kafka_lagoon.wire.primitives import uuid_text
from tests.clock import CLOCK
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Altered, Fault, Raw

Connect = Callable[..., Cluster]
RUN = RunIdentity(ingest_id="id", sequence=1, cluster="name", cluster_id="cluster")


def spec(
    *topics: str,
    pattern: str | None = None,
    start: OffsetSpec = EARLIEST,
    offsets: Mapping[TopicPartition, int] | None = None,
    until_ms: int | None = None,
    isolation_level: str = READ_COMMITTED,
) -> ReadSpec:
    return ReadSpec(
        topics=topics,
        pattern=pattern,
        start=OffsetSpecs(
            name="start",
            default=start,
            by_partition={partition: AtOffset(offset) for partition, offset in (offsets or {}).items()},
        ),
        end=OffsetSpecs(name="--until", default=LATEST if until_ms is None else AtTime(until_ms)),
        isolation_level=isolation_level,
    )


def planned(connect: Connect, read_spec: ReadSpec, archived: Mapping[str, Archived] | None = None) -> Plan:
    return plan(connect(), read_spec, archived or {}, Deadline.after(CLOCK, 10_000))


def archived_to(state: FakeCluster, *offsets: int, topic: str = "t", epoch: int = 0) -> dict[str, Archived]:
    """Make a topic that is archived up to these offsets of its partitions."""
    positions = {n: Position(next_offset=offset, leader_epoch=epoch) for n, offset in enumerate(offsets)}
    return {topic: Archived(topic_id=uuid_text(state.topics[topic].topic_id), partitions=positions)}


def spans(result: Plan) -> list[tuple[str, int, int, int]]:
    return [(one.topic, one.partition, one.from_offset, one.to_offset) for one in result.ranges]


def events(result: Plan) -> list[tuple[str, int, int, int, str | None]]:
    return [(one.topic, one.partition, one.from_offset, one.to_offset, one.problem) for one in result.events]


def test_a_new_topic_begins_where_its_log_does(state: FakeCluster, connect: Connect):
    """Earliest is the start of the log, not 0, and records that were deleted before do not count as lost."""
    state.topics["t"].partitions[0].log_start_offset = 40
    state.topics["t"].partitions[0].high_watermark = 100
    (planned_range,) = planned(connect, spec("t")).ranges
    assert (
        planned_range.from_offset,
        planned_range.first_readable,
        planned_range.to_offset,
        planned_range.stable_end,
    ) == (40, 40, 100, 100)


def test_committed_data_ends_at_the_last_stable_offset(state: FakeCluster, connect: Connect):
    """An open transaction ends the range with read_committed, and not with read_uncommitted."""
    state.topics["t"].partitions[0].high_watermark = 100
    state.topics["t"].partitions[0].last_stable_offset = 70
    assert spans(planned(connect, spec("t"))) == [("t", 0, 0, 70)]
    (planned_range,) = planned(connect, spec("t", isolation_level=READ_UNCOMMITTED)).ranges
    assert (planned_range.to_offset, planned_range.stable_end) == (100, 70)


def test_a_topic_that_begins_at_its_end_is_known_from_then_on(state: FakeCluster, connect: Connect):
    """If there are no records yet, an event keeps the start; a second run continues there, not at the new end."""
    state.topics["t"].partitions[0].high_watermark = 100
    latest = spec("t", start=LATEST)
    first = planned(connect, latest)
    assert (spans(first), events(first)) == ([], [("t", 0, 100, 100, None)])
    state.topics["t"].partitions[0].high_watermark = 130
    assert spans(planned(connect, latest, archived_to(state, 100))) == [("t", 0, 100, 130)]


def test_new_partitions_of_an_archived_topic_begin_at_their_beginning(state: FakeCluster, connect: Connect):
    """Archived partitions ignore `--from`: otherwise records between two runs would be lost."""
    state.add_topic("grown", 2, end=10)
    result = planned(connect, spec("grown", start=LATEST), archived_to(state, 10, topic="grown"))
    assert spans(result) == [("grown", 1, 0, 10)]


@pytest.mark.parametrize(
    ("start", "offset"), [(EARLIEST, 0), (LATEST, 40), (BeforeEnd(10), 30), (AtTime(5_000), 20), (AtOffset(33), 33)]
)
@pytest.mark.parametrize("later", [EARLIEST, LATEST])
def test_a_partition_that_did_not_answer_in_the_first_run(
    state: FakeCluster, connect: Connect, start: OffsetSpec, offset: int, later: OffsetSpec
):
    """It starts where that run would have started it, at the latest at its time; a partition that came later starts at 0."""
    topic = state.add_topic("led", 2, end=100)
    for partition in topic.partitions:
        partition.times = ((5_000, 20), (CLOCK.now_ms() + 3_600_000, 40))
    topic.partitions[1].leader_id = -1
    first = planned(connect, spec("led", start=start))
    of_first_run = {LATEST: AtTime(first.planned_at_ms), BeforeEnd(10): BeforeEnd(10, first.planned_at_ms)}
    expected = {1: of_first_run.get(start, start)}
    archived = reconcile(RUN, first, []).topics
    assert archived["led"].unstarted == expected
    silent = planned(connect, spec("led", start=later), archived)
    assert reconcile(RUN, silent, []).topics["led"].unstarted == expected
    topic.partitions[1].leader_id = 1
    topic.partitions.append(deepcopy(topic.partitions[0]))
    second = planned(connect, spec("led", start=later), archived)
    assert {one.partition: one.from_offset for one in second.ranges if one.partition} == {1: offset, 2: 0}
    assert reconcile(RUN, second, []).topics["led"].unstarted == {}


@pytest.mark.parametrize("offset", [101, 10**19])
def test_a_start_after_the_end_of_a_partition_that_did_not_answer(state: FakeCluster, connect: Connect, offset: int):
    """The first run could not refuse it. The run that finds it reports it, and starts at the earliest offset."""
    partition = state.add_topic("led", 2, end=100).partitions[1]
    partition.leader_id = -1
    archived = reconcile(RUN, planned(connect, spec("led", offsets={TopicPartition("led", 1): offset})), []).topics
    partition.leader_id, partition.log_start_offset = 1, 7
    result = planned(connect, spec("led"), archived)
    assert ("led", 1, 7, 100) in spans(result)
    assert [(one.scope, one.name) for one in result.failures] == [(Scope.of_partition("led", 1), "OFFSET_OUT_OF_RANGE")]
    after = reconcile(RUN, result, []).topics
    assert (after["led"].unstarted, planned(connect, spec("led"), after).failures) == ({}, [])


def test_a_start_that_retention_has_passed(state: FakeCluster, connect: Connect):
    """Offsets that were deleted since the first run are lost: the range begins at the start that was given."""
    partition = state.add_topic("led", 2, end=100).partitions[1]
    partition.leader_id = -1
    archived = reconcile(RUN, planned(connect, spec("led", offsets={TopicPartition("led", 1): 5})), []).topics
    partition.leader_id, partition.log_start_offset = 1, 7
    result = planned(connect, spec("led"), archived)
    assert ("led", 1, 5, 100) in spans(result)
    assert result.failures == []


def test_a_topic_of_which_no_partition_answered(state: FakeCluster, connect: Connect):
    """Its starts are kept in the same way, also while a later run has no answer; a topic that is re-created has none."""
    (partition,) = state.add_topic("led", 1, end=100).partitions
    partition.times, partition.leader_id = ((CLOCK.now_ms() + 3_600_000, 40),), -1
    first = planned(connect, spec("led", start=LATEST))
    archived = reconcile(RUN, first, []).topics
    topic_id = uuid_text(state.topics["led"].topic_id)
    assert archived == {"led": Archived(topic_id=topic_id, partitions={}, unstarted={0: AtTime(first.planned_at_ms)})}
    assert reconcile(RUN, planned(connect, spec("led"), archived), []).topics == archived
    partition.leader_id = 1
    second = planned(connect, spec("led"), archived)
    assert spans(second) == [("led", 0, 40, 100)]
    assert events(second) == []
    state.topics["led"].topic_id = (99).to_bytes(16, "big")
    assert spans(planned(connect, spec("led", start=LATEST), archived)) == [("led", 0, 0, 100)]


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


def test_offsets_outside_of_the_log_are_refused(state: FakeCluster, connect: Connect):
    """All faults are listed, including partitions that do not exist."""
    state.topics["t"].partitions[0].high_watermark = 10
    offsets = {TopicPartition("t", 0): 11, TopicPartition("t", 5): 0, TopicPartition("later", 0): 7}
    with pytest.raises(ConfigError) as refused:
        planned(connect, spec("t", offsets=offsets))
    assert refused.value.problems == (
        "start: t:0=11 is outside of its log, which has 0 to 10",
        "start: there is no partition t:5",
    )


def test_a_start_that_a_new_topic_lacks_costs_itself_only(state: FakeCluster, connect: Connect):
    """Beside archived topics a new topic that is too short is left for a later run, and no start of it is kept."""
    state.topics["t"].partitions[0].high_watermark = 100
    state.add_topic("short", 2, end=2)
    state.topics["short"].partitions[1].leader_id = -1
    result = planned(connect, spec("t", "short", start=AtOffset(5)), archived_to(state, 80))
    assert spans(result) == [("t", 0, 80, 100)]
    assert [(one.scope, one.name, one.message) for one in result.failures if one.name == "OFFSET_OUT_OF_RANGE"] == [
        (
            Scope.of_partition("short", 0),
            "OFFSET_OUT_OF_RANGE",
            "start: short:0=5 is outside of its log, which has 0 to 2",
        )
    ]
    after = reconcile(RUN, result, []).topics
    assert after.keys() == {"t"}
    for partition in state.topics["short"].partitions:
        partition.high_watermark, partition.leader_id = 9, 1
    later = planned(connect, spec("t", "short", start=AtOffset(5)), after)
    assert spans(later) == [("short", 0, 5, 9), ("short", 1, 5, 9), ("t", 0, 80, 100)]


def test_a_partition_that_a_re_created_topic_lacks(state: FakeCluster, connect: Connect):
    """The start is of the topic that was archived: its partitions are not looked for in the topic that has its name now."""
    archived = archived_to(state, 80, 80)
    state.topics["t"].topic_id = (99).to_bytes(16, "big")
    state.topics["t"].partitions[0].high_watermark = 100
    result = planned(connect, spec("t", offsets={TopicPartition("t", 1): 3}), archived)
    assert (spans(result), result.failures) == ([("t", 0, 0, 100)], [])


def test_a_partition_that_a_new_topic_lacks_costs_the_topic_only(state: FakeCluster, connect: Connect):
    """It is a failure as a broker would name it."""
    state.topics["t"].partitions[0].high_watermark = 100
    state.add_topic("new", 1, end=10)
    result = planned(connect, spec("t", "new", offsets={TopicPartition("new", 7): 0}), archived_to(state, 80))
    assert spans(result) == [("t", 0, 80, 100)]
    assert [(one.scope, one.name) for one in result.failures] == [
        (Scope.of_partition("new", 7), "UNKNOWN_TOPIC_OR_PARTITION")
    ]


def test_an_offset_in_an_open_transaction_is_waited_for(state: FakeCluster, connect: Connect):
    """The offset is after the end for read_committed, and still in the log: later runs start there."""
    log = state.topics["t"].partitions[0]
    log.high_watermark, log.last_stable_offset = 10, 4
    result = planned(connect, spec("t", offsets={TopicPartition("t", 0): 7}))
    assert (spans(result), events(result)) == ([], [("t", 0, 7, 7, None)])


def test_a_named_partition_without_a_leader_is_no_stranger(state: FakeCluster, connect: Connect):
    """The partition exists: its failure has the reason, and the setting is not refused."""
    state.add_topic("led", 2)
    state.topics["led"].partitions[1].leader_id = -1
    result = planned(connect, spec("led", offsets={TopicPartition("led", 1): 5}))
    assert spans(result) == [("led", 0, 0, 100)]
    assert [failure.scope for failure in result.failures] == [Scope.of_partition("led", 1)]


def test_a_partition_without_a_leader_costs_itself_only(state: FakeCluster, connect: Connect):
    """It is a failure with its reason, has an event in its ranges if there are any, and the others are planned."""
    state.add_topic("led", 3)
    state.topics["led"].partitions[1].leader_id = -1
    result = planned(connect, spec("led"), archived_to(state, 5, 5, 5, topic="led"))
    assert spans(result) == [("led", 0, 5, 100), ("led", 2, 5, 100)]
    assert events(result) == [("led", 1, 5, 5, "LEADER_NOT_AVAILABLE")]
    assert [failure.scope for failure in result.failures] == [Scope.of_partition("led", 1)]


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


def stale(state: FakeCluster, change: Callable[[MetadataTopic], None], *brokers: int | None) -> None:
    """Make these brokers describe the earlier state of topic t from now on."""

    def altered(answer: MetadataResponse) -> MetadataResponse:
        for topic in answer.topics:
            if topic.name == "t":
                change(topic)
        return answer

    state.faults += [Fault(METADATA.key, Altered(altered), node_id=node_id, times=1000) for node_id in brokers]


def deny(topic: MetadataTopic) -> None:
    """Describe no such topic."""
    topic.error_code, topic.partitions, topic.topic_id = 3, (), bytes(16)  # type: ignore[misc]


def of_another_id(topic: MetadataTopic) -> None:
    """Describe an earlier or later topic with the name."""
    topic.topic_id = (99).to_bytes(16, "big")  # type: ignore[misc]


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


def test_a_truncation_of_another_topic_is_not_believed(state: FakeCluster, connect: Connect):
    """Requests for epochs name topics: a leader whose topic has another id describes another log."""
    log = state.topics["t"].partitions[0]
    log.high_watermark, log.leader_epoch, log.epoch_ends = 100, 4, {3: 60, 4: 100}
    archived = archived_to(state, 80, epoch=3)
    cluster = connect()
    is_re_created = iter([False, True])

    def later(topic: MetadataTopic) -> None:
        if next(is_re_created):
            of_another_id(topic)

    stale(state, later, 1)
    result = plan(cluster, spec("t"), archived, Deadline.after(CLOCK, 10_000))
    assert (spans(result), events(result)) == ([], [("t", 0, 80, 80, NOT_CONFIRMED)])
    assert reconcile(RUN, result, []).topics == archived


def test_a_truncated_log_goes_back(state: FakeCluster, connect: Connect):
    """The leader returns the end of our last record's epoch; reading continues there."""
    log = state.topics["t"].partitions[0]
    log.high_watermark, log.leader_epoch, log.epoch_ends = 100, 4, {3: 60, 4: 100}
    result = planned(connect, spec("t"), archived_to(state, 80, epoch=3))
    assert events(result) == [("t", 0, 80, 60, LOG_TRUNCATED)]
    assert spans(result) == [("t", 0, 60, 100)]


def kept(state: FakeCluster, *epochs: EpochRange, confirmed: bool = False) -> dict[str, Archived]:
    """Return topic t, of which partition 0 was read in these leader epochs."""
    position = Position(
        next_offset=epochs[-1].end_offset, leader_epoch=epochs[-1].leader_epoch, epochs=epochs, confirmed=confirmed
    )
    return {"t": Archived(topic_id=uuid_text(state.topics["t"].topic_id), partitions={0: position})}


def test_a_divergence_before_the_newest_epoch(state: FakeCluster, connect: Connect):
    """Records of an abandoned history that an earlier run read are found, although the newest epoch is the leader's own."""
    log = state.topics["t"].partitions[0]
    log.high_watermark, log.leader_epoch, log.epoch_ends = 100, 2, {0: 30, 2: 100}
    mixed = kept(state, EpochRange(0, 0, 40), EpochRange(2, 40, 80))
    result = planned(connect, spec("t"), mixed)
    assert events(result) == [("t", 0, 80, 30, LOG_TRUNCATED)]
    assert [(one.from_offset, one.last_epoch, one.epochs) for one in result.ranges] == [(30, 0, ((0, 0, 30),))]


def test_confirmed_epochs_cost_one_request(state: FakeCluster, connect: Connect):
    """If the leader has all of an epoch, no older epoch is requested; if it diverges, the older ones are."""
    log = state.topics["t"].partitions[0]
    log.high_watermark, log.leader_epoch, log.epoch_ends = 100, 3, {0: 30, 1: 50, 3: 100}
    read = (EpochRange(0, 0, 30), EpochRange(1, 30, 50), EpochRange(3, 50, 80))
    for confirmed, requests in ((True, 1), (False, 3)):
        state.requests.clear()
        (planned_range,) = planned(connect, spec("t"), kept(state, *read, confirmed=confirmed)).ranges
        assert (planned_range.from_offset, planned_range.last_epoch, planned_range.confirmed) == (80, 3, True)
        assert state.count(OFFSET_FOR_LEADER_EPOCH.key) == requests
    log.epoch_ends = {0: 30, 1: 45, 4: 100}
    state.requests.clear()
    result = planned(connect, spec("t"), kept(state, *read, confirmed=True))
    assert events(result) == [("t", 0, 80, 45, LOG_TRUNCATED)]
    assert state.count(OFFSET_FOR_LEADER_EPOCH.key) == 1 + 3


def test_two_truncations_in_a_row(state: FakeCluster, connect: Connect):
    """Older epochs are still known after a truncation after which nothing was read."""
    log = state.topics["t"].partitions[0]
    log.high_watermark, log.leader_epoch, log.epoch_ends = 150, 6, {1: 100, 3: 150, 6: 150}
    read = kept(state, EpochRange(1, 0, 100), EpochRange(3, 100, 180), EpochRange(5, 180, 200))
    first = planned(connect, spec("t"), read)
    assert (events(first), first.ranges) == ([("t", 0, 200, 150, LOG_TRUNCATED)], [])
    after = reconcile(RUN, first, []).topics
    assert after["t"].partitions[0].next_offset == 150
    log.high_watermark, log.leader_epoch, log.epoch_ends = 300, 7, {1: 110, 7: 300}  # a third replica, without epoch 3
    second = planned(connect, spec("t"), after)
    assert events(second) == [("t", 0, 150, 100, LOG_TRUNCATED)]
    assert [(one.from_offset, one.last_epoch) for one in second.ranges] == [(100, 1)]


def test_a_leader_that_does_not_tell_epochs(state: FakeCluster, connect: Connect):
    """Without a response nothing is withdrawn, and the next run requests the epochs again."""
    state.topics["t"].partitions[0].high_watermark = 100
    (planned_range,) = planned(connect, spec("t"), kept(state, EpochRange(1, 0, 60), EpochRange(3, 60, 80))).ranges
    assert (planned_range.from_offset, planned_range.confirmed) == (80, False)


def test_an_end_before_the_position_is_not_believed(state: FakeCluster, connect: Connect):
    """Without an epoch that explains it, nothing is read and nothing is withdrawn: the ranges have the reason."""
    state.topics["t"].partitions[0].high_watermark = 50
    result = planned(connect, spec("t"), archived_to(state, 80, epoch=-1))
    assert (spans(result), events(result)) == ([], [("t", 0, 80, 80, END_BEFORE_POSITION)])


def test_from_and_until_a_time(state: FakeCluster, connect: Connect):
    """The range has the first record at or after each time; a time without a later record is the end of the log."""
    log = state.topics["t"].partitions[0]
    log.high_watermark, log.times = 100, ((1000, 20), (2000, 50))
    timed = spec("t", start=AtTime(1000), until_ms=2000)
    assert spans(planned(connect, timed)) == [("t", 0, 20, 50)]
    assert spans(planned(connect, spec("t", until_ms=9000))) == [("t", 0, 0, 100)]
    assert spans(planned(connect, spec("t", until_ms=1000), archived_to(state, 30))) == []


@pytest.mark.parametrize(("start", "offset"), [(LATEST, 100), (BeforeEnd(5), 95), (BeforeEnd(80), 20)])
def test_a_start_before_the_end_and_an_end_in_the_past(
    state: FakeCluster, connect: Connect, start: OffsetSpec, offset: int
):
    """The end that a start counts from is that of the log, not of the run: a run that ends before its start keeps it."""
    log = state.topics["t"].partitions[0]
    log.high_watermark, log.times = 100, ((1_000, 30), (2_000, 50))
    result = planned(connect, spec("t", start=start, until_ms=1_500))
    if offset < 50:
        assert (spans(result), events(result)) == ([("t", 0, offset, 50)], [])
    else:
        assert (spans(result), events(result)) == ([], [("t", 0, offset, offset, None)])


def test_bytes_come_from_the_brokers_or_are_guessed(state: FakeCluster, connect: Connect):
    """The size is the range's share of the leader's log; without a response it is estimated by offsets."""
    log = state.topics["t"].partitions[0]
    log.high_watermark, log.size = 100, 1_000_000
    result = planned(connect, spec("t"), archived_to(state, 50))
    assert result.bytes_of(result.ranges[0]) == 500_000
    state.faults.append(Fault(DESCRIBE_LOG_DIRS.key, Raw(b"\x00\x00\x00\x06\x00\x00\x00\x01ab"), times=1000))
    guessed = planned(connect, spec("t"), archived_to(state, 50))
    assert guessed.bytes_of(guessed.ranges[0]) == 50 * 512
