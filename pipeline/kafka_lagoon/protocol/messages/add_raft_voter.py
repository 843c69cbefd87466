"""AddRaftVoter (api key 80): a controller gets a vote in the metadata quorum (KIP-853).

Any broker passes the request on to the active controller. Surprises:

- The cluster must be at kraft.version 1, else error 35: a quorum with fixed voters takes no others.
- The new voter must run already, follow as an observer, and have caught up; error 7 also says that it has not yet, or
  that another change is under way.
- A voter is its id and the id of its directory; an id that votes already is error 126, with whatever directory.
- Listeners must have the one that controllers talk to each other by, else error 42.
- Permission to alter the cluster is needed.
"""

from kafka_lagoon.wire.schema import Api, Bool, Int16, Int32, String, UInt16, Uuid, Versions, struct, wire


@struct
class AddedVoterListener:
    """An address of the new voter; ports are unsigned here."""

    name: String
    host: String
    port: UInt16


@struct
class AddRaftVoterRequest:
    """The voter to add. A cluster id that is not null must be right (error 104)."""

    cluster_id: String | None
    timeout_ms: Int32
    voter_id: Int32
    voter_directory_id: Uuid  # as in its meta.properties; not zero
    listeners: tuple[AddedVoterListener, ...]
    ack_when_committed: Bool = wire(since=1, default=True)  # KIP-1186: False answers as soon as the leader's log has it


@struct
class AddRaftVoterResponse:
    """An error code, 0 if the voter was added."""

    throttle_time_ms: Int32
    error_code: Int16
    error_message: String | None


ADD_RAFT_VOTER = Api(
    key=80,
    versions=Versions(0, 1),
    flexible=0,
    request=AddRaftVoterRequest,
    response=AddRaftVoterResponse,
)
