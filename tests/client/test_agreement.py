"""An answer that two brokers give is believed; one broker's answer is not."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from kafka_lagoon.client.agreement import agree_on_brokers, agreed_brokers, agreed_metadata, ask_two, content
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure, Scope
from kafka_lagoon.client.metadata_checks import checked_metadata
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import Deadline
from kafka_lagoon.protocol.messages.describe_client_quotas import (
    DESCRIBE_CLIENT_QUOTAS,
    ClientQuotas,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)
from kafka_lagoon.protocol.messages.metadata import METADATA, MetadataBroker, MetadataResponse
from tests.clock import CLOCK
from tests.fake import security
from tests.fake.answers import SPOKEN
from tests.fake.broker import fake_cluster
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Altered, Close, Fault
from tests.security_samples import quotas
from tests.short_timeouts import short_timeouts

API = DESCRIBE_CLIENT_QUOTAS
TRUE = (quotas({"user": "a"}, producer_byte_rate=1.0), quotas({"user": "b"}, producer_byte_rate=2.0))


@pytest.fixture(autouse=True)
def _speak(monkeypatch: pytest.MonkeyPatch, state: FakeCluster) -> None:
    for api, answer in security.ANSWERS:
        monkeypatch.setitem(SPOKEN, api.key, (api, answer))
    state.quotas = TRUE


def quotas_of(cluster: Cluster) -> tuple[ClientQuotas, ...] | str | None:
    """Return the quotas, or the name of the failure."""
    request = DescribeClientQuotasRequest(components=(), strict=False)
    answer = ask_two(cluster, API, request, Scope.list("quotas"), Deadline.after(CLOCK, 5_000))
    return answer.name if isinstance(answer, Failure) else answer.entries


def lies(node_id: int, times: int = 1_000, *entries: ClientQuotas) -> Fault:
    """Make a broker answer other quotas."""
    return Fault(API.key, Altered(lambda _: DescribeClientQuotasResponse(entries=entries)), node_id, times)


@pytest.mark.parametrize(
    ("faults", "expected", "requests"),
    [
        ([], TRUE, 2),
        ([lies(1)], TRUE, 3),
        ([lies(2)], TRUE, 3),
        ([lies(1), lies(2)], (), 2),
        ([lies(1), lies(2, 1_000, TRUE[0])], "CONTRADICTORY_ANSWER", 3),
        ([Fault(API.key, Close(), 2, 1_000)], TRUE, 3),
    ],
)
def test_a_third_broker_decides(
    state: FakeCluster, connect: Callable[[], Cluster], faults: list[Fault], expected: object, requests: int
) -> None:
    """One of three brokers is outvoted, wherever it is in the order; two that agree are believed, and three that do not fail."""
    state.faults += [Fault(one.api_key, one.action, one.node_id, one.times) for one in faults]
    assert quotas_of(connect()) == expected
    answered = [node_id for node_id, key, _ in state.requests if key == API.key]
    assert len(set(answered)) == min(requests, 3)


@pytest.mark.parametrize(("nodes", "expected"), [(1, ()), (2, TRUE)])
def test_few_brokers(state: FakeCluster, nodes: int, expected: object) -> None:
    """Of two brokers the first is asked again, because it may have been behind; a single one is believed."""
    state.faults.append(lies(1, times=1))
    with fake_cluster(state, nodes=nodes):
        deadline = Deadline.after(CLOCK, 5_000)
        with Cluster.connect(short_timeouts(state), CLOCK, RequestStats(), deadline) as cluster:
            assert quotas_of(cluster) == expected


def test_a_broker_that_failed_is_no_second_opinion(state: FakeCluster) -> None:
    """With one of two brokers down, each request costs no attempt at the broker that is down."""
    state.faults.append(Fault(API.key, Close(), node_id=2, times=1_000))
    with fake_cluster(state, nodes=2):
        deadline = Deadline.after(CLOCK, 5_000)
        with Cluster.connect(short_timeouts(state), CLOCK, RequestStats(), deadline) as cluster:
            for _ in range(2):
                assert quotas_of(cluster) == TRUE
            attempts = state.count(API.key, 2)
            assert quotas_of(cluster) == TRUE
            assert state.count(API.key, 2) == attempts > 0


def _without_2(answer: MetadataResponse) -> MetadataResponse:
    return replace(answer, topics=answer.topics[1:], brokers=answer.brokers[::2])


def test_metadata_that_two_of_three_brokers_give(state: FakeCluster, connect: Callable[[], Cluster]) -> None:
    """Each broker and topic is described by two of three answers, and requests go to these brokers."""
    state.add_topic("other", 1)
    cluster, deadline = connect(), Deadline.after(CLOCK, 5_000)
    state.faults += [
        Fault(METADATA.key, Altered(lambda answer: replace(answer, topics=answer.topics[:1])), 2, 1_000),
        Fault(METADATA.key, Altered(_without_2), 3, 1_000),
    ]
    answer = agreed_metadata(cluster, None, deadline)
    assert {topic.name for topic in answer.topics} == {"orders", "other"}
    assert {broker.node_id for broker in answer.brokers} == set(cluster.brokers) == {1, 2, 3}


def test_brokers_of_which_one_answer_lacks_one(state: FakeCluster, connect: Callable[[], Cluster]) -> None:
    """Answers that describe the topics alike differ if they name other brokers."""
    state.faults.append(Fault(METADATA.key, Altered(_without_2_alone), 2, 1_000))
    cluster = connect()
    answer = agreed_metadata(cluster, None, Deadline.after(CLOCK, 5_000))
    assert {broker.node_id for broker in answer.brokers} == set(cluster.brokers) == {1, 2, 3}


def _without_2_alone(answer: MetadataResponse) -> MetadataResponse:
    return replace(answer, brokers=answer.brokers[::2])


def test_the_order_of_partitions_is_no_difference(state: FakeCluster, connect: Callable[[], Cluster]) -> None:
    """Brokers list partitions in any order, and no third broker is asked because of it."""

    def reversed_partitions(answer: MetadataResponse) -> MetadataResponse:
        topics = tuple(replace(topic, partitions=topic.partitions[::-1]) for topic in answer.topics)
        return replace(answer, topics=topics)

    cluster = connect()
    state.add_topic("several", 3)
    state.faults.append(Fault(METADATA.key, Altered(reversed_partitions), 2, 1_000))
    before = state.count(METADATA.key)
    agreed_metadata(cluster, None, Deadline.after(CLOCK, 5_000))
    assert state.count(METADATA.key) - before == 2
    assert state.count(METADATA.key, 2) > 0


def test_a_broker_that_names_wrong_addresses(state: FakeCluster, connect: Callable[[], Cluster]) -> None:
    """None of them can be reached, so another bootstrap server is asked than the one that gave them."""

    def renamed(answer: MetadataResponse) -> MetadataResponse:
        return replace(answer, brokers=tuple(replace(broker, host="nowhere.invalid") for broker in answer.brokers))

    state.faults.append(Fault(METADATA.key, Altered(renamed), 1, 1_000))
    answer = agreed_metadata(connect(), None, Deadline.after(CLOCK, 5_000))
    assert {broker.node_id: broker.host for broker in answer.brokers} == dict.fromkeys((1, 2, 3), "127.0.0.1")


def test_a_second_answer_that_is_the_same(
    state: FakeCluster, connect: Callable[[], Cluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not checked and learned once more, which takes seconds of a million partitions. Each names its own controller."""

    def with_controller(answer: MetadataResponse) -> MetadataResponse:
        return replace(answer, controller_id=3)

    checked = []

    def counted(response: MetadataResponse, requested: Any) -> Any:
        checked.append(response)
        return checked_metadata(response, requested)

    monkeypatch.setattr("kafka_lagoon.client.cluster.checked_metadata", counted)
    cluster, deadline = connect(), Deadline.after(CLOCK, 5_000)
    checked.clear()
    state.faults.append(Fault(METADATA.key, Altered(with_controller), 2, 1_000))
    agreed = agreed_metadata(cluster, None, deadline)
    assert {topic.name for topic in agreed.topics} == set(state.topics)
    assert (len(checked), cluster.controller_id) == (1, 3)


def test_brokers_of_a_cluster_of_two(state: FakeCluster) -> None:
    """The other one is asked, too, and the first one once more where they differ."""

    def renamed(answer: MetadataResponse) -> MetadataResponse:
        return replace(answer, brokers=tuple(replace(broker, host="nowhere.invalid") for broker in answer.brokers))

    state.faults.append(Fault(METADATA.key, Altered(renamed)))
    deadline = Deadline.after(CLOCK, 5_000)
    with (
        fake_cluster(state, nodes=2),
        Cluster.connect(short_timeouts(state), CLOCK, RequestStats(), deadline) as cluster,
    ):
        agree_on_brokers(cluster, deadline)
        assert {broker.host for broker in cluster.brokers.values()} == {"127.0.0.1"}
    assert state.count(METADATA.key) == 3


def test_a_broker_that_two_answers_describe_differently() -> None:
    """It exists even if the last answer lacks it, as the later of the two describes it; one answer alone is not enough."""
    old, new = (MetadataBroker(node_id=1, host=host, port=9092) for host in ("old", "new"))
    other = MetadataBroker(node_id=2, host="other", port=9092)
    several = [MetadataResponse(brokers=brokers) for brokers in [(old,), (new,), (other,)]]
    assert agreed_brokers(several) == (new,)
    assert agreed_brokers([several[2], several[0], several[0]]) == (old,)


def test_how_long_a_broker_throttled_us_is_no_difference(state: FakeCluster, connect: Callable[[], Cluster]) -> None:
    """It is about the answer, and two brokers agree on the rest."""

    def throttled(ms: int) -> Altered:
        return Altered(lambda answer: replace(answer, throttle_time_ms=ms))

    state.faults += [Fault(API.key, throttled(node_id), node_id, 1_000) for node_id in (1, 2, 3)]
    assert quotas_of(connect()) == TRUE
    assert state.count(API.key) == 2


def test_the_order_of_lists_means_nothing() -> None:
    """Brokers list what they know in any order; a list with an item twice is another one."""
    response = DescribeClientQuotasResponse(entries=TRUE)
    assert content(response) == content(DescribeClientQuotasResponse(entries=TRUE[::-1], throttle_time_ms=7))
    assert content(response) != content(DescribeClientQuotasResponse(entries=(*TRUE, TRUE[0])))
