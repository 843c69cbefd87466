"""Proposes brokers for replicas: few moves, separate racks, spread leaders.

Pure functions of the replicas and racks of a cluster: the same input gives the same proposal.
"""

from collections import Counter
from collections.abc import Collection, Mapping

from kafka_lagoon.topic_partition import TopicPartition

Replicas = tuple[int, ...]
Racks = Mapping[int, str | None]


class Loads:
    """The number of replicas and of preferred leaders of each broker while a proposal grows."""

    def __init__(self, replicas: Mapping[TopicPartition, Replicas]) -> None:
        self.replicas = Counter(broker_id for brokers in replicas.values() for broker_id in brokers)
        self.leaders = Counter(brokers[0] for brokers in replicas.values() if brokers)

    def change(self, before: Replicas, after: Replicas) -> None:
        """Count the replicas of a partition at their new brokers."""
        self.replicas.subtract(before)
        self.replicas.update(after)
        self.leaders.subtract(before[:1])
        self.leaders.update(after[:1])


def without_broker(
    replicas: Mapping[TopicPartition, Replicas],
    racks: Racks,
    broker_id: int,
    chosen: Collection[TopicPartition] | None = None,
) -> tuple[dict[TopicPartition, Replicas], list[TopicPartition]]:
    """New replicas for the partitions of a broker that is to be emptied; and partitions for which there is no other broker.

    `replicas` are those of all partitions, for the load of each broker; `chosen`, where given, are those that may be moved.
    """
    loads, proposed, impossible = Loads(replicas), {}, []
    for partition in sorted(replicas):
        before = replicas[partition]
        if broker_id not in before or (chosen is not None and partition not in chosen):
            continue
        kept = tuple(other for other in before if other != broker_id)
        added = _next_broker(kept, {other: rack for other, rack in racks.items() if other != broker_id}, loads)
        if added is None:
            impossible.append(partition)
            continue
        after = tuple(added if other == broker_id else other for other in before)
        if before[0] == broker_id:
            after = _led_by_the_least_loaded(after, loads)
        proposed[partition] = after
        loads.change(before, after)
    return proposed, impossible


def with_factor(
    replicas: Mapping[TopicPartition, Replicas],
    racks: Racks,
    in_sync: Mapping[TopicPartition, Replicas],
    factor: int,
    loads: Loads,
) -> dict[TopicPartition, Replicas]:
    """New replicas with another replication factor for the partitions of `in_sync`; there must be as many brokers.

    Added replicas are in racks with the fewest replicas of the partition. Removed ones are on brokers that do not run, or are
    not in sync, or else are in racks with several replicas. The preferred leader stays if it is in sync.
    The `loads` of all partitions follow the proposals.
    """
    proposed = {}
    for partition in sorted(in_sync):
        before = after = replicas[partition]
        while len(after) < factor and (added := _next_broker(after, racks, loads)) is not None:
            after = (*after, added)
        while len(after) > factor:
            after = _without_one(after, racks, in_sync[partition], loads)
        if after != before:
            proposed[partition] = after
            loads.change(before, after)
    return proposed


def _next_broker(replicas: Replicas, racks: Racks, loads: Loads) -> int | None:
    """The best broker for one more replica: in a rack with the fewest of them, then with the fewest replicas of all."""
    used = Counter(racks.get(broker_id) for broker_id in replicas)
    candidates = [broker_id for broker_id in racks if broker_id not in replicas]
    return min(candidates, key=lambda broker: (used[racks[broker]], loads.replicas[broker], broker), default=None)


def _led_by_the_least_loaded(replicas: Replicas, loads: Loads) -> Replicas:
    """The same brokers, beginning with the one that leads the fewest partitions: the order moves no data."""
    leader = min(replicas, key=lambda broker: (loads.leaders[broker], replicas.index(broker)))
    return (leader, *(other for other in replicas if other != leader))


def _without_one(replicas: Replicas, racks: Racks, in_sync: Replicas, loads: Loads) -> Replicas:
    """Remove the least useful replica: on a broker that does not run, else one that is not in sync.

    If there is none, one that is not the preferred leader, in the rack with the most replicas.
    """
    used = Counter(racks.get(broker_id) for broker_id in replicas)

    def order(broker_id: int) -> tuple[bool, bool, bool, int, int, int]:
        return (
            broker_id not in racks,
            broker_id not in in_sync,
            broker_id != replicas[0],
            used[racks.get(broker_id)],
            loads.replicas[broker_id],
            broker_id,
        )

    spare = max(replicas, key=order)
    return tuple(broker_id for broker_id in replicas if broker_id != spare)
