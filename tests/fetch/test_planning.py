"""Plans with brokers in every state: each partition is planned, or is a failure with its reason."""

from kafka_lagoon.client.failures import Scope
from kafka_lagoon.clock import Deadline
from kafka_lagoon.fetch.accounting import reconcile
from kafka_lagoon.fetch.archived import Archived
from kafka_lagoon.fetch.leader_epochs import EpochRange
from kafka_lagoon.fetch.offset_specs import AtTime
from kafka_lagoon.fetch.planning import plan
from kafka_lagoon.fetch.ranges import (
    END_BEFORE_POSITION,
    LOG_TRUNCATED,
    Position,
)
from kafka_lagoon.fetch.split import READ_UNCOMMITTED
from kafka_lagoon.fetch.topic_identity import NOT_CONFIRMED
from kafka_lagoon.protocol.messages.describe_log_dirs import DESCRIBE_LOG_DIRS
from kafka_lagoon.protocol.messages.metadata import MetadataTopic
from kafka_lagoon.protocol.messages.offset_for_leader_epoch import OFFSET_FOR_LEADER_EPOCH
from kafka_lagoon.wire.primitives import uuid_text
from tests.clock import CLOCK
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Fault, Raw
from tests.fetch.plans import RUN, Connect, archived_to, events, of_another_id, planned, spans, spec, stale


def test_committed_data_ends_at_the_last_stable_offset(state: FakeCluster, connect: Connect):
    """An open transaction ends the range with read_committed, and not with read_uncommitted."""
    state.topics["t"].partitions[0].high_watermark = 100
    state.topics["t"].partitions[0].last_stable_offset = 70
    assert spans(planned(connect, spec("t"))) == [("t", 0, 0, 70)]
    (planned_range,) = planned(connect, spec("t", isolation_level=READ_UNCOMMITTED)).ranges
    assert (planned_range.to_offset, planned_range.stable_end) == (100, 70)


def test_a_partition_without_a_leader_costs_itself_only(state: FakeCluster, connect: Connect):
    """It is a failure with its reason, has an event in its ranges if there are any, and the others are planned."""
    state.add_topic("led", 3)
    state.topics["led"].partitions[1].leader_id = -1
    result = planned(connect, spec("led"), archived_to(state, 5, 5, 5, topic="led"))
    assert spans(result) == [("led", 0, 5, 100), ("led", 2, 5, 100)]
    assert events(result) == [("led", 1, 5, 5, "LEADER_NOT_AVAILABLE")]
    assert [failure.scope for failure in result.failures] == [Scope.of_partition("led", 1)]


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


def test_a_partition_that_is_read_to_its_end(state: FakeCluster, connect: Connect):
    """It has no row, also if the last stable offset is before the position: the log does not end there."""
    log = state.topics["t"].partitions[0]
    for high_watermark, last_stable_offset in ((80, 80), (80, 70), (90, 70)):
        log.high_watermark, log.last_stable_offset = high_watermark, last_stable_offset
        result = planned(connect, spec("t"), archived_to(state, 80, epoch=-1))
        assert (spans(result), events(result)) == ([], [])


def test_until_a_time_within_an_open_transaction(state: FakeCluster, connect: Connect):
    """With read_committed the range ends at the last stable offset: nobody gets the records after it yet."""
    log = state.topics["t"].partitions[0]
    log.high_watermark, log.last_stable_offset, log.times = 100, 70, ((1000, 85),)
    assert spans(planned(connect, spec("t", until_ms=1000))) == [("t", 0, 0, 70)]
    uncommitted = spec("t", until_ms=1000, isolation_level=READ_UNCOMMITTED)
    assert spans(planned(connect, uncommitted)) == [("t", 0, 0, 85)]


def test_from_and_until_a_time(state: FakeCluster, connect: Connect):
    """The range has the first record at or after each time; a time without a later record is the end of the log."""
    log = state.topics["t"].partitions[0]
    log.high_watermark, log.times = 100, ((1000, 20), (2000, 50))
    timed = spec("t", start=AtTime(1000), until_ms=2000)
    assert spans(planned(connect, timed)) == [("t", 0, 20, 50)]
    assert spans(planned(connect, spec("t", until_ms=9000))) == [("t", 0, 0, 100)]
    assert spans(planned(connect, spec("t", until_ms=1000), archived_to(state, 30))) == []


def test_an_end_that_the_leader_refuses(state: FakeCluster, connect: Connect):
    """TOPIC_AUTHORIZATION_FAILED is a failure of the partition, so that nobody takes a read without it for a complete one."""
    log = state.topics["t"].partitions[0]
    log.high_watermark, log.times, log.refused = 100, ((1000, 20),), {(1000, 0): 29}
    result = planned(connect, spec("t", until_ms=1000))
    assert (spans(result), [failure.scope for failure in result.failures]) == ([], [Scope.of_partition("t", 0)])


def test_bytes_come_from_the_brokers_or_are_guessed(state: FakeCluster, connect: Connect):
    """The size is the range's share of the leader's log; without a response it is estimated by offsets."""
    log = state.topics["t"].partitions[0]
    log.high_watermark, log.size = 100, 1_000_000
    result = planned(connect, spec("t"), archived_to(state, 50))
    assert result.bytes_of(result.ranges[0]) == 500_000
    state.faults.append(Fault(DESCRIBE_LOG_DIRS.key, Raw(b"\x00\x00\x00\x06\x00\x00\x00\x01ab"), times=1000))
    guessed = planned(connect, spec("t"), archived_to(state, 50))
    assert guessed.bytes_of(guessed.ranges[0]) == 50 * 512
