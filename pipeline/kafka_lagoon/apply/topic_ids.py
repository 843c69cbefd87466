"""Ties actions to topics by their ids: a topic that was deleted and created again under its name is another one.

Its partitions, configs and offsets may look the same, and most requests that alter a topic have only its name.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from kafka_lagoon.admin.topics import describe_topics
from kafka_lagoon.apply.action import Action, ActionKind
from kafka_lagoon.apply.kinds.registry import KINDS
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.clock import Deadline
from kafka_lagoon.protocol.messages.metadata import MetadataTopic
from kafka_lagoon.wire.primitives import uuid_text


def with_topic_ids(
    cluster: Cluster, actions: Sequence[Action], deadline: Deadline, kinds: Mapping[str, ActionKind] = KINDS
) -> list[Action]:
    """The actions, with the ids of their topics as they were last seen; topics that were not seen yet are described.

    An id stays None for a topic that does not exist or is not described, and where brokers give none (before Kafka 2.8).
    """
    topics = {topic for action in actions if (topic := kinds[action.kind].topic_of(action.resource))}
    ids = {topic: cluster.topics.id_of(topic) for topic in topics}
    unseen = sorted(topic for topic, topic_id in ids.items() if topic_id is None)
    ids |= {topic: _id_of(described) for topic, described in describe_topics(cluster, unseen, deadline).items()}
    return [
        replace(action, topic_id=ids[topic]) if (topic := kinds[action.kind].topic_of(action.resource)) else action
        for action in actions
    ]


def other_topics(
    cluster: Cluster, actions: Sequence[Action], deadline: Deadline, kinds: Mapping[str, ActionKind] = KINDS
) -> dict[str, Failure | None]:
    """Topics that are other ones than those for which the actions were planned: None; if that is not known: the failure.

    A topic that is gone is none of them: the state of its resources shows that.
    """
    planned = {
        kinds[action.kind].topic_of(action.resource) or "": action.topic_id for action in actions if action.topic_id
    }
    others: dict[str, Failure | None] = {}
    for topic, described in describe_topics(cluster, sorted(planned), deadline).items():
        if isinstance(described, Failure):
            others[topic] = described
        elif _id_of(described) not in (None, planned[topic]):
            others[topic] = None
    return others


def _id_of(described: MetadataTopic | Failure | None) -> str | None:
    return uuid_text(described.topic_id) if isinstance(described, MetadataTopic) else None
