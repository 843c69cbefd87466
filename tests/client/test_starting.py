"""Brokers on ZooKeeper that have just started know no topics, and report no error."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

import pytest

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import ConnectionFailed
from kafka_lagoon.protocol.error_codes import UNKNOWN_TOPIC_OR_PARTITION
from kafka_lagoon.protocol.messages.describe_log_dirs import DESCRIBE_LOG_DIRS
from kafka_lagoon.protocol.messages.describe_quorum import DESCRIBE_QUORUM
from kafka_lagoon.protocol.messages.metadata import METADATA, MetadataResponse
from tests.clock import CLOCK
from tests.fake.answers import SPOKEN
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Altered, Fault

Connect = Callable[..., Cluster]
Topics = tuple[str, ...] | None
REQUESTED = pytest.mark.parametrize("topics", [None, ("orders",)], ids=["all topics", "a topic"])
TOPICS = ("orders", "other")
ALWAYS = 1_000


def codes(
    state: FakeCluster, cluster: Cluster, topics: Topics, times: int, unknown: Collection[str] = TOPICS
) -> Mapping[str | None, int]:
    """Describe topics, some of which so many answers do not know; return their error codes."""

    def without_unknown(response: MetadataResponse) -> MetadataResponse:
        is_list = len(response.topics) == len(TOPICS)
        described = tuple(
            replace(topic, error_code=UNKNOWN_TOPIC_OR_PARTITION, partitions=()) if topic.name in unknown else topic
            for topic in response.topics
            if not is_list or topic.name not in unknown
        )
        return replace(response, topics=described)

    state.add_topic("other", 1)
    state.faults.append(Fault(METADATA.key, Altered(without_unknown), times=times))
    response = cluster.refresh(topics, Deadline.after(CLOCK, 5_000))
    return {topic.name: topic.error_code for topic in response.topics}


@REQUESTED
@pytest.mark.parametrize("times", [1, 2, 3])
def test_a_broker_that_has_just_started(state: FakeCluster, connect: Connect, topics: Topics, times: int) -> None:
    """It keeps logs of the topics, and is asked again."""
    assert codes(state, connect(), topics, times) == dict.fromkeys(topics or TOPICS, 0)


@REQUESTED
def test_topics_that_stay_unknown(state: FakeCluster, connect: Connect, topics: Topics) -> None:
    """The cluster is not taken for one without topics."""
    with pytest.raises(ConnectionFailed, match="names no topics, and it has logs: is it starting"):
        codes(state, connect(), topics, ALWAYS)


@pytest.mark.parametrize("times", [0, ALWAYS])
def test_a_topic_without_logs(state: FakeCluster, connect: Connect, times: int) -> None:
    """It does not exist."""
    assert codes(state, connect(), ("absent",), times) == {"absent": UNKNOWN_TOPIC_OR_PARTITION}


def test_a_topic_that_is_being_deleted(state: FakeCluster, connect: Connect) -> None:
    """Its logs are removed after it, and the broker knows other topics."""
    expected = {"orders": UNKNOWN_TOPIC_OR_PARTITION}
    assert codes(state, connect(), ("orders",), ALWAYS, unknown=("orders",)) == expected


def test_logs_that_we_may_not_describe(state: FakeCluster, connect: Connect) -> None:
    """The broker is believed."""
    state.cluster_operations = 0
    assert codes(state, connect(), None, ALWAYS) == {}


def test_a_broker_in_kraft_mode(state: FakeCluster, connect: Connect) -> None:
    """It knows the topics before it accepts connections: its logs are not asked for."""
    state.offered = {key: (api.versions.lowest, api.versions.highest) for key, (api, _) in SPOKEN.items()}
    state.offered |= {DESCRIBE_QUORUM.key: (0, 1)}
    assert codes(state, connect(), None, ALWAYS) == {}
    assert state.count(DESCRIBE_LOG_DIRS.key) == 0
