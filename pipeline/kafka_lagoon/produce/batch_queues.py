"""Keeps the batches of each partition in order until they are answered, and decides which are sent again.

Brokers append batches with sequence numbers only in order. If a batch is not appended, they refuse the batches after it
(OUT_OF_ORDER_SEQUENCE_NUMBER); if it is appended and still answered with an error (REQUEST_TIMED_OUT), they append those.
Unconfirmed batches are sent again in order, with the same bytes. Brokers recognize the last five batches of a producer in a
partition, so at most that many are unanswered, whatever max_in_flight_requests_per_connection is. A broker that has no batch of
a producer accepts any sequence number, so nothing follows the first batch of a partition until it is confirmed. Batches without
numbers are sent one at a time, and not again if they may have been written. After a batch that cannot be written, a partition
takes no more batches; other partitions continue.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice

from kafka_lagoon.client.absence import PRESENT, Absence
from kafka_lagoon.client.broker import may_have_arrived
from kafka_lagoon.client.failures import Failure, Scope, failure_of, own_failure
from kafka_lagoon.errors import AddressRefused, AuthenticationFailed, ConnectionFailed, PipelineError
from kafka_lagoon.frozen import frozen
from kafka_lagoon.produce.sending import explained, is_appended, refused_records
from kafka_lagoon.produce.transactions import Transaction
from kafka_lagoon.protocol.error_codes import (
    NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    REQUEST_TIMED_OUT,
    Refresh,
    error_code,
)
from kafka_lagoon.protocol.messages.produce import PRODUCE, PartitionProduceResponse
from kafka_lagoon.topic_partition import TopicPartition

AFTER_UNWRITTEN = "AFTER_UNWRITTEN_BATCH"
_REMEMBERED = 5  # ProducerStateEntry.NUM_BATCHES_TO_RETAIN of Kafka; an older batch is out of order, which is final
_UNSURE = frozenset({REQUEST_TIMED_OUT, NOT_ENOUGH_REPLICAS_AFTER_APPEND})


@frozen
class Written:
    """Records that are in the log: `first` counts those of their partition from 0, over all that the writer was given.

    Their offsets follow each other from `base_offset` on, which is None where no broker reported it.
    """

    partition: TopicPartition
    first: int
    count: int
    base_offset: int | None


@frozen
class Unwritten:
    """Records that are not in the log as far as is known (see `failure.may_be_done`).

    `refused` are those that the broker named, counted as `first` is, with its reasons.
    """

    partition: TopicPartition
    first: int
    count: int
    failure: Failure
    refused: Mapping[int, str] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Batch:
    """A batch that waits. `is_unsure`: it may have been written although no answer confirmed it."""

    first: int
    count: int
    data: bytes | memoryview
    is_unsure: bool = False
    answer: PartitionProduceResponse | None = None


@frozen(kw_only=False)
class Refusal:
    """The reason why a batch was not written: an error, or the broker's code and answer. `node_id` None: no leader is known."""

    node_id: int | None
    reason: PipelineError | int
    answer: PartitionProduceResponse | None = None


@dataclass(slots=True)
class _Queue:
    """The unanswered batches of a partition, and the state of sending the first of them again.

    `has_written` is true once a batch was confirmed: the partition's leader then has a sequence number of the producer.
    """

    batches: deque[Batch] = field(default_factory=deque)
    has_written: bool = False
    refusal: Refusal | None = None
    failing_since: float | None = None
    rounds: int = 0
    absence: Absence = PRESENT
    failure: Failure | None = None


@dataclass(slots=True)
class Reconciled:
    """The result of a round: `waiting` partitions must be tried again, the leader of `stale` partitions may have changed."""

    written: list[Written] = field(default_factory=list)
    unwritten: list[Unwritten] = field(default_factory=list)
    freed_bytes: int = 0
    waiting: list[TopicPartition] = field(default_factory=list)
    stale: list[TopicPartition] = field(default_factory=list)

    def take(self, partition: TopicPartition, batch: Batch) -> None:
        """Count a batch that has its answer."""
        offset = batch.answer.base_offset if batch.answer and batch.answer.base_offset >= 0 else None
        self.written.append(Written(partition=partition, first=batch.first, count=batch.count, base_offset=offset))
        self.freed_bytes += len(batch.data)


class BatchQueues:
    """Queues by partition. A partition is given up when its first batch has been refused for `timeout_ms`."""

    def __init__(self, *, is_idempotent: bool, timeout_ms: int, transaction: Transaction | None = None) -> None:
        self._is_idempotent, self._timeout_s, self._transaction = is_idempotent, timeout_ms / 1000, transaction
        self._queues: dict[TopicPartition, _Queue] = {}
        self._waiting: dict[TopicPartition, _Queue] = {}  # those that have batches

    def failure_of(self, partition: TopicPartition) -> Failure | None:
        """The reason why the partition takes no more batches; None if it does."""
        queue = self._queues.get(partition)
        return queue.failure if queue else None

    def add(self, partition: TopicPartition, batch: Batch) -> None:
        """Append a batch to a partition that has not failed."""
        queue = self._waiting[partition] = self._queues.setdefault(partition, _Queue())
        queue.batches.append(batch)

    def end(self, partition: TopicPartition, failure: Failure) -> None:
        """Let the partition take no more batches; waiting batches are still sent."""
        self._queues.setdefault(partition, _Queue()).failure = failure

    def first(self, most_bytes: int) -> dict[TopicPartition, list[Batch]]:
        """The next batches to send: the first of each partition, then the second, up to `most_bytes`, and at least one."""
        waiting = {
            partition: [batch for batch in islice(queue.batches, self._depth(queue)) if batch.answer is None]
            for partition, queue in self._waiting.items()
        }
        chosen: dict[TopicPartition, list[Batch]] = {}
        size = 0
        for level in range(_REMEMBERED):
            for partition, batches in waiting.items():
                if level < len(batches):
                    if chosen and size + len(batches[level].data) > most_bytes:
                        return chosen
                    chosen.setdefault(partition, []).append(batches[level])
                    size += len(batches[level].data)
        return chosen

    def refuse(self, partition: TopicPartition, batch: Batch, refusal: Refusal) -> None:
        """Record why a batch was not written; the first refusal of a round decides about its partition."""
        queue = self._queues[partition]
        batch.is_unsure |= _may_be_done(refusal)
        queue.refusal = queue.refusal or refusal

    def give_up(self, partition: TopicPartition, failure: Failure) -> Reconciled:
        """End a partition with all its batches."""
        reconciled = Reconciled()
        self._fail(partition, self._queues[partition], failure, reconciled)
        return reconciled

    def reconcile(self, partitions: Iterable[TopicPartition], now: float) -> Reconciled:
        """Sort the outcome of a round about these partitions; `now` is monotonic."""
        reconciled = Reconciled()
        for partition in partitions:
            queue = self._queues[partition]
            self._take_answered(partition, queue, reconciled)
            if (refusal := queue.refusal) is None:
                continue
            queue.refusal = None
            queue.rounds += 1
            queue.absence = queue.absence.after(refusal.node_id, refusal.reason)
            queue.failing_since = now if queue.failing_since is None else queue.failing_since
            if self._is_final(queue, refusal, now):
                self._fail(partition, queue, self._failure(partition, queue, refusal, now), reconciled, refusal.answer)
            else:
                reconciled.waiting.append(partition)
                if _is_stale(refusal.reason):
                    reconciled.stale.append(partition)
        return reconciled

    def _depth(self, queue: _Queue) -> int:
        """The number of batches of a partition that may be unanswered.

        A second batch must not be sent before the first one of a producer is confirmed. If the first is refused, for example
        because the broker is not the leader yet, the second would be appended before it: ProducerAppendInfo.checkSequence
        accepts any sequence number of a producer that it does not know.
        """
        return _REMEMBERED if self._is_idempotent and queue.has_written else 1

    def _take_answered(self, partition: TopicPartition, queue: _Queue, reconciled: Reconciled) -> None:
        while queue.batches and queue.batches[0].answer:
            reconciled.take(partition, queue.batches.popleft())
            queue.failing_since, queue.rounds, queue.absence, queue.has_written = None, 0, PRESENT, True
        if not queue.batches:
            self._waiting.pop(partition, None)

    def _is_final(self, queue: _Queue, refusal: Refusal, now: float) -> bool:
        """True if the batch is given up. A batch refused for its place in the order is the first of its queue by now."""
        if queue.batches[0].is_unsure and not self._is_idempotent:
            return True
        if queue.failing_since is not None and now - queue.failing_since >= self._timeout_s:
            return True
        if isinstance(refusal.reason, int):
            return queue.absence.is_gone or not error_code(refusal.reason).retriable
        return isinstance(refusal.reason, AuthenticationFailed | AddressRefused) or not isinstance(
            refusal.reason, ConnectionFailed
        )

    def _failure(self, partition: TopicPartition, queue: _Queue, refusal: Refusal, now: float) -> Failure:
        failure = failure_of(
            PRODUCE,
            Scope.of_partition(*partition),
            refusal.reason,
            node_id=refusal.node_id,
            attempts=queue.rounds,
            elapsed_ms=int((now - (queue.failing_since or now)) * 1000),
            may_be_done=queue.batches[0].is_unsure,
        )
        return explained(failure, refusal.answer, self._transaction)

    def _fail(
        self,
        partition: TopicPartition,
        queue: _Queue,
        failure: Failure,
        reconciled: Reconciled,
        answer: PartitionProduceResponse | None = None,
    ) -> None:
        """Give up the waiting batches: the first for the failure, the others because they follow it."""
        queue.failure = failure
        named = refused_records(answer) if answer else {}
        for position, batch in enumerate(queue.batches):
            if batch.answer:
                reconciled.take(partition, batch)
                continue
            reconciled.freed_bytes += len(batch.data)
            if position:
                reconciled.unwritten.append(follower(partition, batch, failure))
                continue
            refused = {batch.first + place: reason for place, reason in named.items()}
            reconciled.unwritten.append(
                Unwritten(partition=partition, first=batch.first, count=batch.count, failure=failure, refused=refused)
            )
        queue.batches.clear()
        self._waiting.pop(partition, None)


def follower(partition: TopicPartition, batch: Batch, failure: Failure) -> Unwritten:
    """A batch that is not written because an earlier batch was not."""
    reason = own_failure(PRODUCE, failure.scope, AFTER_UNWRITTEN, f"{failure.name} before it")
    return Unwritten(
        partition=partition,
        first=batch.first,
        count=batch.count,
        failure=replace(reason, may_be_done=batch.is_unsure),
    )


def _may_be_done(refusal: Refusal) -> bool:
    if not isinstance(refusal.reason, int):
        return may_have_arrived(refusal.reason)
    return refusal.reason in _UNSURE or (refusal.answer is not None and is_appended(refusal.answer))


def _is_stale(reason: PipelineError | int) -> bool:
    return not isinstance(reason, int) or error_code(reason).refresh is not Refresh.NOTHING
