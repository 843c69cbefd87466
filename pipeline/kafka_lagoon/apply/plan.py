"""Makes a plan of a desired state: reads what it is about, refuses what cannot be, and lists the actions in their order."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

from kafka_lagoon.apply.action import Action, plan_id, sending_order
from kafka_lagoon.apply.checks import faults_of, min_isr_notes, wrong_cluster
from kafka_lagoon.apply.desired.document import in_order_of_lines
from kafka_lagoon.apply.desired.resources import CONFIG_SECTIONS
from kafka_lagoon.apply.desired.state import DesiredState
from kafka_lagoon.apply.diff import diff
from kafka_lagoon.apply.guards import unresolved
from kafka_lagoon.apply.kinds.partitions import partition_of
from kafka_lagoon.apply.kinds.registry import KINDS
from kafka_lagoon.apply.kinds.topic_guards import partition_notes
from kafka_lagoon.apply.kinds.topics import DELETE_TOPIC
from kafka_lagoon.apply.live import Live
from kafka_lagoon.apply.live_reading import Wanted, read_live
from kafka_lagoon.apply.move_plan import is_about, left_on, move_actions, named_brokers, named_topics, needs_moves
from kafka_lagoon.apply.one_off_plan import plan_one_offs
from kafka_lagoon.apply.topic_ids import with_topic_ids
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.protocol.error_codes import SECURITY_DISABLED
from kafka_lagoon.protocol.messages.describe_acls import DESCRIBE_ACLS
from kafka_lagoon.protocol.messages.describe_user_scram_credentials import DESCRIBE_USER_SCRAM_CREDENTIALS


@dataclass(frozen=True, kw_only=True)
class PlanResult:
    """Actions in the order in which they are carried out. A plan with failures is incomplete, and must not be carried out."""

    cluster_id: str
    actions: Sequence[Action]
    notes: Sequence[str]
    failures: Sequence[Failure]
    undone: Sequence[str] = ()  # changes that have to wait, with the reason; actions with guards wait for them

    @property
    def is_complete(self) -> bool:
        """True if nothing is unknown, and nothing has to wait."""
        return not (self.failures or self.undone)

    @cached_property  # each line of `plan --json` has it
    def plan_id(self) -> str:
        """Names the plan by what it does."""
        return plan_id(self.cluster_id, self.actions)


def plan_state(cluster: Cluster, desired: DesiredState, deadline: Deadline) -> PlanResult:
    """The plan that makes the cluster as desired; ConfigError lists every fault that the cluster shows."""
    live = read_live(cluster, wanted_of(desired), deadline)
    if other := wrong_cluster(desired, live):
        raise ConfigError([other])
    faults = faults_of(desired, live)
    moves, faults_of_moves = move_actions(desired, live)
    once = plan_one_offs(cluster, desired, live, deadline, {partition_of(action.resource) for action in moves})
    differences = diff(desired, live)
    actions = with_topic_ids(cluster, in_order([*differences, *moves, *once.actions]), deadline)
    faults += [*faults_of_moves, *once.faults, *_deleted(desired, differences), *_twice(actions), *unresolved(actions)]
    if faults:
        raise ConfigError(in_order_of_lines(faults))
    return PlanResult(
        cluster_id=desired.cluster_id,
        actions=actions,
        notes=[
            *once.notes,
            *left_on(desired, live),
            *_notes(desired, live),
            *min_isr_notes(desired, live),
            *partition_notes(actions),
        ],
        undone=once.undone,
        failures=[
            *(failure for failure in live.failures if not _is_without(failure, desired)),
            *once.failures,
            *cluster.refusals,
        ],
    )


def _is_without(failure: Failure, desired: DesiredState) -> bool:
    """True if the brokers have no resources of a kind of which the file names none: then there is nothing to delete.

    owns.principals is about ACLs and users. A cluster may have one of them alone.
    """
    named = {DESCRIBE_ACLS.name: desired.acls, DESCRIBE_USER_SCRAM_CREDENTIALS.name: desired.scram_users}
    is_without = failure.code == SECURITY_DISABLED or failure.is_too_old
    return is_without and failure.api in named and not named[failure.api]


def wanted_of(desired: DesiredState) -> Wanted:
    """The parts of a cluster to read for a desired state."""
    configs: dict[str, Collection[str] | None] = {"topic": list(desired.topics)} if desired.topics else {}
    for resource_type in CONFIG_SECTIONS:
        if desired.owns.patterns(resource_type) is not None:
            configs[resource_type] = None
        elif desired.configs[resource_type]:
            configs[resource_type] = list(desired.configs[resource_type])
    owns_principals = desired.owns.principals is not None
    return Wanted(
        configs=configs,
        named={resource_type: list(desired.configs[resource_type]) for resource_type in CONFIG_SECTIONS},
        acls=bool(desired.acls) or owns_principals,
        quotas=bool(desired.quotas) or desired.owns.quotas is not None,
        scram_users=bool(desired.scram_users) or owns_principals,
        features=bool(desired.features) or desired.owns.brokers is not None,
        brokers=set(named_brokers(desired)),
        reassignments=lambda topics: needs_moves(desired, topics),
        is_about=is_about(desired),
    )


def in_order(actions: Sequence[Action]) -> list[Action]:
    """The actions in the order in which they are sent, then by name, without repetitions."""
    order = sending_order(KINDS)
    by_place = sorted(actions, key=lambda action: (order(action), action.resource, action.source or ""))
    kept: list[Action] = []
    for action in by_place:
        if not kept or not _is_same(kept[-1], action):
            kept.append(action)
    return kept


def _is_same(action: Action, other: Action) -> bool:
    return (action.kind, action.resource, action.after) == (other.kind, other.resource, other.after)


def _deleted(desired: DesiredState, differences: Sequence[Action]) -> list[str]:
    """Actions that name a topic which the same file deletes: from the next plan on there is no such topic."""
    deleted = {action.resource.name for action in differences if action.kind == DELETE_TOPIC.name}
    reason = "is to be deleted, as owns.topics matches it and the file does not describe it"
    return [desired.fault(path, f"topic {name} {reason}") for name, path in named_topics(desired) if name in deleted]


def _twice(actions: Sequence[Action]) -> list[str]:
    """Two actions of a kind for one resource, which want different things."""
    first: dict[tuple[str, str, str], Action] = {}
    faults = []
    for action in actions:
        known = first.setdefault((action.kind, *action.resource), action)
        if known is not action:
            faults.append(f"{action.source}: {action.resource} is to be another at {known.source}")
    return faults


def _notes(desired: DesiredState, live: Live) -> list[str]:
    """Notes for the reader of the plan."""
    notes = []
    for name, topic in desired.topics.items():
        known = live.topics.get(name)
        is_extended = known and topic.partitions is not None and topic.partitions > len(known.partitions)
        if known and is_extended and topic.replication_factor not in (None, known.replication_factor):
            notes.append(f"topic {name}: the new partitions get the replication factor by the next plan")
    return notes
