"""ElectLeaders (api key 43): ?"""

from pipeline.wire.schema import Api, Int8, Int16, Int32, Route, String, Versions, struct, wire


@struct
class TopicPartitions:
    """?"""

    topic: String
    partitions: tuple[Int32, ...]


@struct
class ElectLeadersRequest:
    """?"""

    election_type: Int8 = wire(since=1)
    topic_partitions: tuple[TopicPartitions, ...] | None
    timeout_ms: Int32 = wire(default=60000)


@struct
class PartitionResult:
    """?"""

    partition_id: Int32
    error_code: Int16
    error_message: String | None


@struct
class ReplicaElectionResult:
    """?"""

    topic: String
    partition_result: tuple[PartitionResult, ...]


@struct
class ElectLeadersResponse:
    """?"""

    throttle_time_ms: Int32
    error_code: Int16 = wire(since=1)
    replica_election_results: tuple[ReplicaElectionResult, ...]


ELECT_LEADERS = Api(
    key=43,
    versions=Versions(0, 2),
    flexible=2,
    route=Route.CONTROLLER,
    request=ElectLeadersRequest,
    response=ElectLeadersResponse,
)
