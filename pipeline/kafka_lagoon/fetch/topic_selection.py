"""Selects the topics of one run of an archive: which exist, which continue, and which were deleted or re-created.

If a topic was deleted or re-created, an event ends its sequence of ranges before another sequence begins. The answer of one
broker does not decide that: see fetch/topic_identity.py.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from kafka_lagoon.client.agreement import agreed_metadata
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Scope, failure_of, own_failure
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.fetch.archived import Archived
from kafka_lagoon.fetch.plan import PlanDraft, sequence_event
from kafka_lagoon.fetch.ranges import TOPIC_DELETED, TOPIC_RECREATED
from kafka_lagoon.fetch.read_spec import ReadSpec
from kafka_lagoon.fetch.topic_identity import (
    NOT_CONFIRMED,
    BelievedTopics,
    believed_topics,
    is_same_id,
    missing_partitions,
)
from kafka_lagoon.protocol.error_codes import INVALID_TOPIC_EXCEPTION, UNKNOWN_TOPIC_OR_PARTITION, error_code
from kafka_lagoon.protocol.messages.metadata import METADATA, MetadataResponse, MetadataTopic
from kafka_lagoon.text import did_you_mean
from kafka_lagoon.topic_partition import TopicPartition
from kafka_lagoon.wire.primitives import uuid_text


def select_topics(cluster: Cluster, spec: ReadSpec, archived: Mapping[str, Archived], deadline: Deadline) -> PlanDraft:
    """Start the draft of a plan: the selected topics that exist, and events for archived topics that no longer exist.

    ConfigError names topics that never existed.
    """
    topics: dict[str, MetadataTopic] = {}
    for answer in _metadata(cluster, spec, archived, deadline):
        topics |= {topic.name: topic for topic in answer.topics if topic.name is not None}
    internal = [name for name, topic in topics.items() if topic.is_internal]
    selected = spec.select(topics, internal)
    believed = believed_topics(cluster, {name: topics[name] for name in selected}, archived, deadline)
    _refuse_unknown(believed, topics, archived)
    draft = PlanDraft(dict(archived))
    for name in selected:
        if name in believed.unconfirmed:
            _leave_topic(draft, name, believed.unconfirmed[name])
        else:
            _take_topic(draft, name, believed.topics[name])
    return draft


def _metadata(
    cluster: Cluster, spec: ReadSpec, archived: Mapping[str, Archived], deadline: Deadline
) -> Iterator[MetadataResponse]:
    """Request the metadata of all topics if there is a pattern, then by name that of named and archived topics still missing.

    A topic that the list lacks may exist (permissions, a broker with older metadata), so it is requested by name. Two brokers
    have to list all topics alike, or else a third one decides: one broker alone could make the pattern leave out a topic as
    internal.
    """
    listed: set[str] = set()
    if spec.pattern:
        everything = agreed_metadata(cluster, None, deadline)
        listed = {topic.name for topic in everything.topics if topic.name is not None}
        yield everything
    continued = [name for name, known in archived.items() if known.partitions]
    by_name = (set(spec.topics) | set(spec.select(continued))) - listed
    if by_name:
        yield cluster.refresh(by_name, deadline)


def _refuse_unknown(
    believed: BelievedTopics, topics: Mapping[str, MetadataTopic], archived: Mapping[str, Archived]
) -> None:
    real = [name for name, topic in topics.items() if not topic.error_code]
    problems = []
    for name, topic in believed.topics.items():
        code = topic.error_code
        if code == UNKNOWN_TOPIC_OR_PARTITION and name not in archived and name not in believed.unconfirmed:
            problems.append(f"there is no topic {name}{did_you_mean(name, real)}")
        elif code == INVALID_TOPIC_EXCEPTION:
            problems.append(f"topic {name}: {error_code(code).name}")
    if problems:
        raise ConfigError(problems)


def _leave_topic(draft: PlanDraft, name: str, said: str) -> None:
    """Leave out a topic about which brokers disagree: its positions stay, and the next run asks again."""
    known = draft.archived.get(name)
    draft.ids[name] = known.topic_id if known else None
    draft.failures.append(own_failure(METADATA, Scope.of_topic(name), NOT_CONFIRMED, said))
    _end_sequences(draft, name, NOT_CONFIRMED)


def _take_topic(draft: PlanDraft, name: str, topic: MetadataTopic) -> None:
    known = draft.archived.get(name)
    if topic.error_code:
        draft.ids[name] = known.topic_id if known else None
        draft.failures.append(failure_of(METADATA, Scope.of_topic(name), topic.error_code))
        is_deleted = topic.error_code == UNKNOWN_TOPIC_OR_PARTITION
        _end_sequences(draft, name, TOPIC_DELETED if is_deleted else error_code(topic.error_code).name)
        if known and is_deleted:
            draft.archived[name] = known.deleted()
        return
    draft.ids[name] = uuid_text(topic.topic_id)
    if known:
        _continue_topic(draft, name, known, topic)
    numbers = sorted(partition.partition_index for partition in topic.partitions)
    draft.partitions += [TopicPartition(name, number) for number in numbers]


def _continue_topic(draft: PlanDraft, name: str, known: Archived, topic: MetadataTopic) -> None:
    """Continue an archived topic: under its id, under the id that its brokers give it now, or as another topic."""
    topic_id = draft.ids[name]
    if not known.partitions or not is_same_id(topic_id, known.topic_id):
        _end_sequences(draft, name, TOPIC_RECREATED)
        draft.archived[name] = known.re_created(topic_id)
    elif known.topic_id is None and topic_id is not None:
        _begin_under_id(draft, name, known, topic_id)
    else:
        draft.ids[name] = known.topic_id  # the answer of a broker before Kafka 2.8 has no id
    missing = missing_partitions(topic, draft.archived[name])
    reason = error_code(UNKNOWN_TOPIC_OR_PARTITION).name
    for number in missing:
        partition = TopicPartition(name, number)
        draft.fail({partition: own_failure(METADATA, Scope.of_partition(name, number), reason, "no broker lists it")})


def _begin_under_id(draft: PlanDraft, name: str, known: Archived, topic_id: str) -> None:
    """Continue a topic's ranges under the id that upgraded brokers gave it, at the same offsets."""
    draft.archived[name] = replace(known, topic_id=topic_id)
    for number, position in known.partitions.items():
        draft.events.append(sequence_event(TopicPartition(name, number), topic_id, position, None))


def _end_sequences(draft: PlanDraft, name: str, problem: str) -> None:
    known = draft.archived.get(name)
    if known:
        for partition, position in known.partitions.items():
            draft.events.append(sequence_event(TopicPartition(name, partition), known.topic_id, position, problem))
