"""UpdateFeatures (api key 57): ?"""

from pipeline.wire.schema import Api, Bool, Int8, Int16, Int32, Route, String, Versions, struct, wire


@struct
class FeatureUpdateKey:
    """?"""

    feature: String
    max_version_level: Int16
    allow_downgrade: Bool = wire(until=0)
    upgrade_type: Int8 = wire(since=1, default=1)


@struct
class UpdateFeaturesRequest:
    """?"""

    timeout_ms: Int32 = wire(default=60000)
    feature_updates: tuple[FeatureUpdateKey, ...]
    validate_only: Bool = wire(since=1)


@struct
class UpdatableFeatureResult:
    """?"""

    feature: String
    error_code: Int16
    error_message: String | None


@struct
class UpdateFeaturesResponse:
    """?"""

    throttle_time_ms: Int32
    error_code: Int16
    error_message: String | None
    results: tuple[UpdatableFeatureResult, ...] = wire(until=1, ignorable=True)


UPDATE_FEATURES = Api(
    key=57,
    versions=Versions(0, 2),
    flexible=0,
    route=Route.CONTROLLER,
    request=UpdateFeaturesRequest,
    response=UpdateFeaturesResponse,
)
