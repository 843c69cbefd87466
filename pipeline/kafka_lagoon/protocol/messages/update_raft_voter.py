"""UpdateRaftVoter (api key 82): a voter tells its leader where it listens and what it speaks (KIP-853).

Only the active controller answers, on the listener of controllers: a broker closes the connection, and no client has a
use for it. It is here because controllers offer it in ApiVersions. A leader that has been replaced names its successor.
"""

from kafka_lagoon.wire.schema import Api, Int16, Int32, String, UInt16, Uuid, Versions, struct, wire


@struct
class UpdatedVoterListener:
    """An address of the voter; ports are unsigned here."""

    name: String
    host: String
    port: UInt16


@struct
class KRaftVersionFeature:
    """The levels of kraft.version that the voter supports."""

    min_supported_version: Int16
    max_supported_version: Int16


@struct
class UpdateRaftVoterRequest:
    """The voter as it is now, by its id and that of its directory."""

    cluster_id: String | None
    current_leader_epoch: Int32  # -1 when unknown
    voter_id: Int32
    voter_directory_id: Uuid
    listeners: tuple[UpdatedVoterListener, ...]
    kraft_version_feature: KRaftVersionFeature


@struct
class RaftLeader:
    """The current leader, -1 when unknown; the port is signed here."""

    leader_id: Int32 = wire(default=-1)
    leader_epoch: Int32 = wire(default=-1)
    host: String
    port: Int32


@struct
class UpdateRaftVoterResponse:
    """An error code, 0 if the voter was updated, and the leader."""

    throttle_time_ms: Int32
    error_code: Int16
    current_leader: RaftLeader = wire(tag=0)


UPDATE_RAFT_VOTER = Api(
    key=82,
    versions=Versions(0, 0),
    flexible=0,
    request=UpdateRaftVoterRequest,
    response=UpdateRaftVoterResponse,
)
