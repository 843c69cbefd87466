"""Request statistics: counted values, and constant memory of statistics and clusters."""

import pickle
from itertools import cycle, islice

import pytest

from kafka_lagoon.client.broker import Broker
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.client.session import Transport
from kafka_lagoon.clock import Deadline
from kafka_lagoon.kafka_settings import KafkaSettings
from kafka_lagoon.protocol.messages.describe_cluster import DESCRIBE_CLUSTER, DescribeClusterResponse
from kafka_lagoon.protocol.messages.list_groups import LIST_GROUPS, ListGroupsRequest, ListGroupsResponse
from kafka_lagoon.protocol.messages.metadata import METADATA, MetadataBroker, MetadataResponse
from tests.client.footprint import footprint
from tests.client.loopback import Loopback, access
from tests.clock import CLOCK, Hands

KEYS = [(api, broker) for api in ("Fetch", "ListOffsets", "Metadata") for broker in (None, 1, 2, 3)]
LONGER_NUMBERS = 4_000  # bytes: counts of the same entries become larger integer objects


def count(request_stats: RequestStats, requests: int) -> None:
    """Count this many requests and responses, of some APIs to some brokers."""
    for number, key in enumerate(islice(cycle(KEYS), requests)):
        request_stats.sent(key, 12, 100)
        request_stats.answered(key, 100_000, number, number + 0.5, 1)


def test_requests_and_responses_are_counted() -> None:
    """Numbers, bytes and throttle times are summed, the version is the highest, and the time is from first to last."""
    request_stats = RequestStats()
    for version, sent_at in ((11, 5.0), (12, 2.0), (10, 9.0)):
        request_stats.sent(("Fetch", 1), version, 100)
        request_stats.answered(("Fetch", 1), 1_000, sent_at, sent_at + 0.5, 7)
    request_stats.sent(("Fetch", 2), 12, 60)
    fetched, waiting = request_stats.by_api["Fetch", 1], request_stats.by_api["Fetch", 2]
    assert (fetched.requests, fetched.request_bytes, fetched.api_version) == (3, 300, 12)
    assert (fetched.answers, fetched.answer_bytes, fetched.throttle_ms, fetched.elapsed_ms) == (3, 3_000, 21, 7_500)
    assert (waiting.requests, waiting.answers, waiting.elapsed_ms) == (1, 0, 0)


@pytest.mark.proof
@pytest.mark.long
def test_a_million_requests_take_no_more_memory_than_a_thousand() -> None:
    """The statistics keep one entry per API and broker, and nothing per request."""
    request_stats = RequestStats()
    count(request_stats, 1_000)
    before = footprint(request_stats)
    count(request_stats, 999_000)
    assert sum(stats.requests for stats in request_stats.by_api.values()) == 1_000_000
    assert footprint(request_stats) - before < LONGER_NUMBERS


@pytest.mark.long
def test_a_connection_keeps_nothing_per_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker takes as much memory after thousands of requests as after a hundred."""
    loopback = Loopback({LIST_GROUPS.key: ListGroupsResponse})
    monkeypatch.setattr(Transport, "connect", lambda *_: loopback)
    clock = Hands().clock()
    broker = Broker(1, "127.0.0.1", 9092, access(clock))

    def ask(requests: int) -> int:
        for _ in range(requests):
            broker.ask(LIST_GROUPS, ListGroupsRequest(), Deadline.after(clock, 1_000))
        loopback.requests.clear()
        return footprint(broker)

    before = ask(100)
    assert ask(5_000) - before < LONGER_NUMBERS


@pytest.mark.long
def test_a_cluster_keeps_nothing_per_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """Changing brokers, refreshed metadata and failed brokers do not make a cluster larger."""
    moves = cycle(range(1_000, 1_100))

    def metadata() -> MetadataResponse:
        ports = (9092, 9092 + next(moves))  # one broker stays, the other changes its address each time
        brokers = tuple(
            MetadataBroker(node_id=number, host="127.0.0.1", port=port) for number, port in enumerate(ports)
        )
        return MetadataResponse(brokers=brokers, cluster_id="loop", controller_id=0)

    answers = {METADATA.key: metadata, DESCRIBE_CLUSTER.key: lambda: DescribeClusterResponse(cluster_id="loop")}
    monkeypatch.setattr(Transport, "connect", lambda *_: Loopback(answers))
    settings = KafkaSettings(bootstrap_servers="127.0.0.1:9092")
    deadline = Deadline.after(CLOCK, 60_000)
    with Cluster.connect(settings, CLOCK, RequestStats(), deadline) as cluster:

        def refresh(times: int) -> int:
            for number in range(times):
                cluster.refresh((), deadline)
                cluster.unreachable.add(cluster.brokers[number % 2].address)
            for broker in cluster.brokers.values():
                broker.close()  # memory of the loopback transport is not the cluster's
            return footprint([cluster.request_stats, cluster.brokers, cluster.unreachable, vars(cluster)])

        before = refresh(100)
        assert refresh(2_000) - before < LONGER_NUMBERS
        assert sorted(cluster.brokers) == [0, 1]


def test_counts_of_another_process() -> None:
    """Statistics are pickled without their lock and added; times are only durations, because clocks may differ."""
    ours, theirs = RequestStats(), RequestStats()
    ours.sent(("Fetch", 1), 12, 100)
    ours.answered(("Fetch", 1), 1_000, 5.0, 5.5, 1)
    for number in range(3):
        theirs.sent(("Fetch", 1), 18, 100)
        theirs.answered(("Fetch", 1), 1_000, 90_000.0 + number, 90_001.0 + number, 1)
    theirs.sent(("Metadata", None), 13, 10)
    theirs.item_counts["Fetch", 1].answered = 7
    ours.add(pickle.loads(pickle.dumps(theirs)))  # noqa: S301  as Spark sends it
    fetch = ours.by_api["Fetch", 1]
    assert (fetch.requests, fetch.answers, fetch.request_bytes, fetch.answer_bytes) == (4, 4, 400, 4_000)
    assert (fetch.api_version, fetch.throttle_ms, fetch.elapsed_ms) == (18, 4, 3_000)
    assert ours.by_api["Metadata", None].elapsed_ms == 0
    assert ours.item_counts["Fetch", 1].answered == 7


def test_responses_after_counts_of_a_process_with_another_clock() -> None:
    """The time of a later response is compared with times of the same clock, however far behind the other clock is."""
    ours, theirs = RequestStats(), RequestStats()
    for number in range(2):
        theirs.sent(("Metadata", 1), 13, 10)
        theirs.answered(("Metadata", 1), 10, 5.0 + number, 6.0 + number, 0)
    ours.add(theirs)
    assert ours.by_api["Metadata", 1].elapsed_ms == 2_000
    for sent_at in (90_000.0, 90_003.0):
        ours.sent(("Metadata", 1), 13, 10)
        ours.answered(("Metadata", 1), 10, sent_at, sent_at + 0.5, 0)
    assert ours.by_api["Metadata", 1].elapsed_ms == 3_500
