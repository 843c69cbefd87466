"""Carries topics, ACLs and offsets of groups from a published snapshot of the source into the target, through actions."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field

from kafka_lagoon.admin.acls import AclFilter, acls_of, describe_acls
from kafka_lagoon.admin.group_offsets import Commit, GroupPartition
from kafka_lagoon.admin.groups import list_groups
from kafka_lagoon.apply.action import Action
from kafka_lagoon.apply.kinds.acls import acl_of, create_acl
from kafka_lagoon.apply.kinds.groups import alter_offsets_action, read_commits
from kafka_lagoon.apply.kinds.topics import create_topic
from kafka_lagoon.client.cluster import Cluster, TopicPartition
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.clock import Deadline
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.errors import ConfigError, TableError
from kafka_lagoon.query import duckdb_engine, spark_engine
from kafka_lagoon.query.duckdb_tables import NeedsSpark
from kafka_lagoon.query.statements import Ask
from kafka_lagoon.restore import group_offsets, topics
from kafka_lagoon.restore.archived import ArchivedTopic
from kafka_lagoon.restore.group_offsets import RestoredPartition, TranslatedCommit, saved_commits, translated
from kafka_lagoon.restore.request import RestoreRequest
from kafka_lagoon.restore.saved_rows import rows_of
from kafka_lagoon.restore.topics import saved_acls, saved_topics, topic_actions

_NAMES = frozenset({"snapshots", *topics.VIEWS, *group_offsets.VIEWS})


@dataclass(frozen=True, slots=True, kw_only=True)
class Alterations:
    """Actions for the target, and what is good to know of them."""

    actions: Sequence[Action] = ()
    notes: Sequence[str] = field(default_factory=list)


@contextmanager
def opened(warehouse: Warehouse) -> Iterator[Ask]:
    """What runs statements over the state tables: DuckDB over a folder of this machine that it can read, else Spark."""
    folder = None if warehouse.in_catalog else duckdb_engine.local_folder(warehouse.name)
    if folder is not None:
        try:
            with duckdb_engine.opened(folder, _NAMES) as ask:
                yield ask
            return
        except NeedsSpark:
            pass
    with spark_engine.opened(warehouse, _NAMES) as ask:
        yield ask


def choose_snapshot(ask: Ask, cluster_id: str, at_ms: int | None) -> str | None:
    """The newest snapshot of a cluster, or the newest that had begun at a time; None if there is none."""
    rows = rows_of(
        ask, "SELECT snapshot_id, captured_at FROM snapshots WHERE cluster_id = ? ORDER BY captured_at DESC", cluster_id
    )
    known = (row for row in rows if at_ms is None or row["captured_at"].timestamp() * 1000 <= at_ms)
    return next((row["snapshot_id"] for row in known), None)


def creations(
    ask: Ask, snapshot_id: str | None, request: RestoreRequest, missing: Sequence[ArchivedTopic], brokers: int
) -> Alterations:
    """Actions that create the topics which the target lacks, as the snapshot has them.

    Of a topic that the snapshot does not have only the archived partitions are known. ConfigError for what cannot be done.
    """
    known = saved_names(ask, snapshot_id) if snapshot_id else frozenset()
    saved = [topic for topic in missing if topic.topic in known]
    others = [topic for topic in missing if topic.topic not in known]
    if others and request.with_configs:
        raise ConfigError([f"--with-configs: no snapshot of the source has topic {topic.topic}" for topic in others])
    actions, notes = list[Action](), list[str]()
    if saved and snapshot_id:
        names = {topic.topic: request.target_of(topic.topic) for topic in saved}
        found = saved_topics(ask, snapshot_id, names)
        notes += [
            f"topic {topic.topic}: the snapshot has another topic of that name ({found[topic.topic].topic_id})"
            for topic in saved
            if None not in (topic.topic_id, found[topic.topic].topic_id)
            and topic.topic_id != found[topic.topic].topic_id
        ]
        some, more = topic_actions(
            list(found.values()),
            names,
            brokers=brokers,
            with_configs=request.with_configs,
            replication_factor=request.replication_factor,
        )
        actions, notes = [*some], [*notes, *more]
    for topic in others:
        partitions = max(topic.partitions, default=0) + 1
        name = request.target_of(topic.topic)
        actions.append(create_topic(name, partitions=partitions, replication_factor=request.replication_factor))
        notes.append(f"topic {topic.topic}: no snapshot has it, so {name} gets as many partitions as have records")
    return Alterations(actions=actions, notes=notes)


def saved_names(ask: Ask, snapshot_id: str) -> frozenset[str]:
    """The topics that a snapshot has, with their partitions."""
    statement = "SELECT topic FROM topics_published WHERE snapshot_id = ? AND partitions > 0"
    return frozenset(row["topic"] for row in rows_of(ask, statement, snapshot_id))


def acl_creations(
    ask: Ask,
    snapshot_id: str,
    names: Mapping[str, str],
    groups: Collection[str],
    cluster: Cluster,
    deadline: Deadline,
) -> Alterations:
    """Actions that create the ACLs about the topics and groups which the target lacks; TableError if it has no ACLs at all."""
    saved, notes = saved_acls(ask, snapshot_id, names, groups)
    described = describe_acls(cluster, AclFilter(), deadline)
    if isinstance(described, Failure):
        raise TableError(f"--with-acls: the target's ACLs: {described.name}")
    live = set(acls_of(described))
    wanted = dict.fromkeys(acl_of(asdict(one)) for one in saved)
    return Alterations(actions=[create_acl(acl) for acl in wanted if acl not in live], notes=notes)


def commits(
    ask: Ask,
    snapshot_id: str,
    request: RestoreRequest,
    partitions: Mapping[TopicPartition, RestoredPartition],
    cluster: Cluster,
    deadline: Deadline,
) -> Alterations:
    """Actions that commit the groups' offsets in the target; notes name what is not committed, and why.

    A group that has committed something else there keeps it, unless the request says that the target's topics are in use.
    """
    done, failed = translated(saved_commits(ask, snapshot_id, {one.topic for one in partitions}), partitions)
    notes = [
        f"group {one.saved.group_id}: no offset for {one.saved.topic}-{one.saved.partition}: {one.problem}"
        for one in failed
    ]
    live = read_commits(cluster, list_groups(cluster, deadline), [one.group_id for one in done], deadline)
    actions: list[Action] = []
    for one in done:
        before = live.of(_item(one))
        if isinstance(before, Failure):
            notes.append(f"group {one.group_id}: {one.target.topic}-{one.target.partition}: {before.name}")
            continue
        action = alter_offsets_action(_item(one), before, Commit(one.committed_offset, metadata=one.metadata or ""))
        if before is None or request.into_existing:
            actions += [action] if before != action.after else []
        elif before.get("committed_offset") != one.committed_offset:
            notes.append(
                f"group {one.group_id} has committed {before['committed_offset']} of {one.target.topic}-"
                f"{one.target.partition} in the target, not {one.committed_offset}: --into-existing replaces it"
            )
    return Alterations(actions=actions, notes=notes)


def _item(commit: TranslatedCommit) -> GroupPartition:
    return GroupPartition(commit.group_id, *commit.target)
