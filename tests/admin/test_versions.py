"""API versions of fake brokers."""

from kafka_lagoon.admin.versions import api_versions
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.protocol.messages.metadata import METADATA
from tests.admin.conftest import soon
from tests.fake.broker import FakeBroker
from tests.fake.cluster import FakeCluster


def test_every_broker_is_asked(cluster: Cluster, brokers: dict[int, FakeBroker]) -> None:
    """No answer stands for the cluster; a broker that does not answer is a failure."""
    brokers[3].die()
    cluster.unreachable.add(3)  # as after an earlier request, so that it is not waited for
    versions = api_versions(cluster, soon())
    assert sorted(versions.answers) == [1, 2]
    assert set(versions.failures) == {3}


def test_answers_are_the_brokers_own(state: FakeCluster, cluster: Cluster) -> None:
    """Not what we speak: a lower version of theirs is seen."""
    state.highest[METADATA.key] = 5
    versions = api_versions(cluster, soon())
    highest = {
        api.max_version
        for answer in versions.answers.values()
        for api in answer.api_keys
        if api.api_key == METADATA.key
    }
    assert highest == {5}
