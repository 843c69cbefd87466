"""OffsetForLeaderEpoch (api key 23): where the leader's log ends for a term, so that a truncation can be told.

The leader of each partition answers with the largest term up to the asked one that it has, and the offset behind its
last record. Surprises:

- A term that the leader does not know, or that is newer than its own, is -1 and -1 with error 0: nothing is proven by it.
- A term older than the first one it remembers is answered with that term itself and the start of the first one.
- The default of replica_id is a debugger that sees behind the high watermark: consumers must say CONSUMER_REPLICA_ID.
- current_leader_epoch is fenced like Fetch's (errors 74 and 75), leader_epoch is what is asked about.
- A topic that we may not describe is error 29 of its partitions.
"""

from kafka_lagoon.wire.schema import Api, Int16, Int32, Int64, String, Versions, struct, wire

CONSUMER_REPLICA_ID = -1
DEBUGGER_REPLICA_ID = -2
UNKNOWN_EPOCH, UNKNOWN_OFFSET = -1, -1


@struct
class OffsetForLeaderPartition:
    """A partition, and the term whose end is asked for."""

    partition: Int32
    current_leader_epoch: Int32 = wire(since=2, default=-1, ignorable=True)  # KIP-320
    leader_epoch: Int32


@struct
class OffsetForLeaderTopic:
    """A topic's partitions."""

    topic: String
    partitions: tuple[OffsetForLeaderPartition, ...]


@struct
class OffsetForLeaderEpochRequest:
    """Partitions led by the broker that is asked."""

    replica_id: Int32 = wire(since=3, default=DEBUGGER_REPLICA_ID, ignorable=True)
    topics: tuple[OffsetForLeaderTopic, ...]


@struct
class EpochEndOffset:
    """A term and the offset behind its last record."""

    error_code: Int16
    partition: Int32
    leader_epoch: Int32 = wire(since=1, default=UNKNOWN_EPOCH, ignorable=True)  # KIP-279
    end_offset: Int64 = wire(default=UNKNOWN_OFFSET)


@struct
class OffsetForLeaderTopicResult:
    """A topic's partitions."""

    topic: String
    partitions: tuple[EpochEndOffset, ...]


@struct
class OffsetForLeaderEpochResponse:
    """One end per partition that was asked about."""

    throttle_time_ms: Int32 = wire(since=2, ignorable=True)
    topics: tuple[OffsetForLeaderTopicResult, ...]


OFFSET_FOR_LEADER_EPOCH = Api(
    key=23,
    versions=Versions(0, 4),
    flexible=4,
    request=OffsetForLeaderEpochRequest,
    response=OffsetForLeaderEpochResponse,
)
