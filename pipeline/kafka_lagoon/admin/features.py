"""Describes the levels of features that all brokers obey, and changes them (UpdateFeatures, KIP-584 and KIP-778).

The levels are in the answer to ApiVersions, as the broker that answers knows them.
"""

from collections.abc import Iterator, Mapping, Sequence

from kafka_lagoon.admin.versions import api_versions
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure, Scope, own_failure
from kafka_lagoon.client.routes import ByController
from kafka_lagoon.client.routing import ShardedRequest, gather
from kafka_lagoon.clock import Deadline
from kafka_lagoon.frozen import frozen
from kafka_lagoon.protocol.messages.api_versions import API_VERSIONS
from kafka_lagoon.protocol.messages.update_features import (
    SAFE_DOWNGRADE,
    UNSAFE_DOWNGRADE,
    UPDATE_FEATURES,
    UPGRADE,
    FeatureUpdate,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)
from kafka_lagoon.wire.schema import LATEST, Versions

_WITH_TYPES = Versions(1, LATEST)  # KIP-778: kinds of downgrades, and validation
UPGRADE_TYPES: Mapping[str, int] = {
    "upgrade": UPGRADE,
    "safe_downgrade": SAFE_DOWNGRADE,
    "unsafe_downgrade": UNSAFE_DOWNGRADE,
}


@frozen(kw_only=False)
class FeatureLevels:
    """A feature: the level in force, 0 if it is off, and the levels that every broker that answered supports."""

    level: int
    lowest: int
    highest: int


@frozen(kw_only=False)
class FeatureChange:
    """The level that a feature is to have, and one of UPGRADE_TYPES."""

    level: int
    upgrade_type: str


def feature_levels(cluster: Cluster, deadline: Deadline) -> Mapping[str, FeatureLevels] | Failure:
    """All features, as the broker with the newest metadata knows them; a failure where no broker answers."""
    answers = api_versions(cluster, deadline)
    if not answers.answers:
        nobody = own_failure(API_VERSIONS, Scope.cluster(), "CONNECTION_FAILED", "no broker answers")
        return next(iter(answers.failures.values()), nobody)
    newest = max(answers.answers.values(), key=lambda answer: answer.finalized_features_epoch)
    levels = {one.name: one.max_version_level for one in newest.finalized_features}
    supported = [
        {one.name: (one.min_version, one.max_version) for one in answer.supported_features}
        for answer in answers.answers.values()
    ]
    return {
        name: _in_common(levels.get(name, 0), [some.get(name) for some in supported])
        for name in sorted({name for some in supported for name in some})
    }


def _in_common(level: int, ranges: Sequence[tuple[int, int] | None]) -> FeatureLevels:
    """The levels that all brokers support: only 0 if one lacks the feature, as the controller has it (QuorumFeatures)."""
    known = [one for one in ranges if one is not None]
    if len(known) < len(ranges):
        return FeatureLevels(level, 0, 0)
    return FeatureLevels(level, max(lowest for lowest, _ in known), min(highest for _, highest in known))


def update_features(
    cluster: Cluster, changes: Mapping[str, FeatureChange], deadline: Deadline, *, validate_only: bool = False
) -> Mapping[str, Failure]:
    """Change levels, all or none of them, and return the failures by feature."""

    def build(names: Sequence[str]) -> UpdateFeaturesRequest:
        return UpdateFeaturesRequest(
            timeout_ms=cluster.settings.request_timeout_ms,
            feature_updates=tuple(
                FeatureUpdate(
                    feature=name,
                    max_version_level=changes[name].level,
                    upgrade_type=UPGRADE_TYPES[changes[name].upgrade_type],
                )
                for name in names
            ),
            validate_only=validate_only,
        )

    sharded: ShardedRequest[str, None] = ShardedRequest(
        api=UPDATE_FEATURES,
        items=list(changes),
        build=build,
        read=_read,
        within=_WITH_TYPES,
        once=not validate_only,
    )
    route = ByController(cluster, lambda name: Scope.config(f"feature {name}"))
    return gather(cluster, route, [sharded], deadline)[0].failures


def _read(response: UpdateFeaturesResponse, names: Sequence[str]) -> Iterator[tuple[str, int, None, str | None]]:
    """Up to v1 there is a result per feature; later versions have only the error code of the whole request."""
    if not response.error_code:
        yield from ((result.feature, result.error_code, None, result.error_message) for result in response.results)
    if response.error_code or not response.results:
        messages = {result.feature: result.error_message for result in response.results}
        yield from ((name, response.error_code, None, messages.get(name, response.error_message)) for name in names)
