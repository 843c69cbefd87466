"""Brokers on ZooKeeper that have just started know no topics, and report no error."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from itertools import count

import pytest

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import ConnectionFailed
from kafka_lagoon.protocol.error_codes import TOPIC_AUTHORIZATION_FAILED, UNKNOWN_TOPIC_OR_PARTITION
from kafka_lagoon.protocol.messages.describe_log_dirs import DESCRIBE_LOG_DIRS
from kafka_lagoon.protocol.messages.describe_quorum import DESCRIBE_QUORUM
from kafka_lagoon.protocol.messages.metadata import METADATA, MetadataRequest, MetadataResponse
from tests.clock import CLOCK
from tests.fake.answers import SPOKEN
from tests.fake.cluster import FakeCluster

Connect = Callable[..., Cluster]
Describe = Callable[..., Mapping[str | None, int]]
Topics = tuple[str, ...] | None
REQUESTED = pytest.mark.parametrize("topics", [None, ("orders",)], ids=["all topics", "a topic"])
TOPICS = ("orders", "other")
ALWAYS = 1_000


@pytest.fixture
def describe(state: FakeCluster, connect: Connect, monkeypatch: pytest.MonkeyPatch) -> Describe:
    """Describes topics, some of which so many answers do not know; returns their error codes."""
    state.add_topic("other", 1)

    def described(
        topics: Topics, times: int, unknown: Collection[str] = TOPICS, code: int = UNKNOWN_TOPIC_OR_PARTITION
    ) -> Mapping[str | None, int]:
        _, answer = SPOKEN[METADATA.key]
        left = count(times, -1)

        def without_unknown(state: FakeCluster, node: int, version: int, request: MetadataRequest) -> MetadataResponse:
            response: MetadataResponse = answer(state, node, version, request)
            if request.topics == () or next(left) <= 0:
                return response
            return replace(
                response,
                topics=tuple(
                    replace(topic, error_code=code, partitions=()) if topic.name in unknown else topic
                    for topic in response.topics
                    if request.topics is not None or topic.name not in unknown
                ),
            )

        monkeypatch.setitem(SPOKEN, METADATA.key, (METADATA, without_unknown))
        response = connect().refresh(topics, Deadline.after(CLOCK, 5_000))
        return {topic.name: topic.error_code for topic in response.topics}

    return described


@REQUESTED
@pytest.mark.parametrize("times", [1, 2, 3])
def test_a_broker_that_has_just_started(describe: Describe, topics: Topics, times: int) -> None:
    """It keeps logs of the topics, and is asked again."""
    assert describe(topics, times) == dict.fromkeys(topics or TOPICS, 0)


@REQUESTED
def test_topics_that_stay_unknown(describe: Describe, topics: Topics) -> None:
    """The cluster is not taken for one without topics."""
    with pytest.raises(ConnectionFailed, match="names no topics, and it has logs: is it starting"):
        describe(topics, ALWAYS)


@pytest.mark.parametrize("times", [0, ALWAYS])
def test_a_topic_without_logs(describe: Describe, times: int) -> None:
    """It does not exist."""
    assert describe(("absent",), times) == {"absent": UNKNOWN_TOPIC_OR_PARTITION}


def test_a_topic_that_is_being_deleted(describe: Describe) -> None:
    """Its logs are removed after it, and the broker knows other topics."""
    expected = {"orders": UNKNOWN_TOPIC_OR_PARTITION}
    assert describe(("orders",), ALWAYS, unknown=("orders",)) == expected


def test_logs_that_we_may_not_describe(state: FakeCluster, describe: Describe) -> None:
    """The broker is believed."""
    state.cluster_operations = 0
    assert describe(None, ALWAYS) == {}


def test_topics_that_we_may_not_describe(describe: Describe) -> None:
    """A list without them is empty, although the broker knows them and has their logs."""
    assert describe(None, ALWAYS, code=TOPIC_AUTHORIZATION_FAILED) == {}


def test_a_broker_in_kraft_mode(state: FakeCluster, describe: Describe) -> None:
    """It knows the topics before it accepts connections: its logs are not asked for."""
    state.offered = {key: (api.versions.lowest, api.versions.highest) for key, (api, _) in SPOKEN.items()}
    state.offered |= {DESCRIBE_QUORUM.key: (0, 1)}
    assert describe(None, ALWAYS) == {}
    assert state.count(DESCRIBE_LOG_DIRS.key) == 0
