"""UpdateRaftVoter (api key 82): ?"""

from pipeline.wire.schema import Api, Int16, Int32, Route, String, UInt16, Uuid, Versions, struct, wire


@struct
class Listener:
    """?"""

    name: String
    host: String
    port: UInt16


@struct
class KRaftVersionFeature:
    """?"""

    min_supported_version: Int16
    max_supported_version: Int16


@struct
class UpdateRaftVoterRequest:
    """?"""

    cluster_id: String | None
    current_leader_epoch: Int32
    voter_id: Int32
    voter_directory_id: Uuid
    listeners: tuple[Listener, ...]
    kraft_version_feature: KRaftVersionFeature


@struct
class CurrentLeader:
    """?"""

    leader_id: Int32 = wire(default=-1)
    leader_epoch: Int32 = wire(default=-1)
    host: String
    port: Int32


@struct
class UpdateRaftVoterResponse:
    """?"""

    throttle_time_ms: Int32
    error_code: Int16
    current_leader: CurrentLeader = wire(tag=0)


UPDATE_RAFT_VOTER = Api(
    key=82,
    versions=Versions(0, 0),
    flexible=0,
    route=Route.CONTROLLER,
    request=UpdateRaftVoterRequest,
    response=UpdateRaftVoterResponse,
)
