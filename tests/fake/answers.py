"""Answers requests from the state of a fake cluster: one function per API that the fake brokers implement."""

import struct
from collections.abc import Callable, Sequence
from typing import Any

from kafka_lagoon.protocol.messages import (
    api_versions,
    consumer_group_describe,
    describe_cluster,
    describe_configs,
    describe_groups,
    find_coordinator,
    list_groups,
    list_offsets,
    metadata,
    offset_fetch,
)
from kafka_lagoon.wire.schema import Api
from tests.fake import acls, logs, reassignments, share_groups, transactions, writes
from tests.fake.cluster import FakeCluster, FakeCommit, FakeGroup, FakeMember, FakePartition, FakeTopic

LEADER_MISSING, NOT_LEADER, UNKNOWN_TOPIC, NOT_COORDINATOR, GROUP_MISSING = 5, 6, 3, 16, 69
UNSTABLE, NO_COORDINATOR = 88, 15
UNSUPPORTED_VERSION = 35
_TELLS_ITS_OWN = 3  # KIP-511: since ApiVersions v3 a refused version is answered with the broker's own versions
SPECIAL = {-1: "high_watermark", -2: "log_start_offset", -4: "local_start"}

# state, node, version, request -> response, or None for a request without a response
Answer = Callable[[FakeCluster, int, int, Any], Any]


def _metadata(state: FakeCluster, _node: int, version: int, request: Any) -> Any:
    wanted = list(state.topics) if request.topics is None else [topic.name for topic in request.topics]
    brokers = tuple(
        metadata.MetadataBroker(node_id=node, host=host, port=port, rack=state.racks.get(node))
        for node, (host, port) in sorted(state.addresses.items())
    )
    return metadata.MetadataResponse(
        brokers=brokers,
        cluster_id="fake",
        controller_id=state.controller_id,
        topics=tuple(_topic(state, name, version) for name in wanted),
    )


def _topic(state: FakeCluster, name: str, version: int) -> metadata.MetadataTopic:
    topic = state.topics.get(name)
    if topic is None:
        return metadata.MetadataTopic(error_code=UNKNOWN_TOPIC, name=name)
    partitions = tuple(
        metadata.MetadataPartition(
            error_code=0 if one.leader_id >= 0 else LEADER_MISSING,
            partition_index=index,
            leader_id=one.leader_id,
            leader_epoch=one.leader_epoch if version >= 7 else -1,
            replica_nodes=one.replicas,
            isr_nodes=one.isr,
        )
        for index, one in enumerate(topic.partitions)
    )
    return metadata.MetadataTopic(name=name, topic_id=topic.topic_id, partitions=partitions)


def _list_offsets(state: FakeCluster, node: int, version: int, request: Any) -> Any:
    topics = []
    for topic in request.topics:
        known = state.topics.get(topic.name)
        some = [
            _offset(node, _partition(known, one.partition_index), one, request.isolation_level, version)
            for one in topic.partitions
        ]
        topics.append(list_offsets.ListOffsetsResponseTopic(name=topic.name, partitions=tuple(some)))
    return list_offsets.ListOffsetsResponse(topics=tuple(topics))


def _partition(topic: FakeTopic | None, index: int) -> FakePartition | None:
    return topic.partitions[index] if topic and 0 <= index < len(topic.partitions) else None


def _offset(node: int, log: FakePartition | None, requested: Any, isolation_level: int, version: int) -> Any:
    index = requested.partition_index
    if log is None or log.leader_id != node or log.error_code:
        code = UNKNOWN_TOPIC if log is None else log.error_code or NOT_LEADER
        return list_offsets.ListOffsetsResponsePartition(partition_index=index, error_code=code)
    if code := log.refused.get((requested.timestamp, isolation_level), 0):
        return list_offsets.ListOffsetsResponsePartition(partition_index=index, error_code=code)
    name = SPECIAL.get(requested.timestamp)
    matching = (offset for timestamp, offset in log.times if 0 <= requested.timestamp <= timestamp)
    offset = getattr(log, name) if name else next(matching, -1)
    if isolation_level and requested.timestamp == list_offsets.LATEST and log.last_stable_offset is not None:
        offset = log.last_stable_offset
    return list_offsets.ListOffsetsResponsePartition(
        partition_index=index, offset=offset, leader_epoch=log.leader_epoch if version >= 4 else -1
    )


def _list_groups(state: FakeCluster, node: int, version: int, _request: Any) -> Any:
    groups = tuple(
        list_groups.ListedGroup(
            group_id=group_id,
            protocol_type=group.protocol_type,
            group_state=group.state if version >= 4 else "",
            group_type=group.group_type if version >= 5 else "",
        )
        for group_id, group in state.groups.items()
        if group.coordinator_id == node
    )
    return list_groups.ListGroupsResponse(groups=groups)


def _find_coordinator(state: FakeCluster, _node: int, version: int, request: Any) -> Any:
    coordinators = [_coordinator(state, key) for key in request.coordinator_keys or (request.key,)]
    if version >= 4:
        return find_coordinator.FindCoordinatorResponse(coordinators=tuple(coordinators))
    first = coordinators[0]
    return find_coordinator.FindCoordinatorResponse(
        error_code=first.error_code, node_id=first.node_id, host=first.host, port=first.port
    )


def _coordinator(state: FakeCluster, group_id: str) -> find_coordinator.Coordinator:
    if group_id not in state.groups:
        return find_coordinator.Coordinator(key=group_id, node_id=-1, host="", port=-1, error_code=NO_COORDINATOR)
    node = state.groups[group_id].coordinator_id
    host, port = state.addresses[node]
    return find_coordinator.Coordinator(key=group_id, node_id=node, host=host, port=port)


def _refused(state: FakeCluster, node: int, group_id: str) -> int:
    group = state.groups.get(group_id)
    if group is None:
        return GROUP_MISSING
    return group.error_code or (0 if group.coordinator_id == node else NOT_COORDINATOR)


def _describe_groups(state: FakeCluster, node: int, version: int, request: Any) -> Any:
    return describe_groups.DescribeGroupsResponse(
        groups=tuple(_classic(state, node, version, group_id) for group_id in request.groups)
    )


def _classic(state: FakeCluster, node: int, version: int, group_id: str) -> describe_groups.DescribedGroup:
    code = _refused(state, node, group_id)
    group = state.groups.get(group_id)
    if group is None or group.group_type != "classic":
        code = GROUP_MISSING if version >= 6 else 0
        return describe_groups.DescribedGroup(error_code=code, group_id=group_id, group_state="Dead")
    if code:
        return describe_groups.DescribedGroup(error_code=code, group_id=group_id)
    return describe_groups.DescribedGroup(
        group_id=group_id,
        group_state=group.state,
        protocol_type=group.protocol_type,
        protocol_data="range" if group.members else "",
        members=tuple(_classic_member(member) for member in group.members),
    )


def _classic_member(member: FakeMember) -> describe_groups.DescribedMember:
    return describe_groups.DescribedMember(
        member_id=member.member_id,
        client_id="client",
        client_host="/127.0.0.1",
        member_metadata=member.raw_metadata or consumer_protocol(member.topics),
        member_assignment=consumer_assignment(member.assignment),
    )


def consumer_protocol(names: Sequence[str]) -> bytes:
    """Encode a subscription of version 0."""
    body = b"".join(struct.pack(">h", len(name)) + name.encode() for name in names)
    return struct.pack(">hi", 0, len(names)) + body + struct.pack(">i", -1)


def consumer_assignment(assignment: dict[str, tuple[int, ...]]) -> bytes:
    """Encode an assignment of version 0."""
    body = b"".join(
        struct.pack(">h", len(name)) + name.encode() + struct.pack(f">i{len(some)}i", len(some), *some)
        for name, some in assignment.items()
    )
    return struct.pack(">hi", 0, len(assignment)) + body + struct.pack(">i", -1)


def _consumer_group_describe(state: FakeCluster, node: int, _version: int, request: Any) -> Any:
    groups = []
    for group_id in request.group_ids:
        group, code = state.groups.get(group_id), _refused(state, node, group_id)
        described = consumer_group_describe.DescribedConsumerGroup(error_code=code, group_id=group_id)
        groups.append(described if code or group is None else _consumer(state, group_id, group))
    return consumer_group_describe.ConsumerGroupDescribeResponse(groups=tuple(groups))


def _consumer(state: FakeCluster, group_id: str, group: FakeGroup) -> Any:
    def owned(member: FakeMember) -> Any:
        return consumer_group_describe.ConsumerGroupAssignment(
            topic_partitions=tuple(
                consumer_group_describe.ConsumerGroupTopicPartitions(
                    topic_id=state.topics[name].topic_id if name in state.topics else name.encode().zfill(16),
                    topic_name=name if group.has_names else "",
                    partitions=some,
                )
                for name, some in member.assignment.items()
            )
        )

    members = tuple(
        consumer_group_describe.DescribedConsumerMember(
            member_id=member.member_id,
            member_epoch=7,
            client_id="client",
            client_host="/127.0.0.1",
            subscribed_topic_names=member.topics,
            assignment=owned(member),
            target_assignment=owned(member),
        )
        for member in group.members
    )
    return consumer_group_describe.DescribedConsumerGroup(
        group_id=group_id,
        group_state=group.state,
        group_epoch=7,
        assignment_epoch=7,
        assignor_name="uniform",
        members=members,
    )


def _offset_fetch(state: FakeCluster, node: int, version: int, request: Any) -> Any:
    if version < 8:
        code = _refused(state, node, request.group_id)
        topics = () if code else _commits(state.groups[request.group_id], stable=request.require_stable)
        return offset_fetch.OffsetFetchResponse(topics=topics, error_code=code)
    groups = []
    for group in request.groups:
        code = _refused(state, node, group.group_id)
        topics = () if code else _commits(state.groups[group.group_id], stable=request.require_stable)
        answer = offset_fetch.OffsetFetchResponseGroup(group_id=group.group_id, topics=topics, error_code=code)
        groups.append(answer)
    return offset_fetch.OffsetFetchResponse(groups=tuple(groups))


def _commits(group: FakeGroup, *, stable: bool) -> tuple[offset_fetch.OffsetFetchResponseTopic, ...]:
    topics: dict[str, list[offset_fetch.OffsetFetchResponsePartition]] = {}
    for (topic, partition), commit in group.commits.items():
        topics.setdefault(topic, []).append(_commit(partition, commit, stable=stable))
    return tuple(
        offset_fetch.OffsetFetchResponseTopic(name=name, partitions=tuple(some)) for name, some in topics.items()
    )


def _commit(partition: int, commit: FakeCommit, *, stable: bool) -> offset_fetch.OffsetFetchResponsePartition:
    code = commit.error_code or (UNSTABLE if commit.pending and stable else 0)
    return offset_fetch.OffsetFetchResponsePartition(
        partition_index=partition,
        committed_offset=-1 if code else commit.offset,
        committed_leader_epoch=-1 if code else commit.leader_epoch,
        metadata="" if code else commit.metadata,
        error_code=code,
    )


def _describe_configs(state: FakeCluster, _node: int, version: int, request: Any) -> Any:
    results = []
    for resource in request.resources:
        values = _configs_of(state, resource.resource_type, resource.resource_name)
        of_broker = 2 if resource.resource_name else 3
        sources = {
            describe_configs.CLIENT_METRICS: 7,
            describe_configs.GROUP: 8,
            describe_configs.BROKER: of_broker,
        }
        source = sources.get(resource.resource_type, 1)
        entries = (
            describe_configs.DescribeConfigsEntry(
                name=name,
                value=value,
                config_source=source if version >= 1 else -1,
                config_type=3 if version >= 3 else 0,
            )
            for name, value in (values or {}).items()
        )
        results.append(
            describe_configs.DescribeConfigsResult(
                error_code=UNKNOWN_TOPIC if values is None else 0,
                resource_type=resource.resource_type,
                resource_name=resource.resource_name,
                configs=tuple(entries),
            )
        )
    return describe_configs.DescribeConfigsResponse(results=tuple(results))


def _configs_of(state: FakeCluster, resource_type: int, name: str) -> dict[str, str] | None:
    """Return what is set of brokers, groups and client metrics, a few configs of topics, and None for a topic that does not exist."""
    own = {key: value or "" for key, value in state.configs.get((resource_type, name), {}).items()}
    if resource_type in (describe_configs.BROKER, describe_configs.CLIENT_METRICS, describe_configs.GROUP):
        return own
    topic = state.topics.get(name)
    if topic is None:
        return None
    largest = {} if topic.max_message_bytes is None else {"max.message.bytes": str(topic.max_message_bytes)}
    return {"min.insync.replicas": str(topic.min_insync_replicas), **largest, **own}


def _describe_cluster(state: FakeCluster, _node: int, _version: int, request: Any) -> Any:
    state.permission_requests += request.include_cluster_authorized_operations
    brokers = tuple(
        describe_cluster.DescribeClusterBroker(broker_id=node, host=host, port=port, rack=state.racks.get(node))
        for node, (host, port) in sorted(state.addresses.items())
    )
    return describe_cluster.DescribeClusterResponse(
        cluster_id="fake",
        controller_id=state.controller_id,
        brokers=brokers,
        cluster_authorized_operations=state.cluster_operations,
    )


def _api_versions(state: FakeCluster, node: int, version: int, _request: Any) -> Any:
    keys = tuple(
        api_versions.OfferedApi(api_key=key, min_version=lowest, max_version=highest)
        for key, (lowest, highest) in (_offered(state) if state.offered is None else state.offered).items()
        if key not in state.missing.get(node, ())
    )
    if state.offered is not None and version > (known := state.offered[api_versions.API_VERSIONS.key][1]):
        own = [one for one in keys if one.api_key == api_versions.API_VERSIONS.key and known >= _TELLS_ITS_OWN]
        return api_versions.ApiVersionsResponse(error_code=UNSUPPORTED_VERSION, api_keys=tuple(own))
    return api_versions.ApiVersionsResponse(api_keys=keys)


def _offered(state: FakeCluster) -> dict[int, tuple[int, int]]:
    return {
        key: (api.versions.lowest, state.highest.get(key, api.versions.highest)) for key, (api, _) in SPOKEN.items()
    }


SPOKEN: dict[int, tuple[Api[Any, Any], Answer]] = {
    api.key: (api, answer)
    for api, answer in (
        (api_versions.API_VERSIONS, _api_versions),
        (metadata.METADATA, _metadata),
        (list_offsets.LIST_OFFSETS, _list_offsets),
        *logs.ANSWERS,
        *writes.ANSWERS,
        *acls.ANSWERS,
        *transactions.ANSWERS,
        *reassignments.ANSWERS,
        *share_groups.ANSWERS,
        (list_groups.LIST_GROUPS, _list_groups),
        (find_coordinator.FIND_COORDINATOR, _find_coordinator),
        (describe_groups.DESCRIBE_GROUPS, _describe_groups),
        (consumer_group_describe.CONSUMER_GROUP_DESCRIBE, _consumer_group_describe),
        (offset_fetch.OFFSET_FETCH, _offset_fetch),
        (describe_configs.DESCRIBE_CONFIGS, _describe_configs),
        (describe_cluster.DESCRIBE_CLUSTER, _describe_cluster),
    )
}
