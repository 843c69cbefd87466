"""Keeps the brokers of one cluster, and what was last known of its topics and coordinators.

Requests never create anything: no topic is auto-created, and FindCoordinator is sent only for groups that exist.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from threading import Lock
from typing import TYPE_CHECKING, Any, Self, TypeVar

from kafka_lagoon.client.access import access_to
from kafka_lagoon.client.broker import Broker, Call, Reply
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.client.identity import cluster_id_fault
from kafka_lagoon.client.known_topics import KnownTopics
from kafka_lagoon.client.metadata_checks import checked_metadata
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.client.unreachable import UnreachableBrokers
from kafka_lagoon.clock import Clock, Deadline, backoff
from kafka_lagoon.errors import (
    AddressRefused,
    AuthenticationFailed,
    BrokerError,
    ClusterRefused,
    ConfigError,
    ConnectionFailed,
    ConnectionLost,
    PipelineError,
    TokenUnavailable,
    UnsupportedVersion,
    WireError,
)
from kafka_lagoon.kafka_settings import KafkaSettings
from kafka_lagoon.protocol.error_codes import UNKNOWN_TOPIC_OR_PARTITION, error_code
from kafka_lagoon.protocol.messages.api_versions import ApiVersionsResponse
from kafka_lagoon.protocol.messages.find_coordinator import FIND_COORDINATOR, GROUP, FindCoordinatorRequest
from kafka_lagoon.protocol.messages.metadata import (
    CREATES_NOTHING,
    METADATA,
    MetadataBroker,
    MetadataRequest,
    MetadataResponse,
    metadata_request,
)
from kafka_lagoon.topic_partition import TopicPartition
from kafka_lagoon.wire.schema import LATEST, Api, Versions

if TYPE_CHECKING:
    from kafka_lagoon.client.daemon_threads import DaemonThreads

R = TypeVar("R")
_ROUNDS = 3
_AT_ONCE = 64  # brokers
_SOON_MS = 2_000  # for a connection while there are others to try: a host that is down does not answer for ten seconds
_TAKING_OVER_S = 60  # how long other brokers may need to learn that they took over from one that left the metadata
_ONE_KEY, _MANY_KEYS = Versions(0, 3), Versions(4, LATEST)  # KIP-699: FindCoordinator takes several groups from v4 on


class Cluster:
    """Connections to the brokers of one cluster; use as a context manager, or `close` it.

    `waits` is for a cluster that has answered before: while none of its brokers can be reached, as when the only one restarts,
    they are asked again until the deadline, as by Kafka's clients. Otherwise the address is probably wrong, and an error ends
    the attempts after a second.
    """

    def __init__(
        self, settings: KafkaSettings, clock: Clock, request_stats: RequestStats, *, waits: bool = False
    ) -> None:
        self.settings, self.clock, self.request_stats = settings, clock, request_stats
        self.waits = waits
        self._access = access_to(settings, clock, request_stats, lambda: self.cluster_id)
        self.brokers: dict[int, Broker] = {}
        self.topics = KnownTopics()
        self.controller_id: int | None = None  # as metadata names it: the true one only under ZooKeeper
        self.cluster_id: str | None = None
        self.answered_by = ""  # the address that `ask_any` asked last
        # Items that were left out of descriptions of the cluster and its topics, each once.
        self.refusals: dict[Failure, None] = {}
        self.unreachable = UnreachableBrokers(clock, settings.default_api_timeout_ms)
        self._left_at: dict[int, float] = {}  # time of the first metadata that left out a broker
        self._coordinators: dict[tuple[int, str], int] = {}  # broker ids by FindCoordinator's type of key, and key
        self._bootstrap = [self._broker(None, host, port) for host, port in settings.addresses()]
        self._threads: DaemonThreads | None = None
        self._lock = Lock()

    @classmethod
    def connect(
        cls,
        settings: KafkaSettings,
        clock: Clock,
        request_stats: RequestStats,
        deadline: Deadline,
        *,
        waits: bool = False,
    ) -> Self:
        """A cluster whose brokers one bootstrap server has named.

        ConnectionFailed names every bootstrap server with its own error when none answers.
        """
        cluster = cls(settings, clock, request_stats, waits=waits)
        try:
            cluster.refresh((), deadline)
        except BaseException:
            cluster.close()
            raise
        return cluster

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error_type: type[BaseException] | None, *_: object) -> None:
        if error_type is KeyboardInterrupt:
            self._interrupt()
        self.close()

    def close(self) -> None:
        """Close every connection."""
        if self._threads:
            self._threads.shutdown(wait=True)
        for broker in [*self._bootstrap, *self.brokers.values()]:
            broker.close()

    def refresh(
        self,
        topics: Collection[str] | None,
        deadline: Deadline,
        other_than: Collection[str] = (),
        learned: MetadataResponse | None = None,
    ) -> MetadataResponse:
        """Ask any broker for the brokers and for some topics (None: all); learn leaders and addresses.

        Addresses in `other_than` are asked after all that answered last time. The response has every named topic once. Other or
        faulty items are left out and kept in `refusals`. ClusterRefused or ConfigError if the answer is from another cluster
        than expected. An answer that is the same as `learned`, the one just before it, is neither checked nor learned again.
        """
        request = metadata_request(topics)
        fault_of = partial(_metadata_fault, request, deadline)
        answer = self.ask_any(METADATA, request, deadline, CREATES_NOTHING, fault_of, other_than)
        self._confirm(answer.cluster_id)
        if learned and (answer.brokers, answer.topics) == (learned.brokers, learned.topics):
            self._learn_controller(answer)
            return replace(learned, cluster_id=self.cluster_id)
        response, refused = checked_metadata(replace(answer, cluster_id=self.cluster_id), topics)
        self.refusals |= dict.fromkeys(refused)
        self._learn(response)
        return response

    def refresh_elsewhere(self, topics: Collection[str], deadline: Deadline) -> MetadataResponse:
        """Refresh from another broker than last time, because that one named a leader or controller that is not."""
        return self.refresh(topics, deadline, {self.answered_by})

    def api_versions(self) -> list[ApiVersionsResponse]:
        """The ApiVersions response of each connected broker."""
        return [broker.versions for broker in self.brokers.values() if broker.versions]

    def leader_of(self, partition: TopicPartition) -> int | None:
        """The last known leader, None when there is none."""
        leader_id = self.topics.leader_of(partition)
        return leader_id if leader_id in self.brokers else None

    def learn_leader(
        self, partition: TopicPartition, leader_id: int, leader_epoch: int, topic_id: str | None = None
    ) -> bool:
        """Take over a leader that another broker named, such as Fetch and Produce responses do (KIP-951).

        False if its epoch is not newer, if the topic is another one of this name, or if the broker is unknown.
        """
        return leader_id in self.brokers and self.topics.learn_leader(partition, leader_id, leader_epoch, topic_id)

    def coordinator_of(self, key: str, key_type: int = GROUP) -> int | None:
        """Id of the last known coordinator of a group, a transaction or a share, whether or not that broker still exists."""
        return self._coordinators.get((key_type, key))

    def learn_coordinators(self, node_ids: Mapping[str, int], key_type: int = GROUP) -> None:
        """Remember coordinators that an answer named, such as a broker's ListGroups or ListTransactions."""
        self._coordinators.update({(key_type, key): node_id for key, node_id in node_ids.items()})

    def find_coordinators(
        self, keys: Sequence[str], deadline: Deadline, key_type: int = GROUP, other_than: Collection[str] = ()
    ) -> dict[str, int]:
        """Ask for the coordinators of these groups, transactions or shares; returns the error codes of those without one.

        Call it only for keys that exist, because the request creates topics such as __consumer_offsets. A key without a
        coordinator keeps the last known one. Addresses in `other_than` are asked last.
        """
        request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=tuple(keys))
        refused: dict[str, int] = {}
        try:
            coordinators = self.ask_any(
                FIND_COORDINATOR, request, deadline, _MANY_KEYS, other_than=other_than
            ).coordinators
            requested = frozenset(keys)
            known = [one for one in coordinators if one.key in requested]
            self.learn_coordinators({one.key: one.node_id for one in known if not one.error_code}, key_type)
            refused = {one.key: one.error_code for one in known if one.error_code}
        except UnsupportedVersion:
            for key in keys:
                single = FindCoordinatorRequest(key_type=key_type, key=key)
                answer = self.ask_any(FIND_COORDINATOR, single, deadline, _ONE_KEY, other_than=other_than)
                if answer.error_code:
                    refused[key] = answer.error_code
                else:
                    self.learn_coordinators({key: answer.node_id}, key_type)
        return refused

    def ask_any(
        self,
        api: Api[Any, R],
        request: object,
        deadline: Deadline,
        within: Versions | None = None,
        fault_of: "Callable[[R, Broker], PipelineError | None]" = lambda _, __: None,
        other_than: Collection[str] = (),
    ) -> R:
        """The answer of the first broker that gives one; addresses in `other_than` are asked after all that answered last time.

        The next broker is asked when a broker cannot be reached, refuses the handshake, gives an answer with a fault, or is too
        old for the API: others may be newer while a cluster is being upgraded. UnsupportedVersion when every broker that can
        be reached is too old. A connection that takes more than two seconds is tried once more after all others.
        """
        deadline = deadline.within(self.settings.default_api_timeout_ms)
        self._open_any(deadline, other_than)
        pauses = backoff(self.settings.retry_backoff_ms, self.settings.retry_backoff_max_ms)
        failures: dict[str, PipelineError] = {}
        for rounds in count(1):
            too_old: UnsupportedVersion | None = None
            for broker in self._candidates(other_than):
                if too_old and not self._may_be_newer(broker):
                    continue
                started = self.clock.monotonic()
                try:
                    self.answered_by = broker.address
                    return _faultless(broker.ask(api, request, deadline, within), broker, fault_of)
                except AuthenticationFailed:
                    raise  # the others would refuse us too, and may count how often
                except UnsupportedVersion as failure:
                    too_old = too_old or failure
                except (ConnectionFailed, WireError, BrokerError) as failure:
                    failures[broker.address] = failure
                    self.unreachable.learn(broker.address, [failure], started, deadline.budget_ms)
                if deadline.passed():
                    break
            if too_old:
                raise too_old
            may_pass = any(map(_may_pass if self.waits else _is_transient, failures.values()))
            is_last = rounds == _ROUNDS and not self.waits
            if not may_pass or is_last or deadline.passed() or not deadline.pause(next(pauses)):
                break
        raise self._unreachable(failures)

    def _open_any(self, deadline: Deadline, other_than: Collection[str]) -> None:
        """Open a connection to the first broker that soon accepts one; those before it are asked last.

        If none does so, half of the time is left for slow ones.
        """
        trying = deadline.half()
        for broker in self._candidates(other_than)[:-1]:
            started = self.clock.monotonic()
            try:
                broker.open(trying.within(_SOON_MS))
            except AuthenticationFailed:
                raise  # the others would refuse us too, and may count how often
            except (ConnectionFailed, UnsupportedVersion, WireError, BrokerError) as failure:
                self.unreachable.learn(broker.address, [failure], started, deadline.budget_ms)
            else:
                break
            if trying.passed():
                break

    def ask_brokers(
        self, calls: Mapping[int, Sequence[Call]], deadline: Deadline, *, is_brief: bool = False
    ) -> Iterator[tuple[int, list[Reply]]]:
        """Yield the replies of each broker, in the order of `calls`. Up to 64 brokers are asked at the same time.

        Replies take memory until the caller takes them, so no other broker is asked while 64 have replies that wait. With
        `is_brief` an unreachable broker has a tenth of a request's time, until it answers: a command makes several requests.
        Records may need the whole of it.
        """

        def ask(node_id: int) -> list[Reply]:
            broker, started = self.brokers[node_id], self.clock.monotonic()
            short = is_brief and broker.address in self.unreachable
            within = deadline.within(self.settings.request_timeout_ms // 10) if short else deadline
            replies = broker.ask_all(calls[node_id], within)
            self.unreachable.learn(broker.address, [reply.outcome for reply in replies], started, deadline.budget_ms)
            return replies

        if len(calls) > 1:
            from kafka_lagoon.client.ordered_threads import in_order  # noqa: PLC0415  not needed to ask one broker

            return in_order(self._pool(), ask, calls, _AT_ONCE, self._interrupt)
        return ((node_id, ask(node_id)) for node_id in calls)

    def _interrupt(self) -> None:
        """Interrupt the requests that threads wait for; `close` follows."""
        for broker in list(self.brokers.values()):
            broker.interrupt()

    def _pool(self) -> "DaemonThreads":
        from kafka_lagoon.client.daemon_threads import DaemonThreads  # noqa: PLC0415  not needed to ask one broker

        with self._lock:
            if self._threads is None:
                self._threads = DaemonThreads(_AT_ONCE, "broker")
            return self._threads

    def _candidates(self, other_than: Collection[str]) -> list[Broker]:
        """Brokers to ask when any will do: those that failed last time after others, bootstrap servers last.

        A broker in `other_than` comes before one that failed: a second opinion is not worth a timeout for each request.
        """

        def rank(broker: Broker) -> tuple[bool, bool]:
            return broker.failing, broker.address in other_than

        return [*sorted(self.brokers.values(), key=rank), *sorted(self._bootstrap, key=rank)]

    def _may_be_newer(self, broker: Broker) -> bool:
        """True if the broker may be asked after another one was too old: not if it was asked already, or may cost a timeout."""
        return not broker.failing and (broker.node_id is not None or not self.brokers)

    def _confirm(self, cluster_id: str | None) -> None:
        """Learn the cluster's id, once. Kafka must allow it, the settings must have the same id, and so must all answers."""
        servers, expected = self.settings.bootstrap_servers, self.settings.cluster_id
        if cluster_id is not None and (fault := cluster_id_fault(cluster_id)):
            raise ClusterRefused(f"{servers}: {fault}")
        if expected is not None and cluster_id != expected:
            got = "has no id" if cluster_id is None else f"is {cluster_id}"
            raise ConfigError(
                [
                    f"cluster_id: expected {expected}, and the cluster at {servers} {got}: correct it, or bootstrap_servers"
                ]
            )
        if None not in (cluster_id, self.cluster_id) and cluster_id != self.cluster_id:
            raise ClusterRefused(f"{servers}: was cluster {self.cluster_id} and is now cluster {cluster_id}")
        self.cluster_id = cluster_id or self.cluster_id

    def learn_brokers(self, brokers: Iterable[MetadataBroker]) -> None:
        """Replace the known brokers: by those of an answer, or those that several answers agree on."""
        known = self.brokers
        self.brokers = {one.node_id: self._known(known.pop(one.node_id, None), one) for one in brokers}
        for node_id, gone in known.items():
            gone.close()
            self._left_at[node_id] = self.clock.monotonic()
        self.unreachable.keep({broker.address for broker in (*self.brokers.values(), *self._bootstrap)})

    def _learn(self, response: MetadataResponse) -> None:
        self.learn_brokers(response.brokers)
        self._learn_controller(response)
        self.topics.learn_all(response.topics)

    def _learn_controller(self, response: MetadataResponse) -> None:
        self.controller_id = response.controller_id if response.controller_id >= 0 else None

    def coordinators(self) -> list[int]:
        """The brokers to ask for lists of groups and transactions: those of the metadata, and those that left it just now.

        Who takes over from a broker that failed lists nothing of it at first, and says so only once the takeover has begun.
        So that broker is one that did not answer.
        """
        since = self.clock.monotonic() - _TAKING_OVER_S
        return sorted(self.brokers.keys() | {node_id for node_id, at in self._left_at.items() if at >= since})

    def _known(self, broker: Broker | None, listed: Any) -> Broker:
        if broker and (broker.host, broker.port) == (listed.host, listed.port):
            return broker
        current = self._adopted(listed) or self._broker(listed.node_id, listed.host, listed.port)
        if broker:
            broker.close()
            current.replace(broker)
        return current

    def _adopted(self, listed: Any) -> Broker | None:
        """The bootstrap server that is this broker, if its connection is open, which saves a connection."""
        for i, server in enumerate(self._bootstrap):
            if (server.host, server.port) == (listed.host, listed.port) and server.versions:
                self._bootstrap[i] = self._broker(None, server.host, server.port)
                server.assign_node_id(listed.node_id)
                return server
        return None

    def _broker(self, node_id: int | None, host: str, port: int) -> Broker:
        return Broker(node_id, host, port, self._access)

    def _unreachable(self, failures: Mapping[str, PipelineError]) -> PipelineError:
        """The error if there is only one, else an error that names every address."""
        if len(failures) == 1:
            return next(iter(failures.values()))
        # Errors of connections name their address themselves.
        reasons = "; ".join(
            str(failure) if isinstance(failure, ConnectionFailed) else f"{address}: {failure}"
            for address, failure in failures.items()
        )
        phase = getattr(next(iter(failures.values())), "phase", "exchange")
        return ConnectionFailed(", ".join(failures), phase, f"none answers ({reasons})")


def _metadata_fault(
    request: MetadataRequest, deadline: Deadline, response: MetadataResponse, broker: Broker
) -> PipelineError | None:
    """The reason to learn nothing from a response: an error, or no brokers or topics, which a starting broker may not know yet.

    Kafka's own client ignores responses without brokers, too: in them no topic exists.
    """
    if code := response.error_code:
        return BrokerError(code, error_code(code).name, METADATA.name, "cluster")
    if not response.brokers:
        return ConnectionFailed(broker.address, "exchange", "Metadata names no brokers: is it starting?")
    if request.topics == () or any(topic.error_code != UNKNOWN_TOPIC_OR_PARTITION for topic in response.topics):
        return None
    from kafka_lagoon.client.starting import knew_no_topics_yet  # noqa: PLC0415  seldom needed

    if knew_no_topics_yet(broker, request, deadline):
        return ConnectionFailed(
            broker.address, "exchange", "Metadata names no topics, and it has logs: is it starting?"
        )
    return None


def _faultless(answer: R, broker: Broker, fault_of: Callable[[R, Broker], PipelineError | None]) -> R:
    """The answer; raises its fault if it has one."""
    if fault := fault_of(answer, broker):
        raise fault
    return answer


def _may_pass(failure: PipelineError) -> bool:
    """True if another attempt may help at an address where a broker has answered before.

    While it restarts its name may be unknown, and what listens for it, as a load balancer, may close connections.
    """
    if isinstance(failure, ConnectionLost):
        return failure.phase != "authenticate"
    is_unknown = isinstance(failure, ConnectionFailed) and failure.phase == "resolve"
    return is_unknown or _is_transient(failure)


def _is_transient(failure: PipelineError) -> bool:
    """True if another attempt may help: not if another protocol answers, or a certificate is wrong."""
    if isinstance(failure, AddressRefused):
        return False
    if isinstance(failure, BrokerError):
        return error_code(failure.code).retriable
    if isinstance(failure, ConnectionLost):
        return failure.phase in ("tls", "exchange")
    if isinstance(failure, TokenUnavailable):
        return True
    return isinstance(failure, ConnectionFailed) and failure.phase in ("connect", "exchange")
