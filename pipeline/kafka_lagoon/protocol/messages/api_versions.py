"""ApiVersions (api key 18): which APIs a broker speaks, and in which versions.

Any broker answers for itself, before authentication too, so this is the first request on every connection. A broker
that does not know the requested version answers in v0, with error 35 and its own range for this API as the only entry
(KIP-511). So that such an answer can be recognised, the response header is never flexible. Ranges may differ while
brokers are upgraded one by one. Brokers 4.x list Produce from v0 on and close the connection on v0 to v2 (KAFKA-18659).
In v5 a client may name the cluster and the broker that it means; any other broker answers error 129 (KIP-1242), but not
before authentication, where brokers do not look at these fields (seen in 4.4.0).
"""

from kafka_lagoon.wire.schema import LATEST, Api, Bool, Int16, Int32, Int64, String, Versions, struct, wire

UNKNOWN_EPOCH = -1  # finalized_features says nothing
ANY_BROKER = -1  # as node_id
BY_BROKER = Versions(5, LATEST)  # with the ids of cluster and broker


@struct
class ApiVersionsRequest:
    """The software that asks, in letters, digits, dots and dashes, else error 42 (KIP-511), and the broker that it means."""

    client_software_name: String = wire(since=3, ignorable=True)
    client_software_version: String = wire(since=3, ignorable=True)
    cluster_id: String | None = wire(since=5, default=None, ignorable=True)
    node_id: Int32 = wire(since=5, default=ANY_BROKER, ignorable=True)


@struct
class OfferedApi:
    """An API and the versions of it that the broker accepts, both ends included."""

    api_key: Int16
    min_version: Int16
    max_version: Int16


@struct
class SupportedFeature:
    """A feature of the cluster (such as metadata.version) and the levels that this broker can run (KIP-584)."""

    name: String = wire(since=3)
    min_version: Int16 = wire(since=3)
    max_version: Int16 = wire(since=3)


@struct
class FinalizedFeature:
    """A feature and the levels that are in force in the whole cluster (KIP-584)."""

    name: String = wire(since=3)
    max_version_level: Int16 = wire(since=3)
    min_version_level: Int16 = wire(since=3)


@struct
class ApiVersionsResponse:
    """The broker's APIs, and the features of its cluster."""

    error_code: Int16
    api_keys: tuple[OfferedApi, ...]
    throttle_time_ms: Int32 = wire(since=1, ignorable=True)
    # Up to v3 brokers leave out features whose lowest level is 0 (KAFKA-17011).
    supported_features: tuple[SupportedFeature, ...] = wire(since=3, tag=0, ignorable=True)
    finalized_features_epoch: Int64 = wire(since=3, tag=1, default=UNKNOWN_EPOCH, ignorable=True)
    finalized_features: tuple[FinalizedFeature, ...] = wire(since=3, tag=2, ignorable=True)
    zk_migration_ready: Bool = wire(since=3, tag=3, ignorable=True)  # KIP-866, only 3.x controllers set it


API_VERSIONS = Api(
    key=18,
    versions=Versions(0, 5),
    flexible=3,
    request=ApiVersionsRequest,
    response=ApiVersionsResponse,
    flexible_response_header=False,
)
