"""Plans the topics, configs and ACLs of a snapshot for another cluster, and names those that cannot be carried over."""

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, field, replace
from typing import Any

from kafka_lagoon.apply.action import Action, Resource
from kafka_lagoon.apply.kinds.acls import CREATE_ACL, acl_of, create_acl
from kafka_lagoon.apply.kinds.topic_guards import MIN_ISR, min_isr_note
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure, Scope, own_failure
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.frozen import frozen
from kafka_lagoon.protocol.messages.create_acls import CREATE_ACLS
from kafka_lagoon.query.statements import Ask
from kafka_lagoon.restore.saved_rows import rows_of

VIEWS = ("topics_published", "configs_published", "acls_published")  # tables and views that the functions here read

_OF_TOPIC = "TOPIC_CONFIG"
_OF_BROKERS = ("DYNAMIC_BROKER_CONFIG", "DYNAMIC_DEFAULT_BROKER_CONFIG", "STATIC_BROKER_CONFIG")
# Lists of partitions and brokers of the source, which mean nothing in another cluster.
_OF_ONE_CLUSTER = frozenset({"leader.replication.throttled.replicas", "follower.replication.throttled.replicas"})
_TOPIC, _GROUP, _LITERAL, _PREFIXED, _EVERY = "TOPIC", "GROUP", "LITERAL", "PREFIXED", "*"


@frozen
class SavedTopic:
    """A topic of a snapshot; `configs` are those that are set on the topic itself."""

    topic: str
    topic_id: str | None
    partitions: int
    replication_factor: int
    configs: Mapping[str, str] = field(default_factory=dict)
    inherited: Mapping[str, str | None] = field(default_factory=dict)  # set on the brokers of the source
    left_out: tuple[str, ...] = ()  # configs that cannot be carried over


@frozen
class SavedAcl:
    """An ACL of a snapshot: the columns of table acls."""

    resource_type: str
    resource_name: str
    pattern_type: str
    principal: str
    host: str
    operation: str
    permission: str


def saved_topics(ask: Ask, snapshot_id: str, topics: Collection[str]) -> dict[str, SavedTopic]:
    """These topics with their configs, as far as the snapshot has them; ConfigError names missing topics."""
    rows = {
        row["topic"]: row
        for row in rows_of(
            ask,
            "SELECT topic, topic_id, partitions, replication_factor, problem FROM topics_published WHERE snapshot_id = ?",
            snapshot_id,
        )
        if row["topic"] in topics
    }
    faults = [f"topic {name}: not in snapshot {snapshot_id}" for name in sorted(set(topics) - set(rows))]
    faults += [
        f"topic {name}: snapshot {snapshot_id} does not say its partitions ({row['problem'] or 'it has none'})"
        for name, row in sorted(rows.items())
        if not row["partitions"]
    ]
    if faults:
        raise ConfigError(faults)
    configs = _saved_configs(ask, snapshot_id, rows)
    return {name: _saved_topic(row, configs[name]) for name, row in sorted(rows.items())}


def _saved_configs(ask: Ask, snapshot_id: str, topics: Collection[str]) -> dict[str, list[dict[str, Any]]]:
    rows = rows_of(
        ask,
        "SELECT resource_name, name, value, source, is_default, is_sensitive FROM configs_published "
        "WHERE snapshot_id = ? AND resource_type = 'topic' ORDER BY resource_name, name",
        snapshot_id,
    )
    configs: dict[str, list[dict[str, Any]]] = {topic: [] for topic in topics}
    for row in rows:
        if row["resource_name"] in configs:
            configs[row["resource_name"]].append(row)
    return configs


def _saved_topic(row: Mapping[str, Any], configs: Sequence[Mapping[str, Any]]) -> SavedTopic:
    # Brokers before Kafka 1.1 name no source: a value that is not the default may be the broker's, and is taken for the
    # topic's.
    own = [one for one in configs if one["source"] == _OF_TOPIC or (one["source"] is None and not one["is_default"])]
    unusable = [one["name"] for one in own if one["is_sensitive"] or one["name"] in _OF_ONE_CLUSTER]
    return SavedTopic(
        topic=row["topic"],
        topic_id=row["topic_id"],
        partitions=row["partitions"],
        replication_factor=row["replication_factor"],
        configs={one["name"]: one["value"] or "" for one in own if one["name"] not in unusable},
        inherited={one["name"]: one["value"] for one in configs if one["source"] in _OF_BROKERS},
        left_out=tuple(unusable),
    )


def topic_actions(
    topics: Sequence[SavedTopic],
    names: Mapping[str, str],
    *,
    brokers: int,
    with_configs: bool,
    removed: Collection[str] = (),
    replication_factor: int | None = None,
) -> tuple[list[Action], list[str]]:
    """Actions that create these topics in a cluster with so many brokers, and notes; `names` has their names there.

    `removed` are configs that the cluster's brokers do not have any more.

    ConfigError if a topic has more replicas than there are brokers: fewer replicas are the caller's decision, who names their
    number as `replication_factor`, for all topics.
    """
    factors = [replication_factor or topic.replication_factor for topic in topics]
    faults = [
        f"topic {topic.topic}: {factor} replicas, and the target has {brokers} brokers: choose a --replication-factor"
        for topic, factor in zip(topics, factors, strict=True)
        if factor > brokers
    ]
    if faults:
        raise ConfigError(faults)
    topics = [_without(topic, removed) if with_configs else topic for topic in topics]
    actions = [
        Action(
            kind="create_topic",
            resource=Resource("topic", names[topic.topic]),
            before=None,
            after=_shape(topic, factor, topic.configs if with_configs else {}),
        )
        for topic, factor in zip(topics, factors, strict=True)
    ]
    notes = [
        note
        for topic, factor in zip(topics, factors, strict=True)
        for note in _notes(topic, factor, with_configs, removed)
    ]
    return actions, notes


def _without(topic: SavedTopic, removed: Collection[str]) -> SavedTopic:
    """The topic without configs that brokers would refuse the whole topic for."""
    gone = [name for name in topic.configs if name in removed]
    kept = {name: value for name, value in topic.configs.items() if name not in removed}
    return replace(topic, configs=kept, left_out=(*topic.left_out, *gone))


def _shape(topic: SavedTopic, replication_factor: int, configs: Mapping[str, str]) -> dict[str, Any]:
    shape = {"partitions": topic.partitions, "replication_factor": replication_factor}
    return {**shape, "configs": dict(configs)} if configs else shape


def _why_left_out(name: str, removed: Collection[str]) -> str:
    if name in removed:
        return "brokers of the target do not have it any more"
    return "it names brokers of the source" if name in _OF_ONE_CLUSTER else "its value is secret and was not stored"


def _notes(topic: SavedTopic, factor: int, with_configs: bool, removed: Collection[str]) -> Iterator[str]:
    if factor != topic.replication_factor:
        yield f"topic {topic.topic}: {factor} replicas instead of {topic.replication_factor}"
    if with_configs and (note := min_isr_note(topic.topic, topic.configs.get(MIN_ISR, ""), factor)):
        yield note
    if not with_configs:
        if topic.configs:
            yield f"topic {topic.topic}: without its configs {', '.join(topic.configs)}"
        return
    for name in topic.left_out:
        yield f"topic {topic.topic}: without {name}: {_why_left_out(name, removed)}"
    for name, value in topic.inherited.items():
        yield f"topic {topic.topic}: {name}={value} was set on the source's brokers; the target's brokers decide"


def saved_acls(
    ask: Ask, snapshot_id: str, names: Mapping[str, str], groups: Collection[str] = ()
) -> tuple[list[SavedAcl], list[str]]:
    """The ACLs of these topics and groups, and notes; `names` has the name of each topic in the target.

    ACLs of a prefix are carried over unchanged; those of all topics or groups are not.
    """
    rows = rows_of(
        ask,
        "SELECT resource_type, resource_name, pattern_type, principal, host, operation, permission FROM acls_published "
        "WHERE snapshot_id = ? AND resource_type IN ('TOPIC', 'GROUP') "
        "ORDER BY resource_type, resource_name, pattern_type, principal, host, operation, permission",
        snapshot_id,
    )
    in_order = {_TOPIC: sorted(names), _GROUP: sorted(groups)}
    acls: list[SavedAcl] = []
    notes: list[str] = []
    for acl in (SavedAcl(**row) for row in rows):
        matched = _matched(acl, in_order[acl.resource_type])
        if not matched:
            continue
        if acl.pattern_type == _LITERAL and acl.resource_name == _EVERY:
            notes.append(f"{_line(acl)}: is about every {acl.resource_type.lower()}; create it by hand if it is wanted")
        elif acl.pattern_type == _PREFIXED:
            acls.append(acl)
            notes += _misses(acl, [names[name] for name in matched if acl.resource_type == _TOPIC])
        else:
            acls.append(_renamed(acl, names))
    return acls, notes


def _matched(acl: SavedAcl, names: Sequence[str]) -> Sequence[str]:
    """The names, which are in order, that an ACL is about."""
    wanted = acl.resource_name
    first = bisect_left(names, wanted)
    if acl.pattern_type == _PREFIXED:
        return names[first : bisect_right(names, wanted, key=lambda name: name[: len(wanted)])]
    return names if wanted == _EVERY else names[first : bisect_right(names, wanted)]


def _misses(acl: SavedAcl, new_names: Sequence[str]) -> list[str]:
    outside = [name for name in new_names if not name.startswith(acl.resource_name)]
    return [f"{_line(acl)}: is not about {name}, as the topic is called in the target" for name in outside]


def _renamed(acl: SavedAcl, names: Mapping[str, str]) -> SavedAcl:
    return replace(acl, resource_name=names[acl.resource_name]) if acl.resource_type == _TOPIC else acl


def _line(acl: SavedAcl) -> str:
    return (
        f"ACL {acl.permission} {acl.principal} {acl.operation} {acl.resource_type.lower()} {acl.pattern_type} "
        f"{acl.resource_name} from {acl.host}"
    )


def acl_actions(cluster: Cluster, acls: Sequence[SavedAcl], deadline: Deadline) -> tuple[list[Action], list[Failure]]:
    """Actions that create those of the ACLs that the target lacks, and notes about the others."""
    actions: dict[Resource, Action] = {}
    failures: list[Failure] = []
    for acl in acls:
        try:
            action = create_acl(acl_of(asdict(acl)))
        except KeyError as error:  # of a later release, whose names the snapshot did not know
            failures.append(own_failure(CREATE_ACLS, Scope.list(_line(acl)), "UNKNOWN_NAME", f"{error} has no name"))
        else:
            actions[action.resource] = action
    states = CREATE_ACL.read(cluster, list(actions.values()), deadline) if actions else {}
    failures += dict.fromkeys(state for state in states.values() if isinstance(state, Failure))
    return [action for resource, action in actions.items() if states[resource] is None], failures
