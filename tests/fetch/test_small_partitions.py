"""Small partitions are read together, with the same records and outcomes as if each was read alone."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.fetch.reader import SplitReader
from kafka_lagoon.fetch.small_partitions import SharedRecords, SmallPartitions, Unread, groups
from kafka_lagoon.fetch.split import READ_UNCOMMITTED, ReadOptions, Split, SplitOutcome
from kafka_lagoon.fetch.stalls import Limits, Stalls
from kafka_lagoon.protocol.messages.fetch import FETCH, FetchResponse
from kafka_lagoon.records.decoding import DecodeOptions
from kafka_lagoon.wire.primitives import uuid_text
from tests.clock import CLOCK
from tests.fake.batches import TRANSACTIONAL, aborted, batch, marker
from tests.fake.cluster import FakeBatch, FakeCluster, FakePartition
from tests.fake.faults import Altered, Close, Fault, Hang
from tests.fetch.reading import QUICK, Connect, check, damage

Rows = dict[tuple[int, int], bytes | None]


def texts(first: int, count: int = 4) -> list[bytes]:
    return [b"%d" % offset for offset in range(first, first + count)]


def usual() -> list[FakeBatch]:
    return [batch(0, texts(0)), batch(4, texts(4), leader_epoch=1)]


@pytest.fixture
def state() -> FakeCluster:
    """Twelve partitions of eight records each, which three brokers lead in turn."""
    state = FakeCluster()
    for partition in state.add_topic("t", 12, end=0).partitions:
        partition.append(*usual())
        partition.epoch_ends, partition.leader_epoch = {0: 4, 1: 8}, 1
    return state


def log(state: FakeCluster, number: int) -> FakePartition:
    return state.topics["t"].partitions[number]


def content(state: FakeCluster, number: int, *batches: FakeBatch) -> FakePartition:
    """Give a partition another log."""
    log(state, number).log.clear()
    log(state, number).append(*batches)
    return log(state, number)


def splits(state: FakeCluster, **more: Any) -> list[Split]:
    """Make splits of all partitions."""
    return [
        Split(
            **{
                "topic": "t",
                "topic_id": uuid_text(state.topics["t"].topic_id),
                "partition": number,
                "from_offset": 0,
                "to_offset": partition.high_watermark,
                "stable_end": partition.high_watermark,
                "expected_bytes": sum(len(one.data) for one in partition.log),
                **more,
            }
        )
        for number, partition in enumerate(state.topics["t"].partitions)
    ]


def together(
    cluster: Cluster, wanted: Sequence[Split], options: ReadOptions = QUICK, stalls: Stalls | None = None
) -> tuple[Rows, dict[int, SplitOutcome], list[Unread]]:
    """Return the values, the outcomes by partition, and the partitions that must be read alone."""
    stalls = stalls or Stalls(CLOCK, options.stall_timeout_ms)
    small = SmallPartitions(cluster, options, Limits.of(CLOCK, options, stalls))
    rows: Rows = {}
    outcomes: list[SplitOutcome] = []
    unread: list[Unread] = []
    for part in small.read(wanted):
        if isinstance(part, SharedRecords):
            numbers = [split.partition for split, count in part.rows for _ in range(count)]
            offsets, values = (part.batch[name].to_pylist() for name in ("offset", "value"))
            rows |= dict(zip(zip(numbers, offsets, strict=True), values, strict=True))
        else:
            unread.append(part)
            read, outcome = alone(cluster, part, options, stalls)
            rows |= read
            outcomes.append(outcome)
    outcomes += small.outcomes
    assert len(outcomes) == len(wanted)
    for outcome in outcomes:
        check(outcome.split, outcome)
    return rows, {outcome.split.partition: outcome for outcome in outcomes}, unread


def alone(
    cluster: Cluster, part: Unread, options: ReadOptions, stalls: Stalls | None = None
) -> tuple[Rows, SplitOutcome]:
    reader = SplitReader(cluster, part.split, options, stalls, part.answer)
    rows: Rows = {}
    for each in reader.batches():
        offsets, values = (each[name].to_pylist() for name in ("offset", "value"))
        rows |= {(part.split.partition, offset): value for offset, value in zip(offsets, values, strict=True)}
    return rows, reader.outcome


def assert_as_alone(
    state: FakeCluster, connect: Connect, wanted: Sequence[Split], options: ReadOptions = QUICK
) -> tuple[int, list[int]]:
    """Return the number of requests, and the partitions that were read alone."""
    rows, outcomes, unread = together(connect(), wanted, options)
    requests = state.count(FETCH.key)
    for split in wanted:
        expected, outcome = alone(connect(), Unread(split), options)
        assert {key: value for key, value in rows.items() if key[0] == split.partition} == expected
        assert outcomes[split.partition] == outcome
    return requests, [part.split.partition for part in unread]


@pytest.mark.parametrize("version", [18, 12, 11, 4])
def test_a_request_for_each_leader(state: FakeCluster, connect: Connect, version: int) -> None:
    """Twelve partitions on three brokers need three requests, by id and by name; counts and epochs are per partition."""
    state.highest[FETCH.key] = version
    assert assert_as_alone(state, connect, splits(state)) == (3, [])


def test_ranges_within_batches(state: FakeCluster, connect: Connect) -> None:
    """A split begins and ends at its offsets, also if the leader has more by now."""
    for partition in state.topics["t"].partitions:
        partition.append(batch(8, texts(8, 20), leader_epoch=1))
        partition.epoch_ends = {0: 4, 1: 28}
    assert assert_as_alone(state, connect, splits(state, from_offset=2, to_offset=7, stable_end=7)) == (3, [])
    assert assert_as_alone(state, connect, splits(state, from_offset=2, to_offset=10, last_epoch=0))[1] == []


def test_what_is_odd_is_read_by_itself(state: FakeCluster, connect: Connect) -> None:
    """Damage, aborted transactions, deleted and compacted records, a stale leader, a truncated log; others stay together."""
    whole, late = batch(0, texts(0)), batch(4, texts(4))
    whole.data = damage(whole, 70)
    content(state, 1, whole, late)
    content(state, 2, batch(0, texts(0)), replace(late, data=damage(late, 20)))
    content(state, 3, aborted(0, texts(0), 9), marker(4, 9), batch(5, texts(5)))
    log(state, 4).log_start_offset = 2
    content(state, 5, batch(0, texts(0)), batch(4, texts(4, 1), last_delta=3))
    content(state, 6, batch(0, texts(0))).high_watermark = 8
    log(state, 7).epoch_ends = {0: 3, 2: 8}
    log(state, 8).leader_epoch = 2
    wanted = splits(state)
    wanted[7] = replace(wanted[7], from_offset=4, last_epoch=0)
    requests, unread = assert_as_alone(state, connect, wanted, replace(QUICK, stall_timeout_ms=800))
    assert (unread, requests < 30) == ([1, 2, 3, 4, 6, 7], True)


def test_committed_transactions_stay_together(state: FakeCluster, connect: Connect) -> None:
    """Their markers are counted; read_uncommitted marks records, so it reads them alone."""
    content(state, 3, batch(0, texts(0), producer_id=9, attributes=TRANSACTIONAL), marker(4, 9, commit=True))
    assert assert_as_alone(state, connect, splits(state))[1] == []
    assert assert_as_alone(state, connect, splits(state), replace(QUICK, isolation_level=READ_UNCOMMITTED))[1] == [3]
    open_ones = splits(state, stable_end=0)
    assert len(assert_as_alone(state, connect, open_ones, replace(QUICK, isolation_level=READ_UNCOMMITTED))[1]) == 12


def test_answers_without_room(state: FakeCluster, connect: Connect) -> None:
    """Partitions that do not fit are requested again, and no response is larger than the options allow."""
    options = replace(QUICK, fetch_bytes=400)
    requests, unread = assert_as_alone(state, connect, splits(state, expected_bytes=10), options)
    assert (unread, requests) == ([], 6)
    assert all(request.max_bytes <= 400 for request in state.fetches)


def test_groups_share_arrow_batches(state: FakeCluster, connect: Connect) -> None:
    """Records of several requests become one Arrow batch, until it is large enough."""
    options = replace(QUICK, fetch_bytes=400)
    small = SmallPartitions(connect(), options, Limits.of(CLOCK, options))
    (part,) = small.read(splits(state, expected_bytes=10))
    assert isinstance(part, SharedRecords)
    assert part.batch.num_rows == sum(count for _, count in part.rows) == 96
    tight = replace(options, decoding=DecodeOptions(expanded_bytes=200))
    small = SmallPartitions(connect(), tight, Limits.of(CLOCK, tight))
    parts = list(small.read(splits(state, expected_bytes=10)))
    assert [part.batch.num_rows for part in parts if isinstance(part, SharedRecords)] == [16] * 6


def test_a_batch_that_is_larger_than_expected(state: FakeCluster, connect: Connect) -> None:
    """Sizes are estimates; a partition with more records is read in a second request."""
    for number in (0, 3, 6):
        content(state, number, batch(0, [bytes(30_000)]))
    assert assert_as_alone(state, connect, splits(state, expected_bytes=100)) == (4, [])


def test_a_leader_that_does_not_answer(state: FakeCluster, connect: Connect) -> None:
    """Partitions of other brokers are read together; its own are read alone, without another shared request."""
    state.faults.append(Fault(FETCH.key, Hang(), node_id=2, times=1_000))
    options = replace(QUICK, stall_timeout_ms=300)
    rows, outcomes, unread = together(connect(), splits(state), options)
    own = [number for number in range(12) if log(state, number).leader_id == 2]
    assert [part.split.partition for part in unread] == own
    assert [number for number, outcome in sorted(outcomes.items()) if outcome.failure] == own
    assert len(rows) == 64


def test_a_connection_that_breaks(state: FakeCluster, connect: Connect) -> None:
    """A single fault is repaired; after repeated faults the partitions are read alone, which waits and retries as usual."""
    state.faults.append(Fault(FETCH.key, Close(), node_id=2))
    assert assert_as_alone(state, connect, splits(state))[1] == []
    state.faults.append(Fault(FETCH.key, Close(), node_id=2, times=4))
    rows, outcomes, unread = together(connect(), splits(state))
    assert (len(rows), len(unread), {outcome.failure for outcome in outcomes.values()}) == (96, 4, {None})


def test_throttled_answers(state: FakeCluster, connect: Connect) -> None:
    """An empty throttled response delays the next request; afterwards all partitions are read together."""
    throttled = Altered(lambda _: FetchResponse(throttle_time_ms=20, responses=()))
    state.faults.append(Fault(FETCH.key, throttled, times=6))
    rows, _, unread = together(connect(), splits(state))
    assert (len(rows), unread, state.count(FETCH.key)) == (96, [], 9)
    state.faults.append(Fault(FETCH.key, throttled, node_id=2, times=6))
    rows, _, unread = together(connect(), splits(state))
    assert (len(rows), len(unread)) == (96, 4)


def test_without_a_leader_or_another_topic(state: FakeCluster, connect: Connect) -> None:
    """It is not requested with others; its own reader finds the reason."""
    wanted, cluster = splits(state), connect()
    wanted[4] = replace(wanted[4], topic_id="AAAAAAAAAAAAAAAAAAAAmQ")
    rows, outcomes, unread = together(cluster, wanted, replace(QUICK, stall_timeout_ms=300))
    assert [part.split.partition for part in unread] == [4]
    assert (outcomes[4].failure, len(rows)) == ("TOPIC_RECREATED", 88)


def test_the_runs_deadline(state: FakeCluster, connect: Connect) -> None:
    """After the deadline no request is sent, and every partition has that reason."""
    late = replace(QUICK, ends_at_ms=CLOCK.now_ms() - 1)
    cluster, before = connect(), state.count(FETCH.key)
    _, outcomes, unread = together(cluster, splits(state), late)
    assert ({outcome.failure for outcome in outcomes.values()}, len(unread)) == ({"RUN_DEADLINE_PASSED"}, 12)
    assert state.count(FETCH.key) == before


def test_near_replicas_are_for_readers(state: FakeCluster, connect: Connect) -> None:
    """A leader that names a replica in our rack sends no records: the partition is read there (KIP-392)."""
    for partition in state.topics["t"].partitions[:2]:
        partition.preferred = {"here": partition.leader_id % 3 + 1}
    cluster = connect(client_rack="here")
    rows, _, unread = together(cluster, splits(state))
    assert ([part.split.partition for part in unread], len(rows)) == ([0, 1], 96)


def test_groups_keep_the_order() -> None:
    """Consecutive small splits form groups of the size of a response; large and unknown splits are alone."""
    sizes = [10, 20, None, 5, 2_000, *[100] * 12]
    some = [
        Split(topic="t", topic_id=None, partition=number, from_offset=0, to_offset=1, stable_end=1, expected_bytes=size)
        for number, size in enumerate(sizes)
    ]
    grouped = list(groups(some, ReadOptions(fetch_bytes=1_600)))
    assert [split for group in grouped for split in group] == some
    assert [len(group) for group in grouped] == [2, 1, 1, 1, 9, 3]
