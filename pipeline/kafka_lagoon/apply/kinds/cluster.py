"""Adds and removes voters of the metadata quorum, forgets brokers, and changes the levels of features.

Resources: voter ID, broker ID, feature NAME. Shapes:

- add_voter: None -> {directory_id, listeners: ["CONTROLLER://host:port"]}.
- remove_voter: {directory_id} -> None.
- unregister_broker: {fenced} -> None; of a broker that does not run fenced is null where brokers do not tell it (before Kafka
  4.0).
- update_feature: {level} -> {level, upgrade_type}: upgrade, safe_downgrade or unsafe_downgrade. The controller refuses a safe
  downgrade that would lose metadata, so only an unsafe one counts as a deletion.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from kafka_lagoon.admin.brokers import registered_brokers, unregister_brokers
from kafka_lagoon.admin.features import FeatureChange, feature_levels, update_features
from kafka_lagoon.admin.quorum import describe_quorum, quorum_failures, quorum_partitions
from kafka_lagoon.admin.voters import Listener, Voter, add_voters, remove_voters
from kafka_lagoon.apply.action import Action, ActionKind, Guard, Resource, State
from kafka_lagoon.apply.kinds.names import parse_listener
from kafka_lagoon.client.agreement import agreed_metadata
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import UNSUPPORTED, Failure, Scope, failure_of, own_failure
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import PipelineError
from kafka_lagoon.protocol.error_codes import BROKER_ID_NOT_REGISTERED, DUPLICATE_VOTER, VOTER_NOT_FOUND
from kafka_lagoon.protocol.messages.describe_quorum import DESCRIBE_QUORUM
from kafka_lagoon.protocol.messages.metadata import METADATA
from kafka_lagoon.protocol.messages.update_features import UPDATE_FEATURES
from kafka_lagoon.wire.primitives import uuid_text

_STATIC = (
    "its voters are those of controller.quorum.voters in each server.properties (kraft.version 0): change them there, or begin "
    "with kraft.version 1"
)
_KRAFT_VERSION = "kraft.version"
# Kafka 3.9 returns no error for a change of kraft.version, which it cannot make: the level that is in force decides.
_UNPROVEN = replace(
    own_failure(
        UPDATE_FEATURES,
        Scope.config(f"feature {_KRAFT_VERSION}"),
        "UNPROVEN",
        "some releases answer that they have changed it, and leave it as it is",
    ),
    may_be_done=True,
)


def voter_resource(voter_id: int) -> Resource:
    """A voter by its node id."""
    return Resource("voter", str(voter_id))


def broker_resource(broker_id: int) -> Resource:
    """A broker."""
    return Resource("broker", str(broker_id))


def feature_resource(name: str) -> Resource:
    """A feature."""
    return Resource("feature", name)


def add_voter(voter_id: int, directory_id: str, listeners: Sequence[str], source: str | None = None) -> Action:
    """Give a vote to a controller that is running and follows the log."""
    after = {"directory_id": directory_id, "listeners": list(listeners)}
    return Action(kind="add_voter", resource=voter_resource(voter_id), before=None, after=after, source=source)


def remove_voter(voter_id: int, directory_id: str, source: str | None = None) -> Action:
    """Take the vote from a controller."""
    return Action(
        kind="remove_voter",
        resource=voter_resource(voter_id),
        before={"directory_id": directory_id},
        after=None,
        guards=frozenset({Guard.DELETIONS}),
        source=source,
    )


def unregister_broker(broker_id: int, *, fenced: bool | None) -> Action:
    """Unregister a broker."""
    return Action(
        kind="unregister_broker",
        resource=broker_resource(broker_id),
        before={"fenced": fenced},
        after=None,
        guards=frozenset({Guard.DELETIONS}),
    )


def update_feature(
    name: str, before: int, level: int, *, unsafe: bool = False, source: str | None = None
) -> Action | None:
    """Set the level of a feature; None if it has that level."""
    if before == level:
        return None
    downgrade = "unsafe_downgrade" if unsafe else "safe_downgrade"
    upgrade_type = downgrade if level < before else "upgrade"
    return Action(
        kind="update_feature",
        resource=feature_resource(name),
        before={"level": before},
        after={"level": level, "upgrade_type": upgrade_type},
        guards=frozenset({Guard.DELETIONS} if upgrade_type == "unsafe_downgrade" else ()),
        source=source,
    )


def voters(cluster: Cluster, deadline: Deadline) -> Mapping[int, Voter] | Failure:
    """The voters of the metadata quorum by node id; and a failure if voters are static, because then they cannot be changed."""
    quorum = describe_quorum(cluster, deadline)
    if isinstance(quorum, Failure):
        return quorum
    refusal = next(quorum_failures(quorum), None)
    if refusal is not None:
        return refusal
    listeners = {
        node.node_id: [Listener(one.name, one.host, one.port) for one in node.listeners] for node in quorum.nodes
    }
    known = {
        replica.replica_id: Voter(
            directory_id=uuid_text(replica.replica_directory_id) or "",
            listeners=listeners.get(replica.replica_id, ()),
        )
        for partition in quorum_partitions(quorum)
        for replica in partition.current_voters
    }
    if any(not voter.directory_id for voter in known.values()):
        return own_failure(DESCRIBE_QUORUM, Scope.list("the metadata quorum"), "STATIC_QUORUM", _STATIC)
    return known


def _read_added(cluster: Cluster, actions: Sequence[Action], deadline: Deadline) -> Mapping[Resource, State | Failure]:
    """Read voters with all values that they can have been added with."""
    return _read_voters(cluster, actions, deadline, listeners=True)


def _read_removed(
    cluster: Cluster, actions: Sequence[Action], deadline: Deadline
) -> Mapping[Resource, State | Failure]:
    return _read_voters(cluster, actions, deadline, listeners=False)


def _read_voters(
    cluster: Cluster, actions: Sequence[Action], deadline: Deadline, *, listeners: bool
) -> Mapping[Resource, State | Failure]:
    known = voters(cluster, deadline)
    states: dict[Resource, State | Failure] = {}
    for action in actions:
        voter = known if isinstance(known, Failure) else known.get(int(action.resource.name))
        if not isinstance(voter, Voter):
            states[action.resource] = voter
            continue
        addresses = [f"{name}://{host}:{port}" for name, host, port in voter.listeners]
        state = {"directory_id": voter.directory_id}
        states[action.resource] = {**state, "listeners": addresses} if listeners else state
    return states


def _is_added(action: Action, live: State) -> bool:
    return live is not None and action.after is not None and live["directory_id"] == action.after["directory_id"]


def _add(
    cluster: Cluster, actions: Sequence[Action], _validate_only: bool, deadline: Deadline
) -> Mapping[Resource, Failure]:
    added = {
        int(action.resource.name): Voter(
            directory_id=(action.after or {})["directory_id"],
            listeners=[Listener(*parse_listener(text)) for text in (action.after or {})["listeners"]],
        )
        for action in actions
    }
    failures = add_voters(cluster, added, deadline)
    return {voter_resource(voter_id): failure for voter_id, failure in failures.items()}


def _is_removed(action: Action, live: State) -> bool:
    """True also if the node votes with another directory, which was added later."""
    return live is None or (action.before is not None and live["directory_id"] != action.before["directory_id"])


def _remove(
    cluster: Cluster, actions: Sequence[Action], _validate_only: bool, deadline: Deadline
) -> Mapping[Resource, Failure]:
    directory_ids = {int(action.resource.name): (action.before or {})["directory_id"] for action in actions}
    failures = remove_voters(cluster, directory_ids, deadline)
    return {voter_resource(voter_id): failure for voter_id, failure in failures.items()}


def _read_brokers(
    cluster: Cluster, actions: Sequence[Action], deadline: Deadline
) -> Mapping[Resource, State | Failure]:
    known = registered_brokers(cluster, deadline)
    if isinstance(known, Failure):
        return {action.resource: known for action in actions}
    if known is None:
        return _read_running(cluster, actions, deadline)
    registered = {broker_resource(broker_id): {"fenced": fenced} for broker_id, fenced in known.items()}
    return {action.resource: registered.get(action.resource) for action in actions}


def _read_running(
    cluster: Cluster, actions: Sequence[Action], deadline: Deadline
) -> Mapping[Resource, State | Failure]:
    """Read which brokers run, where brokers do not list registered brokers: the others may be registered or not."""
    try:
        agreed_metadata(cluster, (), deadline)
    except PipelineError as error:
        return {action.resource: failure_of(METADATA, Scope.cluster(), error) for action in actions}
    running = set(map(broker_resource, cluster.brokers))
    return {action.resource: {"fenced": False if action.resource in running else None} for action in actions}


def _unregister(
    cluster: Cluster, actions: Sequence[Action], _validate_only: bool, deadline: Deadline
) -> Mapping[Resource, Failure]:
    failures = unregister_brokers(cluster, [int(action.resource.name) for action in actions], deadline)
    return {broker_resource(broker_id): failure for broker_id, failure in failures.items()}


def _read_features(
    cluster: Cluster, actions: Sequence[Action], deadline: Deadline
) -> Mapping[Resource, State | Failure]:
    known = feature_levels(cluster, deadline)
    if isinstance(known, Failure):
        return {action.resource: known for action in actions}
    unknown = "no broker supports this feature"
    return {
        action.resource: {"level": known[action.resource.name].level}
        if action.resource.name in known
        else own_failure(UPDATE_FEATURES, Scope.config(str(action.resource)), UNSUPPORTED, unknown)
        for action in actions
    }


def _is_updated(action: Action, live: State) -> bool:
    return live is not None and action.after is not None and live["level"] == action.after["level"]


def _update(
    cluster: Cluster, actions: Sequence[Action], validate_only: bool, deadline: Deadline
) -> Mapping[Resource, Failure]:
    changes = {
        action.resource.name: FeatureChange((action.after or {})["level"], (action.after or {})["upgrade_type"])
        for action in actions
    }
    failures = update_features(cluster, changes, deadline, validate_only=validate_only)
    if _KRAFT_VERSION in changes.keys() - failures.keys() and not validate_only:
        failures = {**failures, _KRAFT_VERSION: _UNPROVEN}
    return {feature_resource(name): failure for name, failure in failures.items()}


UPDATE_FEATURE = ActionKind(
    name="update_feature",
    title="change feature",
    read=_read_features,
    send=_update,
    can_validate=True,
    is_done=_is_updated,
)
ADD_VOTER = ActionKind(
    name="add_voter",
    title="add voter",
    read=_read_added,
    send=_add,
    is_done=_is_added,
    already=frozenset({DUPLICATE_VOTER}),
)
REMOVE_VOTER = ActionKind(
    name="remove_voter",
    title="remove voter",
    read=_read_removed,
    send=_remove,
    is_done=_is_removed,
    already=frozenset({VOTER_NOT_FOUND}),
)
UNREGISTER_BROKER = ActionKind(
    name="unregister_broker",
    title="forget broker",
    read=_read_brokers,
    send=_unregister,
    already=frozenset({BROKER_ID_NOT_REGISTERED}),
)
