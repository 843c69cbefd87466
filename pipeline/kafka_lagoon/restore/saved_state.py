"""Carries topics, ACLs and offsets of groups from a published snapshot of the source to the target, as actions."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace

from kafka_lagoon.apply.action import Action
from kafka_lagoon.apply.kinds.topics import create_topic
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.clock import Deadline
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.errors import ConfigError, TableError
from kafka_lagoon.frozen import frozen
from kafka_lagoon.query import spark_engine
from kafka_lagoon.query.statements import Ask
from kafka_lagoon.restore import group_offsets, snapshot_choice, topics
from kafka_lagoon.restore.archived import ArchivedTopic
from kafka_lagoon.restore.group_offsets import RestoredPartition, offset_actions, saved_commits, translated
from kafka_lagoon.restore.request import RestoreRequest
from kafka_lagoon.restore.snapshot_choice import ChosenSnapshot, last_with, saved_names, spelled
from kafka_lagoon.restore.target import TargetTopic
from kafka_lagoon.restore.topics import SavedTopic, acl_actions, saved_acls, saved_topics, topic_actions
from kafka_lagoon.topic_partition import TopicPartition
from kafka_lagoon.warehouse_urls import local_folder

_NAMES = frozenset({*snapshot_choice.VIEWS, *topics.VIEWS, *group_offsets.VIEWS})


@frozen
class Alterations:
    """Actions for the target, and notes about them."""

    actions: Sequence[Action] = ()
    notes: Sequence[str] = ()


@contextmanager
def opened(warehouse: Warehouse) -> Iterator[Ask]:
    """Open the state tables: with DuckDB in a folder of this machine that it can read, else with Spark."""
    with ExitStack() as stack:
        yield _ask(stack, warehouse)


def _ask(stack: ExitStack, warehouse: Warehouse) -> Ask:
    folder = None if warehouse.in_catalog else local_folder(warehouse.name)
    if folder is not None:
        from kafka_lagoon.query import duckdb_engine  # noqa: PLC0415  Spark reads other places without DuckDB
        from kafka_lagoon.query.duckdb_tables import NeedsSpark  # noqa: PLC0415

        with suppress(NeedsSpark):
            return stack.enter_context(duckdb_engine.opened(folder, _NAMES))
    return stack.enter_context(spark_engine.opened(warehouse, _NAMES))


def creations(
    ask: Ask,
    snapshot: ChosenSnapshot | None,
    request: RestoreRequest,
    missing: Sequence[ArchivedTopic],
    brokers: int,
    removed: Collection[str] = (),
) -> Alterations:
    """Actions that create the topics that the target lacks, as they are in the snapshot, without configs that are `removed`.

    A topic that is not in the snapshot, or has got partitions since, is created with as many partitions as are archived.
    ConfigError for topics that cannot be created.
    """
    known = saved_names(ask, snapshot.snapshot_id) if snapshot else frozenset[str]()
    saved = [topic for topic in missing if topic.topic in known]
    others = [topic for topic in missing if topic.topic not in known]
    if others and request.with_configs:
        raise ConfigError([_without_configs(ask, snapshot, topic) for topic in others])
    actions, notes = list[Action](), list[str]()
    if saved and snapshot:
        names = {topic.topic: request.target_of(topic.topic) for topic in saved}
        wanted, notes = _as_saved(saved_topics(ask, snapshot.snapshot_id, names), saved, names)
        some, more = topic_actions(
            wanted,
            names,
            brokers=brokers,
            with_configs=request.with_configs,
            removed=removed,
            replication_factor=request.replication_factor,
        )
        actions, notes = [*some], [*notes, *more]
    for topic in others:
        name, partitions = request.target_of(topic.topic), _archived_partitions(topic)
        actions.append(create_topic(name, partitions=partitions, replication_factor=request.replication_factor))
        without = f"{snapshot} does not have it" if snapshot else "no snapshot has it"
        notes.append(f"topic {topic.topic}: {without}, so {name} gets as many partitions as have records")
    return Alterations(actions=actions, notes=notes)


def _as_saved(
    results: Mapping[str, SavedTopic], archived: Sequence[ArchivedTopic], names: Mapping[str, str]
) -> tuple[list[SavedTopic], list[str]]:
    """The topics of a snapshot, with as many partitions as are archived if that is more, and notes about differences."""
    notes = [
        f"topic {topic.topic}: the snapshot has another topic of that name ({results[topic.topic].topic_id})"
        for topic in archived
        if None not in (topic.topic_id, results[topic.topic].topic_id)
        and topic.topic_id != results[topic.topic].topic_id
    ]
    grown = {
        topic.topic: _archived_partitions(topic)
        for topic in archived
        if _archived_partitions(topic) > results[topic.topic].partitions
    }
    notes += [
        f"topic {topic}: it had {results[topic].partitions} partitions in the snapshot, and partition {partitions - 1} is "
        f"archived, so {names[topic]} gets {partitions}"
        for topic, partitions in grown.items()
    ]
    return [replace(one, partitions=grown.get(topic, one.partitions)) for topic, one in results.items()], notes


def _archived_partitions(topic: ArchivedTopic) -> int:
    """The number of partitions that a new topic needs for the records to restore."""
    return max(topic.partitions, default=0) + 1


def _without_configs(ask: Ask, snapshot: ChosenSnapshot | None, topic: ArchivedTopic) -> str:
    """Say that a snapshot has no configs of a topic, and name the last snapshot that has the topic."""
    last = last_with(ask, topic.cluster_id, topic.topic)
    if last is None or snapshot is None:
        return f"--with-configs: no snapshot of the source has topic {topic.topic}"
    option = f"--at {spelled(last.captured_at)}"
    return f"--with-configs: {snapshot} does not have topic {topic.topic}: {option} chooses the last that has it"


def unset_configs(
    ask: Ask, snapshot_id: str, request: RestoreRequest, targets: Mapping[str, TargetTopic | None]
) -> list[str]:
    """Notes about existing topics of the target whose configs differ from the snapshot: only created topics get its configs.

    `targets` are by source topic.
    """
    known = saved_names(ask, snapshot_id)
    existing = {topic: target for topic, target in targets.items() if target is not None and topic in known}
    unset = {
        topic: {name: value for name, value in saved.configs.items() if existing[topic].configs.get(name, "") != value}
        for topic, saved in saved_topics(ask, snapshot_id, existing).items()
    }
    return [
        f"topic {request.target_of(topic)} exists, and --with-configs changes none of its configs: the snapshot has "
        f"{', '.join(f'{name}={value}' for name, value in sorted(configs.items()))}"
        for topic, configs in unset.items()
        if configs
    ]


def acl_creations(
    ask: Ask, snapshot_id: str, request: RestoreRequest, topics: Iterable[str], cluster: Cluster, deadline: Deadline
) -> Alterations:
    """Actions that create the ACLs that the target lacks; TableError if its ACLs cannot be read.

    They are those about the topics, and with offsets those about the groups that have commits.
    """
    names = {topic: request.target_of(topic) for topic in topics}
    groups = {one.group_id for one in saved_commits(ask, snapshot_id, names)} if request.with_offsets else set[str]()
    saved, notes = saved_acls(ask, snapshot_id, names, groups)
    actions, failures = acl_actions(cluster, saved, deadline)
    if failures:
        raise TableError(f"--with-acls: {'; '.join(f'{one.scope}: {one.name}' for one in failures)}")
    return Alterations(actions=actions, notes=notes)


def commits(
    ask: Ask,
    snapshot_id: str,
    request: RestoreRequest,
    topics: Collection[str],
    partitions: Mapping[TopicPartition, RestoredPartition],
    cluster: Cluster,
    deadline: Deadline,
) -> Alterations:
    """Actions that commit the groups' offsets in the target; notes name the commits that are not made, with the reason.

    `topics` are all topics of the restore, `partitions` those that are restored. Commits for partitions that the request leaves
    out are in neither actions nor notes. A group with another commit in the target keeps that, unless the request is to restore
    into existing topics.
    """
    of_topics = saved_commits(ask, snapshot_id, topics)
    chosen = [one for one in of_topics if request.is_chosen(one.topic, one.partition)]
    done, failed = translated(chosen, partitions)
    actions, failures = offset_actions(cluster, done, deadline)
    notes = [
        f"group {one.saved.group_id}: no offset for {one.saved.topic}-{one.saved.partition}: {one.problem}"
        for one in failed
    ]
    notes += [f"{one.scope}: {one.name}{f' ({one.message})' if one.message else ''}" for one in failures]
    made = [one for one in actions if request.into_existing or one.before is None]
    notes += [
        f"{one.resource}: has {(one.before or {}).get('committed_offset')} in the target, and would get "
        f"{(one.after or {}).get('committed_offset')}: --into-existing replaces it"
        for one in actions
        if not (request.into_existing or one.before is None)
    ]
    return Alterations(actions=made, notes=notes)
