"""RemoveRaftVoter (api key 81): ?"""

from pipeline.wire.schema import Api, Int16, Int32, Route, String, Uuid, Versions, struct


@struct
class RemoveRaftVoterRequest:
    """?"""

    cluster_id: String | None
    voter_id: Int32
    voter_directory_id: Uuid


@struct
class RemoveRaftVoterResponse:
    """?"""

    throttle_time_ms: Int32
    error_code: Int16
    error_message: String | None


REMOVE_RAFT_VOTER = Api(
    key=81,
    versions=Versions(0, 0),
    flexible=0,
    route=Route.CONTROLLER,
    request=RemoveRaftVoterRequest,
    response=RemoveRaftVoterResponse,
)
