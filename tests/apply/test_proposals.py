"""Proposed moves are as few as possible, keep racks apart, and spread new replicas, for any cluster."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_lagoon.apply.proposals import Loads, with_factor, without_broker
from kafka_lagoon.topic_partition import TopicPartition


@st.composite
def clusters(draw: st.DrawFn) -> tuple[dict[TopicPartition, tuple[int, ...]], dict[int, str | None]]:
    """Brokers in racks, and partitions on some of the brokers."""
    count = draw(st.integers(1, 7))
    racks = {broker_id: draw(st.sampled_from(["a", "b", "c", None])) for broker_id in range(1, count + 1)}
    lists = draw(st.lists(st.lists(st.sampled_from(sorted(racks)), min_size=1, unique=True), max_size=12))
    return {TopicPartition("t", number): tuple(brokers) for number, brokers in enumerate(lists)}, racks


@given(clusters(), st.integers(1, 7))
def test_a_broker_is_emptied(cluster, broker_id):
    """Each partition of the broker gets one other broker and nothing else is moved; proposals are deterministic."""
    replicas, racks = cluster
    proposed, impossible = without_broker(replicas, racks, broker_id)
    assert set(proposed) | set(impossible) == {one for one, brokers in replicas.items() if broker_id in brokers}
    for partition, after in proposed.items():
        before = replicas[partition]
        assert broker_id not in after
        assert len(after) == len(set(after)) == len(before)
        assert set(before) - set(after) == {broker_id}
        others = [racks[other] for other in before if other != broker_id]
        (added,) = set(after) - set(before)
        free = {racks[other] for other in racks if other not in (*before, broker_id)}
        if racks[added] in others:
            assert free <= set(others), "another rack was free"
    for partition in impossible:
        assert set(racks) - {broker_id} <= set(replicas[partition])
    assert without_broker(dict(reversed(replicas.items())), racks, broker_id) == (proposed, impossible)
    chosen = list(replicas)[:2]
    assert set(without_broker(replicas, racks, broker_id, chosen)[0]) <= set(chosen)


@given(clusters(), st.integers(1, 5))
def test_another_replication_factor(cluster, factor):
    """Partitions get the wanted number of replicas and keep the preferred leader; new replicas are in racks without one."""
    replicas, racks = cluster
    factor = min(factor, len(racks))
    proposed = with_factor(replicas, racks, replicas, factor, Loads(replicas))
    assert set(proposed) == {one for one, brokers in replicas.items() if len(brokers) != factor}
    for partition, after in proposed.items():
        before = replicas[partition]
        assert len(after) == len(set(after)) == factor
        assert after[0] == before[0]
        assert set(after) <= set(before) or set(before) <= set(after)
        most = Counter(racks[one] for one in after)
        spare = [one for one in racks if one not in after and not most[racks[one]]]
        if len(after) > len(before) and spare:
            assert all(most[racks[one]] == 1 for one in set(after) - set(before)), "a rack without a replica was free"


def test_leaders_and_replicas_are_spread() -> None:
    """After 60 partitions leave the broker that led them, the other brokers lead and hold equal numbers."""
    replicas = {TopicPartition("t", number): (1, 2 + number % 4) for number in range(60)}
    racks = dict.fromkeys(range(1, 6))
    proposed, _ = without_broker(replicas, racks, 1)
    assert set(Counter(after[0] for after in proposed.values()).values()) == {15}
    assert set(Counter(one for after in proposed.values() for one in after).values()) == {30}


def test_what_has_moved_counts_for_the_next() -> None:
    """A leader or replica of an earlier proposal is counted once, at its new broker, whether it has moved or not."""
    partitions = [TopicPartition("t", number) for number in range(60)]
    proposed, _ = without_broker(dict.fromkeys(partitions, (1, 2)), dict.fromkeys(range(1, 5)), 1)
    assert Counter(after[0] for after in proposed.values()) == {2: 20, 3: 20, 4: 20}
    first, second, third, *_ = partitions
    racks = dict.fromkeys(range(1, 4))
    assert without_broker({first: (2, 1), second: (1,)}, racks, 1)[0] == {first: (2, 3), second: (2,)}
    leaders = {first: (3, 1), second: (2, 3), third: (1, 2)}
    assert without_broker(leaders, racks, 1)[0] == {first: (3, 2), third: (3, 2)}


def test_racks_are_kept_apart() -> None:
    """The broker in a rack without a replica of the partition is chosen, even if it has more replicas than others."""
    racks = {1: "a", 2: "a", 3: "b", 4: "c", 5: "c"}
    replicas = {TopicPartition("t", 0): (1, 4), TopicPartition("t", 1): (3, 5), TopicPartition("t", 2): (3,)}
    assert without_broker(replicas, racks, 1)[0] == {TopicPartition("t", 0): (2, 4)}
    first = {TopicPartition("t", 0): (1, 4)}
    assert with_factor(replicas, racks, first, 3, Loads(replicas)) == {TopicPartition("t", 0): (1, 4, 3)}
    three = {TopicPartition("t", 0): (1, 3, 2)}
    assert with_factor(three, racks, three, 2, Loads(three)) == {TopicPartition("t", 0): (1, 3)}


@pytest.mark.parametrize(
    ("replicas", "in_sync", "factor", "expected"),
    [
        ((9, 2), (2,), 1, (2,)),
        ((9, 2, 3), (2, 3), 2, (2, 3)),
        ((1, 2), (2,), 1, (2,)),
        ((1, 2, 3), (3,), 2, (1, 3)),
        ((3, 2, 1), (1, 2, 3), 1, (3,)),
        ((1, 2, 3), (), 1, (1,)),
    ],
)
def test_replicas_that_have_all_records_stay(
    replicas: tuple[int, ...], in_sync: tuple[int, ...], factor: int, expected: tuple[int, ...]
) -> None:
    """Broker 9 does not run. The preferred leader stays if it runs and is in sync, or if it is as good as others."""
    partition = TopicPartition("t", 0)
    racks = dict.fromkeys(range(1, 4))
    assert with_factor({partition: replicas}, racks, {partition: in_sync}, factor, Loads({partition: replicas})) == {
        partition: expected
    }
