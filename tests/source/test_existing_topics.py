"""A topic that one broker denies exists if another describes it: a query neither refuses it, nor reads less in silence."""

from collections.abc import Callable

import pytest

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import BrokerError, ConfigError
from kafka_lagoon.protocol.messages.metadata import METADATA, MetadataResponse
from kafka_lagoon.source import plan
from kafka_lagoon.source.options import SourceOptions, parse
from kafka_lagoon.source.plan import require_topics, select_partitions
from kafka_lagoon.topic_partition import TopicPartition
from tests.clock import CLOCK
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Altered, Close, Fault

Connect = Callable[..., Cluster]
ALWAYS = 1000
ALL = [TopicPartition("u", number) for number in range(3)]


def denied(answer: MetadataResponse) -> MetadataResponse:
    """Describe topic u as one that does not exist."""
    for topic in answer.topics:
        if topic.name == "u":
            topic.error_code, topic.partitions, topic.topic_id = 3, (), bytes(16)  # type: ignore[misc]
    return answer


def left_out(answer: MetadataResponse) -> MetadataResponse:
    """List every topic but u, and deny it to whoever names it."""
    if len(answer.topics) == 1:
        return denied(answer)
    answer.topics = tuple(topic for topic in answer.topics if topic.name != "u")  # type: ignore[misc]
    return answer


def soon() -> Deadline:
    return Deadline.after(CLOCK, 5_000)


def options(**given: str) -> SourceOptions:
    return parse({"kafka.bootstrap.servers": "localhost:9", **given})


@pytest.fixture
def cluster(state: FakeCluster, connect: Connect) -> Cluster:
    """Return a connection to three brokers that know topic u."""
    state.add_topic("u", 3)
    return connect()


@pytest.mark.parametrize("late", [1, 2, 3])
def test_a_broker_that_learns_a_topic_late(state: FakeCluster, cluster: Cluster, late: int) -> None:
    """Reads and writes find the topic, and its leaders."""
    state.faults.append(Fault(METADATA.key, Altered(denied), node_id=late, times=ALWAYS))
    require_topics(cluster, ["u"], soon())
    assert all(cluster.leader_of(partition) for partition in ALL)
    for known in ((), ("u",)):
        assert select_partitions(cluster, options(subscribe="u"), soon(), known).partitions == ALL


def has_begun_to_grow(answer: MetadataResponse) -> MetadataResponse:
    """Describe topic u with its first partition alone."""
    for topic in answer.topics:
        topic.partitions = topic.partitions[:1]  # type: ignore[misc]
    return answer


@pytest.mark.parametrize("late", [1, 2, 3])
@pytest.mark.parametrize("chosen", [{"subscribe": "u"}, {"subscribePattern": "u"}])
def test_a_broker_that_learns_partitions_late(
    state: FakeCluster, cluster: Cluster, late: int, chosen: dict[str, str]
) -> None:
    """The partitions that two brokers describe are read."""
    state.faults.append(Fault(METADATA.key, Altered(has_begun_to_grow), node_id=late, times=ALWAYS))
    assert select_partitions(cluster, options(**chosen), soon()).partitions == ALL


@pytest.mark.parametrize("late", [1, 2, 3])
def test_a_list_that_lacks_a_known_topic(state: FakeCluster, cluster: Cluster, late: int) -> None:
    """A stream with a pattern goes on with the topic."""
    state.faults.append(Fault(METADATA.key, Altered(left_out), node_id=late, times=ALWAYS))
    assert select_partitions(cluster, options(subscribePattern="u"), soon(), {"u"}).partitions == ALL


def test_a_topic_that_every_broker_denies(state: FakeCluster, cluster: Cluster) -> None:
    """It is refused, or left out where it has existed."""
    del state.topics["u"]
    for check in (require_topics, lambda *_: select_partitions(cluster, options(subscribe="u"), soon())):
        with pytest.raises(ConfigError, match="there is no topic u"):
            check(cluster, ["u"], soon())
    for chosen in (options(subscribe="u"), options(subscribePattern="u")):
        assert select_partitions(cluster, chosen, soon(), {"u"}).partitions == []


def test_a_broker_that_does_not_answer_may_know_the_topic(state: FakeCluster, cluster: Cluster) -> None:
    """A stream does not take the topic for deleted, and a query does not say that it does not exist."""
    del state.topics["u"]
    state.faults.append(Fault(METADATA.key, Close(), node_id=3, times=ALWAYS))
    reason = "not all brokers have answered: broker 1: no such topic; broker 2: no such topic"
    for known in ((), ("u",)):
        with pytest.raises(BrokerError, match=reason):
            select_partitions(cluster, options(subscribe="u"), soon(), known)


def test_names_are_suggested_for_a_few_of_many_topics(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a wrong cluster thousands of topics are missing; each name is compared with those of all its topics."""
    suggested = list[str]()
    monkeypatch.setattr(plan, "did_you_mean", lambda name, _known: suggested.append(name) or f" ({name}?)")
    wanted = [f"absent-{number:02}" for number in range(40)]
    with pytest.raises(ConfigError) as refused:
        select_partitions(cluster, options(subscribe=",".join(wanted)), soon())
    assert suggested == wanted[:10]
    lines = [f"there is no topic {name}" for name in wanted]
    assert list(refused.value.problems) == [*(f"{line} ({line[18:]}?)" for line in lines[:10]), *lines[10:]]
