"""Reads the small partitions of a task, many in a request and all in one pass: alone, each costs a request and a set-up.

Whole partitions without special cases are decoded here. All others are left to a `SplitReader` each, which deals with errors,
damage, transactions and truncated logs; so this module neither waits nor retries.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

import pyarrow as pa

from kafka_lagoon.client.broker import Call
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.errors import EncodeError, PipelineError, UnsupportedVersion
from kafka_lagoon.fetch.batch_headers import epoch_ranges, trusted_end
from kafka_lagoon.fetch.cleanup_policy import CleanupPolicies
from kafka_lagoon.fetch.last_batch import is_doubtful
from kafka_lagoon.fetch.progress import SplitProgress
from kafka_lagoon.fetch.requests import (
    FetchPosition,
    RequestedPartition,
    isolation_at,
    partitions_data,
    shared_requests,
)
from kafka_lagoon.fetch.split import READ_COMMITTED, ReadOptions, Split, SplitOutcome
from kafka_lagoon.fetch.stalls import Limits
from kafka_lagoon.frozen import frozen
from kafka_lagoon.protocol.messages import fetch
from kafka_lagoon.protocol.messages.fetch import FETCH, NO_RACK, NO_REPLICA, FetchResponse, PartitionData
from kafka_lagoon.records.batches import find_batches
from kafka_lagoon.records.small_partitions import SharedColumns

_MOST_AT_ONCE = 1_000  # partitions in one request
_SMALL = 16  # so many of them fit into an answer
_LEAST_BYTES = 1 << 14  # of a partition: the default size of a producer's batch
_LEAST_ANSWER = 1 << 16
_OVERHEAD_OF_PARTITION = 128  # of an answer, beside the records
_MOST_THROTTLED = 5  # rounds without records because brokers throttle
_THROTTLED = PartitionData(partition_index=-1, error_code=0, high_watermark=-1, records=None)


@frozen(kw_only=False)
class SharedRecords:
    """Records of several splits, one after the other, and the number of rows of each."""

    batch: pa.RecordBatch
    rows: Sequence[tuple[Split, int]]


@frozen(kw_only=False)
class Unread:
    """A split that must be read alone, and the answer at its start."""

    split: Split
    answer: PartitionData | None = None


def groups(splits: Sequence[Split], options: ReadOptions) -> Iterator[Sequence[Split]]:
    """The splits in their order: small neighbours together, as many as fit into one answer, others alone."""
    group: list[Split] = []
    filled = 0
    for split in splits:
        size = split.expected_bytes
        is_small = size is not None and size * _SMALL <= options.fetch_bytes
        if group and (not is_small or filled * 2 > options.fetch_bytes or len(group) >= _MOST_AT_ONCE):
            yield group
            group, filled = [], 0
        if is_small:
            group.append(split)
            filled += size or 0
        else:
            yield [split]
    if group:
        yield group


class SmallPartitions:
    """Reads the small splits of a task; `cluster` must know the leaders.

    Groups share buffers, too, until these are half full: a set of them takes much of the address space, though little memory.
    Every split is in `outcomes` afterwards, or was handed back as unread.
    """

    def __init__(self, cluster: Cluster, options: ReadOptions, limits: Limits) -> None:
        self._cluster, self._options, self._limits = cluster, options, limits
        largest_bytes = cluster.settings.receive_message_max_bytes - _OVERHEAD_OF_PARTITION * _MOST_AT_ONCE
        self._answer_bytes = min(options.fetch_bytes, max(largest_bytes, 1))
        self._policies = CleanupPolicies(cluster, limits)
        self._topics: set[str] = set()  # of the group that is read
        self._silent: set[int] = set()  # brokers that gave no answer: their partitions are read alone
        self._columns = SharedColumns(options.decoding, read_committed=options.isolation_level == READ_COMMITTED)
        self._rows: list[tuple[Split, int]] = []
        self.outcomes: list[SplitOutcome] = []

    def read(self, splits: Sequence[Split]) -> Iterator[SharedRecords | Unread]:
        """The records of splits of different partitions, and the splits that must be read alone, about in their order."""
        for group in groups(splits, self._options):
            if len(group) > 1:
                yield from self._read_group(group)
            else:
                yield from map(Unread, group)
        yield from self._take()

    def _read_group(self, splits: Sequence[Split]) -> Iterator[SharedRecords | Unread]:
        """Request all of them. Partitions that an answer has no room for are requested again as long as records come.

        A throttled answer is empty; the next request waits for its throttle time.
        """
        missing, is_first, throttled = splits, True, 0
        self._topics = {split.topic for split in splits}
        while missing:
            answers = self._ask(missing, is_first=is_first)
            requested, missing, is_first = missing, [], False
            for split, answer in zip(requested, answers, strict=True):
                if answer is not None and _is_empty(answer):
                    missing.append(split)
                elif answer is None or not self._add(split, answer):
                    yield Unread(split, answer)
                elif self._columns.is_full:
                    yield from self._take()
            throttled = throttled + 1 if any(answer is _THROTTLED for answer in answers) else 0
            if len(missing) == len(requested) and not 0 < throttled <= _MOST_THROTTLED:
                yield from map(Unread, missing)
                break

    def _take(self) -> Iterator[SharedRecords]:
        batch, rows = self._columns.take(), self._rows
        self._rows = []
        if batch is not None:
            yield SharedRecords(batch, rows)

    def _add(self, split: Split, answer: PartitionData) -> bool:
        """Decode the records of a split if all of them are there and no special case applies."""
        batches = find_batches(answer.records or b"")
        end, high_watermark = split.to_offset, answer.high_watermark
        if (
            answer.log_start_offset > split.from_offset
            or answer.aborted_transactions
            or trusted_end(batches, high_watermark) < end
            or is_doubtful(batches, end, high_watermark, answer.last_stable_offset)
        ):
            return False
        counts = self._columns.add(batches, split.from_offset, end)
        if counts is None:
            return False
        epochs = epoch_ranges(batches, split.from_offset, end)
        progress = SplitProgress(split)
        self._policies.explain(split.topic, counts, self._topics)
        progress.add(counts, (), end, epochs[-1].leader_epoch)
        progress.add_epochs(epochs)
        self.outcomes.append(progress.outcome)
        self._rows.append((split, counts.records))
        return True

    def _ask(self, splits: Sequence[Split], *, is_first: bool) -> list[PartitionData | None]:
        """The leader's answer for each split, None if it has no batches that can be read here."""
        by_leader: dict[int, list[int]] = {}
        for number, split in enumerate(splits):
            leader_id = self._leader_of(split)
            if leader_id is not None:
                by_leader.setdefault(leader_id, []).append(number)
        answers: list[PartitionData | None] = [None] * len(splits)
        if not by_leader or self._limits.run_is_over():
            return answers
        limit = max(self._answer_bytes // len(by_leader), min(_LEAST_ANSWER, self._answer_bytes))
        wanted = {
            leader_id: [self._wanted(splits[number], limit, is_first=is_first) for number in numbers]
            for leader_id, numbers in by_leader.items()
        }
        for leader_id, response in self._responses(wanted, limit).items():
            numbers = by_leader[leader_id]
            if response.throttle_time_ms and not response.responses:
                for number in numbers:
                    answers[number] = _THROTTLED
                continue
            data = partitions_data([splits[number] for number in numbers], response)
            for number, answer in zip(numbers, data, strict=True):
                answers[number] = answer if answer is not None and _has_no_news(answer) else None
        return answers

    def _leader_of(self, split: Split) -> int | None:
        """The leader to request a split from together with others, None if there is none."""
        leader_id = self._cluster.leader_of(split.topic_partition)
        is_usual = isolation_at(split, split.from_offset, self._options.isolation_level) == fetch.READ_COMMITTED
        if leader_id in self._silent or self._limits.stalls.gives_up_on(leader_id) or not is_usual:
            return None
        return leader_id if self._cluster.topics.may_be(split.topic, split.topic_id) else None

    def _wanted(self, split: Split, limit: int, *, is_first: bool) -> RequestedPartition:
        """A request for a partition, at first for twice its expected size, so that it does not take the others' room."""
        expected = max(2 * (split.expected_bytes or 0), _LEAST_BYTES)
        position = FetchPosition(
            offset=split.from_offset,
            last_epoch=split.last_epoch,
            isolation_level=fetch.READ_COMMITTED,
            limit_bytes=min(limit, expected) if is_first else limit,
            wait_ms=0,
        )
        return RequestedPartition(split, position, self._cluster.topics.leader_epoch_of(split.topic_partition))

    def _responses(self, wanted: Mapping[int, Sequence[RequestedPartition]], limit: int) -> dict[int, FetchResponse]:
        """The responses of the leaders, asked at the same time, each in the newest version that it knows."""
        deadline = self._limits.waiting_for(min(wanted, key=self._limits.stalls.timeout_ms))
        rack = self._cluster.settings.client_rack or NO_RACK
        left = {leader_id: shared_requests(some, limit, rack) for leader_id, some in wanted.items()}
        responses: dict[int, FetchResponse] = {}
        while left:
            calls = {leader_id: [Call(FETCH, *one)] for leader_id, some in left.items() for one in islice(some, 1)}
            left = {leader_id: left[leader_id] for leader_id in calls}
            for leader_id, (reply,) in self._cluster.ask_brokers(calls, deadline):
                if isinstance(reply.outcome, UnsupportedVersion):
                    continue
                del left[leader_id]
                if isinstance(reply.outcome, EncodeError):
                    raise reply.outcome  # ours to blame
                if isinstance(reply.outcome, PipelineError):
                    self._note_silence(leader_id, stalled=deadline.passed())
                else:
                    self._limits.stalls.progressed(leader_id)
                    responses[leader_id] = reply.outcome
        return responses

    def _note_silence(self, leader_id: int, *, stalled: bool) -> None:
        self._silent.add(leader_id)
        if stalled:
            self._limits.stalls.stalled(leader_id)


def _has_no_news(answer: PartitionData) -> bool:
    """True if the leader neither refuses nor sends the reader elsewhere."""
    is_elsewhere = answer.preferred_read_replica != NO_REPLICA
    return not (answer.error_code or is_elsewhere or answer.diverging_epoch.end_offset >= 0)


def _is_empty(answer: PartitionData) -> bool:
    return not answer.records
