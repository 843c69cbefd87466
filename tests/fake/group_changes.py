"""Alters stored data of groups and transactional producers of a fake cluster, as far as our tests need it."""

from typing import Any

from kafka_lagoon.protocol.messages import (
    alter_share_group_offsets,
    delete_groups,
    delete_share_group_offsets,
    offset_commit,
    offset_delete,
    write_txn_markers,
)
from tests.fake.cluster import FakeCluster, FakeCommit

NOT_LEADER, NOT_COORDINATOR, UNKNOWN_TOPIC, UNKNOWN_MEMBER, NON_EMPTY, GROUP_MISSING, UNKNOWN_ID = (
    6,
    16,
    3,
    25,
    68,
    69,
    100,
)
_BY_ID = 10


def _code(state: FakeCluster, node: int, group_id: str, with_members: int) -> int:
    group = state.groups.get(group_id)
    if group is None:
        return GROUP_MISSING
    if group.coordinator_id != node:
        return NOT_COORDINATOR
    return with_members if group.members else 0


def _commit(state: FakeCluster, node: int, version: int, request: Any) -> Any:
    code = _code(state, node, request.group_id, UNKNOWN_MEMBER)
    names = {topic.topic_id: name for name, topic in state.topics.items()}
    topics = []
    for topic in request.topics:
        name = names.get(topic.topic_id, "") if version >= _BY_ID else topic.name
        missing = UNKNOWN_ID if version >= _BY_ID else UNKNOWN_TOPIC
        partitions = []
        for wanted in topic.partitions:
            refused = code or (0 if name in state.topics else missing)
            if not refused:
                state.groups[request.group_id].commits[name, wanted.partition_index] = FakeCommit(
                    wanted.committed_offset,
                    leader_epoch=wanted.committed_leader_epoch,
                    metadata=wanted.committed_metadata or "",
                )
            partitions.append(
                offset_commit.OffsetCommitResponsePartition(partition_index=wanted.partition_index, error_code=refused)
            )
        topics.append(
            offset_commit.OffsetCommitResponseTopic(
                name=topic.name, topic_id=topic.topic_id, partitions=tuple(partitions)
            )
        )
    return offset_commit.OffsetCommitResponse(topics=tuple(topics))


def _delete_offsets(state: FakeCluster, node: int, _version: int, request: Any) -> Any:
    code = _code(state, node, request.group_id, NON_EMPTY)
    topics = []
    for topic in () if code else request.topics:
        for wanted in topic.partitions:
            state.groups[request.group_id].commits.pop((topic.name, wanted.partition_index), None)
        partitions = tuple(
            offset_delete.OffsetDeleteResponsePartition(
                partition_index=one.partition_index, error_code=0 if topic.name in state.topics else UNKNOWN_TOPIC
            )
            for one in topic.partitions
        )
        topics.append(offset_delete.OffsetDeleteResponseTopic(name=topic.name, partitions=partitions))
    return offset_delete.OffsetDeleteResponse(error_code=code, throttle_time_ms=0, topics=tuple(topics))


def _delete_groups(state: FakeCluster, node: int, _version: int, request: Any) -> Any:
    results = []
    for group_id in request.groups_names:
        code = _code(state, node, group_id, NON_EMPTY)
        if not code:
            del state.groups[group_id]
        results.append(delete_groups.DeletableGroupResult(group_id=group_id, error_code=code))
    return delete_groups.DeleteGroupsResponse(throttle_time_ms=0, results=tuple(results))


def _alter_share(state: FakeCluster, node: int, _version: int, request: Any) -> Any:
    code = _code(state, node, request.group_id, NON_EMPTY)
    topics = tuple(
        alter_share_group_offsets.AlterShareGroupOffsetsResponseTopic(
            topic_name=topic.topic_name,
            topic_id=bytes(16),
            partitions=tuple(
                alter_share_group_offsets.AlterShareGroupOffsetsResponsePartition(
                    partition_index=one.partition_index,
                    error_code=0 if topic.topic_name in state.topics else UNKNOWN_TOPIC,
                    error_message=None if topic.topic_name in state.topics else "no such topic",
                )
                for one in topic.partitions
            ),
        )
        for topic in (() if code else request.topics)
    )
    return alter_share_group_offsets.AlterShareGroupOffsetsResponse(
        throttle_time_ms=0, error_code=code, responses=topics
    )


def _delete_share(state: FakeCluster, node: int, _version: int, request: Any) -> Any:
    code = _code(state, node, request.group_id, NON_EMPTY)
    topics = tuple(
        delete_share_group_offsets.DeleteShareGroupOffsetsResponseTopic(
            topic_name=topic.topic_name,
            topic_id=bytes(16),
            error_code=0 if topic.topic_name in state.topics else UNKNOWN_TOPIC,
            error_message=None if topic.topic_name in state.topics else "no such topic",
        )
        for topic in (() if code else request.topics)
    )
    return delete_share_group_offsets.DeleteShareGroupOffsetsResponse(
        throttle_time_ms=0, error_code=code, responses=topics
    )


def _write_markers(state: FakeCluster, node: int, _version: int, request: Any) -> Any:
    results = []
    for marker in request.markers:
        topics = []
        for topic in marker.topics:
            partitions = []
            for index in topic.partition_indexes:
                code = 0 if state.topics[topic.name].partitions[index].leader_id == node else NOT_LEADER
                if not code:
                    state.producers[topic.name, index] = ()
                    state.markers.append(marker)
                partitions.append(
                    write_txn_markers.WritableTxnMarkerPartitionResult(partition_index=index, error_code=code)
                )
            topics.append(write_txn_markers.WritableTxnMarkerTopicResult(name=topic.name, partitions=tuple(partitions)))
        results.append(write_txn_markers.WritableTxnMarkerResult(producer_id=marker.producer_id, topics=tuple(topics)))
    return write_txn_markers.WriteTxnMarkersResponse(markers=tuple(results))


ANSWERS = (
    (offset_commit.OFFSET_COMMIT, _commit),
    (offset_delete.OFFSET_DELETE, _delete_offsets),
    (delete_groups.DELETE_GROUPS, _delete_groups),
    (alter_share_group_offsets.ALTER_SHARE_GROUP_OFFSETS, _alter_share),
    (delete_share_group_offsets.DELETE_SHARE_GROUP_OFFSETS, _delete_share),
    (write_txn_markers.WRITE_TXN_MARKERS, _write_markers),
)
