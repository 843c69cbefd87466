"""Verbs on brokers that list the APIs of other releases, as Kafka's own code has them."""

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import Deadline
from kafka_lagoon.protocol.apis import APIS
from kafka_lagoon.protocol.messages import describe_configs, describe_log_dirs, describe_producers, describe_quorum
from kafka_lagoon.protocol.messages.api_versions import API_VERSIONS
from kafka_lagoon.protocol.release_apis import RELEASES
from kafka_lagoon.snapshot.collect import collect
from kafka_lagoon.tables.snapshot_rows import CollectionFailureRow
from tests.cli.kafka.conftest import Ask, Shown
from tests.clock import CLOCK
from tests.fake.answers import SPOKEN
from tests.fake.cluster import FakeCluster, FakeCommit, FakeGroup, FakeMember
from tests.protocol.api_lists import minor, recorded
from tests.short_timeouts import short_timeouts

pytestmark = pytest.mark.long

LISTS = recorded()
# The first supported release, releases that added APIs, the last with ZooKeeper, and the newest.
RELEASES_ASKED = [
    *(("0.11.0.3", "zookeeper"), ("1.0.2", "zookeeper"), ("2.0.1", "zookeeper"), ("2.4.1", "zookeeper")),
    *(("2.8.2", "zookeeper"), ("3.3.2", "kraft"), ("3.9.2", "zookeeper"), ("4.0.1", "kraft"), ("4.4.0", "kraft")),
]
VERBS = (
    *("versions", "metadata", "health", "offsets", "offsets --at 2024-01-01", "groups", "describe-group", "lag g"),
    *("configs topic", "configs broker 1", "configs broker-logger 1", "configs group", "configs client-metrics"),
    *(
        "acls",
        "log-dirs --replicas",
        "quorum",
        "reassignments",
        "transactions",
        "transactions tx-1",
        "transactions --describe",
    ),
    *("transactions --longer-than-ms 5", "transactions --topic orders", "fetch orders --last 1", "produce orders"),
)
NOTE = re.compile(r"lagoon: (.*: perhaps not all of them: .*|brokers are too old to return .*)")
REFUSAL = re.compile(r"lagoon: .*: (\w+): UNSUPPORTED_VERSION \(needs Kafka (\d+\.\d+) or newer( with KRaft)?\)")


def _default(api: Any) -> Callable[..., Any]:
    return lambda *_: api.response()


def _configs(_state: Any, _node: int, _version: int, request: Any) -> Any:
    entry = describe_configs.DescribeConfigsEntry(name="min.insync.replicas", value="1")
    return describe_configs.DescribeConfigsResponse(
        results=tuple(
            describe_configs.DescribeConfigsResult(
                resource_type=one.resource_type, resource_name=one.resource_name, configs=(entry,)
            )
            for one in request.resources
        )
    )


def _log_dirs(*_: Any) -> Any:
    disk = describe_log_dirs.DescribeLogDirsResult(log_dir="/a", topics=())
    return describe_log_dirs.DescribeLogDirsResponse(results=(disk,))


def _producers(_state: Any, _node: int, _version: int, request: Any) -> Any:
    topics = (
        describe_producers.DescribeProducersTopicResponse(
            name=topic.name,
            partitions=tuple(
                describe_producers.DescribeProducersPartitionResponse(partition_index=one, active_producers=())
                for one in topic.partition_indexes
            ),
        )
        for topic in request.topics
    )
    return describe_producers.DescribeProducersResponse(topics=tuple(topics))


@pytest.fixture
def everything(state: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> FakeCluster:
    """A cluster with a group, whose brokers answer every API that verbs send."""
    for api in APIS.values():
        if api.key not in SPOKEN:
            monkeypatch.setitem(SPOKEN, api.key, (api, _default(api)))
    log = describe_quorum.QuorumPartition(leader_id=1, current_voters=(), observers=())
    topic = describe_quorum.QuorumTopic(topic_name=describe_quorum.METADATA_TOPIC, partitions=(log,))
    for module, answer in (
        (describe_quorum, lambda *_: describe_quorum.DescribeQuorumResponse(topics=(topic,))),
        (describe_configs, _configs),
        (describe_log_dirs, _log_dirs),
        (describe_producers, _producers),
    ):
        (api,) = (one for one in APIS.values() if one.response.__module__ == module.__name__)
        monkeypatch.setitem(SPOKEN, api.key, (api, answer))
    state.acls = ()
    member = FakeMember("member", ("orders",), {"orders": (0, 1)})
    commits = {("orders", 0): FakeCommit(5)}
    state.groups["g"] = FakeGroup(coordinator_id=2, commits=commits, members=[member], state="Stable")
    return state


@pytest.mark.parametrize(("release", "mode"), RELEASES_ASKED)
def test_what_a_release_cannot_answer(
    everything: FakeCluster, ask: Ask, monkeypatch: pytest.MonkeyPatch, release: str, mode: str
) -> None:
    """A verb sends only requests that the brokers list. A missing API is one line that names a newer release, and exit 3."""
    everything.offered = listed = LISTS[release, mode]
    for verb in VERBS:
        everything.requests.clear()
        with Path(os.devnull).open() as nothing_to_produce:
            monkeypatch.setattr("sys.stdin", nothing_to_produce)
            shown = ask(*verb.split())
        requests = {(key, version) for _, key, version in everything.requests if key != API_VERSIONS.key}
        assert [one for one in requests if not listed[one[0]][0] <= one[1] <= listed[one[0]][1]] == [], verb
        _check(shown, release, mode, verb)


def _check(shown: Shown, release: str, mode: str, verb: str) -> None:
    lines = [line for line in shown.err.splitlines() if not NOTE.fullmatch(line)]
    if release == "4.4.0":
        lines = [line for line in lines if "NOT_LISTED" not in line]
        assert lines == [], verb
        return
    refusals = [REFUSAL.fullmatch(line) for line in lines if "NOT_LISTED" not in line]
    assert all(refusals), (verb, lines)
    assert len(lines) <= 1, (verb, lines)
    assert shown.code == (3 if lines else 0), (verb, lines)
    for _, needed, with_kraft in (one.groups() for one in refusals if one):
        newer = RELEASES.index(needed) > RELEASES.index(minor(release))
        assert newer or (with_kraft and mode == "zookeeper"), (verb, lines)


@pytest.mark.parametrize("verb", ["versions", "transactions tx-1", "fetch orders"])
def test_a_cluster_that_is_too_old(everything: FakeCluster, ask: Ask, verb: str) -> None:
    """For Kafka 0.10 one line names the required release and the older broker; no other request is sent."""
    everything.offered = LISTS["0.10.2.2", "zookeeper"]
    shown = ask(*verb.split())
    where = {f"{host}:{port}" for host, port in everything.addresses.values()}
    refusal = re.fullmatch(r"lagoon: Metadata needs Kafka 0\.11 or newer; the broker at (\S+) is older\n", shown.err)
    assert refusal, shown.err
    assert refusal[1] in where
    assert (shown.code, shown.out) == (1, "")
    assert {key for _, key, _ in everything.requests} == {API_VERSIONS.key}


def test_one_truth_about_a_transaction(everything: FakeCluster, ask: Ask) -> None:
    """Brokers that cannot list transactions do not prove that a transaction is absent."""
    everything.offered = LISTS["2.4.1", "zookeeper"]
    shown = ask("transactions", "tx-1")
    assert shown.err == (
        "lagoon: broker 1, broker 2, broker 3: ListTransactions: UNSUPPORTED_VERSION (needs Kafka 3.0 or newer)\n"
    )
    assert shown.code == 3


@pytest.mark.parametrize(("release", "mode"), RELEASES_ASKED)
def test_a_snapshot_of_any_release_is_complete(everything: FakeCluster, release: str, mode: str) -> None:
    """APIs that brokers are too old for are no failures, and the release is known."""
    everything.offered = LISTS[release, mode]
    deadline = Deadline.after(CLOCK, 10_000)
    with Cluster.connect(short_timeouts(everything), CLOCK, RequestStats(), deadline) as cluster:
        snapshot = collect(cluster, "old", 0, deadline, lambda *_: None)
    assert snapshot.of(CollectionFailureRow) == []
    assert snapshot.published.status == "complete"
    assert snapshot.published.kafka_version_range == ("3.3 to 3.4" if release == "3.3.2" else minor(release))
