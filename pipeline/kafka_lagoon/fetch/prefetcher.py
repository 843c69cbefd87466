"""A place in a log in, what its leader or a replica that the leader names says of it out; asked for in another thread.

Guards one rule: of a reader's threads only one talks to brokers at a time, and none outlives the reader.
"""

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from kafka_lagoon.client.broker import Broker
from kafka_lagoon.client.cluster import Cluster, TopicPartition
from kafka_lagoon.errors import ConnectionLost, EncodeError, PipelineError, UnsupportedVersion
from kafka_lagoon.fetch.requests import Place, partition_data, ways
from kafka_lagoon.fetch.split import Split
from kafka_lagoon.fetch.stalls import Limits
from kafka_lagoon.protocol.error_codes import LEADER_NOT_AVAILABLE, UNKNOWN_TOPIC_ID
from kafka_lagoon.protocol.messages.fetch import FETCH, NO_RACK, NO_REPLICA, PartitionData


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What came of asking: an answer, which may leave the partition out (throttled ones do), or what went wrong."""

    partition: PartitionData | None = None
    throttle_ms: int = 0
    code: int = 0
    error: PipelineError | None = None


class Prefetcher:
    """Asks for a split's partition; at most one request ahead of the caller."""

    def __init__(self, cluster: Cluster, split: Split, limits: Limits) -> None:
        self._cluster, self._split, self._limits = cluster, split, limits
        self._at = TopicPartition(split.topic, split.partition)
        self._thread: ThreadPoolExecutor | None = None
        self._pending: tuple[Place, Future[Reply]] | None = None
        self._asked: Broker | None = None
        self._replica_id = NO_REPLICA
        self._stopped = False

    def start(self, place: Place) -> None:
        """Ask for a place without waiting; `ask` of the same place takes the answer."""
        if self._thread is None:
            self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="fetch")
        self._pending = (place, self._thread.submit(self._ask, place))

    def ask(self, place: Place) -> Reply:
        """The answer for a place: the one that is on its way already, or one that is waited for."""
        if self._pending is None:
            return self._ask(place)
        asked, future = self._pending
        reply = future.result()
        if asked != place:
            return self._ask(place)
        self._pending = None
        return reply

    def stop(self) -> None:
        """End the thread and what it waits for; later calls do nothing."""
        self._stopped = True
        if self._thread is None:
            return
        waited_for = self._asked if self._pending and not self._pending[1].done() else None
        if waited_for:
            waited_for.interrupt()
        self._thread.shutdown(wait=True, cancel_futures=True)
        if waited_for:
            waited_for.close()
        self._thread, self._pending = None, None

    def _ask(self, place: Place) -> Reply:
        """The answer of the replica that the leader prefers for our rack (KIP-392), or else of the leader.

        That a replica has nothing proves nothing, and neither does a leader's answer that only names a replica: then
        the leader is asked for the records themselves. Nobody is asked by name for a topic that was re-created since.
        """
        if not self._cluster.may_be_topic(self._split.topic, self._split.topic_id):
            return Reply(code=UNKNOWN_TOPIC_ID)
        if near := self._ask_replica(place):
            return near
        leader_id = self._cluster.leader_of(self._at)
        if leader_id is None:
            return Reply(code=LEADER_NOT_AVAILABLE)
        leader = self._cluster.brokers[leader_id]
        reply = self._ask_broker(leader, place, self._cluster.settings.client_rack or NO_RACK)
        if reply.partition is None or reply.partition.preferred_read_replica == NO_REPLICA:
            return reply
        self._replica_id = reply.partition.preferred_read_replica
        return self._ask_replica(place) or self._ask_broker(leader, place, NO_RACK)

    def _ask_replica(self, place: Place) -> Reply | None:
        """The records of the preferred replica; one that has none, or refuses, must be named anew to be asked again."""
        broker = self._cluster.brokers.get(self._replica_id)
        if broker is None:
            return None
        reply = self._ask_broker(broker, place, NO_RACK)
        if reply.partition and not reply.code and reply.partition.records:
            return reply
        self._replica_id = NO_REPLICA
        return None

    def _ask_broker(self, broker: Broker, place: Place, rack: str) -> Reply:
        self._asked = broker
        deadline = self._limits.waiting_for(broker.node_id)
        refusal: PipelineError | None = None
        for request, versions in ways(self._split, place, self._cluster.leader_epoch_of(self._at), rack):
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
                found = partition_data(self._split, response)
                code = response.error_code or (found.error_code if found else 0)
                return Reply(partition=found, throttle_ms=response.throttle_time_ms, code=code)
        return Reply(error=refusal)
