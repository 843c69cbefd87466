"""Checks one broker's description of archived topics against all others before it counts as a deletion or a re-creation.

A broker that has lost its connection to the controller answers Metadata with old data, and a broker that has just started knows
no topics and no brokers yet. So an answer that contradicts the archive counts only if every live broker gives it.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

from kafka_lagoon.client.broker import Call
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.metadata_checks import checked_metadata
from kafka_lagoon.clock import Deadline, backoff
from kafka_lagoon.errors import PipelineError
from kafka_lagoon.fetch.archived import Archived
from kafka_lagoon.frozen import frozen
from kafka_lagoon.protocol.error_codes import UNKNOWN_TOPIC_OR_PARTITION
from kafka_lagoon.protocol.messages.metadata import (
    CREATES_NOTHING,
    METADATA,
    MetadataResponse,
    MetadataTopic,
    metadata_request,
)
from kafka_lagoon.topic_partition import TopicPartition
from kafka_lagoon.wire.primitives import uuid_text

NOT_CONFIRMED = "NOT_CONFIRMED"  # brokers disagree about a topic, or one of them did not answer
_ROUNDS = 3  # a broker that has just started answers otherwise a moment later

_Verdict = tuple[int, str | None]  # error code and topic id


@frozen
class BelievedTopics:
    """Confirmed descriptions of topics, and the topics without one, with the brokers' descriptions."""

    topics: Mapping[str, MetadataTopic]
    unconfirmed: Mapping[str, str]


@frozen
class _Answers:
    """The descriptions of topics by name and broker, and whether every broker answered that any of them lists."""

    by_topic: Mapping[str | None, Mapping[int, MetadataTopic]]
    brokers: int = 0
    are_complete: bool = False

    @classmethod
    def of(cls, answers: Mapping[int, MetadataResponse]) -> "_Answers":
        """Put answers in order once: there may be thousands of topics, and hundreds of brokers."""
        by_topic: dict[str | None, dict[int, MetadataTopic]] = {}
        for broker_id, answer in answers.items():
            for topic in answer.topics:
                by_topic.setdefault(topic.name, {})[broker_id] = topic
        listed = {broker.node_id for answer in answers.values() for broker in answer.brokers}
        return cls(by_topic=by_topic, brokers=len(answers), are_complete=bool(listed) and listed <= answers.keys())

    def descriptions(self, name: str) -> Sequence[MetadataTopic]:
        return list(self.by_topic.get(name, {}).values())

    def said_by_all(self, name: str) -> MetadataTopic | None:
        described = self.descriptions(name)
        if not self.are_complete or len(described) < self.brokers:
            return None
        return described[0] if len(set(map(_verdict, described))) == 1 else None


def believed_topics(
    cluster: Cluster, topics: Mapping[str, MetadataTopic], archived: Mapping[str, Archived], deadline: Deadline
) -> BelievedTopics:
    """One broker's answer, corrected by those of all brokers where it contradicts the archive.

    A broker that describes a topic as it was archived is believed at once: fetching by its id and epochs proves it. Anything
    else has to be said by every broker that any of them lists.
    """
    believed = dict(topics)
    doubtful = {name for name, topic in topics.items() if contradicts(topic, archived.get(name))}
    answers = _Answers(by_topic={})
    pauses = backoff(cluster.settings.retry_backoff_ms, cluster.settings.retry_backoff_max_ms)
    for attempt in range(_ROUNDS if doubtful else 0):
        if attempt and not _asked_again(cluster, doubtful, deadline, next(pauses)):
            break
        answers = _Answers.of(ask_every_broker(cluster, doubtful, deadline))
        for name in sorted(doubtful):
            if topic := _agreed(name, archived.get(name), answers):
                believed[name] = topic
                cluster.topics.learn(topic)
                doubtful.discard(name)
        if not doubtful:
            break
    return BelievedTopics(topics=believed, unconfirmed={name: _spelled(name, answers) for name in sorted(doubtful)})


def contradicts(topic: MetadataTopic, known: Archived | None) -> bool:
    """True if a broker's description contradicts the archive, or denies a topic that is wanted.

    It names another id, lacks partitions or has leaders of earlier epochs. Errors other than an unknown topic prove nothing.
    """
    if topic.error_code:
        is_known_deletion = known is not None and not known.partitions
        return topic.error_code == UNKNOWN_TOPIC_OR_PARTITION and not is_known_deletion
    if known is None:
        return False
    return not is_same_id(uuid_text(topic.topic_id), known.topic_id) or _is_older(topic, known)


def is_same_id(left: str | None, right: str | None) -> bool:
    """True if two ids may be of the same topic: brokers before Kafka 2.8 give none."""
    return left is None or right is None or left == right


def missing_partitions(topic: MetadataTopic, known: Archived) -> list[int]:
    """Archived partitions that a description lacks; partitions of a topic id never go."""
    return sorted(known.partitions.keys() - {partition.partition_index for partition in topic.partitions})


def _is_older(topic: MetadataTopic, known: Archived) -> bool:
    if missing_partitions(topic, known):
        return True
    return any(
        0 <= partition.leader_epoch < position.leader_epoch
        for partition in topic.partitions
        if (position := known.partitions.get(partition.partition_index))
    )


def ask_every_broker(
    cluster: Cluster, names: Collection[str], deadline: Deadline, broker_ids: Iterable[int] | None = None
) -> dict[int, MetadataResponse]:
    """Metadata of topics from each broker, or from each of some.

    Brokers that do not answer are left out, and those that list no brokers: they have just started and know nothing yet.
    """
    call = Call(METADATA, metadata_request(names), CREATES_NOTHING)
    calls = {broker_id: [call] for broker_id in (cluster.brokers if broker_ids is None else broker_ids)}
    outcomes = {broker_id: reply.outcome for broker_id, (reply,) in cluster.ask_brokers(calls, deadline)}
    return {
        broker_id: checked_metadata(outcome, names)[0]
        for broker_id, outcome in outcomes.items()
        if isinstance(outcome, MetadataResponse) and not outcome.error_code and outcome.brokers
    }


def said_by_all(name: str, answers: Mapping[int, MetadataResponse]) -> MetadataTopic | None:
    """The description of a topic that all brokers give; None if they differ, or if a listed broker did not answer."""
    return _Answers.of(answers).said_by_all(name)


def same_for_leaders(
    cluster: Cluster,
    partitions: Collection[TopicPartition],
    topic_ids: Mapping[str, str | None],
    deadline: Deadline,
) -> set[TopicPartition]:
    """The partitions whose own leaders know the topic by this id, so that their answers by name are about that topic."""
    by_leader: dict[int, list[TopicPartition]] = {}
    for partition in partitions:
        if (leader_id := cluster.leader_of(partition)) is not None:
            by_leader.setdefault(leader_id, []).append(partition)
    answers = ask_every_broker(cluster, {partition.topic for partition in partitions}, deadline, by_leader)
    known = {
        (broker_id, topic.name): uuid_text(topic.topic_id)
        for broker_id, answer in answers.items()
        for topic in answer.topics
        if not topic.error_code
    }
    return {
        partition
        for broker_id, led in by_leader.items()
        for partition in led
        if (broker_id, partition.topic) in known
        and is_same_id(known[broker_id, partition.topic], topic_ids[partition.topic])
    }


def _asked_again(cluster: Cluster, names: Collection[str], deadline: Deadline, pause_s: float) -> bool:
    """Wait, and refresh the list of brokers; False if there is no time, or no answer."""
    if not deadline.pause(pause_s):
        return False
    try:
        cluster.refresh(names, deadline)
    except PipelineError:
        return False
    return True


def _agreed(name: str, known: Archived | None, answers: _Answers) -> MetadataTopic | None:
    """The description that agrees with the archive, else the description that all brokers give."""
    agreeing = [topic for topic in answers.descriptions(name) if not contradicts(topic, known)]
    real = [topic for topic in agreeing if not topic.error_code]
    return max(real, key=_newest, default=None) or answers.said_by_all(name)


def _newest(topic: MetadataTopic) -> tuple[int, int]:
    return len(topic.partitions), sum(partition.leader_epoch for partition in topic.partitions)


def _verdict(topic: MetadataTopic) -> _Verdict:
    return topic.error_code, None if topic.error_code else uuid_text(topic.topic_id)


def _spelled(name: str, answers: _Answers) -> str:
    """The brokers' descriptions of a topic, for people."""
    described = sorted(answers.by_topic.get(name, {}).items())
    said = [f"broker {broker_id}: {_in_words(topic)}" for broker_id, topic in described]
    return "; ".join(said) or "no broker answered"


def _in_words(topic: MetadataTopic) -> str:
    if topic.error_code:
        return "no such topic" if topic.error_code == UNKNOWN_TOPIC_OR_PARTITION else f"error {topic.error_code}"
    return f"id {uuid_text(topic.topic_id)}, {len(topic.partitions)} partitions"
