"""Topics that a verb selects, and notes about lists."""

import argparse
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from kafka_lagoon.cli.kafka.command import ClusterContext
from kafka_lagoon.cli.kafka.selection import add_topic_option, list_notes, not_listed, selected_topology, topic_notes
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Scope, own_failure
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import Deadline
from kafka_lagoon.protocol.messages.describe_configs import DESCRIBE_CONFIGS
from kafka_lagoon.protocol.messages.describe_log_dirs import DESCRIBE_LOG_DIRS
from kafka_lagoon.protocol.messages.list_transactions import LIST_TRANSACTIONS
from kafka_lagoon.protocol.messages.metadata import METADATA, MetadataResponse
from kafka_lagoon.wire.schema import Api
from tests.cli.kafka.conftest import Ask
from tests.clock import CLOCK
from tests.fake.acls import OF_SOMEBODY
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Altered, Fault
from tests.short_timeouts import short_timeouts

Select = Callable[..., ClusterContext]


@pytest.fixture
def select(state: FakeCluster) -> Iterator[Select]:
    """The context of a verb with this option."""
    deadline = Deadline.after(CLOCK, 5_000)
    with Cluster.connect(short_timeouts(state), CLOCK, RequestStats(), deadline) as cluster:

        def selected(*argv: str) -> ClusterContext:
            parser = argparse.ArgumentParser()
            add_topic_option(parser, "only these topics")
            return ClusterContext(cluster=cluster, options=parser.parse_args(argv), deadline=deadline)

        yield selected


def test_all_topics_by_default(select: Select) -> None:
    """Ordered by name."""
    topology, failures = selected_topology(select())
    assert list(topology.partitions) == ["orders", "other"]
    assert failures == []


def test_a_named_topic_that_does_not_exist_is_a_failure(select: Select) -> None:
    """It stays in the list, with the reason; there is no note about a list of all topics."""
    context = select("--topic", "other,gone")
    topology, failures = selected_topology(context)
    assert list(topology.partitions) == ["gone", "other"]
    assert [(str(failure.scope), failure.name) for failure in failures] == [
        ("topic gone", "UNKNOWN_TOPIC_OR_PARTITION")
    ]
    assert topic_notes(context) == ()


def test_a_list_that_may_be_short_has_a_note(state: FakeCluster, select: Select) -> None:
    """Without all permissions it is not known that the list is complete; the cluster is asked for them only if necessary."""
    state.cluster_operations, state.acls = 0, (OF_SOMEBODY,)
    context = select()
    [note] = topic_notes(context)
    assert note.startswith("topics: perhaps not all of them")
    assert state.permission_requests == 2  # two brokers, which agree
    assert list_notes(context, METADATA.name, "topics", 0) == (note,)
    assert state.permission_requests == 2


def test_a_name_that_no_broker_lists() -> None:
    """A name is reported as missing only if every broker returned its list."""
    [failure] = not_listed("ListGroups", Scope.group, ["a", "b"], {"a"})
    assert (str(failure.scope), failure.name) == ("group b", "NOT_LISTED")
    assert failure.message == "no broker lists it: it is not there, or we may not describe it"
    refused = [own_failure("ListGroups", Scope.broker(3), "CONNECTION_FAILED")]
    [failure] = not_listed("ListGroups", Scope.group, ["b"], (), refused)
    assert failure.message == "no broker that answered lists it"


def _is_behind(response: MetadataResponse) -> MetadataResponse:
    """Neither name the last broker nor any topic."""
    return replace(response, brokers=response.brokers[:-1], topics=())


@pytest.mark.parametrize(
    ("verb", "api"),
    [
        (("log-dirs",), DESCRIBE_LOG_DIRS),
        (("configs", "broker"), DESCRIBE_CONFIGS),
        (("transactions",), LIST_TRANSACTIONS),
    ],
)
def test_a_broker_that_another_one_does_not_name(
    state: FakeCluster, ask: Ask, verb: tuple[str, ...], api: Api[object, object]
) -> None:
    """Every broker is asked that two brokers name."""
    state.faults.append(Fault(METADATA.key, Altered(_is_behind), node_id=1, times=1_000))
    ask(*verb)
    assert state.count(api.key, 3) > 0


def test_lists_of_a_broker_that_is_behind(state: FakeCluster, ask: Ask) -> None:
    """Versions are those of every broker, and configs those of every topic."""
    state.faults.append(Fault(METADATA.key, Altered(_is_behind), node_id=1, times=1_000))
    assert [row["broker_id"] for row in ask("versions", "--json").rows("broker")] == [1, 2, 3]
    named = {row["resource_name"] for row in ask("configs", "topic", "--all", "--json").rows("config")}
    assert named == {"orders", "other"}


@pytest.mark.parametrize("verb", ["lag", "describe-group", "transactions"])
def test_a_missing_name_that_is_given_twice(ask: Ask, verb: str) -> None:
    """It is one failure, as an existing name that is given twice is shown once."""
    once, twice = ask(verb, "nope"), ask(verb, "nope", "nope")
    assert twice == once
    assert (once.code, once.err.count("nope")) == (3, 1)
