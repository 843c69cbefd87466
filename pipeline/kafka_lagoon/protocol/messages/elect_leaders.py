"""ElectLeaders (api key 43): partitions led by their preferred replica again, or by any live replica (KIP-183, KIP-460).

The controller answers: under ZooKeeper any other broker says error 41, under KRaft any broker passes it on (KIP-590).
Surprises:

- UNCLEAN loses records: a replica leads that did not have them all. It is for partitions without a leader only.
- Error 84 is no failure: the partition already has that leader. Asked about all partitions, such are left out
  (KRaft still lists their topics), so no partitions mean that nothing had to be done.
- Error 80: the preferred replica is down or not in sync; error 83: no replica is alive.
- Permission to alter the cluster is needed. v0 has no error of its own for it: all requested partitions have error 31,
  and with null there is nothing.
"""

from kafka_lagoon.wire.schema import Api, Int8, Int16, Int32, String, Versions, struct, wire

PREFERRED, UNCLEAN = 0, 1


@struct
class ElectionTopic:
    """A topic's partitions."""

    topic: String
    partitions: tuple[Int32, ...]


@struct
class ElectLeadersRequest:
    """Partitions to elect for, null for all, and how long the controller may take."""

    election_type: Int8 = wire(since=1)  # PREFERRED or UNCLEAN
    topic_partitions: tuple[ElectionTopic, ...] | None
    timeout_ms: Int32 = wire(default=60000)


@struct
class ElectionPartitionResult:
    """The result for a partition."""

    partition_id: Int32
    error_code: Int16
    error_message: String | None


@struct
class ElectionTopicResult:
    """A topic's partitions."""

    topic: String
    partition_result: tuple[ElectionPartitionResult, ...]


@struct
class ElectLeadersResponse:
    """One entry per partition that was named, or that needed an election."""

    throttle_time_ms: Int32
    error_code: Int16 = wire(since=1)
    replica_election_results: tuple[ElectionTopicResult, ...]


ELECT_LEADERS = Api(
    key=43,
    versions=Versions(0, 2),
    flexible=2,
    request=ElectLeadersRequest,
    response=ElectLeadersResponse,
)
