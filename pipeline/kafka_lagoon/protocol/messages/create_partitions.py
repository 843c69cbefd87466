"""CreatePartitions (api key 37): more partitions for topics that exist (KIP-195).

The controller answers: under ZooKeeper any other broker says error 41, under KRaft any broker passes it on (KIP-590).
Surprises:

- The count is the total afterwards, not what to add; the present count, or less, is error 37.
- Records stay where they are: keys are spread over more partitions from now on, so a key's order is broken once.
- New partitions have as many replicas as the first one. Assignments, if any, are of the new partitions only.
- From v3 on too many new partitions are error 89, to be tried again, where before they were slowed down (KIP-599).
"""

from kafka_lagoon.wire.schema import Api, Bool, Int16, Int32, String, Versions, struct, wire


@struct
class CreatePartitionsAssignment:
    """The brokers of one new partition; the first is the preferred leader."""

    broker_ids: tuple[Int32, ...]


@struct
class CreatePartitionsTopic:
    """A topic and the partitions it is to have. Null assignments leave the placing to the controller."""

    name: String
    count: Int32  # in total
    assignments: tuple[CreatePartitionsAssignment, ...] | None  # one per new partition, in their order


@struct
class CreatePartitionsRequest:
    """Topics to extend, and how long the controller may take."""

    topics: tuple[CreatePartitionsTopic, ...]
    timeout_ms: Int32
    validate_only: Bool


@struct
class CreatePartitionsTopicResult:
    """The result for a topic."""

    name: String
    error_code: Int16
    error_message: String | None = wire(default=None)


@struct
class CreatePartitionsResponse:
    """One entry per topic, in any order."""

    throttle_time_ms: Int32
    results: tuple[CreatePartitionsTopicResult, ...]


CREATE_PARTITIONS = Api(
    key=37,
    versions=Versions(0, 3),
    flexible=2,
    request=CreatePartitionsRequest,
    response=CreatePartitionsResponse,
)
