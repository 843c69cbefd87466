"""Fetches the committed offsets of groups (OffsetFetch), many groups per request where the coordinator allows it.

Only stable offsets are requested first (KIP-447). A pending transaction makes a commit unstable; its group is then requested
again without that condition, which returns the present offset. Most transactions end within milliseconds, so a third request
for stable offsets shows whether the transaction is still pending, or has ended before the second answer.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace

from kafka_lagoon.admin.repeated_items import names_any_twice
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure, Scope, failure_of
from kafka_lagoon.client.intake import Intake, Refusal, Source
from kafka_lagoon.client.routes import ByCoordinator
from kafka_lagoon.client.routing import Gathered, ShardedRequest, gather
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import Contradiction
from kafka_lagoon.frozen import frozen
from kafka_lagoon.protocol.error_codes import UNSTABLE_OFFSET_COMMIT
from kafka_lagoon.protocol.messages.offset_fetch import (
    OFFSET_FETCH,
    OffsetFetchGroup,
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
)
from kafka_lagoon.wire.columns import Structs, by_column
from kafka_lagoon.wire.schema import Versions

_CHUNK = 500  # groups in one request
# From v10 on topics are ids, and answers leave out commits on deleted topics.
_MANY_GROUPS, _ONE_GROUP, _UNSTABLE_ONLY = Versions(8, 9), Versions(7, 7), Versions(2, 6)

Fetched = Gathered[str, OffsetFetchResponseGroup]


@frozen
class CommittedOffsets:
    """Answers and their sources by group; failures of groups and of single partitions.

    `replaced` are the second answers, of groups with pending transactions: the offsets that the transactions will replace.
    `ended` are the third answers, stable offsets again: commits whose transaction has ended by then have no error.
    """

    answers: Mapping[str, OffsetFetchResponseGroup]
    replaced: Mapping[str, OffsetFetchResponseGroup]
    sources: Mapping[str, Source]
    failures: Sequence[Failure]
    ended: Mapping[str, OffsetFetchResponseGroup] = field(default_factory=dict)


def committed_offsets(cluster: Cluster, group_ids: Sequence[str], deadline: Deadline) -> CommittedOffsets:
    """All commits of the groups: 500 groups per request from OffsetFetch v8 on, one group before."""
    stable = _fetch(cluster, group_ids, deadline, require_stable=True)
    refused = [
        (group, source) for groups, source in groups_of(stable.answers, stable.sources) for group in _odd(groups)
    ]
    pending = [group.group_id for group, _ in refused if _is_pending(group)]
    replaced = _fetch(cluster, pending, deadline, require_stable=False).answers if pending else {}
    ended = _fetch(cluster, list(replaced), deadline, require_stable=True).answers if replaced else {}
    return CommittedOffsets(
        answers=stable.answers,
        replaced=replaced,
        sources=stable.sources,
        failures=[
            *stable.failures.values(),
            *(failure for group, source in refused for failure in _partition_failures(group, source)),
        ],
        ended=ended,
    )


def _odd(groups: Structs[OffsetFetchResponseGroup]) -> Iterator[OffsetFetchResponseGroup]:
    """Groups with a partition that has an error."""
    if any(groups.lists("topics").items.lists("partitions").items.column("error_code")):
        for group in groups:
            if any(partition.error_code for topic in group.topics for partition in topic.partitions):
                yield group


def _fetch(cluster: Cluster, group_ids: Sequence[str], deadline: Deadline, *, require_stable: bool) -> Fetched:
    """Commits of the groups, by the newest form of request that each coordinator knows."""
    intake, items, failures = GroupColumns(), list(group_ids), dict[str, Failure]()
    for sharded in _requests(require_stable=require_stable):
        intake.are_named = sharded.chunk > 1
        some = gather(cluster, ByCoordinator(cluster), [replace(sharded, items=items, intake=intake)], deadline)[0]
        asked_again = frozenset(items)
        failures = {name: failure for name, failure in failures.items() if name not in asked_again}
        failures |= some.failures
        items = [group_id for group_id, failure in some.failures.items() if failure.is_too_old]
        if not items:
            break
    return Gathered(intake.answers, intake.sources, failures)


def _requests(*, require_stable: bool) -> Iterator[ShardedRequest[str, OffsetFetchResponseGroup]]:
    """A request for many groups (KIP-709) or one, for stable offsets (KIP-447) or the present ones."""

    def many(items: Sequence[str]) -> OffsetFetchRequest:
        groups = tuple(OffsetFetchGroup(group_id=group_id, topics=None) for group_id in items)
        return OffsetFetchRequest(groups=groups, require_stable=require_stable)

    def single(items: Sequence[str]) -> OffsetFetchRequest:
        return OffsetFetchRequest(group_id=items[0], topics=None, require_stable=require_stable)

    def plain(items: Sequence[str]) -> OffsetFetchRequest:
        return OffsetFetchRequest(group_id=items[0], topics=None)

    yield ShardedRequest(api=OFFSET_FETCH, items=(), build=many, chunk=_CHUNK, within=_MANY_GROUPS, required=True)
    yield ShardedRequest(api=OFFSET_FETCH, items=(), build=single, chunk=1, within=_ONE_GROUP, required=True)
    yield ShardedRequest(api=OFFSET_FETCH, items=(), build=plain, chunk=1, within=_UNSTABLE_ONLY, required=True)


class GroupColumns(Intake[str, OffsetFetchResponseGroup]):
    """Keeps the commits of groups by column, a piece per response; `answers` finds a group in them."""

    def __init__(self) -> None:
        self.are_named = True  # else a response is about the one group of the request, and does not name it
        self.responses: list[tuple[Structs[OffsetFetchResponseGroup], Source]] = []
        self._found: dict[
            str, tuple[int, int]
        ] = {}  # of the first responses: the response with a group, and its position
        self._looked_through = 0

    # As attributes they would be a reference cycle, which keeps 30 bytes of each commit until the next collection.
    @property
    def answers(self) -> "_GroupAnswers":  # type: ignore[override]
        """The groups as messages, by id."""
        return _GroupAnswers(self)

    @property
    def sources(self) -> "_Sources":  # type: ignore[override]
        """The sources, by id of the group."""
        return _Sources(self)

    def take(self, response: OffsetFetchResponse, items: Sequence[str], source: Source) -> Mapping[str, Refusal]:
        """Keep a response as a whole if it answers for exactly these groups, without an error."""
        groups = by_column(response.groups if self.are_named else _single(response, items), OffsetFetchResponseGroup)
        group_ids = groups.column("group_id")
        is_whole = len(group_ids) == len(items) and set(group_ids) == set(items)
        if is_whole and not any(groups.column("error_code")) and not _contradict_themselves(groups):
            self.responses.append((groups, source))
            return {}
        refused: dict[str, Refusal] = dict.fromkeys(items)
        kept: dict[str, OffsetFetchResponseGroup] = {}
        for group in groups:
            group_id = group.group_id
            if group_id not in refused:
                continue
            if kept.setdefault(group_id, group) != group or _contradict_themselves(by_column((group,), type(group))):
                refused[group_id] = Contradiction()
            elif refused[group_id] is None and group.error_code:
                refused[group_id] = group.error_code
        good = [group for group_id, group in kept.items() if refused[group_id] is None]
        self.responses.append((by_column(good, OffsetFetchResponseGroup), source))
        return {group_id: why for group_id, why in refused.items() if why is not None or group_id not in kept}

    def place(self, group_id: str) -> tuple[int, int]:
        """The response with a group, and the group's position; KeyError if no response has it."""
        self.look_through()
        return self._found[group_id]

    def look_through(self) -> Mapping[str, tuple[int, int]]:
        """The places of all groups that were answered."""
        for number in range(self._looked_through, len(self.responses)):
            group_ids = self.responses[number][0].column("group_id")
            self._found |= {group_id: (number, place) for place, group_id in enumerate(group_ids)}
        self._looked_through = len(self.responses)
        return self._found


class _GroupAnswers(Mapping[str, OffsetFetchResponseGroup]):
    """The groups as messages, by id."""

    def __init__(self, columns: GroupColumns) -> None:
        self.columns = columns

    def __getitem__(self, group_id: str) -> OffsetFetchResponseGroup:
        number, place = self.columns.place(group_id)
        return self.columns.responses[number][0][place]

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns.look_through())

    def __len__(self) -> int:
        return len(self.columns.look_through())


class _Sources(Mapping[str, Source]):
    """The sources, by id of the group."""

    def __init__(self, columns: GroupColumns) -> None:
        self._columns = columns

    def __getitem__(self, group_id: str) -> Source:
        return self._columns.responses[self._columns.place(group_id)[0]][1]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns.answers)

    def __len__(self) -> int:
        return len(self._columns.answers)


def groups_of(
    answers: Mapping[str, OffsetFetchResponseGroup], sources: Mapping[str, Source]
) -> Sequence[tuple[Structs[OffsetFetchResponseGroup], Source]]:
    """The groups by column, with the source of each piece."""
    if isinstance(answers, _GroupAnswers):
        return answers.columns.responses
    return [(by_column((group,), OffsetFetchResponseGroup), sources[group_id]) for group_id, group in answers.items()]


def _contradict_themselves(groups: Structs[OffsetFetchResponseGroup]) -> bool:
    """True if a group has a topic or a partition twice."""
    topics = groups.lists("topics")
    return names_any_twice(topics.items, topics.counts)


def _single(response: OffsetFetchResponse, items: Sequence[str]) -> Sequence[OffsetFetchResponseGroup]:
    """The response to a request for one group."""
    group = OffsetFetchResponseGroup(group_id=items[0], topics=response.topics, error_code=response.error_code)
    return (group,)


def _is_pending(group: OffsetFetchResponseGroup) -> bool:
    return any(
        partition.error_code == UNSTABLE_OFFSET_COMMIT for topic in group.topics for partition in topic.partitions
    )


def _partition_failures(group: OffsetFetchResponseGroup, source: Source) -> Iterator[Failure]:
    """Partitions of an answered group that were refused, one failure each; a pending transaction is no refusal."""
    for topic in group.topics:
        for partition in topic.partitions:
            if partition.error_code and partition.error_code != UNSTABLE_OFFSET_COMMIT:
                scope = Scope.group_partition(group.group_id, topic.name, partition.partition_index)
                failure = failure_of(OFFSET_FETCH, scope, partition.error_code, node_id=source.node_id)
                yield replace(failure, is_required=True)
