"""Limits of waiting: a stalled broker costs the timeout once and not per partition, and a run ends at its deadline."""

import time
from collections import Counter

import pytest

from kafka_lagoon.fetch import stalls as stalls_module
from kafka_lagoon.fetch.reader import SplitReader
from kafka_lagoon.fetch.split import ReadOptions
from kafka_lagoon.fetch.stalls import BOOTSTRAP, BROKER_STALLED, RUN_DEADLINE_PASSED, Limits, Stalls
from kafka_lagoon.protocol.messages.fetch import FETCH
from tests.clock import CLOCK, Hands
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Close, Fault, Hang
from tests.fetch.reading import QUICK, Connect, check, fill, read, small, split


def test_a_broker_that_stalled_is_waited_for_less() -> None:
    """The wait is a quarter each time, at least a second, and the whole timeout when the last stall is long ago."""
    hands = Hands()
    hands.move(5_000)
    stalls = Stalls(hands.clock(), 60_000)
    waits = []
    for _ in range(6):
        waits.append(stalls.timeout_ms(1))
        stalls.stalled(1)
    assert waits == [60_000, 15_000, 3_750, 1_000, 1_000, 1_000]
    hands.move(599)
    assert stalls.timeout_ms(1) == 1_000
    hands.move(2)
    assert stalls.timeout_ms(1) == 60_000


def test_many_brokers_that_stall() -> None:
    """If many brokers stall it is the network, and the timeout of brokers that have not stalled shrinks too, but less."""
    stalls = Stalls(Hands().clock(), 60_000)
    waits = []
    for broker_id in (*range(3), None, BOOTSTRAP):
        waits.append(stalls.timeout_ms(broker_id))
        stalls.stalled(broker_id)
    assert waits == [60_000, 15_000, 3_750, 3_750, 3_750]
    assert Stalls(Hands().clock(), 200).timeout_ms(1) == 200


def test_a_broker_is_given_up() -> None:
    """After four stalls it gets one request per stall timeout; a response lets the next partition request, too."""
    hands = Hands()
    hands.move(5_000)
    stalls = Stalls(hands.clock(), 60_000)
    for _ in range(4):
        assert not stalls.gives_up_on(1)
        stalls.stalled(1)
    assert stalls.gives_up_on(1)
    assert not stalls.gives_up_on(2)
    stalls.progressed(1)
    assert not stalls.gives_up_on(1)
    assert stalls.timeout_ms(1) == 1_000
    stalls.stalled(1)
    assert stalls.gives_up_on(1)
    hands.move(60)
    assert not stalls.gives_up_on(1)


def test_limits_end_with_the_run() -> None:
    """No wait exceeds the run's deadline, which is the same wall time on all machines."""
    hands = Hands()
    limits = Limits.of(hands.clock(), ReadOptions(stall_timeout_ms=60_000, ends_at_ms=5_000))
    assert limits.waiting_for(1).remaining() == 5
    assert not limits.run_is_over()
    hands.move(5)
    assert limits.run_is_over()
    assert Limits.of(hands.clock(), ReadOptions(ends_at_ms=-1)).run_is_over()
    assert Limits.of(hands.clock(), ReadOptions(stall_timeout_ms=7_000)).waiting_for(1).remaining() == 7
    assert Limits.of(hands.clock(), ReadOptions(), limits.stalls).stalls is limits.stalls


@pytest.mark.long
def test_large_answers_that_are_cut(state: FakeCluster, connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    """A network fault costs one stall timeout and fractions of it, not one per partition."""
    monkeypatch.setattr(stalls_module, "_SHORTEST_MS", 50)
    fill(state)
    topic = state.topics["t"]
    topic.partitions += topic.partitions * 99
    state.faults.append(Fault(FETCH.key, Close(sent=100, spared=400), times=1_000_000))
    cluster, stalls = connect(), Stalls(CLOCK, 2_000)
    failures = Counter[str | None]()
    began = time.monotonic()
    for number in range(100):
        options = ReadOptions(fetch_wait_ms=10, stall_timeout_ms=2_000)
        reader = SplitReader(cluster, split(state, partition=number), options, stalls)
        assert not list(reader.batches())
        failures[reader.outcome.failure] += 1
    assert time.monotonic() - began < 20  # 100 stall timeouts would be 200 s
    assert (
        {"CONNECTION_LOST", BROKER_STALLED} <= set(failures) <= {"CONNECTION_LOST", BROKER_STALLED, "DEADLINE_PASSED"}
    )
    state.faults.clear()
    small_one = SplitReader(cluster, split(state, partition=7), QUICK, Stalls(CLOCK, 2_000))
    assert sum(rows.num_rows for rows in small_one.batches()) == 20


def test_what_was_read_by_the_deadline_stands(state: FakeCluster, connect: Connect) -> None:
    """Reading ends after a batch, all offsets up to there are counted, and the outcome has the reason."""
    fill(state, batches=50)
    ends_at_ms = CLOCK.now_ms() + 2_000
    reader = SplitReader(connect(), split(state), small(ends_at_ms=ends_at_ms))
    offsets: list[int] = []
    for rows in reader.batches():
        offsets += rows["offset"].to_pylist()
        time.sleep(max(0, ends_at_ms - CLOCK.now_ms()) / 1000)  # the deadline passes before the next batch
    check(split(state), reader.outcome)
    assert reader.outcome.failure == RUN_DEADLINE_PASSED
    assert offsets == list(range(reader.outcome.next_offset))
    assert 0 < len(offsets) < 200


@pytest.mark.parametrize("action", [Hang(), Close()])
def test_a_deadline_in_the_middle_of_a_stall(state: FakeCluster, connect: Connect, action: Hang | Close) -> None:
    """A hanging broker does not keep a run beyond its deadline, with any stall timeout."""
    fill(state)
    state.faults.append(Fault(FETCH.key, action, times=1_000_000))
    began = time.monotonic()
    options = small(stall_timeout_ms=60_000, ends_at_ms=CLOCK.now_ms() + 700)
    _, outcome = read(connect(request_timeout_ms=60_000), split(state), options)
    assert (outcome.failure, outcome.next_offset) == (RUN_DEADLINE_PASSED, 0)
    assert time.monotonic() - began < 5


def test_after_the_deadline_nobody_is_asked(state: FakeCluster, connect: Connect) -> None:
    """A split that starts too late sends no request."""
    fill(state)
    _, outcome = read(connect(), split(state), small(ends_at_ms=CLOCK.now_ms() - 1))
    assert (outcome.failure, outcome.next_offset, state.fetches) == (RUN_DEADLINE_PASSED, 0, [])
