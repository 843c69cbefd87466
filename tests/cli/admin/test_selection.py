"""Partitions on the command line, found in a fake cluster."""

from argparse import ArgumentTypeError, Namespace
from dataclasses import replace

import pytest

from kafka_lagoon.cli.admin.selection import Selected, find, merged, moved, placed, selected
from kafka_lagoon.cli.kafka.command import ClusterContext
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.protocol.messages.metadata import METADATA, MetadataResponse
from kafka_lagoon.topic_partition import TopicPartition
from tests.admin.conftest import cluster, soon
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Altered, Fault

__all__ = ["cluster"]  # a fixture of tests/admin


def test_what_is_found(state: FakeCluster, cluster: Cluster) -> None:
    """Whole topics, or some of their partitions, are found; each missing one is a failure of its own."""
    state.add_topic("other", 2)
    context = ClusterContext(cluster=cluster, options=Namespace(), deadline=soon())
    some = find(context, [selected("orders:5,7"), selected("other"), selected("absent")])
    assert list(some.described) == [
        TopicPartition("orders", 5),
        TopicPartition("other", 0),
        TopicPartition("other", 1),
    ]
    assert sorted(str(failure.scope) for failure in some.failures) == ["orders-7", "topic absent"]
    everything = find(context, [])
    assert (len(everything.described), list(everything.failures)) == (8, [])


def test_several_selections_of_a_topic(state: FakeCluster, cluster: Cluster) -> None:
    """A topic that is named several times stands for all its named partitions, in every order; a bare name for all."""
    state.add_topic("other", 2)
    context = ClusterContext(cluster=cluster, options=Namespace(), deadline=soon())
    named = find(context, [selected("orders:0"), selected("other:1"), selected("orders:5,7"), selected("orders:2,0")])
    assert [str(one) for one in named.described] == ["orders-0", "orders-2", "orders-5", "other-1"]
    assert [str(failure.scope) for failure in named.failures] == ["orders-7"]
    for words in (["orders:0", "orders"], ["orders", "orders:0"]):
        assert len(find(context, [*map(selected, words)]).described) == 6
    assert merged(map(selected, ["a:0", "b", "a:3,1", "b:0"])) == {"a": frozenset({0, 1, 3}), "b": None}


def test_topics_that_a_broker_does_not_know_yet(state: FakeCluster, cluster: Cluster) -> None:
    """Without a selection the topics of a cluster are those that two brokers name."""
    without_topics = Altered(lambda metadata: replace(metadata, topics=()))
    state.faults.append(Fault(METADATA.key, without_topics, node_id=1, times=1_000))
    context = ClusterContext(cluster=cluster, options=Namespace(), deadline=soon())
    assert len(find(context, []).described) == 6


def test_listed_topics_that_cannot_be_described(state: FakeCluster, cluster: Cluster) -> None:
    """Without a selection they are failures: what is done for all partitions is not done for theirs."""
    state.add_topic("broken", 2)

    def refuse(metadata: MetadataResponse) -> MetadataResponse:
        topics = (
            replace(one, error_code=-1, partitions=()) if one.name == "broken" else one for one in metadata.topics
        )
        return replace(metadata, topics=tuple(topics))

    state.faults.append(Fault(METADATA.key, Altered(refuse), times=1_000))
    context = ClusterContext(cluster=cluster, options=Namespace(), deadline=soon())
    everything = find(context, [])
    assert len(everything.described) == 6
    assert [str(failure.scope) for failure in everything.failures] == ["topic broken"]


@pytest.mark.parametrize("number", ["2147483648", "99999999999", "9" * 5_000])
def test_numbers_that_no_request_has(number: str) -> None:
    """A partition or a broker beyond int32 is refused before a plan is made of it."""
    for text, parse in (
        (f"{number}=1", placed),
        (f"0={number}", placed),
        (f"a:{number}=1", moved),
        (f"a:0={number}", moved),
    ):
        with pytest.raises(ArgumentTypeError, match="has a number above 2147483647"):
            parse(text)


def test_spellings() -> None:
    """Topics have no colons; brokers stay in the given order."""
    assert selected("a.b-c_1") == Selected("a.b-c_1", None)
    assert selected("a:0,2") == Selected("a", frozenset({0, 2}))
    assert placed("3=2,1") == (3, [2, 1])
    assert moved("a-1:3=2,1") == (TopicPartition("a-1", 3), [2, 1])


@pytest.mark.parametrize(("parse", "text"), [(selected, "a:"), (selected, "a:-1"), (placed, "a"), (moved, "a:1=")])
def test_what_cannot_be_read(parse: object, text: str) -> None:
    """The message names the faulty text."""
    assert callable(parse)
    with pytest.raises(ArgumentTypeError, match=text):
        parse(text)
