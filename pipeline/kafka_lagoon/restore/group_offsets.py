"""Translates the offsets that groups had committed, according to a snapshot, to those of restored partitions."""

from collections.abc import Collection, Mapping, Sequence

from kafka_lagoon.admin.group_offsets import Commit, GroupPartition
from kafka_lagoon.admin.groups import list_groups
from kafka_lagoon.apply.action import Action, same_state
from kafka_lagoon.apply.kinds.groups import alter_offsets_action, read_commits
from kafka_lagoon.apply.offset_resets import NO_COMMIT, members_failure
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.clock import Deadline
from kafka_lagoon.frozen import frozen
from kafka_lagoon.query.statements import Ask
from kafka_lagoon.restore.offset_map import PartitionMap, Position
from kafka_lagoon.restore.saved_rows import rows_of
from kafka_lagoon.topic_partition import TopicPartition

VIEWS = ("committed_offsets_published", "consumer_lag_published")  # tables and views that `saved_commits` reads
NOT_RESTORED, OTHER_TOPIC, SHARE_GROUP = "NOT_RESTORED", "TOPIC_RECREATED", "SHARE_GROUP"


@frozen
class SavedCommit:
    """The commit of a group for a partition; `problem` says why it could not be read, or may be out of date."""

    group_id: str
    topic: str
    topic_id: str | None
    partition: int
    committed_offset: int | None
    metadata: str | None
    problem: str | None


@frozen
class RestoredPartition:
    """The target of a source partition, and the map of its offsets."""

    topic_id: str | None  # of the source
    target: TopicPartition
    offset_map: PartitionMap


@frozen
class TranslatedCommit:
    """The offset to commit in the target, so that the group continues at the first record that it had not read."""

    group_id: str
    target: TopicPartition
    committed_offset: int
    metadata: str | None
    saved: SavedCommit
    position: Position


@frozen
class Untranslated:
    """A commit without an offset in the target, and the reason: one of those above, or a failure to read it."""

    saved: SavedCommit
    problem: str


def saved_commits(ask: Ask, snapshot_id: str, topics: Collection[str]) -> list[SavedCommit]:
    """The commits of a published snapshot on these topics, ordered by group and partition.

    Share groups have start offsets instead, in the table of lag: these are commits without an offset, with the reason.
    """
    commits, lags = VIEWS
    rows = rows_of(
        ask,
        f"""
        SELECT group_id, topic, topic_id, partition, committed_offset, metadata, problem
        FROM {commits} WHERE snapshot_id = ?
        UNION ALL
        SELECT group_id, topic, topic_id, partition, NULL, NULL, coalesce(problem, '{SHARE_GROUP}')
        FROM {lags} WHERE snapshot_id = ? AND group_type = 'share' AND coalesce(problem, '') <> 'SHARE_NOT_STARTED'
        ORDER BY group_id, topic, partition""",  # noqa: S608  views of ours
        snapshot_id,
        snapshot_id,
    )
    return [SavedCommit(**row) for row in rows if row["topic"] in topics]


def translated(
    commits: Sequence[SavedCommit], partitions: Mapping[TopicPartition, RestoredPartition]
) -> tuple[list[TranslatedCommit], list[Untranslated]]:
    """The commits for the target, and those that cannot be translated.

    A partition without a commit of the group, or with the commit -1, is in neither: its consumers begin where auto.offset.reset
    says.
    """
    done: list[TranslatedCommit] = []
    failed: list[Untranslated] = []
    for saved in commits:
        restored = partitions.get(TopicPartition(saved.topic, saved.partition))
        if problem := _problem(saved, restored):
            failed.append(Untranslated(saved=saved, problem=problem))
        elif restored and saved.committed_offset is not None:
            done.append(_translated(saved, saved.committed_offset, restored))
    return done, failed


def _problem(saved: SavedCommit, restored: RestoredPartition | None) -> str | None:
    if saved.committed_offset is None:
        return None if saved.problem == NO_COMMIT else saved.problem
    if restored is None:
        return NOT_RESTORED
    if None not in (saved.topic_id, restored.topic_id) and saved.topic_id != restored.topic_id:
        return OTHER_TOPIC
    return None


def _translated(saved: SavedCommit, committed_offset: int, restored: RestoredPartition) -> TranslatedCommit:
    place = restored.offset_map.translate(committed_offset)
    return TranslatedCommit(
        group_id=saved.group_id,
        target=restored.target,
        committed_offset=place.offset,
        metadata=saved.metadata,
        saved=saved,
        position=place.position,
    )


def offset_actions(
    cluster: Cluster, commits: Sequence[TranslatedCommit], deadline: Deadline
) -> tuple[list[Action], list[Failure]]:
    """Actions that commit these offsets in the target, and notes about groups that have members.

    No action is needed if the group has committed that offset already. Leader epochs of the source mean nothing there.
    """
    if not commits:
        return [], []
    listings = list_groups(cluster, deadline)
    group_ids = sorted({commit.group_id for commit in commits})
    stored = read_commits(cluster, listings, group_ids, deadline)
    refused = {group_id: failure for group_id in group_ids if (failure := members_failure(listings, group_id))}
    actions: list[Action] = []
    failures = list(refused.values())
    for commit in commits:
        item = GroupPartition(commit.group_id, *commit.target)
        before = stored.of(item)
        if commit.group_id in refused:
            continue
        if isinstance(before, Failure):
            failures.append(before)
            continue
        action = alter_offsets_action(item, before, Commit(commit.committed_offset, metadata=commit.metadata or ""))
        if not same_state(action.before, action.after):
            actions.append(action)
    return actions, list(dict.fromkeys(failures))
