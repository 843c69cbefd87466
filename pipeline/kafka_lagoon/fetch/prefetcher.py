"""Fetches from a partition's leader, or from a replica that the leader prefers, one answer ahead in a thread of its own.

Only one thread of a reader sends requests at a time, and the thread ends with the reader.
"""

from concurrent.futures import Future, ThreadPoolExecutor

from kafka_lagoon.client.broker import Broker
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.errors import ConnectionLost, EncodeError, PipelineError, UnsupportedVersion
from kafka_lagoon.fetch.requests import FetchPosition, partition_data, requests
from kafka_lagoon.fetch.split import Split
from kafka_lagoon.fetch.stalls import Limits
from kafka_lagoon.frozen import frozen
from kafka_lagoon.protocol.error_codes import LEADER_NOT_AVAILABLE, UNKNOWN_TOPIC_ID
from kafka_lagoon.protocol.messages.fetch import FETCH, NO_RACK, NO_REPLICA, PartitionData


@frozen
class Reply:
    """An answer, which may leave the partition out (throttled answers do), or the error instead of it."""

    partition: PartitionData | None = None
    throttle_ms: int = 0
    code: int = 0
    error: PipelineError | None = None


class Prefetcher:
    """Fetches a split's partition; at most one request ahead of the caller."""

    def __init__(self, cluster: Cluster, split: Split, limits: Limits) -> None:
        self._cluster, self._split, self._limits = cluster, split, limits
        self._partition = split.topic_partition
        self._thread: ThreadPoolExecutor | None = None
        self._pending: tuple[FetchPosition, Future[Reply]] | None = None
        self._asked_broker: Broker | None = None
        self._replica_id = NO_REPLICA
        self._stopped = False

    def start(self, position: FetchPosition) -> None:
        """Request a position without waiting; `ask` for the same position returns the answer."""
        if self._thread is None:
            self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="fetch")
        self._pending = (position, self._thread.submit(self._ask, position))

    def keep(self, position: FetchPosition, reply: Reply) -> None:
        """Keep an answer for a position; `ask` for the same position returns it."""
        answered: Future[Reply] = Future()
        answered.set_result(reply)
        self._pending = (position, answered)

    def ask(self, position: FetchPosition) -> Reply:
        """The answer for a position: requested ahead, or requested now."""
        if self._pending is None:
            return self._ask(position)
        requested, future = self._pending
        reply = future.result()
        if requested != position:
            return self._ask(position)
        self._pending = None
        return reply

    def stop(self) -> None:
        """End the thread and the request that it waits for; later calls do nothing."""
        self._stopped = True
        if self._thread is None:
            return
        waited_for = self._asked_broker if self._pending and not self._pending[1].done() else None
        if waited_for:
            waited_for.interrupt()
        self._thread.shutdown(wait=True, cancel_futures=True)
        if waited_for:
            waited_for.close()
        self._thread, self._pending = None, None

    def _ask(self, position: FetchPosition) -> Reply:
        """The answer of the replica that the leader prefers for our rack (KIP-392), or else of the leader.

        A replica without records proves nothing, and neither does a leader's answer that only names a replica: then the
        leader is asked for the records themselves. A topic that was re-created since is not requested by its name.
        """
        if not self._cluster.topics.may_be(self._split.topic, self._split.topic_id):
            return Reply(code=UNKNOWN_TOPIC_ID)
        if near := self._ask_replica(position):
            return near
        leader_id = self._cluster.leader_of(self._partition)
        if leader_id is None:
            return Reply(code=LEADER_NOT_AVAILABLE)
        leader = self._cluster.brokers[leader_id]
        reply = self._ask_broker(leader, position, self._cluster.settings.client_rack or NO_RACK)
        if reply.partition is None or reply.partition.preferred_read_replica == NO_REPLICA:
            return reply
        self._replica_id = reply.partition.preferred_read_replica
        return self._ask_replica(position) or self._ask_broker(leader, position, NO_RACK)

    def _ask_replica(self, position: FetchPosition) -> Reply | None:
        """The records of the preferred replica; after an answer without any, the leader must name it again."""
        broker = self._cluster.brokers.get(self._replica_id)
        if broker is None:
            return None
        reply = self._ask_broker(broker, position, NO_RACK)
        if reply.partition and not reply.code and reply.partition.records:
            return reply
        self._replica_id = NO_REPLICA
        return None

    def _ask_broker(self, broker: Broker, position: FetchPosition, rack: str) -> Reply:
        self._asked_broker = broker
        deadline = self._limits.waiting_for(broker.node_id)
        refusal: PipelineError | None = None
        for request, versions in requests(
            self._split, position, self._cluster.topics.leader_epoch_of(self._partition), rack
        ):
            if self._stopped:
                lost = ConnectionLost(f"{broker.host}:{broker.port}", "exchange", "interrupted", in_flight=0)
                return Reply(error=lost)
            try:
                response = broker.ask(FETCH, request, deadline, versions)
            except UnsupportedVersion as error:
                refusal = error
            except EncodeError:
                raise  # ours to blame
            except PipelineError as error:
                return Reply(error=error)
            else:
                partition = partition_data(self._split, response)
                code = response.error_code or (partition.error_code if partition else 0)
                return Reply(partition=partition, throttle_ms=response.throttle_time_ms, code=code)
        return Reply(error=refusal)
