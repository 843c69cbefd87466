"""API versions of fake brokers."""

from kafka_lagoon.admin.versions import api_versions
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.protocol.messages.metadata import METADATA
from tests.admin.conftest import soon
from tests.fake.broker import FakeBroker
from tests.fake.cluster import FakeCluster


def test_every_broker_is_asked(cluster: Cluster, brokers: dict[int, FakeBroker]) -> None:
    """Each broker has its own versions; a broker that does not answer is a failure."""
    brokers[3].die()
    cluster.unreachable.add(3)  # marked as failed by an earlier request, so that the test does not wait for it
    versions = api_versions(cluster, soon())
    assert sorted(versions.answers) == [1, 2]
    assert set(versions.failures) == {3}


def test_answers_are_the_brokers_own(state: FakeCluster, cluster: Cluster) -> None:
    """Ranges are those of the broker, also if they are lower than ours."""
    state.highest[METADATA.key] = 5
    versions = api_versions(cluster, soon())
    highest = {
        api.max_version
        for answer in versions.answers.values()
        for api in answer.api_keys
        if api.api_key == METADATA.key
    }
    assert highest == {5}
