"""Plans the replicas of partitions: assignments of topics and actions, replication factors, and brokers to be emptied.

A pure function of the desired state and the cluster. Earlier assignments count for the load of later proposals.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from kafka_lagoon.apply.action import Action
from kafka_lagoon.apply.checks import broker_fault
from kafka_lagoon.apply.desired.document import Path
from kafka_lagoon.apply.desired.model import (
    AbortTransaction,
    CancelReassignments,
    DesiredTopic,
    EmptyBroker,
    MoveReplicas,
    OfPartitions,
    Reassign,
)
from kafka_lagoon.apply.desired.state import DesiredState
from kafka_lagoon.apply.kinds.moves import cancel, reassign
from kafka_lagoon.apply.live import Live, LivePartition, LiveTopic
from kafka_lagoon.apply.proposals import Loads, Replicas, with_factor, without_broker
from kafka_lagoon.apply.topic_diff import is_to_be_deleted
from kafka_lagoon.topic_partition import TopicPartition


@dataclass(slots=True)
class _Moves:
    """The replicas that partitions get, and the place in the file that decides them; those that we chose are `proposed`."""

    desired: DesiredState
    live: Live
    targets: dict[TopicPartition, Replicas]
    decided: dict[TopicPartition, Path] = field(default_factory=dict)
    proposed: set[TopicPartition] = field(default_factory=set)
    faults: list[str] = field(default_factory=list)

    def propose(self, partition: TopicPartition, replicas: Replicas, path: Path) -> None:
        """Set replicas that we chose. They were computed from an earlier proposal for the partition, and replace it."""
        if partition not in self.decided or partition in self.proposed:
            self.proposed.add(partition)
            self.decided[partition], self.targets[partition] = path, replicas
        else:
            self.decide(partition, replicas, path)

    def decide(self, partition: TopicPartition, replicas: Replicas, path: Path) -> None:
        """Set replicas that the file has. They replace a proposal with the same number of replicas."""
        if partition in self.proposed and len(replicas) == len(self.targets[partition]):
            self.proposed.remove(partition)
            self.decided[partition], self.targets[partition] = path, replicas
            return
        first = self.decided.get(partition)
        if first is not None and self.targets[partition] != replicas:
            place = self.desired.document.place(first)
            self.faults.append(self.desired.fault(path, f"{partition} is assigned elsewhere too, at {place}"))
            return
        self.decided.setdefault(partition, path)
        self.targets[partition] = replicas


def needs_moves(desired: DesiredState, topics: Mapping[str, LiveTopic]) -> bool:
    """Return true if replicas may have to be moved, so that the moves under way must be known."""
    wanted = any(isinstance(one, Reassign | EmptyBroker | CancelReassignments) for one in desired.actions)
    written = [(topic, topics[name]) for name, topic in desired.topics.items() if name in topics]
    return wanted or any(
        _differs(topic, live) or (topic.replication_factor is not None and _may_be_moving(live))
        for topic, live in written
    )


def _may_be_moving(live: LiveTopic) -> bool:
    """True if a replica on a running broker is not in sync: a move may be adding it, which the metadata does not show."""
    return any(
        set(partition.replica_nodes) - set(partition.isr_nodes) - set(partition.offline_replicas)
        for partition in live.metadata.partitions
    )


def _differs(topic: DesiredTopic, live: LiveTopic) -> bool:
    if topic.assignments:
        return any(topic.assignments.get(number) != one.target for number, one in live.partitions.items())
    return topic.replication_factor not in (None, live.replication_factor)


def move_actions(desired: DesiredState, live: Live) -> tuple[list[Action], list[str]]:
    """Moves, and ends of moves under way; and the faults of what is written about them."""
    current = {
        TopicPartition(name, number): partition.target
        for name, topic in live.topics.items()
        for number, partition in topic.partitions.items()
    }
    moves = _Moves(desired, live, dict(current))
    _of_topics(moves)
    for wanted in desired.actions:
        if isinstance(wanted, Reassign):
            _assigned(moves, wanted)
    for wanted in desired.actions:
        if isinstance(wanted, EmptyBroker):
            _emptied(moves, wanted)
    cancelled = {
        partition: one.path
        for one in desired.actions
        if isinstance(one, CancelReassignments)
        for partition in _cancelled(moves, one)
    }
    actions = [*_reassigned(moves), *_cancellations(moves, cancelled)]
    return actions, moves.faults


def _of_topics(moves: _Moves) -> None:
    loads = Loads(moves.targets)
    for name, topic in moves.desired.topics.items():
        known = moves.live.topics.get(name)
        if known is None:
            continue
        if topic.assignments:
            for number, replicas in topic.assignments.items():
                partition = TopicPartition(name, number)
                if number in known.partitions:
                    loads.change(moves.targets[partition], replicas)
                    moves.decide(partition, replicas, ("topics", name, "assignments"))
            continue
        if topic.replication_factor is None:
            continue
        in_sync = {TopicPartition(name, number): partition.isr for number, partition in known.partitions.items()}
        proposed: Mapping[TopicPartition, Replicas] = {}
        if _differs(topic, known):
            proposed = with_factor(moves.targets, moves.live.racks, in_sync, topic.replication_factor, loads)
        # Also where the number is right: actions must not change it, or the next plan would change it back.
        for partition in in_sync:
            replicas = proposed.get(partition, moves.targets[partition])
            moves.propose(partition, replicas, ("topics", name, "replication_factor"))


def _assigned(moves: _Moves, wanted: Reassign) -> None:
    for partition, replicas in wanted.assignments.items():
        path = (*wanted.path, "assignments", str(partition))
        known = moves.live.partition(partition)
        added = [one for one in replicas if not (known and one in known.replicas)]
        unusable = next(filter(None, (broker_fault(moves.live, one) for one in added)), None)
        if partition.topic in moves.live.hidden_topics:
            continue  # the plan has the failure, and is not carried out
        if known is None:
            moves.faults.append(moves.desired.fault(path, "there is no such partition"))
        elif unusable:
            moves.faults.append(moves.desired.fault(path, unusable))
        elif may_touch(moves.desired, partition.topic, path, moves.faults):
            moves.decide(partition, replicas, path)


def may_touch(desired: DesiredState, topic: str, path: Path, faults: list[str]) -> bool:
    """Return true if actions may be about a topic; otherwise add a fault."""
    if desired.owns.may_touch("topic", topic):
        return True
    faults.append(desired.fault(path, f"topic {topic} is not matched by owns.topics"))
    return False


def chosen_topics(desired: DesiredState, live: Live, topics: Sequence[str], path: Path, faults: list[str]) -> list[str]:
    """The named topics that exist and that the file may change; a fault for each other name."""
    chosen = []
    for name in topics:
        if name in live.hidden_topics:
            continue  # the plan has the failure, and is not carried out
        if name not in live.topics:
            faults.append(desired.fault((*path, "topics"), f"there is no topic {name}"))
        elif may_touch(desired, name, (*path, "topics"), faults):
            chosen.append(name)
    return chosen


def chosen_partitions(
    desired: DesiredState, live: Live, wanted: OfPartitions, faults: list[str]
) -> list[TopicPartition]:
    """The chosen partitions that exist and that the file may change; if none is chosen, those of all topics that stay."""
    names = chosen_topics(desired, live, wanted.topics, wanted.path, faults)
    if not (wanted.topics or wanted.partitions):
        names = [
            name
            for name, topic in live.topics.items()
            if desired.owns.may_touch("topic", name) and not is_to_be_deleted(desired, name, topic)
        ]
    partitions = [TopicPartition(name, number) for name in names for number in live.topics[name].partitions]
    for partition in wanted.partitions:
        path = (*wanted.path, "partitions")
        if partition.topic in live.hidden_topics:
            continue
        if live.partition(partition) is None:
            faults.append(desired.fault(path, f"there is no partition {partition}"))
        elif may_touch(desired, partition.topic, path, faults):
            partitions.append(partition)
    return list(dict.fromkeys(partitions))


def named_topics(desired: DesiredState) -> Iterator[tuple[str, Path]]:
    """The topics that actions name, alone or with a partition, and where."""
    for action in desired.actions:
        if isinstance(action, OfPartitions | EmptyBroker):
            yield from ((name, (*action.path, "topics")) for name in action.topics)
        if isinstance(action, OfPartitions):
            yield from ((partition.topic, (*action.path, "partitions")) for partition in action.partitions)
        if isinstance(action, Reassign):
            yield from (
                (partition.topic, (*action.path, "assignments", str(partition))) for partition in action.assignments
            )
        if isinstance(action, AbortTransaction):
            yield action.partition.topic, (*action.path, "partition")


def named_brokers(desired: DesiredState) -> Iterator[int]:
    """The brokers that are to have replicas, or that actions name."""
    for topic in desired.topics.values():
        for replicas in (topic.assignments or {}).values():
            yield from replicas
    for action in desired.actions:
        if isinstance(action, EmptyBroker | MoveReplicas):
            yield action.broker
        if isinstance(action, Reassign):
            for replicas in action.assignments.values():
                yield from replicas


def is_about(desired: DesiredState) -> Callable[[str], bool]:
    """Tells which topics the file is about if they exist, beside those that it describes."""
    named = {name for name, _ in named_topics(desired)}
    is_about_all = any(
        isinstance(one, OfPartitions | EmptyBroker) and not one.topics and not getattr(one, "partitions", ())
        for one in desired.actions
    )

    def is_about_topic(name: str) -> bool:
        is_owned = desired.owns.is_owned("topic", name)
        return is_owned or name in named or (is_about_all and desired.owns.may_touch("topic", name))

    return is_about_topic


def _emptied(moves: _Moves, wanted: EmptyBroker) -> None:
    desired, broker_id = moves.desired, wanted.broker
    is_there = broker_id in moves.live.racks or broker_id in moves.live.down
    if not is_there and not any(broker_id in replicas for replicas in moves.targets.values()):
        if reason := broker_fault(moves.live, broker_id):
            moves.faults.append(desired.fault((*wanted.path, "broker"), reason))
        return
    chosen_topics(desired, moves.live, wanted.topics, wanted.path, moves.faults)  # the faults of the names
    topics = {name for name in moves.live.topics if _empties(moves, wanted, name)}
    for partition in _assigned_to(moves, broker_id):
        if not wanted.topics or partition.topic in topics:
            path = ("topics", partition.topic, "assignments")
            place = desired.document.place(path)
            moves.faults.append(desired.fault(wanted.path, f"{partition} is to be created there, at {place}"))
    for leaving, some in _by_leaving_brokers(moves, topics).items():
        chosen = {partition for partition in moves.targets if partition.topic in some}
        racks = {other: rack for other, rack in moves.live.racks.items() if other not in leaving}
        proposed, impossible = without_broker(moves.targets, racks, broker_id, chosen)
        for partition in impossible:
            reason = (
                f"{partition} has {len(moves.targets[partition])} replicas, and no other broker is left for one of them"
            )
            moves.faults.append(desired.fault(wanted.path, reason))
        for partition, replicas in proposed.items():
            moves.propose(partition, replicas, wanted.path)


def _empties(moves: _Moves, wanted: EmptyBroker, topic: str) -> bool:
    """True if the action moves a topic's replicas: of a named topic, or else of any that stays and may be touched."""
    if not moves.desired.owns.may_touch("topic", topic) or (wanted.topics and topic not in wanted.topic_names):
        return False
    return not is_to_be_deleted(moves.desired, topic, moves.live.topics[topic])


def _assigned_to(moves: _Moves, broker_id: int) -> Iterator[TopicPartition]:
    """Partitions that do not exist yet and are assigned to a broker."""
    for name, topic in moves.desired.topics.items():
        for number, replicas in (topic.assignments or {}).items():
            partition = TopicPartition(name, number)
            if broker_id in replicas and moves.live.partition(partition) is None:
                yield partition


def _by_leaving_brokers(moves: _Moves, topics: Collection[str]) -> dict[frozenset[int], set[str]]:
    """Topics by the set of brokers that they leave: a replica must not move from one of these brokers to another."""
    emptied = [one for one in moves.desired.actions if isinstance(one, EmptyBroker)]
    groups: dict[frozenset[int], set[str]] = {}
    for topic in sorted(topics):
        leaving = frozenset(one.broker for one in emptied if _empties(moves, one, topic))
        groups.setdefault(leaving, set()).add(topic)
    return groups


def left_on(desired: DesiredState, live: Live) -> list[str]:
    """Notes on brokers to be emptied that keep replicas of topics which the file is not responsible for."""
    notes = []
    for wanted in desired.actions:
        if isinstance(wanted, EmptyBroker) and not wanted.topics:
            others = [name for name in live.topics if not desired.owns.may_touch("topic", name)]
            kept = sum(
                wanted.broker in partition.target
                for name in others
                for partition in live.topics[name].partitions.values()
            )
            notes += (
                [f"broker {wanted.broker} keeps {kept} replicas of topics that owns.topics does not match"]
                if kept
                else []
            )
    return notes


def _cancelled(moves: _Moves, wanted: CancelReassignments) -> Iterator[TopicPartition]:
    for partition in chosen_partitions(moves.desired, moves.live, wanted, moves.faults):
        known = moves.live.partition(partition)
        if known and (known.adding or known.removing):
            yield partition


def _reassigned(moves: _Moves) -> Iterator[Action]:
    for partition, path in moves.decided.items():
        known = moves.live.partition(partition)
        place = moves.desired.document.place(path)
        action = reassign(partition, known.placement, moves.targets[partition], place) if known else None
        if action:
            yield action


def _cancellations(moves: _Moves, cancelled: Mapping[TopicPartition, Path]) -> Iterator[Action]:
    for partition, path in cancelled.items():
        known = moves.live.partition(partition)
        action = cancel(partition, known.placement, moves.desired.document.place(path)) if known else None
        if known is None or action is None:
            continue
        if moves.targets[partition] != known.target:
            reason = f"the move of {partition} is to be cancelled, and another is wanted"
            moves.faults.append(moves.desired.fault(path, reason))
        elif _is_wanted(moves, partition, known, (action.after or {})["replicas"]):
            reason = f"the move of {partition} is to be cancelled, and the file wants it, too"
            moves.faults.append(moves.desired.fault(path, reason))
        else:
            yield action


def _is_wanted(moves: _Moves, partition: TopicPartition, known: LivePartition, stays: Collection[int]) -> bool:
    """True if the next plan would begin a move again that is cancelled; `stays` are the replicas without it."""
    if any(
        isinstance(one, EmptyBroker) and one.broker in stays and _empties(moves, one, partition.topic)
        for one in moves.desired.actions
    ):
        return True
    if partition in moves.proposed:
        return len(stays) != len(known.target)
    return partition in moves.decided and tuple(stays) != moves.targets[partition]
