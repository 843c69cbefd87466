"""OffsetDelete (api key 47): forget what a group has committed for some partitions (KIP-496).

The coordinator of the group answers. Surprises:

- Partitions of a topic that the group is subscribed to are error 86. A classic group with members that are no consumers
  is error 68.
- A partition that has no commit succeeds; one that does not exist is error 3, so that commits for deleted topics cannot
  be deleted this way.
- An error of the whole group (16, 14, 30, 68, 69) is in the response itself.
"""

from kafka_lagoon.wire.schema import Api, Int16, Int32, String, Versions, struct


@struct
class OffsetDeleteRequestPartition:
    """A partition whose commit is to go."""

    partition_index: Int32


@struct
class OffsetDeleteRequestTopic:
    """A topic's partitions."""

    name: String
    partitions: tuple[OffsetDeleteRequestPartition, ...]


@struct
class OffsetDeleteRequest:
    """A group, and partitions."""

    group_id: String
    topics: tuple[OffsetDeleteRequestTopic, ...]


@struct
class OffsetDeleteResponsePartition:
    """An error code, 0 if the commit is deleted."""

    partition_index: Int32
    error_code: Int16


@struct
class OffsetDeleteResponseTopic:
    """A topic's partitions."""

    name: String
    partitions: tuple[OffsetDeleteResponsePartition, ...]


@struct
class OffsetDeleteResponse:
    """One entry per partition, or why there is none."""

    error_code: Int16
    throttle_time_ms: Int32
    topics: tuple[OffsetDeleteResponseTopic, ...]


OFFSET_DELETE = Api(
    key=47,
    versions=Versions(0, 0),
    flexible=None,
    request=OffsetDeleteRequest,
    response=OffsetDeleteResponse,
)
