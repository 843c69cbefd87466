"""Where partitions start: at what the settings give in the first run of their topic, later at the earliest offset."""

from copy import deepcopy

import pytest

from kafka_lagoon.client.failures import Scope
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.fetch.accounting import reconcile
from kafka_lagoon.fetch.archived import Archived
from kafka_lagoon.fetch.offset_specs import EARLIEST, LATEST, AtOffset, AtTime, BeforeEnd, OffsetSpec
from kafka_lagoon.topic_partition import TopicPartition
from kafka_lagoon.wire.primitives import uuid_text
from tests.clock import CLOCK
from tests.fake.cluster import FakeCluster
from tests.fetch.plans import RUN, Connect, archived_to, events, planned, spans, spec


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


@pytest.mark.parametrize("offset", [7, 10])
def test_an_offset_in_an_open_transaction_is_waited_for(state: FakeCluster, connect: Connect, offset: int):
    """The offset is after the end for read_committed, and in the log or at its end: later runs start there."""
    log = state.topics["t"].partitions[0]
    log.high_watermark, log.last_stable_offset = 10, 4
    result = planned(connect, spec("t", offsets={TopicPartition("t", 0): offset}))
    assert (spans(result), events(result)) == ([], [("t", 0, offset, offset, None)])


@pytest.mark.parametrize("offset", [7, 10])
def test_a_partition_that_did_not_answer_and_has_an_open_transaction(state: FakeCluster, connect: Connect, offset: int):
    """Its start is waited for in the same way, and is not refused: from the earliest offset it would read what nobody wants."""
    partition = state.add_topic("led", 2, end=10).partitions[1]
    partition.leader_id, partition.last_stable_offset = -1, 4
    archived = reconcile(RUN, planned(connect, spec("led", offsets={TopicPartition("led", 1): offset})), []).topics
    partition.leader_id = 1
    result = planned(connect, spec("led"), archived)
    assert (result.failures, events(result)) == ([], [("led", 1, offset, offset, None)])


def test_archived_partitions_without_news_are_no_unstarted_partitions(state: FakeCluster, connect: Connect):
    """Their next offsets stay, also those of a partition that does not answer: started again, it would be read twice."""
    state.topics["t"].partitions[0].high_watermark = 100
    state.add_topic("led", 2, end=100).partitions[1].leader_id = -1
    archived = archived_to(state, 100) | archived_to(state, 100, 100, topic="led")
    result = planned(connect, spec("t", "led", start=LATEST), archived)
    assert (spans(result), result.unstarted) == ([], {})
    assert reconcile(RUN, result, []).topics == archived


def test_a_named_partition_without_a_leader_is_no_stranger(state: FakeCluster, connect: Connect):
    """The partition exists: its failure has the reason, and the setting is not refused."""
    state.add_topic("led", 2)
    state.topics["led"].partitions[1].leader_id = -1
    result = planned(connect, spec("led", offsets={TopicPartition("led", 1): 5}))
    assert spans(result) == [("led", 0, 0, 100)]
    assert [failure.scope for failure in result.failures] == [Scope.of_partition("led", 1)]


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
