"""Finds the first record that a reader at an offset would get, with its timestamp, for many positions at once.

One Fetch per leader requests many partitions and few bytes of each. A leader returns whole batches only, and nothing of a
partition whose first batch exceeds the limit of bytes (KIP-74), except for the first partition of a request. So a partition
without bytes is requested again with four times as many, at last alone; batches that are left out cost no bytes. A request
names a partition once: further offsets of the same partition go into requests of their own.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import UNSUPPORTED, Failure
from kafka_lagoon.client.routes import ByLeader
from kafka_lagoon.client.routing import ShardedRequest, gather
from kafka_lagoon.clock import Deadline
from kafka_lagoon.fetch.ranges import LOG_TRUNCATED
from kafka_lagoon.fetch.unread_positions import (
    BUDGET_USED_UP,
    GAP_TOO_LONG,
    NO_RECORD_RETURNED,
    FirstUnread,
    FirstUnreadOutcome,
    Position,
    UnreadRecords,
)
from kafka_lagoon.protocol.error_codes import OFFSET_OUT_OF_RANGE, error_code
from kafka_lagoon.protocol.messages.fetch import (
    CONSUMER_REPLICA_ID,
    FETCH,
    READ_COMMITTED,
    READ_UNCOMMITTED,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from kafka_lagoon.records.first_record import FirstRecord, NoRecord, UnreadableBatch, first_record
from kafka_lagoon.topic_partition import TopicPartition
from kafka_lagoon.wire.primitives import uuid_bytes
from kafka_lagoon.wire.schema import Versions

# Bytes of a partition, from try to try; the last one is alone.
_SIZES = (4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20)
_REQUEST_BYTES = 4 << 20  # of one answer, at most; the first partition may exceed it
_ROUND_BYTES = 64 << 20  # of all answers in memory at the same time
_SPARE_BYTES = 16 << 20  # for a first partition that exceeds its share, so that the others get theirs
_MOST_ROUNDS = 32  # of requests for one position
_WITH_EPOCH, _BY_NAME_WITH_EPOCH, _BY_NAME = Versions(12, 18), Versions(12, 12), Versions(4, 11)
_OUT_OF_RANGE = error_code(OFFSET_OUT_OF_RANGE).name


@dataclass(slots=True, kw_only=True)
class _Search:
    """A position without an answer yet: the next offset to read, and the limit of bytes."""

    position: Position
    offset: int
    last_epoch: int
    is_blocked: bool
    step: int = 0
    rounds: int = 0
    latest_ms: int | None = None

    @property
    def partition(self) -> TopicPartition:
        return TopicPartition(self.position.topic, self.position.partition)


class _FetchedPartition(NamedTuple):
    """A position's partition in an answer."""

    first: FirstRecord | NoRecord | UnreadableBatch
    end: int
    has_more: bool  # the log continues between the last stable offset and the high watermark
    # The end of the epochs that the leader's log shares with the position; -1 if it has the position's epoch.
    common_end: int
    size: int


@dataclass(slots=True)
class _Results:
    records: dict[Position, FirstUnread] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    bytes_fetched: int = 0


def first_unread(cluster: Cluster, positions: Iterable[Position], max_bytes: int, deadline: Deadline) -> UnreadRecords:
    """The first unread record of each position; the order of positions is the order in which bytes are spent.

    Not more than about `max_bytes` of records are fetched: a position that would exceed it is not read.
    """
    results = _Results()
    waiting: list[deque[_Search]] = [deque() for _ in _SIZES]
    for position in dict.fromkeys(positions):
        waiting[0].append(_search(position))
    while any(waiting):
        step = next(number for number, searches in enumerate(waiting) if searches)
        affordable = min(_ROUND_BYTES, max_bytes - results.bytes_fetched) // _SIZES[step]
        if affordable <= 0 or deadline.passed():
            problem = "DEADLINE_PASSED" if affordable > 0 else BUDGET_USED_UP
            for search in (search for searches in waiting for search in searches):
                _give_up(results, search, problem, cluster.clock.now_ms())
            break
        some = [waiting[step].popleft() for _ in range(min(affordable, len(waiting[step])))]
        for search in _ask(cluster, some, results, deadline):
            waiting[search.step].append(search)
    return UnreadRecords(first=results.records, failures=results.failures, bytes_fetched=results.bytes_fetched)


def _search(position: Position) -> _Search:
    return _Search(
        position=position, offset=position.offset, last_epoch=position.last_epoch, is_blocked=position.is_blocked
    )


def _give_up(results: _Results, search: _Search, problem: str, now_ms: int) -> None:
    """A limit was reached; the header of a batch may have given a bound of the timestamp."""
    has_bound = search.latest_ms is not None
    results.records[search.position] = FirstUnread(
        outcome=FirstUnreadOutcome.BOUND if has_bound else FirstUnreadOutcome.NOT_READ,
        timestamp_ms=search.latest_ms,
        is_blocked=search.is_blocked,
        read_at_ms=now_ms,
        problem=problem,
    )


def _ask(cluster: Cluster, searches: Sequence[_Search], results: _Results, deadline: Deadline) -> Iterator[_Search]:
    """Send each search to its leader once; yields the searches that continue."""
    unsupported = searches
    for versions in _forms(cluster, searches):
        groups = _groups(unsupported)
        unsupported = []
        requests = [_request(cluster, group, versions) for group in groups]
        for group, gathered in zip(groups, gather(cluster, ByLeader(cluster), requests, deadline), strict=True):
            for partition, search in group.items():
                failure = gathered.failures.get(partition)
                if failure and failure.name == UNSUPPORTED and versions is not _BY_NAME:
                    unsupported.append(search)
                elif failure:
                    yield from _failed(results, search, failure)
                else:
                    yield from _answered(
                        results, search, gathered.answers[partition], gathered.sources[partition].read_at_ms
                    )
        if not unsupported:
            break


def _forms(cluster: Cluster, searches: Sequence[_Search]) -> tuple[Versions, Versions]:
    """Versions of the requests: by topic id where brokers have ids, with the epoch of the record before where it is known."""
    has_ids = all(cluster.topics.id_of(topic) is not None for topic in {search.position.topic for search in searches})
    return (_WITH_EPOCH if has_ids else _BY_NAME_WITH_EPOCH), _BY_NAME


def _groups(searches: Iterable[_Search]) -> list[dict[TopicPartition, _Search]]:
    """Searches of one isolation level, all of different partitions."""
    groups: dict[tuple[bool, int], dict[TopicPartition, _Search]] = {}
    seen: dict[tuple[bool, TopicPartition], int] = {}
    for search in searches:
        partition = search.partition
        number = seen.get((search.is_blocked, partition), 0)
        seen[search.is_blocked, partition] = number + 1
        groups.setdefault((search.is_blocked, number), {})[partition] = search
    return list(groups.values())


def _request(
    cluster: Cluster, group: Mapping[TopicPartition, _Search], versions: Versions
) -> ShardedRequest[TopicPartition, _FetchedPartition]:
    """A request for searches of one isolation level and one size."""
    some = next(iter(group.values()))
    size, isolation_level = _SIZES[some.step], READ_UNCOMMITTED if some.is_blocked else READ_COMMITTED
    ids = {topic: uuid_bytes(cluster.topics.id_of(topic)) for topic in {partition.topic for partition in group}}
    names = {topic_id: topic for topic, topic_id in ids.items()}

    def build(items: Sequence[TopicPartition]) -> FetchRequest:
        topics: dict[str, list[FetchPartition]] = {}
        for item in items:
            search = group[item]
            wanted = FetchPartition(
                partition=item.partition,
                current_leader_epoch=cluster.topics.leader_epoch_of(item),
                fetch_offset=search.offset,
                last_fetched_epoch=-1 if versions is _BY_NAME else search.last_epoch,
                partition_max_bytes=size,
            )
            topics.setdefault(item.topic, []).append(wanted)
        return FetchRequest(
            replica_id=CONSUMER_REPLICA_ID,
            max_wait_ms=0,
            min_bytes=0,
            max_bytes=len(items) * size + _SPARE_BYTES,
            isolation_level=isolation_level,
            topics=tuple(
                FetchTopic(topic=topic, topic_id=ids[topic], partitions=tuple(some)) for topic, some in topics.items()
            ),
        )

    def read(response: FetchResponse, _: Sequence[TopicPartition]) -> Iterator[tuple[TopicPartition, int, Any]]:
        for topic in response.responses:
            name = topic.topic or names.get(topic.topic_id, "")
            for data in topic.partitions:
                partition = TopicPartition(name, data.partition_index)
                search = group.get(partition)
                if search:
                    yield partition, data.error_code, None if data.error_code else _answer(search, data)

    is_alone = some.step == len(_SIZES) - 1
    chunk = 1 if is_alone else _REQUEST_BYTES // size
    return ShardedRequest(api=FETCH, items=list(group), build=build, read=read, chunk=chunk, within=versions)


def _answer(search: _Search, data: PartitionData) -> _FetchedPartition:
    records = memoryview(data.records or b"")
    aborted = [(one.producer_id, one.first_offset) for one in data.aborted_transactions or ()]
    is_committed = not search.is_blocked and data.last_stable_offset >= 0
    return _FetchedPartition(
        first=first_record(records, search.offset, aborted),
        end=data.last_stable_offset if is_committed else data.high_watermark,
        has_more=is_committed and data.last_stable_offset < data.high_watermark,
        common_end=data.diverging_epoch.end_offset,
        size=len(records),
    )


def _failed(results: _Results, search: _Search, failure: Failure) -> Iterator[_Search]:
    is_last_step = search.step == len(_SIZES) - 1
    if failure.name == _OUT_OF_RANGE and search.last_epoch >= 0:
        search.last_epoch = -1  # the leader has forgotten the epoch, with the records before the log's start
        yield search
    elif failure.name == "PROTOCOL_ERROR" and not is_last_step:
        search.step = len(_SIZES) - 1  # an answer that was too large, perhaps because of another partition
        yield search
    else:
        if failure.name != _OUT_OF_RANGE:
            results.failures.append(failure)
        results.records[search.position] = FirstUnread(outcome=FirstUnreadOutcome.UNREADABLE, problem=failure.name)


def _answered(results: _Results, search: _Search, answer: _FetchedPartition, read_at_ms: int) -> Iterator[_Search]:
    """Keep the result of the answer, or yield the search with its next offset and limit."""
    results.bytes_fetched += answer.size
    search.rounds += 1
    if 0 <= answer.common_end < search.offset:
        results.records[search.position] = FirstUnread(outcome=FirstUnreadOutcome.UNREADABLE, problem=LOG_TRUNCATED)
    elif answer.common_end >= 0:
        search.last_epoch = -1  # compaction removed the epoch's records from the leader's log: nothing was truncated
        yield search
    elif isinstance(answer.first, NoRecord):
        yield from _read_on(results, search, answer, answer.first, read_at_ms)
    else:
        results.records[search.position] = _seen(search, answer.first, read_at_ms)


def _seen(search: _Search, first: FirstRecord | UnreadableBatch, read_at_ms: int) -> FirstUnread:
    if isinstance(first, FirstRecord):
        return FirstUnread(
            outcome=FirstUnreadOutcome.RECORD,
            offset=first.offset,
            timestamp_ms=first.timestamp_ms,
            timestamp_type=first.timestamp_type,
            is_blocked=search.is_blocked,
            read_at_ms=read_at_ms,
        )
    return FirstUnread(
        outcome=FirstUnreadOutcome.UNREADABLE if first.latest_ms is None else FirstUnreadOutcome.BOUND,
        timestamp_ms=first.latest_ms,
        is_blocked=search.is_blocked,
        read_at_ms=read_at_ms,
        problem=first.reason,
    )


def _read_on(
    results: _Results, search: _Search, answer: _FetchedPartition, nothing: NoRecord, read_at_ms: int
) -> Iterator[_Search]:
    """Continue after an answer without the record: after the gap, or with more bytes; end where the log ends."""
    if answer.end < 0:  # without the end of the log nobody knows that nothing is left to read
        results.records[search.position] = FirstUnread(
            outcome=FirstUnreadOutcome.UNREADABLE, problem=NO_RECORD_RETURNED
        )
        return
    has_progress, is_last_step = nothing.next_offset > search.offset, search.step == len(_SIZES) - 1
    search.latest_ms = nothing.latest_ms
    search.offset, search.last_epoch = nothing.next_offset, -1 if has_progress else search.last_epoch
    if search.offset >= answer.end and answer.has_more:
        search.is_blocked, search.step = True, 0
    elif search.offset >= answer.end:
        results.records[search.position] = FirstUnread(
            outcome=FirstUnreadOutcome.NOTHING, is_blocked=search.is_blocked, read_at_ms=read_at_ms
        )
        return
    elif is_last_step and not has_progress:
        results.records[search.position] = FirstUnread(
            outcome=FirstUnreadOutcome.UNREADABLE, problem=NO_RECORD_RETURNED
        )
        return
    else:
        search.step = min(search.step + 1, len(_SIZES) - 1)
    if search.rounds < _MOST_ROUNDS:
        yield search
    else:
        _give_up(results, search, GAP_TOO_LONG, read_at_ms)
