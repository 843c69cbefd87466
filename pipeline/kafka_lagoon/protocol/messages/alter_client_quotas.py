"""AlterClientQuotas (api key 49): limits of users, clients and addresses set or removed (KIP-546).

Any broker answers: under ZooKeeper by itself, under KRaft it passes the request on (KIP-590). Needs permission to alter
the cluster's settings. Surprises:

- Keys are producer_byte_rate, consumer_byte_rate, request_percentage and controller_mutation_rate (KIP-599) for users
  and client ids, connection_creation_rate (KIP-612) for addresses; another one is error 42.
- Rates of bytes and of connections hold for each broker, not for the cluster.
- Removing what is not there is a success. So are unknown users and client ids: nothing need exist.
- The same key of an entity twice is error 42. So is an entity that comes twice, but its first entry is carried out.
- Under KRaft values must be above 0, and byte rates whole (error 42).
- Entity types are those of DescribeClientQuotas.
"""

from kafka_lagoon.wire.schema import Api, Bool, Float64, Int16, Int32, String, Versions, struct


@struct
class AlterClientQuotaEntity:
    """A part of an entity; a null name is the default."""

    entity_type: String  # USER, CLIENT_ID or IP
    entity_name: String | None


@struct
class AlterClientQuotaOperation:
    """A limit to set, or to remove whatever its value."""

    key: String
    value: Float64
    remove: Bool


@struct
class AlterClientQuotaEntry:
    """An entity by its parts, and what to do with its limits."""

    entity: tuple[AlterClientQuotaEntity, ...]
    ops: tuple[AlterClientQuotaOperation, ...]


@struct
class AlterClientQuotasRequest:
    """Entities to change; validate_only changes nothing and answers as if."""

    entries: tuple[AlterClientQuotaEntry, ...]
    validate_only: Bool


@struct
class AlterClientQuotaResult:
    """The result for an entity, for all of its limits or none of them."""

    error_code: Int16
    error_message: String | None
    entity: tuple[AlterClientQuotaEntity, ...]


@struct
class AlterClientQuotasResponse:
    """One entry per entity, in any order."""

    throttle_time_ms: Int32
    entries: tuple[AlterClientQuotaResult, ...]


ALTER_CLIENT_QUOTAS = Api(
    key=49,
    versions=Versions(0, 1),
    flexible=1,
    request=AlterClientQuotasRequest,
    response=AlterClientQuotasResponse,
)
