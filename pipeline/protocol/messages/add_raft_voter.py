"""AddRaftVoter (api key 80): ?"""

from pipeline.wire.schema import Api, Bool, Int16, Int32, Route, String, UInt16, Uuid, Versions, struct, wire


@struct
class Listener:
    """?"""

    name: String
    host: String
    port: UInt16


@struct
class AddRaftVoterRequest:
    """?"""

    cluster_id: String | None
    timeout_ms: Int32
    voter_id: Int32
    voter_directory_id: Uuid
    listeners: tuple[Listener, ...]
    ack_when_committed: Bool = wire(since=1, default=True)


@struct
class AddRaftVoterResponse:
    """?"""

    throttle_time_ms: Int32
    error_code: Int16
    error_message: String | None


ADD_RAFT_VOTER = Api(
    key=80,
    versions=Versions(0, 1),
    flexible=0,
    route=Route.CONTROLLER,
    request=AddRaftVoterRequest,
    response=AddRaftVoterResponse,
)
