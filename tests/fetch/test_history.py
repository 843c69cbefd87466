"""Splits of one partition held together: each is told the leader epoch before it, and the leaders are asked what they have."""

import pytest

from kafka_lagoon.client.cluster import Cluster, TopicPartition
from kafka_lagoon.clock import Deadline
from kafka_lagoon.fetch.epochs import EpochRange
from kafka_lagoon.fetch.history import check_outcomes, with_last_epochs
from kafka_lagoon.fetch.plan import Plan
from kafka_lagoon.fetch.ranges import PlannedRange
from kafka_lagoon.fetch.split import Outcome, Split
from kafka_lagoon.fetch.tasks import divide
from kafka_lagoon.protocol.messages.fetch import FETCH
from kafka_lagoon.protocol.messages.metadata import METADATA
from kafka_lagoon.protocol.messages.offset_for_leader_epoch import OFFSET_FOR_LEADER_EPOCH
from kafka_lagoon.records.decoding import Counts
from kafka_lagoon.wire.primitives import uuid_text
from tests.clock import CLOCK
from tests.fake.batches import batch
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Close, Fault
from tests.fetch.reading import Connect, log, read, small

AT = TopicPartition("t", 0)


def soon() -> Deadline:
    return Deadline.after(CLOCK, 5_000)


def whole(state: FakeCluster, *, start: int = 0, **more: object) -> PlannedRange:
    """All of the log that is there now."""
    return PlannedRange(
        topic="t",
        topic_id=uuid_text(state.topics["t"].topic_id),
        partition=0,
        from_offset=start,
        to_offset=log(state).high_watermark,
        log_start_offset=0,
        stable_end=log(state).high_watermark,
        **more,  # type: ignore[arg-type]
    )


def plan_of(*ranges: PlannedRange) -> Plan:
    ids = {one.topic: one.topic_id for one in ranges}
    return Plan(topic_ids=ids, ranges=ranges, events=(), failures=(), sizes={}, planned_at_ms=0)


def in_epochs(state: FakeCluster, *epochs: int) -> None:
    """A log of batches of four records, each in its leader epoch."""
    log(state).log.clear()
    for number, epoch in enumerate(epochs):
        log(state).append(batch(number * 4, [b"%d" % epoch] * 4, leader_epoch=epoch))
        log(state).epoch_ends[epoch] = number * 4 + 4
    log(state).leader_epoch = epochs[-1]


def splits(cluster: Cluster, *ranges: PlannedRange, into: int) -> list[Split]:
    """The range divided, and each split told what is before it."""
    tasks = divide(ranges, lambda one: one.offsets, 1, ranges[0].offsets // into)
    return [split for task in with_last_epochs(cluster, tasks, soon()) for split in task.splits]


def test_splits_know_the_epoch_before_them(state: FakeCluster, connect: Connect) -> None:
    """As the leader has it, in as many requests as there are epochs; the first has what the archive ended with."""
    in_epochs(state, 0, 0, 3, 5, 5)
    found = splits(connect(), whole(state, last_epoch=9), into=5)
    assert [(one.from_offset, one.last_epoch) for one in found] == [(0, 9), (4, 0), (8, 0), (12, 3), (16, 5)]
    assert state.count(OFFSET_FOR_LEADER_EPOCH.key) == 2


def test_undivided_ranges_cost_no_request(state: FakeCluster, connect: Connect) -> None:
    """Nobody is asked about partitions of which one split reads all."""
    in_epochs(state, 0, 3)
    assert [one.last_epoch for one in splits(connect(), whole(state, last_epoch=9), into=1)] == [9]
    assert not state.count(OFFSET_FOR_LEADER_EPOCH.key)


@pytest.mark.parametrize("silent", [OFFSET_FOR_LEADER_EPOCH, METADATA])
def test_without_an_answer(state: FakeCluster, connect: Connect, silent: type) -> None:
    """Splits begin without an epoch, and nothing that was read is taken back or confirmed."""
    in_epochs(state, 0, 3)
    cluster = connect()
    state.faults.append(Fault(silent.key, Close(), times=1_000))
    if silent is OFFSET_FOR_LEADER_EPOCH:
        assert [one.last_epoch for one in splits(cluster, whole(state), into=2)] == [-1, -1]
    outcome = done(state, 0, 8, EpochRange(7, 0, 8))
    checked = check_outcomes(cluster, plan_of(whole(state)), [outcome], soon())
    assert (checked.divergences, checked.confirmed) == ({}, frozenset())


def done(state: FakeCluster, start: int, end: int, *epochs: EpochRange) -> Outcome:
    split = Split(
        topic="t",
        topic_id=uuid_text(state.topics["t"].topic_id),
        partition=0,
        from_offset=start,
        to_offset=end,
        stable_end=end,
    )
    return Outcome(split=split, next_offset=end, counts=Counts(records=end - start), epochs=epochs)


def test_a_split_behind_an_unclean_election(state: FakeCluster, connect: Connect) -> None:
    """It is refused by brokers that compare epochs, and reads nothing of the other history."""
    in_epochs(state, 0, 0, 0, 0)
    cluster = connect()
    first, second = splits(cluster, whole(state), into=2)
    outcomes = [read(cluster, first, small())[1]]
    in_epochs(state, 0, 4, 4, 4, 4)  # epoch 0 ends at 4 now
    outcomes.append(read(cluster, second, small())[1])
    assert (outcomes[1].failure, outcomes[1].next_offset, outcomes[1].truncated_to) == ("LOG_TRUNCATED", 8, 4)
    checked = check_outcomes(cluster, plan_of(whole(state)), outcomes, soon())
    assert (checked.divergences, checked.confirmed) == ({AT: (4, 0)}, frozenset())


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_two_histories_in_one_range(state: FakeCluster, connect: Connect, order: tuple[int, int]) -> None:
    """Brokers that do not compare epochs answer with the other history: the check finds where, whoever read first."""
    in_epochs(state, 0, 0, 0, 0)
    state.highest[FETCH.key] = 11
    cluster = connect()
    planned = whole(state)
    parts = splits(cluster, planned, into=2)
    outcomes = [read(cluster, parts[order[0]], small())[1]]
    in_epochs(state, 0, 4, 4, 4, 4)
    outcomes.append(read(cluster, parts[order[1]], small())[1])
    assert [one.failure for one in outcomes] == [None, None]
    checked = check_outcomes(cluster, plan_of(planned), outcomes, soon())
    assert checked.divergences == {AT: (4, 0) if order == (0, 1) else (8, 4)}


def test_one_history(state: FakeCluster, connect: Connect) -> None:
    """A new leader that has everything confirms it; the question is one request for each epoch, whatever the splits."""
    in_epochs(state, 0, 0, 3, 3)
    cluster = connect()
    planned = whole(state)
    outcomes = [read(cluster, part, small())[1] for part in splits(cluster, planned, into=4)]
    state.asked.clear()
    log(state).leader_id, log(state).leader_epoch, log(state).epoch_ends[5] = 2, 5, 16
    checked = check_outcomes(cluster, plan_of(planned), outcomes, soon())
    assert (checked.divergences, checked.confirmed) == ({}, frozenset({AT}))
    assert state.count(OFFSET_FOR_LEADER_EPOCH.key) == 2


def test_the_archive_belongs_to_it(state: FakeCluster, connect: Connect) -> None:
    """All that was read is the leader's, and the end of what was archived before is not: that is no one history either."""
    in_epochs(state, 0, 4, 4, 4)
    archived = (EpochRange(0, 0, 4), EpochRange(2, 4, 8))
    outcome = done(state, 8, 16, EpochRange(4, 8, 16))
    planned = plan_of(whole(state, start=8, epochs=archived, confirmed=True))
    assert check_outcomes(connect(), planned, [outcome], soon()).divergences == {AT: (4, 0)}


def test_a_topic_made_anew(state: FakeCluster, connect: Connect) -> None:
    """Its epochs begin again at 0 and say nothing of the topic that was read."""
    in_epochs(state, 0, 0)
    cluster, planned = connect(), plan_of(whole(state))
    outcome = done(state, 0, 8, EpochRange(0, 0, 8))
    state.topics["t"].topic_id = bytes(15) + b"\x99"
    in_epochs(state, 0)
    checked = check_outcomes(cluster, planned, [outcome], soon())
    assert (checked.divergences, checked.confirmed) == ({}, frozenset())


def test_compaction_between_epochs(state: FakeCluster, connect: Connect) -> None:
    """Where the end of an epoch was compacted away the next one is seen late, and that is no truncation."""
    in_epochs(state, 0, 0, 3, 3)
    del log(state).log[1:3]
    cluster = connect()
    planned = whole(state)
    outcomes = [read(cluster, part, small())[1] for part in splits(cluster, planned, into=4)]
    assert sum(one.counts.compacted for one in outcomes) == 8
    assert check_outcomes(cluster, plan_of(planned), outcomes, soon()).confirmed == {AT}
