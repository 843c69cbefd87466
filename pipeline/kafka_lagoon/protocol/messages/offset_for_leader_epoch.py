"""OffsetForLeaderEpoch (api key 23): where the leader's log ends for an epoch, so that a truncation can be detected.

The leader of each partition answers with its largest epoch up to the requested one, and the offset after its
last record. Surprises:

- An epoch that the leader does not know, or that is newer than its own, is -1 and -1 with error 0, which proves nothing.
- An epoch older than the first one it remembers is answered with that epoch and the start of the first one.
- The default of replica_id is a debugger that sees beyond the high watermark: consumers must say CONSUMER_REPLICA_ID.
- current_leader_epoch is fenced like Fetch's (errors 74 and 75), leader_epoch is the requested epoch.
- A topic that we may not describe is error 29 of its partitions.
"""

from collections.abc import Sequence

from kafka_lagoon.wire.schema import Api, Int16, Int32, Int64, String, Versions, struct, wire

CONSUMER_REPLICA_ID = -1
DEBUGGER_REPLICA_ID = -2
UNKNOWN_EPOCH, UNKNOWN_OFFSET = -1, -1


@struct
class OffsetForLeaderPartition:
    """A partition, and the epoch whose end offset is requested."""

    partition: Int32
    current_leader_epoch: Int32 = wire(since=2, default=-1, ignorable=True)  # KIP-320
    leader_epoch: Int32


@struct
class OffsetForLeaderTopic:
    """A topic's partitions."""

    topic: String
    partitions: Sequence[OffsetForLeaderPartition]


@struct
class OffsetForLeaderEpochRequest:
    """Partitions led by the broker that answers."""

    replica_id: Int32 = wire(since=3, default=DEBUGGER_REPLICA_ID, ignorable=True)
    topics: Sequence[OffsetForLeaderTopic]


@struct
class EpochEndOffset:
    """An epoch and the offset after its last record."""

    error_code: Int16
    partition: Int32
    leader_epoch: Int32 = wire(since=1, default=UNKNOWN_EPOCH, ignorable=True)  # KIP-279
    end_offset: Int64 = wire(default=UNKNOWN_OFFSET)


@struct
class OffsetForLeaderTopicResult:
    """A topic's partitions."""

    topic: String
    partitions: Sequence[EpochEndOffset]


@struct
class OffsetForLeaderEpochResponse:
    """One end per requested partition."""

    throttle_time_ms: Int32 = wire(since=2, ignorable=True)
    topics: Sequence[OffsetForLeaderTopicResult]


OFFSET_FOR_LEADER_EPOCH = Api(
    key=23,
    versions=Versions(0, 4),
    flexible=4,
    request=OffsetForLeaderEpochRequest,
    response=OffsetForLeaderEpochResponse,
)
