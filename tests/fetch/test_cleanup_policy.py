"""Offsets without records are compacted where a topic may be compacted, and lost where it is not."""

from dataclasses import replace
from typing import Any

import pytest

from kafka_lagoon.clock import Deadline
from kafka_lagoon.fetch.reader import SplitReader
from kafka_lagoon.fetch.small_partitions import SmallPartitions
from kafka_lagoon.fetch.stalls import RUN_DEADLINE_PASSED, Limits
from kafka_lagoon.protocol.error_codes import UNKNOWN_TOPIC_OR_PARTITION
from kafka_lagoon.protocol.messages.describe_configs import DESCRIBE_CONFIGS, TOPIC
from kafka_lagoon.wire.primitives import uuid_text
from tests.clock import CLOCK
from tests.fake.batches import batch
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Altered, Fault, Slow
from tests.fetch.reading import QUICK, Connect, check, fill, log, read, small, split

TOPIC_AUTHORIZATION_FAILED = 29


def policy(state: FakeCluster, value: str) -> None:
    state.configs[TOPIC, "t"] = {"cleanup.policy": value}


def gaps(state: FakeCluster) -> None:
    """Fill the log so that ten offsets are missing, before, between and within batches."""
    log(state).append(batch(3, [b"a"] * 2, deltas=[0, 3], last_delta=5), batch(12, [b"b"] * 2))


@pytest.mark.parametrize(
    ("value", "compacted", "lost"), [("delete", 0, 10), ("compact", 10, 0), ("compact,delete", 10, 0)]
)
def test_gaps_by_policy(state: FakeCluster, connect: Connect, value: str, compacted: int, lost: int) -> None:
    """The records around the gaps are read in any case, and the policy is requested once."""
    gaps(state)
    policy(state, value)
    values, outcome = read(connect(), split(state), small())
    assert (list(values), outcome.failure) == ([3, 6, 12, 13], None)
    assert (outcome.counts.compacted, outcome.counts.lost) == (compacted, lost)
    assert state.count(DESCRIBE_CONFIGS.key) == 1


def test_nobody_asks_without_gaps(state: FakeCluster, connect: Connect) -> None:
    fill(state)
    read(connect(), split(state), small())
    assert state.count(DESCRIBE_CONFIGS.key) == 0


def test_a_policy_that_is_refused(state: FakeCluster, connect: Connect) -> None:
    """Without the right to see configs compaction may be the reason."""

    def refused(answer: Any) -> Any:
        results = [replace(one, error_code=TOPIC_AUTHORIZATION_FAILED, configs=()) for one in answer.results]
        return replace(answer, results=tuple(results))

    gaps(state)
    policy(state, "delete")
    state.faults.append(Fault(DESCRIBE_CONFIGS.key, Altered(refused), times=100))
    _, outcome = read(connect(), split(state), small())
    assert (outcome.counts.compacted, outcome.counts.lost) == (10, 0)


def test_a_broker_that_does_not_know_the_topic(state: FakeCluster, connect: Connect) -> None:
    """A broker that is cut off from the controller knows no new topic: another one tells the policy, or a loss had no row."""

    def unknown(answer: Any) -> Any:
        results = [replace(one, error_code=UNKNOWN_TOPIC_OR_PARTITION, configs=()) for one in answer.results]
        return replace(answer, results=tuple(results))

    gaps(state)
    policy(state, "delete")
    state.faults.append(Fault(DESCRIBE_CONFIGS.key, Altered(unknown), node_id=1, times=100))
    _, outcome = read(connect(), split(state), small())
    assert (outcome.counts.compacted, outcome.counts.lost) == (0, 10)


def test_a_run_whose_time_is_up(state: FakeCluster, connect: Connect) -> None:
    """Offsets that were read until then are explained all the same: no later run reads them again."""
    gaps(state)
    policy(state, "delete")
    state.faults.append(Fault(DESCRIBE_CONFIGS.key, Slow(0.1)))
    options = small(ends_at_ms=CLOCK.now_ms() + 60_000)
    reader = SplitReader(connect(), split(state), options)
    for _ in reader.batches():
        assert reader._limits.run is not None
        reader._limits.run.expires_at = 0.0
    check(split(state), reader.outcome)
    assert reader.outcome.failure == RUN_DEADLINE_PASSED
    assert (reader.outcome.counts.compacted, reader.outcome.counts.lost > 0) == (0, True)


def test_an_end_without_records(state: FakeCluster, connect: Connect) -> None:
    """Empty answers of a log that goes on end the reading, unless compaction may have removed its last records."""
    fill(state)
    log(state).high_watermark = 25
    policy(state, "delete")
    _, outcome = read(connect(), split(state))
    assert (outcome.failure, outcome.next_offset, outcome.counts.offsets()) == ("NO_PROGRESS", 20, 20)
    policy(state, "compact")
    _, outcome = read(connect(), split(state))
    assert (outcome.failure, outcome.next_offset, outcome.counts.compacted) == (None, 25, 5)


def test_an_end_before_an_open_transaction(state: FakeCluster, connect: Connect) -> None:
    """A record after the end of the split shows that the log has nothing before it."""
    fill(state)
    log(state).append(batch(25, [b"o"] * 4, producer_id=9, attributes=0x10))
    log(state).last_stable_offset = 25
    policy(state, "delete")
    _, outcome = read(connect(), split(state, to_offset=25, stable_end=25))
    assert (outcome.failure, outcome.counts.compacted, outcome.counts.lost) == (None, 0, 5)


def test_small_partitions_of_many_topics(state: FakeCluster, connect: Connect) -> None:
    """One request asks for the policies of all topics that are read together, and each topic has its own."""
    names = ["a", "b", "c"]
    for name, value in zip(names, ("delete", "compact", "delete"), strict=True):
        state.add_topic(name, 1, end=0)
        state.topics[name].partitions[0].append(batch(0, [b"a", b"b"], last_delta=3), batch(4, [b"c"]))
        state.configs[TOPIC, name] = {"cleanup.policy": value}
    cluster = connect()
    small_split = split(state, expected_bytes=10, to_offset=5, stable_end=5)
    ids = {name: uuid_text(state.topics[name].topic_id) for name in names}
    wanted = [replace(small_split, topic=name, topic_id=ids[name]) for name in names]
    cluster.refresh(names, Deadline.after(CLOCK, 5_000))
    reader = SmallPartitions(cluster, QUICK, Limits.of(CLOCK, QUICK))
    assert sum(part.batch.num_rows for part in reader.read(wanted)) == 9
    assert [(one.counts.compacted, one.counts.lost) for one in reader.outcomes] == [(0, 2), (2, 0), (0, 2)]
    assert state.count(DESCRIBE_CONFIGS.key) == 1


def test_small_partitions(state: FakeCluster, connect: Connect) -> None:
    """Partitions that are read together count their gaps alike, with one request about their topic."""
    state.topics["t"].partitions.clear()
    state.add_topic("t", 3, end=0)
    for partition in state.topics["t"].partitions:
        partition.append(batch(0, [b"a", b"b"], last_delta=3), batch(4, [b"c"]))
    policy(state, "delete")
    cluster = connect()
    wanted = [split(state, partition=number, expected_bytes=10) for number in range(3)]
    reader = SmallPartitions(cluster, QUICK, Limits.of(CLOCK, QUICK))
    assert sum(part.batch.num_rows for part in reader.read(wanted)) == 9
    assert [(one.counts.records, one.counts.compacted, one.counts.lost) for one in reader.outcomes] == [(3, 0, 2)] * 3
    assert state.count(DESCRIBE_CONFIGS.key) == 1
