"""Features of fake brokers."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from kafka_lagoon.admin.features import FeatureChange, FeatureLevels, feature_levels, update_features
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.protocol.messages.api_versions import API_VERSIONS, FinalizedFeature, SupportedFeature
from kafka_lagoon.protocol.messages.update_features import UPDATE_FEATURES
from tests.admin.conftest import soon
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Altered, Fault

pytestmark = pytest.mark.usefixtures("topic_apis")
INVALID_UPDATE = 95


def known(level: int, epoch: int, highest: int) -> Callable[[Any], Any]:
    """A feature as a broker knows it."""

    def change(response: Any) -> Any:
        return replace(
            response,
            supported_features=(SupportedFeature(name="group.version", min_version=0, max_version=highest),),
            finalized_features_epoch=epoch,
            finalized_features=(FinalizedFeature(name="group.version", max_version_level=level, min_version_level=0),),
        )

    return change


def test_levels_are_those_of_the_newest_metadata(state: FakeCluster, cluster: Cluster) -> None:
    """A broker with older metadata does not hide a finalized level; a level must be supported by every broker."""
    for node_id, answer in ((1, known(0, 5, 2)), (2, known(1, 9, 1)), (3, known(0, 5, 2))):
        state.faults.append(Fault(API_VERSIONS.key, Altered(answer), node_id=node_id, times=9))
    assert feature_levels(cluster, soon()) == {"group.version": FeatureLevels(1, 0, 1)}


def test_a_broker_that_lacks_a_feature_supports_no_level_of_it(state: FakeCluster, cluster: Cluster) -> None:
    """The controller refuses a level then, as it does one above a broker's range: during an upgrade old brokers lack it."""

    def without(response: Any) -> Any:
        return replace(response, supported_features=(), finalized_features_epoch=5, finalized_features=())

    for node_id, answer in ((1, known(0, 5, 1)), (2, without), (3, known(0, 5, 1))):
        state.faults.append(Fault(API_VERSIONS.key, Altered(answer), node_id=node_id, times=9))
    assert feature_levels(cluster, soon()) == {"group.version": FeatureLevels(0, 0, 0)}


@pytest.mark.parametrize("version", [1, 2])
def test_update_features(state: FakeCluster, connect: Callable[[], Cluster], version: int) -> None:
    """Brokers return an error for each feature, or one for the request, which is then a failure of each requested feature."""
    state.highest[UPDATE_FEATURES.key] = version
    cluster = connect()
    changes = {"group.version": FeatureChange(1, "upgrade"), "share.version": FeatureChange(0, "safe_downgrade")}
    assert update_features(cluster, changes, soon()) == {}

    def refused(response: Any) -> Any:
        return replace(response, error_code=INVALID_UPDATE, error_message="no such level", results=())

    state.faults.append(Fault(UPDATE_FEATURES.key, Altered(refused)))
    failures = update_features(cluster, changes, soon(), validate_only=True)
    assert [(str(one.scope), one.name, one.message) for one in failures.values()] == [
        ("feature group.version", "INVALID_UPDATE_VERSION", "no such level"),
        ("feature share.version", "INVALID_UPDATE_VERSION", "no such level"),
    ]
