"""Groups in, their committed offsets out.

Guards one rule: a commit that cannot be read, or is about to be replaced by a transaction, is a row that says so.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import UNSUPPORTED, Failure, Scope, failure_of
from kafka_lagoon.client.routes import ByCoordinator
from kafka_lagoon.client.routing import Gathered, ShardedRequest, Source, gather
from kafka_lagoon.clock import Deadline
from kafka_lagoon.protocol.error_codes import UNSTABLE_OFFSET_COMMIT, error_code
from kafka_lagoon.protocol.messages.offset_fetch import (
    OFFSET_FETCH,
    OffsetFetchGroup,
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
)
from kafka_lagoon.snapshot.state_rows import CommittedOffsetRow
from kafka_lagoon.snapshot.topology import Topology
from kafka_lagoon.wire.schema import Versions

NO_COMMIT = "NO_COMMIT"
_CHUNK = 500  # groups in one request
# From v10 on topics are ids, and commits on topics that are deleted cannot be told any more.
_MANY_GROUPS, _ONE_GROUP, _UNSTABLE_ONLY = Versions(8, 9), Versions(7, 7), Versions(2, 6)

Fetched = Gathered[str, OffsetFetchResponseGroup]


@dataclass(frozen=True, slots=True, kw_only=True)
class Commits:
    """Rows of all commits, and the groups and partitions whose commits could not be read."""

    rows: Sequence[CommittedOffsetRow]
    failures: Sequence[Failure]


def committed_offsets(cluster: Cluster, group_ids: Sequence[str], topology: Topology, deadline: Deadline) -> Commits:
    """All commits of the groups, in as few requests as the brokers allow: many groups in each from OffsetFetch v8 on."""
    found = _fetch(cluster, group_ids, deadline, stable=True)
    pending = [group_id for group_id, group in found.answers.items() if _is_pending(group)]
    reconciled = _fetch(cluster, pending, deadline, stable=False) if pending else None
    rows: list[CommittedOffsetRow] = []
    for group_id, group in found.answers.items():
        older = reconciled.answers.get(group_id) if reconciled else None
        rows += _rows(group_id, group, older, topology, found.sources[group_id])
    return Commits(rows=rows, failures=[*found.failures.values(), *_partition_failures(found)])


def _fetch(cluster: Cluster, group_ids: Sequence[str], deadline: Deadline, *, stable: bool) -> Fetched:
    """The groups' commits in the way that each coordinator can be asked, the newest first."""
    found: Fetched = Gathered({}, {}, {})
    left = list(group_ids)
    for sharded in _ways(stable=stable):
        late = gather(cluster, ByCoordinator(cluster), [replace(sharded, items=left)], deadline)[0]
        left = [group_id for group_id, failure in late.failures.items() if failure.name == UNSUPPORTED]
        failures = {**found.failures, **late.failures}
        found = Gathered({**found.answers, **late.answers}, {**found.sources, **late.sources}, failures)
        if not left:
            break
    return replace(found, failures={scope: one for scope, one in found.failures.items() if scope not in found.answers})


def _ways(*, stable: bool) -> Iterator[ShardedRequest[str, OffsetFetchResponseGroup]]:
    """Many groups in a request (KIP-709), or one; stable offsets (KIP-447), or whatever there is."""

    def many(items: Sequence[str]) -> OffsetFetchRequest:
        groups = tuple(OffsetFetchGroup(group_id=group_id, topics=None) for group_id in items)
        return OffsetFetchRequest(groups=groups, require_stable=stable)

    def one(items: Sequence[str]) -> OffsetFetchRequest:
        return OffsetFetchRequest(group_id=items[0], topics=None, require_stable=stable)

    def plain(items: Sequence[str]) -> OffsetFetchRequest:
        return OffsetFetchRequest(group_id=items[0], topics=None)

    yield ShardedRequest(api=OFFSET_FETCH, items=(), build=many, read=_read_many, chunk=_CHUNK, within=_MANY_GROUPS)
    yield ShardedRequest(api=OFFSET_FETCH, items=(), build=one, read=_read_one, chunk=1, within=_ONE_GROUP)
    yield ShardedRequest(api=OFFSET_FETCH, items=(), build=plain, read=_read_one, chunk=1, within=_UNSTABLE_ONLY)


def _read_many(response: OffsetFetchResponse, _: Sequence[str]) -> Iterator[tuple[str, int, OffsetFetchResponseGroup]]:
    for group in response.groups:
        yield group.group_id, group.error_code, group


def _read_one(
    response: OffsetFetchResponse, items: Sequence[str]
) -> Iterator[tuple[str, int, OffsetFetchResponseGroup]]:
    yield (
        items[0],
        response.error_code,
        OffsetFetchResponseGroup(group_id=items[0], topics=response.topics, error_code=0),
    )


def _is_pending(group: OffsetFetchResponseGroup) -> bool:
    return any(one.error_code == UNSTABLE_OFFSET_COMMIT for topic in group.topics for one in topic.partitions)


def _rows(
    group_id: str,
    group: OffsetFetchResponseGroup,
    older: OffsetFetchResponseGroup | None,
    topology: Topology,
    source: Source,
) -> Iterator[CommittedOffsetRow]:
    before = {(t.name, one.partition_index): one for t in older.topics for one in t.partitions} if older else {}
    for topic in group.topics:
        name, topic_id, absence = topic.name, topology.topic_ids.get(topic.name), topology.absence(topic.name)
        for one in topic.partitions:
            told, problem = one, _problem(one) or absence
            if one.error_code == UNSTABLE_OFFSET_COMMIT:
                # A transaction is about to commit another offset. What is committed now is still a fact.
                told = before.get((name, one.partition_index), one)
            committed = told.committed_offset >= 0
            yield CommittedOffsetRow(
                group_id,
                name,
                topic_id,
                one.partition_index,
                told.committed_offset if committed else None,
                told.committed_leader_epoch if told.committed_leader_epoch >= 0 else None,
                told.metadata if committed else None,
                source.read_at_ms,
                problem,
            )


def _problem(one: OffsetFetchResponsePartition) -> str | None:
    if one.error_code:
        return error_code(one.error_code).name
    return None if one.committed_offset >= 0 else NO_COMMIT


def _partition_failures(found: Fetched) -> Iterator[Failure]:
    """Partitions of answered groups that were refused, one failure each; a pending transaction is no refusal."""
    for group_id, group in found.answers.items():
        for topic in group.topics:
            for one in topic.partitions:
                if one.error_code and one.error_code != UNSTABLE_OFFSET_COMMIT:
                    scope = Scope.group_partition(group_id, topic.name, one.partition_index)
                    node_id = found.sources[group_id].node_id
                    yield failure_of(OFFSET_FETCH, scope, one.error_code, node_id=node_id)
