"""Splits are read from fake leaders: records and counts."""

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import Deadline
from kafka_lagoon.fetch.prefetcher import Prefetcher
from kafka_lagoon.fetch.reader import SplitReader
from kafka_lagoon.fetch.requests import FetchPosition
from kafka_lagoon.fetch.split import READ_UNCOMMITTED, ReadOptions
from kafka_lagoon.protocol.messages.fetch import FETCH
from kafka_lagoon.protocol.messages.list_offsets import LIST_OFFSETS
from tests.clock import CLOCK
from tests.effort import examples
from tests.fake.batches import aborted, batch, marker
from tests.fake.broker import FakeBroker
from tests.fake.cluster import FakeCluster, FakePartition
from tests.fake.faults import Altered, Close, Fault, Hang
from tests.fetch.reading import QUICK, Connect, altered, check, damage, fill, log, read, small, split
from tests.short_timeouts import short_timeouts


def test_everything(state: FakeCluster, connect: Connect) -> None:
    """All records are read in order, with responses of any size."""
    fill(state)
    for options in (QUICK, small()):
        values, outcome = read(connect(), split(state), options)
        assert list(values.items()) == [(offset, b"%d" % offset) for offset in range(20)]
        assert (outcome.next_offset, outcome.failure, outcome.counts.records) == (20, None, 20)


def test_a_part(state: FakeCluster, connect: Connect) -> None:
    """A split that begins and ends within batches gets exactly its own records."""
    fill(state)
    values, outcome = read(connect(), split(state, from_offset=6, to_offset=13), small())
    assert list(values) == list(range(6, 13))
    assert outcome.next_offset == 13


def test_nothing(state: FakeCluster, connect: Connect) -> None:
    """An empty split sends no request."""
    fill(state)
    assert read(connect(), split(state, from_offset=7, to_offset=7))[0] == {}
    assert not state.fetches


@pytest.mark.parametrize("version", [18, 13, 12, 11, 9, 4])
def test_names_and_ids(state: FakeCluster, connect: Connect, version: int) -> None:
    """Topics are requested by id from v13 on, by name before; both read the same."""
    fill(state)
    state.highest[FETCH.key] = version
    values, _ = read(connect(), split(state, last_epoch=-1), small())
    assert list(values) == list(range(20))
    assert {asked for _, key, asked in state.requests if key == FETCH.key} == {version}
    assert {request.topics[0].topic for request in state.fetches} == ({""} if version >= 13 else {"t"})


def test_without_an_id(state: FakeCluster, connect: Connect) -> None:
    """A split without an id is read by name, also if the broker knows ids."""
    fill(state)
    assert list(read(connect(), split(state, topic_id=None))[0]) == list(range(20))
    assert {asked for _, key, asked in state.requests if key == FETCH.key} == {12}


def test_leader_epochs(state: FakeCluster, connect: Connect) -> None:
    """Every request has the epoch of the record before, and the outcome has all epochs with their offsets."""
    log(state).append(batch(0, [b"a"] * 4, leader_epoch=2), batch(4, [b"b"] * 4, leader_epoch=2))
    log(state).append(batch(8, [b"c"] * 4, leader_epoch=5))
    log(state).leader_epoch = 5
    _, outcome = read(connect(), split(state, from_offset=2, last_epoch=2), small())
    requested = [request.topics[0].partitions[0] for request in state.fetches]
    assert [(one.fetch_offset, one.last_fetched_epoch) for one in requested] == [(2, 2), (4, 2), (8, 2)]
    assert {one.current_leader_epoch for one in requested} == {5}
    assert (outcome.epochs, outcome.leader_epoch) == (((2, 2, 8), (5, 8, 12)), 5)


def test_sessionless_consumer(state: FakeCluster, connect: Connect) -> None:
    """Requests have no session, no rack and no replica id."""
    fill(state)
    read(connect(), split(state), small())
    facts = {(one.session_id, one.session_epoch, one.rack_id, one.replica_state.replica_id) for one in state.fetches}
    assert facts == {(0, -1, "", -1)}


def with_transactions(state: FakeCluster) -> None:
    """Offsets 0-3 plain, 4-7 aborted with marker 8, 9-12 committed with marker 13, 14-17 open."""
    log(state).append(batch(0, [b"p"] * 4), aborted(4, [b"a"] * 4, 7), marker(8, 7))
    log(state).append(batch(9, [b"c"] * 4, producer_id=8, attributes=0x10), marker(13, 8, commit=True))
    log(state).append(batch(14, [b"o"] * 4, producer_id=9, attributes=0x10))
    log(state).last_stable_offset = 14


def test_committed(state: FakeCluster, connect: Connect) -> None:
    """Aborted records and markers are left out and counted."""
    with_transactions(state)
    values, outcome = read(connect(), split(state, to_offset=14, stable_end=14), small())
    assert list(values) == [0, 1, 2, 3, 9, 10, 11, 12]
    assert (outcome.counts.aborted, outcome.counts.control) == (4, 2)
    assert {request.isolation_level for request in state.fetches} == {1}


def test_uncommitted(state: FakeCluster, connect: Connect) -> None:
    """Aborted records are kept and marked; up to the last stable offset the list of aborted transactions is requested."""
    with_transactions(state)
    reader = SplitReader(connect(), split(state, stable_end=14), small(isolation_level=READ_UNCOMMITTED))
    marked: dict[int, bool | None] = {}
    for rows in reader.batches():
        marked |= dict(zip(rows["offset"].to_pylist(), rows["is_aborted"].to_pylist(), strict=True))
    check(split(state, stable_end=14), reader.outcome)
    assert [offset for offset, is_aborted in marked.items() if is_aborted] == [4, 5, 6, 7]
    assert [offset for offset, is_aborted in marked.items() if is_aborted is None] == [14, 15, 16, 17]
    levels = {request.topics[0].partitions[0].fetch_offset: request.isolation_level for request in state.fetches}
    assert {offset: level for offset, level in levels.items() if offset >= 14} == {14: 0}
    assert {level for offset, level in levels.items() if offset < 14} == {1}


def test_the_next_answer_is_under_way(state: FakeCluster, connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the caller works on the first response the second is requested, and no third."""
    prefetched: list[int] = []
    start = Prefetcher.start

    def noted(self: Prefetcher, position: FetchPosition) -> None:
        prefetched.append(position.offset)
        start(self, position)

    monkeypatch.setattr(Prefetcher, "start", noted)
    fill(state)
    reader = SplitReader(connect(), split(state), small())
    batches = reader.batches()
    next(batches)
    assert prefetched == [4]
    until(lambda: len(state.fetches) == 2)
    assert sum(rows.num_rows for rows in batches) == 16
    check(split(state), reader.outcome)


def until(holds: Callable[[], bool], seconds: float = 5) -> None:
    """Wait until a condition holds."""
    give_up = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < give_up
        time.sleep(0.005)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("ending", ["close the reader", "close the iterator", "drop the iterator"])
def test_an_early_exit_leaves_nothing(state: FakeCluster, connect: Connect, ending: str) -> None:
    """A reader that is closed early does not wait for the broker, which takes an hour; no thread and no request is left."""
    fill(state)
    cluster = connect(request_timeout_ms=3_600_000)
    reader = SplitReader(cluster, split(state), small(stall_timeout_ms=3_600_000))
    batches = reader.batches()
    state.faults += [Fault(FETCH.key, Altered(lambda answer: answer), times=2), Fault(FETCH.key, Hang(), times=9)]
    next(batches)
    next(batches)
    until(lambda: state.count(FETCH.key) == 3)
    if ending == "close the reader":
        reader.close()
    elif ending == "close the iterator":
        batches.close()  # type: ignore[attr-defined]
    else:
        del batches
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("fetch")]
    state.faults.clear()
    assert list(read(cluster, split(state))[0]) == list(range(20))


def test_throttled_without_topics(state: FakeCluster, connect: Connect) -> None:
    """The reader waits for the throttle time, and reading continues."""

    def throttle(answer: Any) -> Any:
        answer.responses, answer.throttle_time_ms = (), 100
        return answer

    fill(state)
    state.faults.append(Fault(FETCH.key, Altered(throttle), times=3))
    started = time.monotonic()
    values, outcome = read(connect(), split(state))
    assert time.monotonic() - started > 0.25
    assert (len(values), outcome.failure) == (20, None)


def test_throttled_for_ever(state: FakeCluster, connect: Connect) -> None:
    """The stall timeout ends it, and the failure names throttling."""

    def throttle(answer: Any) -> Any:
        answer.responses, answer.throttle_time_ms = (), 100
        return answer

    fill(state)
    state.faults.append(Fault(FETCH.key, Altered(throttle), times=1000))
    _, outcome = read(connect(), split(state))
    assert (outcome.failure, outcome.next_offset) == ("THROTTLED", 0)


def test_empty_answers(state: FakeCluster, connect: Connect) -> None:
    """An empty response is not the end, even with an old high watermark."""

    def empty(partition: Any) -> None:
        partition.records, partition.high_watermark = None, 3

    fill(state)
    state.faults.append(Fault(FETCH.key, altered(empty), times=5))
    values, outcome = read(connect(), split(state), small())
    assert (len(values), outcome.failure) == (20, None)


def test_nothing_more_comes(state: FakeCluster, connect: Connect) -> None:
    """If the log ends before the split does, the stall timeout ends reading."""
    fill(state)
    values, outcome = read(connect(), split(state, to_offset=25))
    assert (len(values), outcome.next_offset, outcome.failure) == (20, 20, "NO_PROGRESS")
    assert "offset 20" in str(outcome.detail)


def test_gaps(state: FakeCluster, connect: Connect) -> None:
    """Compacted records are counted, before, between, within and after batches."""
    log(state).append(batch(3, [b"a"] * 2, deltas=[0, 3], last_delta=5), batch(12, [b"b"] * 2))
    values, outcome = read(connect(), split(state), small())
    assert list(values) == [3, 6, 12, 13]
    assert outcome.counts.compacted == 10


def test_nothing_is_left_at_the_end(state: FakeCluster, connect: Connect) -> None:
    """Compaction may remove a log's last records: empty responses of a longer log prove it."""
    fill(state)
    log(state).high_watermark = 25
    values, outcome = read(connect(), split(state))
    assert (len(values), outcome.counts.compacted, outcome.failure) == (20, 5, None)


def test_nothing_is_left_before_an_open_transaction(state: FakeCluster, connect: Connect) -> None:
    """With read_committed nothing is returned there; a later record shows that there is none."""
    fill(state)
    log(state).append(batch(25, [b"o"] * 4, producer_id=9, attributes=0x10))
    log(state).last_stable_offset = 25
    values, outcome = read(connect(), split(state, to_offset=25, stable_end=25))
    assert (len(values), outcome.counts.compacted, outcome.failure) == (20, 5, None)
    assert state.count(LIST_OFFSETS.key) == 0


def test_remote_storage_may_be_slow(state: FakeCluster, connect: Connect) -> None:
    """Empty responses prove nothing for offsets in remote storage."""

    def remote(answer: Any) -> Any:
        for partition in answer.topics[0].partitions:
            partition.offset = 22
        return answer

    fill(state)
    log(state).high_watermark = 25
    state.faults.append(Fault(LIST_OFFSETS.key, Altered(remote), times=1000))
    _, outcome = read(connect(), split(state))
    assert (outcome.failure, outcome.next_offset) == ("NO_PROGRESS", 20)


_BATCHES = st.lists(
    st.tuples(st.integers(0, 3), st.integers(1, 4), st.sampled_from(["plain", "aborted", "committed", "corrupt"])),
    min_size=1,
    max_size=8,
)
# Each leaves the reader without a batch at an offset: cut off, or before the start of the log.
_BROKEN = (
    altered(lambda partition: setattr(partition, "log_start_offset", 5)),
    altered(lambda partition: setattr(partition, "records", bytes(partition.records or b"")[:-7])),
)
_ACTIONS = st.sampled_from(
    [
        Close(),
        Close(sent=40),
        altered(lambda partition: setattr(partition, "records", b"")),
        altered(lambda partition: setattr(partition, "error_code", 6)),
        altered(lambda partition: setattr(partition, "error_code", 1)),
        *_BROKEN,
        Altered(lambda answer: setattr(answer, "responses", ()) or answer),
    ]
)


def _kind(action: Any) -> int:
    """Actions of the same kind at one offset would break it twice, and it stays broken then."""
    return id(_BROKEN[0] if action in _BROKEN else action)


@settings(max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    shape=_BATCHES,
    start=st.integers(0, 12),
    bounds=st.tuples(st.integers(0, 30), st.integers(0, 30)),
    actions=st.lists(_ACTIONS, max_size=5, unique_by=_kind),
    isolation_level=st.sampled_from(["read_committed", "read_uncommitted"]),
    fetch_bytes=st.sampled_from([100, 250, 1 << 20]),
)
def test_every_offset_is_counted_once(
    state: FakeCluster,
    brokers: dict[int, FakeBroker],
    shape: list[tuple[int, int, str]],
    start: int,
    bounds: tuple[int, int],
    actions: list[Any],
    isolation_level: str,
    fetch_bytes: int,
) -> None:
    """For any logs and faults the counts add up, and rows are those of the log between start and end."""
    assert brokers
    made, expected, end = FakePartition(1, (1, 2, 3), (1, 2, 3)), set(), 0
    for gap, records, kind in shape:
        base = end + gap
        is_aborted = kind == "aborted"
        appended = aborted(base, [b"v"] * records, 7) if is_aborted else batch(base, [b"v"] * records)
        if kind == "corrupt":
            appended.data = damage(appended, len(appended.data) - 1)
        elif kind != "aborted" or isolation_level == "read_uncommitted":
            expected |= set(range(base, base + records))
        made.append(appended)
        end = appended.last_offset + 1
        if kind == "aborted":
            made.append(marker(end, 7))
            end += 1
    made.log_start_offset = min(start, end)
    state.topics["t"].partitions[0] = made
    state.fetches.clear()
    state.faults[:] = [Fault(FETCH.key, action) for action in actions]
    low, high = sorted(min(bound, end) for bound in bounds)
    wanted = split(state, from_offset=low, to_offset=high)
    options = ReadOptions(
        isolation_level=isolation_level, fetch_bytes=fetch_bytes, fetch_wait_ms=5, stall_timeout_ms=20_000
    )
    deadline = Deadline.after(CLOCK, 5_000)
    with Cluster.connect(short_timeouts(state, retry_backoff_ms=1), CLOCK, RequestStats(), deadline) as cluster:
        cluster.refresh({"t"}, deadline)
        values, outcome = read(cluster, wanted, options)
    assert outcome.failure is None
    lost = {
        offset for offset in expected if offset < max(made.log_start_offset, 5 if len(values) < len(expected) else 0)
    }
    assert {offset for offset in expected if low <= offset < high} - lost <= set(values) <= expected
