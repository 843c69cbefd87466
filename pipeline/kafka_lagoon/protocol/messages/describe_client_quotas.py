"""DescribeClientQuotas (api key 48): limits of users, clients and addresses that match a filter (KIP-546).

Any broker answers, given permission to describe the cluster's settings. Surprises:

- An entity is a combination: a user, a client id, both together, or an address. A filter names some of its parts;
  strict asks for entities that have these and no others.
- No components match everything, and with strict nothing.
- DEFAULT is the limit of those without one of their own, an entity of its own, with a null name.
- These are limits as they were set, for whoever matches; which one applies to a client is decided by the broker, the
  most specific one first.
- Two components of one type, or an address beside a user or a client id, are error 42.
"""

from kafka_lagoon.wire.schema import Api, Bool, Float64, Int8, Int16, Int32, String, Versions, struct

USER, CLIENT_ID, IP = "user", "client-id", "ip"  # IP: KIP-612

# The parts of an entity by type (`user`, `client-id`, `ip`), sorted; the name None is the default of the type.
QuotaEntity = tuple[tuple[str, str | None], ...]

EXACT = 0
DEFAULT = 1
SPECIFIED = 2  # any, the default too: that the entity has such a part is enough


@struct
class ClientQuotaFilter:
    """A condition on one part of an entity. Match is null but for EXACT."""

    entity_type: String  # USER, CLIENT_ID or IP
    match_type: Int8  # EXACT, DEFAULT or SPECIFIED
    match: String | None


@struct
class DescribeClientQuotasRequest:
    """Conditions on entities; an entity must meet all of them."""

    components: tuple[ClientQuotaFilter, ...]
    strict: Bool  # no other parts


@struct
class ClientQuotaEntity:
    """A part of an entity; a null name is the default."""

    entity_type: String  # USER, CLIENT_ID or IP
    entity_name: String | None


@struct
class ClientQuotaValue:
    """A limit: its key is the name of a setting."""

    key: String
    value: Float64  # bytes/s, percent of a thread, partitions/s or connections/s


@struct
class ClientQuotas:
    """An entity by its parts, and its limits."""

    entity: tuple[ClientQuotaEntity, ...]
    values: tuple[ClientQuotaValue, ...]


@struct
class DescribeClientQuotasResponse:
    """Entities in any order; null with an error."""

    throttle_time_ms: Int32
    error_code: Int16
    error_message: String | None
    entries: tuple[ClientQuotas, ...] | None


DESCRIBE_CLIENT_QUOTAS = Api(
    key=48,
    versions=Versions(0, 1),
    flexible=1,
    request=DescribeClientQuotasRequest,
    response=DescribeClientQuotasResponse,
)
