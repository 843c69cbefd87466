"""FindCoordinator (api key 10): which broker coordinates a group or a transaction.

Any broker answers. Surprises:

- Asking changes the cluster: the first request about a group creates __consumer_offsets (and is answered with error
  15).
- A broker that has just died is named without an error until its session times out.
- v0 to v3 answer for one key in fields of the response itself, v4 and later for many keys in a list (KIP-699). An error
  of one key is in its entry, the response has no error of its own then.
"""

from kafka_lagoon.wire.schema import Api, Int8, Int16, Int32, String, Versions, struct, wire

GROUP = 0
TRANSACTION = 1  # v1, KIP-98
SHARE = 2  # v6, KIP-932: keys are group:topic_id:partition


@struct
class FindCoordinatorRequest:
    """One key (v0 to v3) or many of the same type (v4 and later)."""

    key: String = wire(until=3)
    key_type: Int8 = wire(since=1, default=GROUP)
    coordinator_keys: tuple[String, ...] = wire(since=4)


@struct
class Coordinator:
    """The broker that coordinates `key`; node_id is -1 beside an error."""

    key: String = wire(since=4)
    node_id: Int32 = wire(since=4)
    host: String = wire(since=4)
    port: Int32 = wire(since=4)
    error_code: Int16 = wire(since=4)
    error_message: String | None = wire(since=4, ignorable=True)


@struct
class FindCoordinatorResponse:
    """The coordinator of the one key, or those of the many."""

    throttle_time_ms: Int32 = wire(since=1, ignorable=True)
    error_code: Int16 = wire(until=3)
    error_message: String | None = wire(since=1, until=3, ignorable=True)
    node_id: Int32 = wire(until=3)
    host: String = wire(until=3)
    port: Int32 = wire(until=3)
    coordinators: tuple[Coordinator, ...] = wire(since=4)


FIND_COORDINATOR = Api(
    key=10,
    versions=Versions(0, 6),
    flexible=3,
    request=FindCoordinatorRequest,
    response=FindCoordinatorResponse,
)
