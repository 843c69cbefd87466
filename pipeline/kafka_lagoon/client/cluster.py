"""One cluster: bootstrap addresses in, brokers and what they know of leaders and coordinators out.

A leader is never replaced by one of an older leader epoch of the same topic. A topic that was re-created has another id
and its epochs begin again at 0, so epochs are compared within one topic id only (KAFKA-12257). Asking never creates
anything (no topic is auto-created, FindCoordinator is asked only for groups that exist).
"""

from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self, TypeVar

from kafka_lagoon.client.broker import Broker, Call, Reply
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.client.session import Access
from kafka_lagoon.client.tls import context
from kafka_lagoon.clock import Clock, Deadline, backoff
from kafka_lagoon.errors import (
    AddressRefused,
    AuthenticationFailed,
    BrokerError,
    ConnectionFailed,
    ConnectionLost,
    PipelineError,
    UnsupportedVersion,
    WireError,
)
from kafka_lagoon.kafka_settings import KafkaSettings
from kafka_lagoon.protocol.error_codes import UNKNOWN_TOPIC_OR_PARTITION, error_code
from kafka_lagoon.protocol.messages.api_versions import ApiVersionsResponse
from kafka_lagoon.protocol.messages.find_coordinator import FIND_COORDINATOR, GROUP, FindCoordinatorRequest
from kafka_lagoon.protocol.messages.metadata import (
    METADATA,
    NO_LEADER,
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataTopic,
)
from kafka_lagoon.wire.primitives import uuid_text
from kafka_lagoon.wire.schema import LATEST, Api, Versions

R = TypeVar("R")
_ROUNDS = 3
_CREATES_NOTHING = Versions(4, LATEST)  # before Kafka 0.11 asking for a topic may create it
_UNKNOWN = (NO_LEADER, -1)
_ONE_KEY, _MANY_KEYS = Versions(0, 3), Versions(4, LATEST)  # KIP-699: FindCoordinator takes several groups from v4 on


class TopicPartition(NamedTuple):
    """A partition of a topic. A tuple, because a snapshot hashes every one several times: 5 times a dataclass's speed."""

    topic: str
    partition: int

    def __str__(self) -> str:
        """As Kafka spells it in its logs and messages: `orders-0`."""
        return f"{self.topic}-{self.partition}"


@dataclass(slots=True)
class _TopicLeaders:
    """Leaders of one topic, by partition number: broker and leader epoch (-1 unknown). Without an id brokers give none."""

    topic_id: str | None
    by_partition: dict[int, tuple[int, int]] = field(default_factory=dict)

    def learn(self, topic: MetadataTopic) -> None:
        """Take over what is not older than what is known; an answer without an epoch is believed, as Kafka's client does."""
        known = self.by_partition
        for one in topic.partitions:
            if one.leader_epoch < 0 or one.leader_epoch >= known.get(one.partition_index, _UNKNOWN)[1]:
                known[one.partition_index] = (one.leader_id, one.leader_epoch)

    def forget_epochs(self) -> None:
        """Believe whatever is said next."""
        self.by_partition = {partition: (leader_id, -1) for partition, (leader_id, _) in self.by_partition.items()}


class Cluster:
    """Connections to the brokers of one cluster; use as a context manager, or `close` it."""

    def __init__(self, settings: KafkaSettings, clock: Clock, request_stats: RequestStats) -> None:
        self.settings, self.clock, self.request_stats = settings, clock, request_stats
        self._access = Access(
            settings=settings,
            tls=context(settings) if settings.uses_tls() else None,
            clock=clock,
            request_stats=request_stats,
        )
        self.brokers: dict[int, Broker] = {}
        self.controller_id: int | None = None  # as metadata names it: the true one only under ZooKeeper
        self.cluster_id: str | None = None
        self.unreachable: set[int] = set()  # broker ids that one request's whole deadline was spent on: asked once only
        self._coordinators: dict[
            tuple[int, str], int
        ] = {}  # broker ids by type of key, as FindCoordinator has it, and key
        self._topics: dict[str, _TopicLeaders] = {}
        self._bootstrap = [self._broker(None, host, port) for host, port in settings.addresses()]
        self._threads = ThreadPoolExecutor(max_workers=64, thread_name_prefix="broker")

    @classmethod
    def connect(cls, settings: KafkaSettings, clock: Clock, request_stats: RequestStats, deadline: Deadline) -> Self:
        """A cluster of which one bootstrap server has named the brokers.

        ConnectionFailed names every bootstrap server with its own refusal when none answers.
        """
        cluster = cls(settings, clock, request_stats)
        try:
            cluster.refresh((), deadline)
        except BaseException:
            cluster.close()
            raise
        return cluster

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close every connection."""
        self._threads.shutdown(wait=True)
        for broker in [*self._bootstrap, *self.brokers.values()]:
            broker.close()

    def refresh(self, topics: Collection[str] | None, deadline: Deadline) -> MetadataResponse:
        """Ask any broker for the brokers and for some topics, all of them for None; learn leaders and addresses from it."""
        wanted = None if topics is None else tuple(MetadataRequestTopic(name=name) for name in sorted(topics))
        request = MetadataRequest(topics=wanted, allow_auto_topic_creation=False)
        response = self.ask_any(METADATA, request, deadline, within=_CREATES_NOTHING)
        if response.error_code:
            raise BrokerError(response.error_code, error_code(response.error_code).name, METADATA.name, "cluster")
        self._learn(response)
        return response

    def api_versions(self) -> list[ApiVersionsResponse]:
        """What each connected broker said it speaks."""
        return [broker.versions for broker in self.brokers.values() if broker.versions]

    def leader_of(self, partition: TopicPartition) -> int | None:
        """The leader as last heard, None when there is none."""
        leader_id = self._leader(partition)[0]
        return leader_id if leader_id in self.brokers else None

    def leader_epoch_of(self, partition: TopicPartition) -> int:
        """The leader epoch as last heard, of the topic as last heard; -1 when brokers tell none (before Metadata v7)."""
        return self._leader(partition)[1]

    def topic_id_of(self, topic: str) -> str | None:
        """Id of the topic as last heard, None when brokers give none or were not asked yet."""
        return self._topics[topic].topic_id if topic in self._topics else None

    def may_be_topic(self, topic: str, topic_id: str | None) -> bool:
        """Whether this is the id of the topic as last heard; True too where either id is unknown."""
        known = self.topic_id_of(topic)
        return topic_id is None or known is None or known == topic_id

    def learn_leader(
        self, partition: TopicPartition, leader_id: int, leader_epoch: int, topic_id: str | None = None
    ) -> bool:
        """Believe a broker that names another leader of the topic with this id.

        False if that is no news, is about another topic of this name, or names a broker unknown to us.
        """
        if leader_id not in self.brokers or not self.may_be_topic(partition.topic, topic_id):
            return False
        if leader_epoch <= self._leader(partition)[1]:
            return False
        known = self._topics.setdefault(partition.topic, _TopicLeaders(topic_id))
        known.by_partition[partition.partition] = (leader_id, leader_epoch)
        return True

    def _leader(self, partition: TopicPartition) -> tuple[int, int]:
        topic = self._topics.get(partition.topic)
        return topic.by_partition.get(partition.partition, _UNKNOWN) if topic else _UNKNOWN

    def coordinator_of(self, key: str, key_type: int = GROUP) -> int | None:
        """Id of the last known coordinator of a group, a transaction or a share, whether or not that broker still exists."""
        return self._coordinators.get((key_type, key))

    def learn_coordinators(self, node_ids: Mapping[str, int], key_type: int = GROUP) -> None:
        """Remember coordinators that an answer named, such as a broker's ListGroups or ListTransactions."""
        self._coordinators.update({(key_type, key): node_id for key, node_id in node_ids.items()})

    def find_coordinators(self, keys: Sequence[str], deadline: Deadline, key_type: int = GROUP) -> None:
        """Learn which brokers coordinate these groups, transactions or shares.

        Only for those that exist: asking creates __consumer_offsets, and so on. What has none now keeps the one it had.
        """
        request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=tuple(keys))
        try:
            found = self.ask_any(FIND_COORDINATOR, request, deadline, within=_MANY_KEYS).coordinators
            self.learn_coordinators({one.key: one.node_id for one in found if not one.error_code}, key_type)
        except UnsupportedVersion:
            for key in keys:
                single = FindCoordinatorRequest(key_type=key_type, key=key)
                answer = self.ask_any(FIND_COORDINATOR, single, deadline, within=_ONE_KEY)
                if not answer.error_code:
                    self.learn_coordinators({key: answer.node_id}, key_type)

    def ask_any(self, api: Api[Any, R], request: object, deadline: Deadline, within: Versions | None = None) -> R:
        """The answer of the first broker that gives one.

        The next broker is asked when one cannot be reached, and when one is too old for the API: another may not be while a
        cluster is being upgraded. UnsupportedVersion when every broker that can be reached is too old.
        """
        deadline = deadline.within(self.settings.default_api_timeout_ms)
        pauses = backoff(self.settings.retry_backoff_ms, self.settings.retry_backoff_max_ms)
        refusals: dict[str, PipelineError] = {}
        for _ in range(_ROUNDS):
            too_old: UnsupportedVersion | None = None
            for broker in self._candidates():
                if too_old and not self._may_be_newer(broker):
                    continue
                try:
                    return broker.ask(api, request, deadline, within)
                except AuthenticationFailed:
                    raise  # the others would refuse us too, and may count how often
                except UnsupportedVersion as refusal:
                    too_old = too_old or refusal
                except (ConnectionFailed, WireError) as refusal:
                    refusals[f"{broker.host}:{broker.port}"] = refusal
                if deadline.passed():
                    break
            if too_old:
                raise too_old
            if deadline.passed() or not any(map(_may_pass, refusals.values())) or not deadline.pause(next(pauses)):
                break
        raise self._unreachable(refusals)

    def ask_brokers(self, calls: Mapping[int, Sequence[Call]], deadline: Deadline) -> dict[int, list[Reply]]:
        """The replies of several brokers at once, each to its own calls."""

        def ask(node_id: int) -> list[Reply]:
            return self.brokers[node_id].ask_all(calls[node_id], deadline)

        return dict(zip(calls, self._threads.map(ask, calls), strict=True))

    def _candidates(self) -> list[Broker]:
        """Who to ask when anyone will do: brokers that did not fail last time first, bootstrap servers last."""
        return [*sorted(self.brokers.values(), key=lambda broker: broker.failing), *self._bootstrap]

    def _may_be_newer(self, broker: Broker) -> bool:
        """Whether to ask it after another was too old: not if that may cost a timeout, or if it has been asked by its id."""
        return not broker.failing and (broker.node_id is not None or not self.brokers)

    def _learn(self, response: MetadataResponse) -> None:
        known = self.brokers
        self.brokers = {one.node_id: self._known(known.pop(one.node_id, None), one) for one in response.brokers}
        for gone in known.values():
            gone.close()
        self.cluster_id = response.cluster_id
        self.controller_id = response.controller_id if response.controller_id >= 0 else None
        for topic in response.topics:
            self._learn_topic(topic)

    def _learn_topic(self, topic: MetadataTopic) -> None:
        """As Kafka's client does it (Metadata.updateLatestMetadata): another id is another topic, whatever its epochs.

        Which of two ids is the newer one nobody can tell, so a broker that is behind the others may bring the old topic
        back until the next answer. Where brokers give no ids (before Kafka 2.8) an answer that the topic is not there
        says as much.
        """
        name, topic_id = topic.name, uuid_text(topic.topic_id)
        known = self._topics.get(name) if name is not None else None
        if topic.error_code == UNKNOWN_TOPIC_OR_PARTITION and known and known.topic_id is None:
            known.forget_epochs()
        if name is None or topic.error_code:
            return
        if known is None or (topic_id is not None and topic_id != known.topic_id):
            known = self._topics[name] = _TopicLeaders(topic_id)
        known.learn(topic)

    def _known(self, broker: Broker | None, told: Any) -> Broker:
        if broker and (broker.host, broker.port) == (told.host, told.port):
            return broker
        if broker:
            broker.close()
        return self._adopted(told) or self._broker(told.node_id, told.host, told.port)

    def _adopted(self, told: Any) -> Broker | None:
        """The bootstrap server that turns out to be this broker, if its connection is open: that saves another one."""
        for i, one in enumerate(self._bootstrap):
            if (one.host, one.port) == (told.host, told.port) and one.versions:
                self._bootstrap[i] = self._broker(None, one.host, one.port)
                one.assign_node_id(told.node_id)
                return one
        return None

    def _broker(self, node_id: int | None, host: str, port: int) -> Broker:
        return Broker(node_id, host, port, self._access)

    def _unreachable(self, refusals: Mapping[str, PipelineError]) -> PipelineError:
        """One error for all: the only refusal itself, or one that names every address."""
        if len(refusals) == 1:
            return next(iter(refusals.values()))
        reasons = "; ".join(str(refusal) for refusal in refusals.values())
        phase = getattr(next(iter(refusals.values())), "phase", "exchange")
        return ConnectionFailed(", ".join(refusals), phase, f"none answers ({reasons})")


def _may_pass(refusal: PipelineError) -> bool:
    """Whether trying again soon may help: not where another protocol answers, or a certificate is wrong."""
    if isinstance(refusal, AddressRefused):
        return False
    if isinstance(refusal, ConnectionLost):
        return refusal.phase in ("tls", "exchange")
    return isinstance(refusal, ConnectionFailed) and refusal.phase in ("connect", "exchange")
