"""After reading, leaders are asked for the epochs of all splits, and diverging records are withdrawn."""

from copy import deepcopy
from dataclasses import replace

import pytest

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.fetch.leader_epochs import EpochRange
from kafka_lagoon.fetch.ranges import PlannedRange, Position
from kafka_lagoon.fetch.split import Split, SplitOutcome
from kafka_lagoon.fetch.topic_identity import ask_every_broker
from kafka_lagoon.fetch.truncation_checks import CheckedEpochs, check_epochs, check_outcomes, check_positions
from kafka_lagoon.protocol.messages.fetch import FETCH
from kafka_lagoon.protocol.messages.metadata import METADATA, MetadataResponse
from kafka_lagoon.protocol.messages.offset_for_leader_epoch import OFFSET_FOR_LEADER_EPOCH
from kafka_lagoon.records.decoding import Counts
from kafka_lagoon.topic_partition import TopicPartition
from kafka_lagoon.wire.primitives import uuid_text
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Altered, Close, Fault
from tests.fetch.reading import Connect, log, read, small
from tests.fetch.splits import in_epochs, soon, splits, whole

PARTITION = TopicPartition("t", 0)


def checked_outcomes(cluster: Cluster, planned: PlannedRange, *outcomes: SplitOutcome) -> CheckedEpochs:
    """Return the leaders' responses about one range that was read."""
    return check_outcomes(cluster, [planned], {planned.topic: planned.topic_id}, outcomes, soon())


@pytest.mark.parametrize("silent", [OFFSET_FOR_LEADER_EPOCH, METADATA])
def test_without_an_answer(state: FakeCluster, connect: Connect, silent: type) -> None:
    """Splits begin without an epoch, and nothing is withdrawn or confirmed."""
    in_epochs(state, 0, 3)
    cluster = connect()
    state.faults.append(Fault(silent.key, Close(), times=1_000))
    if silent is OFFSET_FOR_LEADER_EPOCH:
        assert [one.last_epoch for one in splits(cluster, whole(state), into=2)] == [-1, -1]
    outcome = done(state, 0, 8, EpochRange(7, 0, 8))
    checked = checked_outcomes(cluster, whole(state), outcome)
    assert (checked.divergences, checked.confirmed) == ({}, frozenset())


def done(state: FakeCluster, start: int, end: int, *epochs: EpochRange) -> SplitOutcome:
    split = Split(
        topic="t",
        topic_id=uuid_text(state.topics["t"].topic_id),
        partition=0,
        from_offset=start,
        to_offset=end,
        stable_end=end,
    )
    return SplitOutcome(split=split, next_offset=end, counts=Counts(records=end - start), epochs=epochs)


def test_a_split_after_an_unclean_election(state: FakeCluster, connect: Connect) -> None:
    """Brokers that compare epochs refuse it, and no record of the other history is read."""
    in_epochs(state, 0, 0, 0, 0)
    cluster = connect()
    first, second = splits(cluster, whole(state), into=2)
    outcomes = [read(cluster, first, small())[1]]
    in_epochs(state, 0, 4, 4, 4, 4)  # epoch 0 ends at 4 now
    outcomes.append(read(cluster, second, small())[1])
    assert (outcomes[1].failure, outcomes[1].next_offset, outcomes[1].truncated_to) == ("LOG_TRUNCATED", 8, 4)
    checked = checked_outcomes(cluster, whole(state), *outcomes)
    assert (checked.divergences, checked.confirmed) == ({PARTITION: (4, 0)}, frozenset())


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_two_histories_in_one_range(state: FakeCluster, connect: Connect, order: tuple[int, int]) -> None:
    """Brokers that do not compare epochs return the other history: the check finds the divergence, for any reader."""
    in_epochs(state, 0, 0, 0, 0)
    state.highest[FETCH.key] = 11
    cluster = connect()
    planned = whole(state)
    parts = splits(cluster, planned, into=2)
    outcomes = [read(cluster, parts[order[0]], small())[1]]
    in_epochs(state, 0, 4, 4, 4, 4)
    outcomes.append(read(cluster, parts[order[1]], small())[1])
    assert [one.failure for one in outcomes] == [None, None]
    checked = checked_outcomes(cluster, planned, *outcomes)
    assert checked.divergences == {PARTITION: (4, 0) if order == (0, 1) else (8, 4)}


def test_one_history(state: FakeCluster, connect: Connect) -> None:
    """A new leader with all records confirms them, with one request per epoch for all splits."""
    in_epochs(state, 0, 0, 3, 3)
    cluster = connect()
    planned = whole(state)
    outcomes = [read(cluster, part, small())[1] for part in splits(cluster, planned, into=4)]
    state.requests.clear()
    log(state).leader_id, log(state).leader_epoch, log(state).epoch_ends[5] = 2, 5, 16
    checked = checked_outcomes(cluster, planned, *outcomes)
    assert (checked.divergences, checked.confirmed) == ({}, frozenset({PARTITION}))
    assert state.count(OFFSET_FOR_LEADER_EPOCH.key) == 2


def test_the_archive_belongs_to_it(state: FakeCluster, connect: Connect) -> None:
    """All read records are the leader's, but the end of the archive before them is not: the histories differ."""
    in_epochs(state, 0, 4, 4, 4)
    archived = (EpochRange(0, 0, 4), EpochRange(2, 4, 8))
    outcome = done(state, 8, 16, EpochRange(4, 8, 16))
    planned = whole(state, start=8, epochs=archived, confirmed=True)
    assert checked_outcomes(connect(), planned, outcome).divergences == {PARTITION: (4, 0)}


def test_many_partitions(state: FakeCluster, connect: Connect) -> None:
    """Their leader is asked once about all of them; without epochs there is nothing to ask."""
    topic = state.topics["t"]
    topic.partitions = [deepcopy(topic.partitions[0]) for _ in range(5)]
    for number, partition in enumerate(topic.partitions):
        partition.epoch_ends = {0: 8 if number % 2 else 4}
    cluster = connect()
    cluster.refresh({"t"}, soon())
    read_epochs = {TopicPartition("t", number): (EpochRange(0, 0, 8),) for number in range(5)}
    checked = check_epochs(cluster, {**read_epochs, TopicPartition("t", 9): ()}, soon())
    assert {partition.partition for partition in checked.confirmed} == {1, 3, 9}
    assert {partition.partition: diverged for partition, diverged in checked.divergences.items()} == dict.fromkeys(
        (0, 2, 4), (4, 0)
    )
    assert state.count(OFFSET_FOR_LEADER_EPOCH.key) == 1


def test_partitions_with_different_numbers_of_epochs(state: FakeCluster, connect: Connect) -> None:
    """Those with fewer epochs than another one are compared by their own: one diverges, and the epoch of one is not known."""
    topic = state.topics["t"]
    topic.partitions = [deepcopy(topic.partitions[0]) for _ in range(3)]
    for partition, ends in zip(topic.partitions, ({0: 4}, {0: 4, 1: 8, 2: 12}, {}), strict=True):
        partition.epoch_ends = ends
    cluster = connect()
    cluster.refresh({"t"}, soon())
    long = (EpochRange(0, 0, 4), EpochRange(1, 4, 8), EpochRange(2, 8, 12))
    read_epochs = {
        TopicPartition("t", number): epochs
        for number, epochs in enumerate(((EpochRange(0, 0, 8),), long, (EpochRange(0, 0, 8),)))
    }
    checked = check_epochs(cluster, read_epochs, soon())
    assert (checked.divergences, checked.confirmed) == ({PARTITION: (4, 0)}, {TopicPartition("t", 1)})


@pytest.mark.parametrize("confirmed", [False, True])
def test_a_divergence_in_the_epoch_before_the_last(state: FakeCluster, connect: Connect, *, confirmed: bool) -> None:
    """Two epochs are enough: by the last one alone, the leader's record at offset 2 would never be read."""
    topic = state.topics["t"]
    topic.partitions[0].epoch_ends = {0: 2, 1: 3, 4: 16}
    epochs = (EpochRange(0, 0, 4), EpochRange(2, 4, 8))
    position = Position(next_offset=8, leader_epoch=2, epochs=epochs, confirmed=confirmed)
    checked = check_positions(connect(), {PARTITION: position}, soon())
    assert (checked.divergences, checked.confirmed) == ({PARTITION: (2, 0)}, frozenset())


@pytest.mark.parametrize("newest", [12, 13])
@pytest.mark.parametrize("is_known", [False, True])
def test_a_re_created_topic(state: FakeCluster, connect: Connect, newest: int, *, is_known: bool) -> None:
    """It is refused where topics are fetched by id; by name its records are read, and left out.

    So they are whatever id the metadata had before the check. Its epochs begin again at 0 and prove nothing.
    """
    in_epochs(state, 0, 0)
    state.highest[FETCH.key] = newest
    of_task, cluster, planned = connect(), connect(), whole(state)
    (part,) = splits(cluster, planned, into=1)
    state.topics["t"].topic_id = bytes(15) + b"\x99"
    in_epochs(state, 0, 0)
    rows, outcome = read(of_task, part, small())
    assert len(rows) == (0 if newest == 13 else 8)
    if is_known:
        cluster.refresh({"t"}, soon())
    checked = checked_outcomes(cluster, planned, outcome)
    assert (checked.divergences, checked.confirmed) == ({}, frozenset())
    assert checked.foreign == (frozenset() if newest == 13 else {PARTITION})


@pytest.mark.parametrize("leader_id", [2, 3], ids=["an old broker", "a broker without a connection"])
def test_a_leader_that_changed_while_reading(state: FakeCluster, connect: Connect, leader_id: int) -> None:
    """Its records were read by name if it is too old for ids, or may be, as another broker is: it has to know the topic."""
    in_epochs(state, 0, 0)
    state.missing = {2: {FETCH.key}}
    cluster, planned = connect(), whole(state)
    ask_every_broker(cluster, {"t"}, soon(), [1, 2])
    outcome = done(state, 0, 8, EpochRange(0, 0, 8))
    state.faults.append(Fault(METADATA.key, Altered(of_another_topic), leader_id, 1_000))
    log(state).leader_id, log(state).leader_epoch = leader_id, 1
    assert checked_outcomes(cluster, planned, outcome).foreign == {PARTITION}


@pytest.mark.parametrize("newest", [12, 13])
def test_a_partition_that_has_lost_its_leader(state: FakeCluster, connect: Connect, newest: int) -> None:
    """Nobody can say which topic was read by name; by id the records stay, neither confirmed nor contradicted."""
    in_epochs(state, 0, 0)
    state.highest[FETCH.key] = newest
    cluster, planned = connect(), whole(state)
    outcome = done(state, 0, 8, EpochRange(0, 0, 8))
    log(state).leader_id = -1
    checked = checked_outcomes(cluster, planned, outcome)
    assert checked == CheckedEpochs(foreign=frozenset() if newest == 13 else frozenset({PARTITION}))


def of_another_topic(response: MetadataResponse) -> MetadataResponse:
    topics = tuple(replace(topic, topic_id=bytes(15) + b"\x99") for topic in response.topics)
    return replace(response, topics=topics)


@pytest.mark.parametrize("newest", [12, 13])
def test_a_topic_deleted_meanwhile(state: FakeCluster, connect: Connect, newest: int) -> None:
    """No broker says any more which topic was read by name, so the records are left out."""
    in_epochs(state, 0, 0)
    state.highest[FETCH.key] = newest
    cluster, planned = connect(), whole(state)
    outcome = done(state, 0, 8, EpochRange(0, 0, 8))
    del state.topics["t"]
    checked = checked_outcomes(cluster, planned, outcome)
    assert checked == CheckedEpochs(foreign=frozenset() if newest == 13 else frozenset({PARTITION}))


@pytest.mark.parametrize("newest", [12, 13])
def test_without_metadata(state: FakeCluster, connect: Connect, newest: int) -> None:
    """Records read by name are left out: nothing shows which topic has the name."""
    in_epochs(state, 0, 0)
    state.highest[FETCH.key] = newest
    cluster, planned = connect(), whole(state)
    outcome = done(state, 0, 8, EpochRange(0, 0, 8))
    state.faults.append(Fault(METADATA.key, Close(), times=1_000))
    checked = checked_outcomes(cluster, planned, outcome)
    assert checked == CheckedEpochs(foreign=frozenset() if newest == 13 else frozenset({PARTITION}))


def test_compaction_between_epochs(state: FakeCluster, connect: Connect) -> None:
    """If compaction removed the end of an epoch the next one is seen late, which is no truncation."""
    in_epochs(state, 0, 0, 3, 3)
    del log(state).log[1:3]
    cluster = connect()
    planned = whole(state)
    outcomes = [read(cluster, part, small())[1] for part in splits(cluster, planned, into=4)]
    assert sum(one.counts.compacted for one in outcomes) == 8
    assert checked_outcomes(cluster, planned, *outcomes).confirmed == {PARTITION}
