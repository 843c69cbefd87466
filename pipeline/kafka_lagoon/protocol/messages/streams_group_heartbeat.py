"""StreamsGroupHeartbeat (api key 88): be a member of a streams group, to which the broker assigns tasks (KIP-1071).

The coordinator of the group answers. One request joins, stays and leaves, by its member_epoch. Surprises:

- What is null, or UNCHANGED, is as in the heartbeat before. The first one, with JOIN, must tell the topology and the
  rebalance timeout, and no tasks; later ones no topology. The three kinds of tasks come all or none: else error 42.
- Members make their ids themselves, and keep them for life.
- Not being able to work is no error but a status, and so is an older version of the topology than the group's.
  MISSING_INTERNAL_TOPICS: the broker makes them, if the member has permission to CREATE topics.
- Errors 110 and 25: drop all tasks and join again with the same id. 81: the group is full. 130: the topology cannot be.
- One topic of the topology that we may not describe refuses the whole request (error 29).
- Brokers 4.3 refuse static members and new versions of the topology, and do nothing with offsets of tasks.
- From v1 on the answer may ask for the nodes of the topology (StreamsGroupTopologyDescriptionUpdate, KIP-1331).
- Brokers whose streams.version is 0 answer error 35.
"""

from kafka_lagoon.wire.schema import Api, Bool, Int8, Int16, Int32, Int64, String, UInt16, Versions, struct, wire

JOIN, LEAVE, LEAVE_FOR_NOW = 0, -1, -2  # as member_epoch; for now is for static members, whose tasks wait for them
UNCHANGED = -1  # as rebalance_timeout_ms
ANY_NUMBER = 0  # as partitions or replication_factor of a topic

# As status_code: what keeps the member from working, or what it must do.
STALE_TOPOLOGY = 0
MISSING_SOURCE_TOPICS = 1
INCORRECTLY_PARTITIONED_TOPICS = 2
MISSING_INTERNAL_TOPICS = 3
SHUTDOWN_APPLICATION = 4
ASSIGNMENT_DELAYED = 5
MISSING_CLIENT_TAGS = 6  # from v1 on


@struct
class StreamsKeyValue:
    """A setting of a topic, or a tag of a client."""

    key: String
    value: String


@struct
class StreamsTopicInfo:
    """A topic that the broker is to make."""

    name: String
    partitions: Int32  # ANY_NUMBER for changelogs
    replication_factor: Int16
    topic_configs: tuple[StreamsKeyValue, ...]


@struct
class StreamsCopartitionGroup:
    """Topics that must have the same number of partitions, by their places in the subtopology's lists."""

    source_topics: tuple[Int16, ...]
    source_topic_regex: tuple[Int16, ...]
    repartition_source_topics: tuple[Int16, ...]


@struct
class StreamsSubtopology:
    """A part of the topology whose tasks are assigned as one: what it reads, writes and keeps."""

    subtopology_id: String
    source_topics: tuple[String, ...]
    source_topic_regex: tuple[String, ...]
    state_changelog_topics: tuple[StreamsTopicInfo, ...]
    repartition_sink_topics: tuple[String, ...]
    repartition_source_topics: tuple[StreamsTopicInfo, ...]
    copartition_groups: tuple[StreamsCopartitionGroup, ...]


@struct
class StreamsTopology:
    """The topics of the application's subtopologies. The epoch is the version of the topology, and rises with it."""

    epoch: Int32
    subtopologies: tuple[StreamsSubtopology, ...]


@struct
class StreamsTaskIds:
    """Tasks of a subtopology, by the partitions that they read."""

    subtopology_id: String
    partitions: tuple[Int32, ...]


@struct
class StreamsEndpoint:
    """The address at which other clients query the member's state (interactive queries)."""

    host: String
    port: UInt16


@struct
class StreamsTaskOffset:
    """The sum of the changelog offsets of a task."""

    subtopology_id: String
    partition: Int32
    offset: Int64


@struct
class StreamsGroupHeartbeatRequest:
    """A member, its topology, and the tasks that it has."""

    group_id: String
    member_id: String
    member_epoch: Int32
    endpoint_information_epoch: Int32  # the last one that the member got
    instance_id: String | None = wire(default=None)
    rack_id: String | None = wire(default=None)
    rebalance_timeout_ms: Int32 = wire(default=UNCHANGED)  # to give up what it must
    topology: StreamsTopology | None = wire(default=None)
    active_tasks: tuple[StreamsTaskIds, ...] | None = wire(default=None)
    standby_tasks: tuple[StreamsTaskIds, ...] | None = wire(default=None)
    warmup_tasks: tuple[StreamsTaskIds, ...] | None = wire(default=None)
    process_id: String | None = wire(default=None)  # members of one process share its state directory
    user_endpoint: StreamsEndpoint | None = wire(default=None)
    client_tags: tuple[StreamsKeyValue, ...] | None = wire(default=None)  # e.g. zone, to spread standby tasks
    task_offsets: tuple[StreamsTaskOffset, ...] | None = wire(default=None)
    task_end_offsets: tuple[StreamsTaskOffset, ...] | None = wire(default=None)
    shutdown_application: Bool  # tell all members to stop


@struct
class StreamsStatus:
    """A problem of the group, as a code and as a text."""

    status_code: Int8
    status_detail: String


@struct
class StreamsTopicPartitions:
    """Some partitions of a topic."""

    topic: String
    partitions: tuple[Int32, ...]


@struct
class StreamsEndpointPartitions:
    """The partitions whose state is found at an endpoint."""

    user_endpoint: StreamsEndpoint
    active_partitions: tuple[StreamsTopicPartitions, ...]
    standby_partitions: tuple[StreamsTopicPartitions, ...]


@struct
class StreamsGroupHeartbeatResponse:
    """The member's epoch and tasks, what is the matter, and when to ask again."""

    throttle_time_ms: Int32
    error_code: Int16
    error_message: String | None = wire(default=None)
    member_id: String
    member_epoch: Int32 = wire(least=LEAVE_FOR_NOW)
    heartbeat_interval_ms: Int32
    acceptable_recovery_lag_legacy: Int32 = wire(until=0)
    task_offset_interval_ms: Int32  # how often to tell offsets of tasks
    # Of a warm-up task that counts as caught up; -1 where brokers have no such setting.
    acceptable_recovery_lag: Int64 = wire(since=1, default=-1, ignorable=True)
    status: tuple[StreamsStatus, ...] | None
    active_tasks: tuple[StreamsTaskIds, ...] | None = wire(default=None)
    standby_tasks: tuple[StreamsTaskIds, ...] | None = wire(default=None)
    warmup_tasks: tuple[StreamsTaskIds, ...] | None = wire(default=None)
    topology_description_required: Bool = wire(since=1)
    endpoint_information_epoch: Int32
    partitions_by_user_endpoint: tuple[StreamsEndpointPartitions, ...] | None = wire(default=None)


STREAMS_GROUP_HEARTBEAT = Api(
    key=88,
    versions=Versions(0, 1),
    flexible=0,
    request=StreamsGroupHeartbeatRequest,
    response=StreamsGroupHeartbeatResponse,
)
