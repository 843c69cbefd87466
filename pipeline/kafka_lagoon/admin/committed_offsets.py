"""Fetches the committed offsets of groups (OffsetFetch), many groups per request where the coordinator allows it.

Offsets are requested as stable first (KIP-447). A pending transaction makes a commit unstable; its group is then requested
again without that, for the offset that is committed now.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import UNSUPPORTED, Failure, Scope, failure_of
from kafka_lagoon.client.routes import ByCoordinator
from kafka_lagoon.client.routing import Gathered, ShardedRequest, Source, gather
from kafka_lagoon.clock import Deadline
from kafka_lagoon.protocol.error_codes import UNSTABLE_OFFSET_COMMIT
from kafka_lagoon.protocol.messages.offset_fetch import (
    OFFSET_FETCH,
    OffsetFetchGroup,
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
)
from kafka_lagoon.wire.schema import Versions

_CHUNK = 500  # groups in one request
# From v10 on topics are ids, and answers leave out commits on deleted topics.
_MANY_GROUPS, _ONE_GROUP, _UNSTABLE_ONLY = Versions(8, 9), Versions(7, 7), Versions(2, 6)

Fetched = Gathered[str, OffsetFetchResponseGroup]


@dataclass(frozen=True, slots=True, kw_only=True)
class CommittedOffsets:
    """Answers and their sources by group; failures of groups and of single partitions.

    `replaced` are second answers about groups with pending transactions: the offsets that those will replace.
    """

    answers: Mapping[str, OffsetFetchResponseGroup]
    replaced: Mapping[str, OffsetFetchResponseGroup]
    sources: Mapping[str, Source]
    failures: Sequence[Failure]


def committed_offsets(cluster: Cluster, group_ids: Sequence[str], deadline: Deadline) -> CommittedOffsets:
    """All commits of the groups: 500 groups per request from OffsetFetch v8 on, one before."""
    stable = _fetch(cluster, group_ids, deadline, require_stable=True)
    pending = [group_id for group_id, group in stable.answers.items() if _is_pending(group)]
    replaced = _fetch(cluster, pending, deadline, require_stable=False).answers if pending else {}
    return CommittedOffsets(
        answers=stable.answers,
        replaced=replaced,
        sources=stable.sources,
        failures=[*stable.failures.values(), *_partition_failures(stable)],
    )


def _fetch(cluster: Cluster, group_ids: Sequence[str], deadline: Deadline, *, require_stable: bool) -> Fetched:
    """Commits of the groups, by the newest form of request that each coordinator knows."""
    fetched: Fetched = Gathered({}, {}, {})
    items = list(group_ids)
    for sharded in _requests(require_stable=require_stable):
        some = gather(cluster, ByCoordinator(cluster), [replace(sharded, items=items)], deadline)[0]
        items = [group_id for group_id, failure in some.failures.items() if failure.name == UNSUPPORTED]
        failures = {**fetched.failures, **some.failures}
        fetched = Gathered({**fetched.answers, **some.answers}, {**fetched.sources, **some.sources}, failures)
        if not items:
            break
    failures = {group_id: failure for group_id, failure in fetched.failures.items() if group_id not in fetched.answers}
    return replace(fetched, failures=failures)


def _requests(*, require_stable: bool) -> Iterator[ShardedRequest[str, OffsetFetchResponseGroup]]:
    """Many groups in a request (KIP-709), or one; stable offsets (KIP-447), or whatever there is."""

    def many(items: Sequence[str]) -> OffsetFetchRequest:
        groups = tuple(OffsetFetchGroup(group_id=group_id, topics=None) for group_id in items)
        return OffsetFetchRequest(groups=groups, require_stable=require_stable)

    def single(items: Sequence[str]) -> OffsetFetchRequest:
        return OffsetFetchRequest(group_id=items[0], topics=None, require_stable=require_stable)

    def plain(items: Sequence[str]) -> OffsetFetchRequest:
        return OffsetFetchRequest(group_id=items[0], topics=None)

    yield ShardedRequest(api=OFFSET_FETCH, items=(), build=many, read=_read_many, chunk=_CHUNK, within=_MANY_GROUPS)
    yield ShardedRequest(api=OFFSET_FETCH, items=(), build=single, read=_read_single, chunk=1, within=_ONE_GROUP)
    yield ShardedRequest(api=OFFSET_FETCH, items=(), build=plain, read=_read_single, chunk=1, within=_UNSTABLE_ONLY)


def _read_many(response: OffsetFetchResponse, _: Sequence[str]) -> Iterator[tuple[str, int, OffsetFetchResponseGroup]]:
    for group in response.groups:
        yield group.group_id, group.error_code, group


def _read_single(
    response: OffsetFetchResponse, items: Sequence[str]
) -> Iterator[tuple[str, int, OffsetFetchResponseGroup]]:
    group = OffsetFetchResponseGroup(group_id=items[0], topics=response.topics, error_code=0)
    yield items[0], response.error_code, group


def _is_pending(group: OffsetFetchResponseGroup) -> bool:
    return any(
        partition.error_code == UNSTABLE_OFFSET_COMMIT for topic in group.topics for partition in topic.partitions
    )


def _partition_failures(fetched: Fetched) -> Iterator[Failure]:
    """Partitions of answered groups that were refused, one failure each; a pending transaction is no refusal."""
    for group_id, group in fetched.answers.items():
        for topic in group.topics:
            for partition in topic.partitions:
                if partition.error_code and partition.error_code != UNSTABLE_OFFSET_COMMIT:
                    scope = Scope.group_partition(group_id, topic.name, partition.partition_index)
                    node_id = fetched.sources[group_id].node_id
                    yield failure_of(OFFSET_FETCH, scope, partition.error_code, node_id=node_id)
