"""StreamsGroupDescribe (api key 89): state, topology and members of streams groups (KIP-1071).

The coordinator of each group answers; a group that does not exist, or is of another type, is error 69. Surprises:

- The topology is what the broker made of that of the members: expressions are topics, and numbers of partitions are
  set. As long as it cannot work (state NotReady) it is as the members sent it.
- One topic that we may not describe hides the whole group (error 29).
- A member has an assignment, and one that it is on its way to (target).
- Brokers up to 4.4 do not tell the offsets of tasks. Those whose streams.version is 0 answer error 35 for every group.
- From v1 on the nodes of the topology can be asked for, which brokers keep with a plugin only (KIP-1331).
"""

from kafka_lagoon.protocol.acls import NOT_ASKED
from kafka_lagoon.protocol.streams_topology import StreamsTopologyDescription
from kafka_lagoon.wire.schema import Api, Bool, Int8, Int16, Int32, Int64, String, UInt16, Versions, struct, wire

# As topology_description_status.
NOT_REQUESTED = 0
NOT_STORED = 1
ERROR = 2  # the plugin failed
AVAILABLE = 3


@struct
class StreamsGroupDescribeRequest:
    """The groups to describe."""

    group_ids: tuple[String, ...]
    include_authorized_operations: Bool
    include_topology_description: Bool = wire(since=1)


@struct
class DescribedStreamsKeyValue:
    """A setting of a topic, or a tag of a client."""

    key: String
    value: String


@struct
class DescribedStreamsTopic:
    """A topic that the broker makes for the group."""

    name: String
    partitions: Int32 = wire(least=None)
    replication_factor: Int16 = wire(least=None)
    topic_configs: tuple[DescribedStreamsKeyValue, ...]


@struct
class DescribedSubtopology:
    """A part of the topology whose tasks are assigned as one: what it reads, writes and keeps."""

    subtopology_id: String
    source_topics: tuple[String, ...]
    repartition_sink_topics: tuple[String, ...]
    state_changelog_topics: tuple[DescribedStreamsTopic, ...]
    repartition_source_topics: tuple[DescribedStreamsTopic, ...]


def topics_read(subtopology: DescribedSubtopology) -> tuple[str, ...]:
    """The topics that tasks of a subtopology read: its source topics, then its repartition topics."""
    return (*subtopology.source_topics, *(topic.name for topic in subtopology.repartition_source_topics))


@struct
class DescribedTopology:
    """The topics of the application's subtopologies, and the version of the topology."""

    epoch: Int32 = wire(least=None)
    subtopologies: tuple[DescribedSubtopology, ...] | None = wire(default=None)


@struct
class DescribedStreamsEndpoint:
    """The address at which other clients query the member's state (interactive queries)."""

    host: String
    port: UInt16


@struct
class DescribedTaskOffset:
    """The sum of the changelog offsets of a task."""

    subtopology_id: String
    partition: Int32
    offset: Int64 = wire(least=None)


@struct
class DescribedTaskIds:
    """Tasks of a subtopology, by the partitions that they read."""

    subtopology_id: String
    partitions: tuple[Int32, ...]


@struct
class DescribedTaskAssignment:
    """The tasks of one member: those it works on, those it is a standby for, and those it prepares for."""

    active_tasks: tuple[DescribedTaskIds, ...]
    standby_tasks: tuple[DescribedTaskIds, ...]
    warmup_tasks: tuple[DescribedTaskIds, ...]


@struct
class DescribedStreamsMember:
    """A member. Its epoch equals the group's once it owns its target assignment."""

    member_id: String
    member_epoch: Int32 = wire(least=-2)  # -2: a static member that left for now
    instance_id: String | None = wire(default=None)
    rack_id: String | None = wire(default=None)
    client_id: String
    client_host: String
    topology_epoch: Int32 = wire(least=None)
    process_id: String  # members of one process share its state directory
    user_endpoint: DescribedStreamsEndpoint | None = wire(default=None)
    client_tags: tuple[DescribedStreamsKeyValue, ...]
    task_offsets: tuple[DescribedTaskOffset, ...]
    task_end_offsets: tuple[DescribedTaskOffset, ...]
    assignment: DescribedTaskAssignment
    target_assignment: DescribedTaskAssignment
    is_classic: Bool  # still speaks the classic protocol, while the group is migrated


@struct
class DescribedStreamsGroup:
    """A group: Empty, NotReady, Assigning, Reconciling, Stable or Dead."""

    error_code: Int16
    error_message: String | None = wire(default=None)
    group_id: String
    group_state: String
    group_epoch: Int32
    assignment_epoch: Int32
    topology: DescribedTopology | None = wire(default=None)
    members: tuple[DescribedStreamsMember, ...]
    authorized_operations: Int32 = wire(least=NOT_ASKED, default=NOT_ASKED)
    topology_description: StreamsTopologyDescription | None = wire(since=1, default=None)  # only if it is AVAILABLE
    topology_description_status: Int8 = wire(since=1, default=NOT_REQUESTED)
    assignor_name: String | None = wire(since=1, default=None, ignorable=True)  # of the next assignment (KIP-1357)


@struct
class StreamsGroupDescribeResponse:
    """One entry per requested group."""

    throttle_time_ms: Int32
    groups: tuple[DescribedStreamsGroup, ...]


STREAMS_GROUP_DESCRIBE = Api(
    key=89,
    versions=Versions(0, 1),
    flexible=0,
    request=StreamsGroupDescribeRequest,
    response=StreamsGroupDescribeResponse,
)
