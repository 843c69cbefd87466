"""Sends batches to the leaders of their partitions in a thread, while further batches are made.

It sends in rounds. A Produce request has at most one batch of a partition, so a broker gets as many requests as a round has
batches of one partition, up to max_in_flight_requests_per_connection without an answer. While a round is sent, the next batches
are encoded. batch_queues.py decides the order within a partition, and how many of its batches a round has.
"""

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress

from kafka_lagoon.client.broker import Call, Reply
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.clock import Deadline, backoff
from kafka_lagoon.errors import ConnectionFailed, PipelineError
from kafka_lagoon.produce.batch_queues import Batch, BatchQueues, Reconciled, Refusal, Unwritten, Written, follower
from kafka_lagoon.produce.sending import (
    Delivery,
    produce_request,
    produce_versions,
    read_answers,
    send_unanswered,
    without_offset,
)
from kafka_lagoon.protocol.error_codes import LEADER_NOT_AVAILABLE
from kafka_lagoon.protocol.messages.produce import NO_ACKS, PRODUCE
from kafka_lagoon.topic_partition import TopicPartition

MAX_REQUEST_BYTES = 4 << 20  # brokers take socket.request.max.bytes, 100 MB; smaller requests overlap better

AddPartitions = Callable[[Collection[TopicPartition]], Mapping[TopicPartition, Failure]]
_Batches = Mapping[TopicPartition, Sequence[Batch]]
_Request = dict[TopicPartition, Batch]


class BatchSender:
    """Sends batches; nobody else may ask the brokers of `cluster` between `put` and `flush`.

    At most `buffer_bytes` wait or are on their way; `put` waits until there is room. A partition is given up when a batch has
    been refused for `timeout_ms`. `add_partitions` is called in the sending thread with new partitions, before batches are
    sent to them; partitions that it returns failures for get none.
    """

    def __init__(
        self,
        cluster: Cluster,
        delivery: Delivery,
        *,
        is_idempotent: bool,
        buffer_bytes: int,
        timeout_ms: int,
        add_partitions: AddPartitions | None = None,
    ) -> None:
        self._cluster, self._delivery, self._is_idempotent = cluster, delivery, is_idempotent
        self._buffer_bytes, self._timeout_ms, self._add_partitions = buffer_bytes, timeout_ms, add_partitions
        self._queues = BatchQueues(is_idempotent=is_idempotent, timeout_ms=timeout_ms, transaction=delivery.transaction)
        self._known: set[TopicPartition] = set()
        self._changed = threading.Condition()
        self._waiting_bytes = 0
        self._written: list[Written] = []
        self._error: BaseException | None = None
        self._is_closing = False
        self._thread: threading.Thread | None = None
        self.failures: list[Unwritten] = []

    def put(self, partition: TopicPartition, first: int, count: int, data: bytes | memoryview) -> None:
        """Take a batch; it is in `failures` at once if an earlier batch of its partition is."""
        batch = Batch(first, count, data)
        with self._changed:
            self._changed.wait_for(lambda: self._error or self._has_room(len(data)))
            self._raise_error()
            if failure := self._queues.failure_of(partition):
                self.failures.append(follower(partition, batch, failure))
                return
            self._queues.add(partition, batch)
            self._waiting_bytes += len(data)
            self._changed.notify_all()
        if self._thread is None:
            thread = threading.Thread(target=self._run, name="produce", daemon=True)
            thread.start()
            self._thread = thread  # only a thread that runs can be waited for

    def refuse(self, partition: TopicPartition, first: int, count: int, failure: Failure) -> None:
        """Record that records cannot be sent; later records of their partition are not written, either."""
        with self._changed:
            if earlier := self._queues.failure_of(partition):
                self.failures.append(follower(partition, Batch(first, count, b""), earlier))
            else:
                self.failures.append(Unwritten(partition=partition, first=first, count=count, failure=failure))
                self._queues.end(partition, failure)

    def has_failed(self, partition: TopicPartition) -> bool:
        """True if a partition takes no more batches."""
        with self._changed:
            return self._queues.failure_of(partition) is not None

    def take_written(self) -> list[Written]:
        """Batches that were written since the last call, in order within each partition."""
        with self._changed:
            written, self._written = self._written, []
            return written

    def flush(self) -> None:
        """Wait until every batch is written or in `failures`."""
        with self._changed:
            self._changed.wait_for(lambda: self._error or not self._waiting_bytes)
            self._raise_error()

    def close(self) -> None:
        """End the thread after the present round; waiting batches are not sent."""
        with self._changed:
            self._is_closing = True
            self._changed.notify_all()
        if self._thread:
            self._thread.join()

    def _has_room(self, size: int) -> bool:
        return not self._waiting_bytes or self._waiting_bytes + size <= self._buffer_bytes

    def _raise_error(self) -> None:
        if self._error:
            raise self._error

    def _run(self) -> None:
        settings = self._cluster.settings
        pauses = backoff(settings.retry_backoff_ms, settings.retry_backoff_max_ms)
        try:
            while batches := self._next():
                reconciled = self._send(batches)
                batches.clear()  # their memory is used again
                self._keep(reconciled)
                if reconciled.waiting:
                    self._cluster.clock.sleep(next(pauses))
                    self._refresh(reconciled.stale)
                else:
                    pauses = backoff(settings.retry_backoff_ms, settings.retry_backoff_max_ms)
        except BaseException as error:  # noqa: BLE001  the thread that writes raises it
            with self._changed:
                self._error = error
                self._changed.notify_all()

    def _next(self) -> dict[TopicPartition, list[Batch]]:
        """The batches to send: half of the buffer, so that the other half can be filled meanwhile. None when it is closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_closing or self._waiting_bytes)
            return {} if self._is_closing else self._queues.first(self._buffer_bytes // 2)

    def _keep(self, reconciled: Reconciled) -> None:
        with self._changed:
            self._written += reconciled.written
            self.failures += reconciled.unwritten
            self._waiting_bytes -= reconciled.freed_bytes
            self._changed.notify_all()

    def _send(self, batches: _Batches) -> Reconciled:
        """Send one round."""
        refused = self._add_new(batches)
        requests = self._requests({partition: some for partition, some in batches.items() if partition not in refused})
        if self._delivery.acks == NO_ACKS:
            self._send_unanswered(requests)
        else:
            calls = {node_id: [self._call(request) for request in some] for node_id, some in requests.items()}
            for node_id, replies in self._cluster.ask_brokers(calls, self._deadline(requests)):
                for request, reply in zip(requests[node_id], replies, strict=True):
                    self._read(node_id, request, reply)
        with self._changed:
            return self._queues.reconcile(batches, self._cluster.clock.monotonic())

    def _add_new(self, partitions: Collection[TopicPartition]) -> Collection[TopicPartition]:
        """Announce new partitions; returns partitions that must not be written to.

        If the coordinator refuses one partition, it adds none of the request, so the others are announced once more.
        """
        new = [partition for partition in partitions if partition not in self._known]
        refused: list[TopicPartition] = []
        while new and self._add_partitions:
            failures = self._add_partitions(new)
            for partition, failure in failures.items():
                with self._changed:
                    reconciled = self._queues.give_up(partition, failure)
                self._keep(reconciled)
            refused += failures
            if not failures:
                self._known.update(new)
                break
            new = [partition for partition in new if partition not in failures]
        return refused

    def _requests(self, batches: _Batches) -> dict[int, list[_Request]]:
        """The requests to each leader. Partitions without a leader wait."""
        by_leader: dict[int, dict[TopicPartition, Sequence[Batch]]] = {}
        for partition, some in batches.items():
            leader_id = self._cluster.leader_of(partition)
            if leader_id is None:
                self._queues.refuse(partition, some[0], Refusal(None, LEADER_NOT_AVAILABLE))
            else:
                by_leader.setdefault(leader_id, {})[partition] = some
        return {leader_id: _split(some) for leader_id, some in by_leader.items()}

    def _call(self, request: _Request) -> Call:
        message = produce_request(list(request), {one: batch.data for one, batch in request.items()}, self._delivery)
        return Call(PRODUCE, message, produce_versions(request, self._delivery), once=not self._is_idempotent)

    def _deadline(self, requests: Mapping[int, Sequence[_Request]]) -> Deadline:
        most = max(map(len, requests.values()), default=1)
        return Deadline.after(self._cluster.clock, self._timeout_ms * most)

    def _read(self, node_id: int, request: _Request, reply: Reply) -> None:
        if isinstance(reply.outcome, PipelineError):
            for partition, batch in request.items():
                self._queues.refuse(partition, batch, Refusal(node_id, reply.outcome))
            return
        answers = {
            partition: (code, answer)
            for partition, code, answer in read_answers(reply.outcome, request, self._delivery)
        }
        for partition, batch in request.items():
            if partition not in answers:
                left_out = ConnectionFailed(f"broker {node_id}", "exchange", "the answer leaves it out")
                self._queues.refuse(partition, batch, Refusal(node_id, left_out))
                continue
            code, answer = answers[partition]
            if code:
                self._queues.refuse(partition, batch, Refusal(node_id, code, answer))
                leader = answer.current_leader
                self._cluster.learn_leader(partition, leader.leader_id, leader.leader_epoch)
            else:
                batch.answer = answer

    def _send_unanswered(self, requests: Mapping[int, Sequence[_Request]]) -> None:
        deadline = self._deadline(requests)
        for node_id, some in requests.items():
            for request in some:
                message = self._call(request)
                refusal = send_unanswered(self._cluster, node_id, message.request, message.within, deadline)
                for partition, batch in request.items():
                    if refusal is None:
                        batch.answer = without_offset(partition)
                    else:
                        self._queues.refuse(partition, batch, Refusal(node_id, refusal))

    def _refresh(self, stale: Collection[TopicPartition]) -> None:
        """Look up leaders again; if that fails the next round uses the same leaders."""
        if stale:
            deadline = Deadline.after(self._cluster.clock, self._timeout_ms)
            with suppress(PipelineError):
                self._cluster.refresh_elsewhere({partition.topic for partition in stale}, deadline)


def _split(batches: _Batches) -> list[_Request]:
    """Requests in which each partition has its batches in order, one in a request."""
    requests: list[_Request] = [{}]
    size = 0
    for level in range(max(map(len, batches.values()))):
        for partition, some in batches.items():
            if level >= len(some):
                continue
            is_full = size + len(some[level].data) > MAX_REQUEST_BYTES or partition in requests[-1]
            if requests[-1] and is_full:
                requests.append({})
                size = 0
            requests[-1][partition] = some[level]
            size += len(some[level].data)
    return requests
