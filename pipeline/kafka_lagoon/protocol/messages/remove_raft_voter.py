"""RemoveRaftVoter (api key 81): a controller loses its vote in the metadata quorum (KIP-853).

Any broker passes the request on to the active controller. It needs kraft.version 1 (error 35 else) and permission to
alter the cluster. A voter is its id and the id of its directory; if either does not fit it is error 127. Error 7 also
says that another change is under way. The active controller can be removed too, and steps down when it is. A controller
that is removed and keeps running follows on as an observer, or, if configured to join by itself, may be back at once.
"""

from kafka_lagoon.wire.schema import Api, Int16, Int32, String, Uuid, Versions, struct


@struct
class RemoveRaftVoterRequest:
    """The voter to remove. A cluster id that is not null must be right (error 104)."""

    cluster_id: String | None
    voter_id: Int32
    voter_directory_id: Uuid


@struct
class RemoveRaftVoterResponse:
    """An error code, 0 if the voter was removed."""

    throttle_time_ms: Int32
    error_code: Int16
    error_message: String | None


REMOVE_RAFT_VOTER = Api(
    key=81,
    versions=Versions(0, 0),
    flexible=0,
    request=RemoveRaftVoterRequest,
    response=RemoveRaftVoterResponse,
)
