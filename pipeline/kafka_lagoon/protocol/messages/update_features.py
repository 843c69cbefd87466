"""UpdateFeatures (api key 57): levels of features that all brokers obey, up or down (KIP-584).

The controller answers: under ZooKeeper any other broker says error 41, under KRaft any broker passes it on (KIP-590).
Needs permission to alter the cluster. What is supported and finalized now is in the answer to ApiVersions. Surprises:

- metadata.version is a feature, and raising it is what completes an upgrade of a KRaft cluster. Few ways lead back.
- Level 0 switches a feature off. A level that a broker or controller does not support is error 95.
- Up needs UPGRADE, down one of the others: anything else is error 95.
- Brokers from 4.0 on do all or nothing and tell one error, above; older ones may tell one per feature, up to v1.
"""

from kafka_lagoon.wire.schema import Api, Bool, Int8, Int16, Int32, String, Versions, struct, wire

UPGRADE = 1
SAFE_DOWNGRADE = 2  # refused where metadata would be lost
UNSAFE_DOWNGRADE = 3


@struct
class FeatureUpdate:
    """A feature and its new level."""

    feature: String
    max_version_level: Int16
    allow_downgrade: Bool = wire(until=0)
    upgrade_type: Int8 = wire(since=1, default=UPGRADE)  # KIP-778: UPGRADE, SAFE_DOWNGRADE or UNSAFE_DOWNGRADE


@struct
class UpdateFeaturesRequest:
    """Features to change, and how long the controller may take."""

    timeout_ms: Int32 = wire(default=60000)
    feature_updates: tuple[FeatureUpdate, ...]
    validate_only: Bool = wire(since=1)  # KIP-778


@struct
class UpdatableFeatureResult:
    """The result for a feature."""

    feature: String
    error_code: Int16
    error_message: String | None


@struct
class UpdateFeaturesResponse:
    """An error of the whole, and up to v1 those of features."""

    throttle_time_ms: Int32
    error_code: Int16
    error_message: String | None
    results: tuple[UpdatableFeatureResult, ...] = wire(until=1, ignorable=True)


UPDATE_FEATURES = Api(
    key=57,
    versions=Versions(0, 2),
    flexible=0,
    request=UpdateFeaturesRequest,
    response=UpdateFeaturesResponse,
)
