"""Answers DescribeQuorum from the metadata log of a fake cluster.

Fake brokers are as on ZooKeeper, without the API, unless a test adds it to those that they speak.
"""

from typing import Any

from kafka_lagoon.protocol.messages import describe_quorum
from tests.fake.cluster import FakeCluster


def _describe_quorum(state: FakeCluster, _node: int, _version: int, _request: Any) -> Any:
    topic = describe_quorum.QuorumTopic(topic_name=describe_quorum.METADATA_TOPIC, partitions=(state.quorum,))
    return describe_quorum.DescribeQuorumResponse(error_code=0, topics=(topic,), nodes=())


ANSWERS = ((describe_quorum.DESCRIBE_QUORUM, _describe_quorum),)
