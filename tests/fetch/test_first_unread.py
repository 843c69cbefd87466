"""First unread records from fake leaders: requests, and results for positions without a record."""

from collections.abc import Callable
from typing import Any

import pytest

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.clock import Deadline
from kafka_lagoon.fetch.first_unread import first_unread
from kafka_lagoon.fetch.unread_positions import (
    BUDGET_USED_UP,
    GAP_TOO_LONG,
    NO_RECORD_RETURNED,
    FirstUnread,
    FirstUnreadOutcome,
    Position,
)
from kafka_lagoon.protocol.messages.fetch import FETCH, READ_COMMITTED, READ_UNCOMMITTED
from tests.clock import CLOCK
from tests.fake.batches import aborted, batch, marker
from tests.fake.cluster import FakeBatch, FakeCluster
from tests.fake.faults import Altered, Fault
from tests.records.examples import Batch, Record

LARGE = b"v" * 300_000
MANY = 1 << 30


def timed(base_offset: int, base_time: int, count: int = 1, value: bytes = b"v") -> FakeBatch:
    """Make a batch whose records are ten milliseconds apart."""
    records = tuple(Record(delta=delta, time_delta=10 * delta, value=value) for delta in range(count))
    made = Batch(base_offset=base_offset, records=records, base_time=base_time, max_time=base_time + 10 * count - 10)
    return FakeBatch(base_offset, made.last_offset, made.write())


def position(partition: int, offset: int, *, last_epoch: int = -1, is_blocked: bool = False) -> Position:
    return Position("t", partition, offset, last_epoch, is_blocked, 10)


def ask(cluster: Cluster, *positions: Position, max_bytes: int = MANY) -> list[FirstUnread]:
    """Return the results for the positions, in their order."""
    unread = first_unread(cluster, positions, max_bytes, Deadline.after(CLOCK, 60_000))
    assert unread.first.keys() == set(positions)
    return [unread.first[one] for one in positions]


@pytest.fixture
def state() -> FakeCluster:
    """Three brokers and a topic of six partitions with ten records each; record n has the time 1000 + 10 n."""
    state = FakeCluster()
    state.add_topic("t", 6, end=0)
    for partition in state.topics["t"].partitions:
        partition.append(timed(0, 1_000, 4), timed(4, 1_040, 6))
    return state


def test_one_request_to_each_leader(state: FakeCluster, connect: Callable[..., Cluster]) -> None:
    """Each position has the record at its offset with its time, in one request per leader."""
    answers = ask(connect(), *(position(number, number) for number in range(6)))
    assert [(one.outcome, one.offset, one.timestamp_ms) for one in answers] == [
        (FirstUnreadOutcome.RECORD, number, 1_000 + 10 * number) for number in range(6)
    ]
    assert [state.count(FETCH.key, node) for node in (1, 2, 3)] == [1, 1, 1]


def test_several_offsets_of_a_partition(state: FakeCluster, connect: Callable[..., Cluster]) -> None:
    """A request names a partition once; equal positions are requested once."""
    offsets = [0, 3, 5, 9]
    answers = ask(connect(), *(position(0, offset) for offset in offsets))
    assert [(one.offset, one.timestamp_ms) for one in answers] == [(offset, 1_000 + 10 * offset) for offset in offsets]
    for request in state.fetches:
        partitions = [one.partition for topic in request.topics for one in topic.partitions]
        assert len(set(partitions)) == len(partitions)
    assert len(state.fetches) == len(offsets)
    assert len(first_unread(connect(), [position(0, 3)] * 5, MANY, Deadline.after(CLOCK, 5_000)).first) == 1
    assert len(state.fetches) == len(offsets) + 1


def test_large_batches_are_asked_for_again(state: FakeCluster, connect: Callable[..., Cluster]) -> None:
    """Partitions without bytes are requested again with a larger limit; the first partition of a request always has bytes."""
    for number in (0, 3):
        state.topics["t"].partitions[number].log = [timed(0, 5_000, 1, LARGE), timed(1, 6_000, 1, LARGE)]
        state.topics["t"].partitions[number].high_watermark = 2
    answers = ask(connect(), *(position(number, 0) for number in (0, 3)))
    assert [one.timestamp_ms for one in answers] == [5_000, 5_000]
    sizes = [request.topics[0].partitions[-1].partition_max_bytes for request in state.fetches]
    assert sizes == [4 << 10, 16 << 10]  # in the next request it is the first one
    assert [len(request.topics[0].partitions) for request in state.fetches] == [2, 1]


def test_the_largest_batches_are_requested_alone(state: FakeCluster, connect: Callable[..., Cluster]) -> None:
    """Batches above the largest limit of bytes are found too, however many positions of a leader wait for theirs."""
    for partition in state.topics["t"].partitions:
        partition.leader_id = 1
        partition.log = [timed(0, 5_000, 1, LARGE * 4)]
        partition.high_watermark = 1
    answers = ask(connect(), *(position(number, 0) for number in range(6)))
    assert [(one.timestamp_ms, one.problem) for one in answers] == [(5_000, None)] * 6


def test_an_answer_that_is_too_large_is_requested_alone(state: FakeCluster, connect: Callable[..., Cluster]) -> None:
    """A batch that no answer may have is unreadable; other positions of its leader have their records."""
    state.topics["t"].partitions[0].log = [timed(0, 5_000, 1, LARGE)]
    answers = ask(connect(receive_message_max_bytes=100_000), position(0, 0), position(3, 2))
    assert [(one.timestamp_ms, one.problem) for one in answers] == [(None, "PROTOCOL_ERROR"), (1_020, None)]


def test_the_budget(state: FakeCluster, connect: Callable[..., Cluster]) -> None:
    """A position that would exceed the limit is not read; positions are read in order."""
    for partition in state.topics["t"].partitions:
        partition.log = [timed(0, 5_000, 1, b"v" * 3_900)]  # almost as large as a request for one position allows
        partition.high_watermark = 1
    answers = ask(connect(), *(position(number, 0) for number in range(6)), max_bytes=3 * 4_096)
    assert [(one.outcome, one.problem) for one in answers] == [
        *[(FirstUnreadOutcome.RECORD, None)] * 3,
        *[(FirstUnreadOutcome.NOT_READ, BUDGET_USED_UP)] * 3,
    ]
    assert ask(connect(), position(0, 0), max_bytes=100)[0].outcome is FirstUnreadOutcome.NOT_READ


def test_a_deadline_that_has_passed(connect: Callable[..., Cluster]) -> None:
    """Positions that are not read say that time ended, and not that bytes did."""
    unread = first_unread(connect(), [position(0, 0)], MANY, Deadline.after(CLOCK, 0))
    assert [(one.outcome, one.problem) for one in unread.first.values()] == [
        (FirstUnreadOutcome.NOT_READ, "DEADLINE_PASSED")
    ]


def test_gaps_and_aborted_transactions(state: FakeCluster, connect: Callable[..., Cluster]) -> None:
    """The first record after the gap is found; a position before a marker at the end has no unread record."""
    first, second, *_ = state.topics["t"].partitions
    first.log, first.high_watermark = [], 0
    first.append(aborted(0, [b"a", b"b"], 7), marker(2, 7), timed(10, 9_000, 2))
    second.log, second.high_watermark = [], 0
    second.append(timed(0, 1_000, 2), marker(2, 8, commit=True))
    answers = ask(connect(), position(0, 0), position(1, 2), position(0, 3))
    assert [(one.outcome, one.offset, one.timestamp_ms) for one in answers] == [
        (FirstUnreadOutcome.RECORD, 10, 9_000),
        (FirstUnreadOutcome.NOTHING, None, None),
        (FirstUnreadOutcome.RECORD, 10, 9_000),
    ]


@pytest.mark.long
def test_long_gaps_are_read_on(state: FakeCluster, connect: Callable[..., Cluster]) -> None:
    """Gaps are skipped in steps, up to a limit: then the position is not read, or has the bound of a header."""
    log = state.topics["t"].partitions[0]
    log.log, log.high_watermark = [], 0
    log.append(*(aborted(2 * n, [b"v" * 5_000], 7) for n in range(8)), marker(16, 7), timed(20, 9_000, 2))
    cluster = connect(request_timeout_ms=30_000)  # answers are large
    assert ask(cluster, position(0, 0))[0].offset == 20
    log.log, log.high_watermark = [], 0
    log.append(*(aborted(n, [LARGE * 4], 7) for n in range(40)), marker(40, 7), timed(41, 9_000, 2))
    (answer,) = ask(cluster, position(0, 0))
    assert (answer.outcome, answer.problem) == (FirstUnreadOutcome.NOT_READ, GAP_TOO_LONG)


def test_a_header_is_a_bound(state: FakeCluster, connect: Callable[..., Cluster]) -> None:
    """If only the header of a batch was received within the limit, its largest timestamp is an upper bound."""
    log = state.topics["t"].partitions[0]
    log.log, log.high_watermark = [], 0
    log.append(marker(0, 7, commit=True), timed(1, 9_000, 2, LARGE))
    (answer,) = ask(connect(), position(0, 0), max_bytes=5_000)
    assert (answer.outcome, answer.timestamp_ms, answer.problem) == (FirstUnreadOutcome.BOUND, 9_010, BUDGET_USED_UP)


def test_an_open_transaction(state: FakeCluster, connect: Callable[..., Cluster]) -> None:
    """Below the last stable offset committed records are requested, from there on all records."""
    log = state.topics["t"].partitions[0]
    log.last_stable_offset = 4
    blocked = ask(connect(), position(0, 5, is_blocked=True))[0]
    assert (blocked.offset, blocked.timestamp_ms, blocked.is_blocked) == (5, 1_050, True)
    assert state.fetches[-1].isolation_level == READ_UNCOMMITTED
    assert ask(connect(), position(0, 2))[0].is_blocked is False
    assert state.fetches[-1].isolation_level == READ_COMMITTED
    log.log, log.high_watermark = [], 0
    log.append(timed(0, 1_000, 2), marker(2, 8, commit=True), timed(3, 7_000, 3))
    log.last_stable_offset = 3
    between = ask(connect(), position(0, 2))[0]
    assert (between.offset, between.timestamp_ms, between.is_blocked) == (3, 7_000, True)


def test_a_truncated_log(state: FakeCluster, connect: Callable[..., Cluster]) -> None:
    """The epoch of the commit shows that the log was truncated and has other records now."""
    log = state.topics["t"].partitions[0]
    log.epoch_ends, log.leader_epoch = {3: 4}, 4
    (answer,) = ask(connect(), position(0, 6, last_epoch=3))
    assert (answer.outcome, answer.problem) == (FirstUnreadOutcome.UNREADABLE, "LOG_TRUNCATED")
    assert ask(connect(), position(0, 4, last_epoch=3))[0].outcome is FirstUnreadOutcome.RECORD


def test_a_log_without_any_earlier_epoch(state: FakeCluster, connect: Callable[..., Cluster]) -> None:
    """The log was truncated to its start, as after an unclean election of an empty replica: none of it is what was read."""
    log = state.topics["t"].partitions[0]
    log.epoch_ends, log.leader_epoch = {4: 10}, 4
    (answer,) = ask(connect(), position(0, 6, last_epoch=3))
    assert (answer.outcome, answer.problem) == (FirstUnreadOutcome.UNREADABLE, "LOG_TRUNCATED")


def test_an_epoch_without_records(state: FakeCluster, connect: Callable[..., Cluster]) -> None:
    """Compaction removed all records of the commit's epoch, and the log goes on beyond the commit: nothing was truncated."""
    log = state.topics["t"].partitions[0]
    log.epoch_ends, log.leader_epoch = {2: 8, 4: 10}, 4
    (answer,) = ask(connect(), position(0, 6, last_epoch=3))
    assert (answer.outcome, answer.offset, answer.problem) == (FirstUnreadOutcome.RECORD, 6, None)


@pytest.mark.parametrize("highest", [18, 12, 11, 4])
def test_brokers_of_any_release(state: FakeCluster, connect: Callable[..., Cluster], highest: int) -> None:
    """Requests are by id, by name with the epoch, or by name without it."""
    state.highest[FETCH.key] = highest
    assert ask(connect(), position(0, 3, last_epoch=0), position(1, 2))[0].timestamp_ms == 1_030
    assert {version for _, key, version in state.requests if key == FETCH.key} == {highest}


def test_topics_without_ids_are_requested_by_name(state: FakeCluster, connect: Callable[..., Cluster]) -> None:
    """During an upgrade brokers already take ids, and do not yet give any."""
    state.add_topic("u", 1, end=0)
    state.topics["u"].partitions[0].append(timed(0, 7_000))
    for topic in state.topics.values():
        topic.topic_id = bytes(16)
    cluster = connect()
    cluster.refresh(("t", "u"), Deadline.after(CLOCK, 5_000))
    answers = ask(cluster, position(0, 0), Position("u", 0, 0, -1, False, 1))
    assert [one.timestamp_ms for one in answers] == [1_000, 7_000]


def test_an_epoch_that_the_leader_has_forgotten(state: FakeCluster, connect: Callable[..., Cluster]) -> None:
    """The position is requested again without the epoch."""

    def forgotten(response):
        for topic in response.responses:
            for partition in topic.partitions:
                partition.error_code, partition.records = 1, None
        return response

    state.faults.append(Fault(FETCH.key, Altered(forgotten)))
    assert ask(connect(), position(0, 3, last_epoch=0))[0].timestamp_ms == 1_030
    epochs = [request.topics[0].partitions[0].last_fetched_epoch for request in state.fetches]
    assert epochs == [0, -1]


def test_failures_are_unreadable(connect: Callable[..., Cluster]) -> None:
    """The position has the reason; an offset outside the log is no failure of the collection."""
    cluster = connect()
    unread = first_unread(cluster, [position(0, 99)], MANY, Deadline.after(CLOCK, 5_000))
    assert [one.problem for one in unread.first.values()] == ["OFFSET_OUT_OF_RANGE"]
    assert not unread.failures
    unknown = Position("nowhere", 0, 0, -1, False, 9)
    unread = first_unread(cluster, [unknown], MANY, Deadline.after(CLOCK, 1_000))
    assert unread.first[unknown].outcome is FirstUnreadOutcome.UNREADABLE
    assert [failure.name for failure in unread.failures] == [unread.first[unknown].problem]


def test_damaged_records(state: FakeCluster, connect: Callable[..., Cluster]) -> None:
    """A batch with a wrong checksum is unreadable; so is an offset at which the leader returns nothing."""
    log = state.topics["t"].partitions[0]
    log.log[0] = FakeBatch(0, 3, log.log[0].data[:-1] + b"x")
    (answer,) = ask(connect(), position(0, 2))
    assert (answer.outcome, answer.problem) == (FirstUnreadOutcome.UNREADABLE, "CORRUPT_BATCH")
    log.log = []
    (answer,) = ask(connect(), position(0, 2))
    assert (answer.outcome, answer.problem) == (FirstUnreadOutcome.UNREADABLE, NO_RECORD_RETURNED)


def test_a_record_without_values_is_a_record(state: FakeCluster, connect: Callable[..., Cluster]) -> None:
    """A tombstone counts as unread."""
    log = state.topics["t"].partitions[0]
    log.log, log.high_watermark = [], 0
    log.append(batch(0, [None]))
    assert ask(connect(), position(0, 0))[0].outcome is FirstUnreadOutcome.RECORD


def test_an_answer_that_does_not_say_where_the_log_ends(state: FakeCluster, connect: Callable[..., Cluster]) -> None:
    """A response without the end of the log does not prove that there is no unread record."""

    def change(answer: Any) -> Any:
        for topic in answer.responses:
            for partition in topic.partitions:
                partition.high_watermark = partition.last_stable_offset = partition.log_start_offset = -1
                partition.records = b""
        return answer

    state.faults.append(Fault(FETCH.key, Altered(change), times=1_000))
    (first,) = ask(connect(), position(0, 3))
    assert (first.outcome, first.problem) == (FirstUnreadOutcome.UNREADABLE, NO_RECORD_RETURNED)
