"""API versions of fake brokers."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from kafka_lagoon.admin.versions import api_versions
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.protocol.messages.api_versions import API_VERSIONS, ApiVersionsResponse, SupportedFeature
from kafka_lagoon.protocol.messages.metadata import METADATA
from tests.admin.conftest import soon
from tests.fake.broker import FakeBroker
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Altered, Fault


def test_every_broker_is_asked(cluster: Cluster, brokers: dict[int, FakeBroker]) -> None:
    """Each broker has its own versions; a broker that does not answer is a failure."""
    brokers[3].die()
    cluster.unreachable.add(
        cluster.brokers[3].address
    )  # as by an earlier request, so that the test does not wait for it
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


def with_other_versions(response: ApiVersionsResponse) -> ApiVersionsResponse:
    """Offer the first API twice, with different versions."""
    first = response.api_keys[0]
    return replace(response, api_keys=(*response.api_keys, replace(first, max_version=first.max_version + 1)))


def with_other_levels(response: ApiVersionsResponse) -> ApiVersionsResponse:
    """Support a feature twice, with different levels."""
    levels = (SupportedFeature(name="kraft.version", min_version=0, max_version=highest) for highest in (0, 1))
    return replace(response, supported_features=tuple(levels))


@pytest.mark.parametrize("change", [with_other_versions, with_other_levels])
def test_two_ranges_of_one_name_are_not_believed(
    state: FakeCluster, cluster: Cluster, change: Callable[[ApiVersionsResponse], ApiVersionsResponse]
) -> None:
    """An API or a feature with two ranges is a contradiction."""
    state.faults.append(Fault(API_VERSIONS.key, Altered(change), node_id=2, times=1_000))
    versions = api_versions(cluster, soon())
    assert sorted(versions.answers) == [1, 3]
    assert versions.failures[2].name == "PROTOCOL_ERROR"
