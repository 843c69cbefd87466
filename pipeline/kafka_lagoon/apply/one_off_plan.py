"""Plans what a desired state wants to be done once, as far as the cluster shows that it is not done yet.

Moves between brokers are not here: they depend on each other and are planned together (`move_plan`).
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from kafka_lagoon.admin.group_offsets import GroupPartition
from kafka_lagoon.admin.groups import GroupListings, list_groups
from kafka_lagoon.admin.log_dirs import LogDirs, Replica, describe_log_dirs, replica_places
from kafka_lagoon.admin.transactions import describe_producers
from kafka_lagoon.admin.voters import Voter
from kafka_lagoon.apply.action import Action, Resource
from kafka_lagoon.apply.checks import broker_fault
from kafka_lagoon.apply.desired.document import Path
from kafka_lagoon.apply.desired.model import (
    AbortTransaction,
    AddVoter,
    DeleteGroup,
    DeleteRecords,
    ElectLeaders,
    MoveReplicas,
    OfPartitions,
    OneOff,
    RemoveVoter,
    ResetOffsets,
)
from kafka_lagoon.apply.desired.state import DesiredState
from kafka_lagoon.apply.kinds.cluster import add_voter, remove_voter, voters
from kafka_lagoon.apply.kinds.groups import delete_group_action, group_partition_resource, group_state
from kafka_lagoon.apply.kinds.moves import move_replica, replica_resource
from kafka_lagoon.apply.kinds.partitions import delete_records_before, elect_leader
from kafka_lagoon.apply.live import Live, LivePartition
from kafka_lagoon.apply.move_plan import chosen_partitions, may_touch
from kafka_lagoon.apply.offset_resets import HAS_MEMBERS, ShiftBy, reset_actions
from kafka_lagoon.apply.transaction_aborts import abort_actions
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.clock import Deadline
from kafka_lagoon.fetch.log_bounds import ask_log_bounds
from kafka_lagoon.fetch.offset_resolution import resolve
from kafka_lagoon.fetch.offset_specs import OffsetSpecs
from kafka_lagoon.protocol.messages.metadata import MetadataPartition
from kafka_lagoon.topic_partition import TopicPartition

_EVERY_RECORD = "read_uncommitted"
_WITHOUT_MEMBERS = ("Empty", "Dead")


@dataclass(slots=True)
class OneOffPlan:
    """Actions, the faults of requested ones, failures to read the cluster, and notes."""

    actions: list[Action] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    undone: list[str] = field(default_factory=list)  # changes that have to wait, with the reason


@dataclass(slots=True)
class _Planner:
    """Reads what one-off actions need, groups and the directories of a broker only once."""

    cluster: Cluster
    desired: DesiredState
    live: Live
    deadline: Deadline
    moved: Collection[TopicPartition] = frozenset()
    plan: OneOffPlan = field(default_factory=OneOffPlan)
    _listings: GroupListings | None = None
    _log_dirs: dict[int, LogDirs] = field(default_factory=dict)
    _described: Mapping[TopicPartition, MetadataPartition] | None = None
    _first: dict[Resource, tuple[object, OneOff]] = field(default_factory=dict)

    def groups(self) -> GroupListings:
        if self._listings is None:
            self._listings = list_groups(self.cluster, self.deadline)
        return self._listings

    def log_dirs(self, broker_id: int) -> LogDirs:
        if broker_id not in self._log_dirs:
            self._log_dirs[broker_id] = describe_log_dirs(self.cluster, [broker_id], self.deadline)
        return self._log_dirs[broker_id]

    def described(self) -> Mapping[TopicPartition, MetadataPartition]:
        """The cluster's partitions, put in order once."""
        if self._described is None:
            self._described = {
                TopicPartition(name, partition.partition_index): partition
                for name, topic in self.live.topics.items()
                for partition in topic.metadata.partitions
            }
        return self._described

    def fault(self, path: Path, reason: str) -> None:
        self.plan.faults.append(self.desired.fault(path, reason))

    def place(self, wanted: OneOff) -> str:
        return self.desired.document.place(wanted.path)

    def add(self, action: Action | None) -> None:
        if action:
            self.plan.actions.append(action)

    def partitions(self, wanted: OfPartitions) -> list[TopicPartition]:
        """The chosen partitions that there are and that may be touched; of all topics if none is chosen."""
        return chosen_partitions(self.desired, self.live, wanted, self.plan.faults)

    def agrees(self, resource: Resource, value: object, wanted: OneOff) -> bool:
        """True unless an action before wants another value of the resource: each plan would undo the one before."""
        first, other = self._first.setdefault(resource, (value, wanted))
        if first == value:
            return True
        reason = f"it contradicts the action at {self.place(other)} about {resource}: take one of them out"
        self.plan.faults.append(self.desired.fault(wanted.path, reason))
        return False

    def may_touch_group(self, wanted: OneOff, group_id: str) -> bool:
        if self.desired.owns.may_touch("group", group_id):
            return True
        self.fault((*wanted.path, "group"), f"{group_id} is not matched by owns.groups")
        return False


def plan_one_offs(
    cluster: Cluster,
    desired: DesiredState,
    live: Live,
    deadline: Deadline,
    moved: Collection[TopicPartition] = frozenset(),
) -> OneOffPlan:
    """The actions that are still to be done; the same plan moves the partitions in `moved`, or cancels their moves."""
    planner = _Planner(cluster, desired, live, deadline, moved)
    for wanted in desired.actions:
        if plan := _PLANS.get(type(wanted)):
            plan(planner, wanted)
    return planner.plan


def _elect(planner: _Planner, wanted: ElectLeaders) -> None:
    is_unclean = wanted.election == "unclean"
    waiting = moved = 0
    for partition in planner.partitions(wanted):
        metadata = planner.described()[partition]
        if not is_unclean and partition in planner.moved:
            # A move comes first, and may change the preferred leader: the next plan knows it.
            moved += 1
            continue
        action = elect_leader(partition, metadata, unclean=is_unclean, source=planner.place(wanted))
        if action and not is_unclean and not (action.before or {})["preferred_in_sync"]:
            waiting += 1
        else:
            planner.add(action)
    if moved:
        planner.plan.undone.append(f"{planner.place(wanted)}: {moved} partitions are moved first: not elected yet")
    if waiting:
        planner.plan.undone.append(
            f"{planner.place(wanted)}: {waiting} preferred leaders are not in sync: not elected yet"
        )


def _move(planner: _Planner, wanted: MoveReplicas) -> None:
    if wanted.broker not in planner.live.racks:
        if reason := broker_fault(planner.live, wanted.broker):
            planner.fault((*wanted.path, "broker"), reason)
        return
    there = planner.log_dirs(wanted.broker)
    answer = there.answers.get(wanted.broker)
    if answer is None:
        planner.plan.failures += there.failures
        return
    folders = sorted(folder.log_dir for folder in answer.results)
    if wanted.log_dir not in folders:
        planner.fault((*wanted.path, "log_dir"), f"broker {wanted.broker} has {', '.join(folders)}")
        return
    named = frozenset(wanted.partitions)
    replicas = [
        Replica(*partition, wanted.broker)
        for partition in planner.partitions(wanted)
        if partition in named or _is_on(planner.live.partition(partition), wanted.broker)
    ]
    places = replica_places(planner.cluster, replicas, planner.deadline)
    for replica in replicas:
        if not planner.agrees(replica_resource(replica), wanted.log_dir, wanted):
            continue
        if replica in places.failures:
            planner.plan.failures.append(places.failures[replica])
        else:
            planner.add(move_replica(replica, places.answers[replica], wanted.log_dir, planner.place(wanted)))


def _is_on(partition: LivePartition | None, broker_id: int) -> bool:
    return partition is not None and broker_id in partition.replicas


def _voters(planner: _Planner) -> Mapping[int, Voter] | None:
    """The voters of the metadata quorum by node id; None if the request failed, which the plan lists."""
    known = voters(planner.cluster, planner.deadline)
    if isinstance(known, Failure):
        planner.plan.failures.append(known)
        return None
    return known


def _add_voter(planner: _Planner, wanted: AddVoter) -> None:
    known = _voters(planner)
    if known is None:
        return
    live = known.get(wanted.voter)
    if not planner.agrees(_voter_of(wanted), "voter", wanted):
        return
    if live is None:
        planner.add(add_voter(wanted.voter, wanted.directory_id, wanted.listeners, planner.place(wanted)))
    elif live.directory_id != wanted.directory_id and _removes(planner.desired, wanted.voter, live.directory_id):
        planner.plan.notes.append(
            f"{planner.place(wanted)}: voter {wanted.voter} is removed first: the next plan adds it"
        )
    elif live.directory_id != wanted.directory_id:
        planner.fault(wanted.path, f"voter {wanted.voter} votes with directory {live.directory_id}: remove it first")


def _removes(desired: DesiredState, voter_id: int, directory_id: str) -> bool:
    """True if the file removes the voter with this directory, as when a controller gets a new disk."""
    return any(
        isinstance(one, RemoveVoter) and (one.voter, one.directory_id) == (voter_id, directory_id)
        for one in desired.actions
    )


def _voter_of(wanted: AddVoter | RemoveVoter) -> Resource:
    """The voter with its directory: a file may remove it, and add it with another."""
    return Resource("voter", f"{wanted.voter} with directory {wanted.directory_id}")


def _remove_voter(planner: _Planner, wanted: RemoveVoter) -> None:
    known = _voters(planner)
    if known is None:
        return
    live = known.get(wanted.voter)
    if not planner.agrees(_voter_of(wanted), None, wanted):
        return
    if live and live.directory_id == wanted.directory_id:
        planner.add(remove_voter(wanted.voter, wanted.directory_id, planner.place(wanted)))


def _delete_records(planner: _Planner, wanted: DeleteRecords) -> None:
    partitions = planner.partitions(wanted)
    logs, failures = ask_log_bounds(planner.cluster, partitions, _EVERY_RECORD, planner.deadline)
    specs = OffsetSpecs(name="before", default=wanted.before)
    resolved = resolve(planner.cluster, specs, logs, planner.deadline)
    planner.plan.failures += [*failures.values(), *resolved.failures.values()]
    for partition, offset in resolved.offsets.items():
        log = logs[partition]
        # The offset of a time is the leader's: the log may have grown, and lost its first records, since its bounds were read.
        if partition in resolved.outside and offset > log.high_watermark:
            planner.fault((*wanted.path, "before"), f"{partition} ends at {log.high_watermark}, before {offset}")
        else:
            planner.add(delete_records_before(partition, log.log_start_offset, offset, planner.place(wanted)))


def _reset(planner: _Planner, wanted: ResetOffsets) -> None:
    if not planner.may_touch_group(wanted, wanted.group):
        return
    if not planner.agrees(Resource("group", wanted.group), "reset", wanted):
        return
    spec = wanted.to if wanted.shift is None else ShiftBy(wanted.shift)
    specs = {
        partition: spec
        for partition in planner.partitions(wanted)
        if spec is not None
        and planner.agrees(group_partition_resource(GroupPartition(wanted.group, *partition)), spec, wanted)
    }
    place = planner.place(wanted)
    actions, failures = reset_actions(planner.cluster, wanted.group, specs, planner.deadline, place, planner.groups())
    planner.plan.actions += actions
    # The other changes of the file need not wait for a group to stop.
    planner.plan.undone += (f"{place}: not reset: {one}" for one in failures if one.name == HAS_MEMBERS)
    planner.plan.failures += (one for one in failures if one.name != HAS_MEMBERS)


def _delete_group(planner: _Planner, wanted: DeleteGroup) -> None:
    if not planner.may_touch_group(wanted, wanted.group):
        return
    if not planner.agrees(Resource("group", wanted.group), None, wanted):
        return
    state = group_state(planner.groups(), wanted.group)
    if isinstance(state, Failure):
        planner.plan.failures.append(state)
    elif state is not None:
        planner.add(delete_group_action(wanted.group, state, planner.place(wanted)))
        if state["state"] not in (None, *_WITHOUT_MEMBERS):
            planner.plan.notes.append(
                f"{planner.place(wanted)}: group {wanted.group} has members, so brokers will refuse to delete it"
            )


def _abort(planner: _Planner, wanted: AbortTransaction) -> None:
    partition = wanted.partition
    if partition.topic in planner.live.hidden_topics:
        return  # the plan has the failure, and is not carried out
    if planner.live.partition(partition) is None:
        planner.fault((*wanted.path, "partition"), f"there is no partition {partition}")
        return
    if not may_touch(planner.desired, partition.topic, (*wanted.path, "partition"), planner.plan.faults):
        return
    producers = describe_producers(planner.cluster, [partition], planner.deadline)
    planner.plan.failures += producers.failures.values()
    place = planner.place(wanted)
    aborts = abort_actions(planner.cluster, producers, wanted.start_offset, planner.deadline, source=place)
    planner.plan.actions += aborts.actions
    planner.plan.failures += aborts.failures
    planner.plan.notes += (f"{place}: {note}" for note in aborts.notes)


_PLANS: Mapping[type[OneOff], Callable[[_Planner, Any], None]] = {
    ElectLeaders: _elect,
    MoveReplicas: _move,
    AddVoter: _add_voter,
    RemoveVoter: _remove_voter,
    DeleteRecords: _delete_records,
    ResetOffsets: _reset,
    DeleteGroup: _delete_group,
    AbortTransaction: _abort,
}
