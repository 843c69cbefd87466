"""Finds out whether a broker on ZooKeeper has just started, and knows no topics yet.

Its controller sends it the brokers first and the topics after them. In between it describes every topic as unknown, lists none,
and so lists no groups, with error 0. A broker in KRaft mode has read the metadata before it accepts connections.
"""

from typing import TYPE_CHECKING

from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import PipelineError
from kafka_lagoon.protocol.error_codes import TOPIC_AUTHORIZATION_FAILED
from kafka_lagoon.protocol.messages.describe_log_dirs import (
    DESCRIBE_LOG_DIRS,
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
)
from kafka_lagoon.protocol.messages.describe_quorum import DESCRIBE_QUORUM
from kafka_lagoon.protocol.messages.metadata import CREATES_NOTHING, METADATA, MetadataRequest, metadata_request

if TYPE_CHECKING:  # to keep chains of imports short
    from kafka_lagoon.client.broker import Broker

_TOPICS, _PARTITIONS = 100, 50  # of which logs are looked for


def knew_no_topics_yet(broker: "Broker", request: MetadataRequest, deadline: Deadline) -> bool:
    """True if a broker that knew none of the requested topics keeps logs of them, and not because they are being deleted.

    It tells its logs only with DESCRIBE on the cluster: without it the answer is believed. A list of topics is also empty for
    who may describe none of them.
    """
    if _is_in_kraft_mode(broker):
        return False
    topics = None
    if request.topics is not None:
        some = [topic.name or "" for topic in request.topics[:_TOPICS]]
        topics = tuple(DescribableLogDirTopic(topic=name, partitions=tuple(range(_PARTITIONS))) for name in some)
    try:
        log_dirs = broker.ask(DESCRIBE_LOG_DIRS, DescribeLogDirsRequest(topics=topics), deadline).results
        stored = dict.fromkeys(topic.name for one in log_dirs for topic in one.topics if topic.partitions)
        if not stored:
            return False
        known = {topic.name for topic in broker.ask(METADATA, metadata_request(None), deadline, CREATES_NOTHING).topics}
        if known:
            return request.topics is None or any(topic.name in known for topic in request.topics)
        described = broker.ask(METADATA, metadata_request(list(stored)[:_TOPICS]), deadline, CREATES_NOTHING).topics
    except PipelineError:
        return False
    return any(topic.error_code != TOPIC_AUTHORIZATION_FAILED for topic in described)


def _is_in_kraft_mode(broker: "Broker") -> bool:
    return broker.versions is not None and any(api.api_key == DESCRIBE_QUORUM.key for api in broker.versions.api_keys)
