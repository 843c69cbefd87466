"""Alters topics, configs, leaders, replicas, voters and features of a fake cluster, as far as our tests need it.

What brokers really do is tested on real ones; these are for what those rarely answer. Only the controller alters anything, as
on ZooKeeper, so a request to another broker is seen.
"""

from typing import Any

from kafka_lagoon.protocol.messages import (
    add_raft_voter,
    alter_configs,
    alter_partition_reassignments,
    alter_replica_log_dirs,
    create_partitions,
    create_topics,
    delete_records,
    delete_topics,
    describe_log_dirs,
    elect_leaders,
    incremental_alter_configs,
    remove_raft_voter,
    unregister_broker,
    update_features,
)
from tests.fake.cluster import FakeCluster

NONE, UNKNOWN_TOPIC, NOT_CONTROLLER, EXISTS, UNKNOWN_ID = 0, 3, 41, 36, 100
NOT_NEEDED, NO_PREFERRED, NO_REPLICA = 84, 80, 9
BY_ID = 6


def _create_topics(state: FakeCluster, node: int, _version: int, request: Any) -> Any:
    results = []
    for topic in request.topics:
        code = NOT_CONTROLLER if node != state.controller_id else EXISTS if topic.name in state.topics else NONE
        if not code and not request.validate_only:
            state.add_topic(topic.name, max(topic.num_partitions, len(topic.assignments), 1), end=0)
            state.configs[2, topic.name] = {one.name: one.value for one in topic.configs}
        text = f"Topic '{topic.name}' already exists." if code == EXISTS else None
        results.append(create_topics.CreatableTopicResult(name=topic.name, error_code=code, error_message=text))
    return create_topics.CreateTopicsResponse(topics=tuple(results))


def _delete_topics(state: FakeCluster, _node: int, version: int, request: Any) -> Any:
    ids = {topic.topic_id: name for name, topic in state.topics.items()}
    results = []
    for wanted in request.topics if version >= BY_ID else request.topic_names:
        name = ids.get(wanted.topic_id) if version >= BY_ID else wanted
        gone = state.topics.pop(name, None) if name else None
        code = NONE if gone else UNKNOWN_ID if version >= BY_ID else UNKNOWN_TOPIC
        topic_id = wanted.topic_id if version >= BY_ID else bytes(16)
        results.append(delete_topics.DeletableTopicResult(name=name, topic_id=topic_id, error_code=code))
    return delete_topics.DeleteTopicsResponse(responses=tuple(results))


def _create_partitions(state: FakeCluster, _node: int, _version: int, request: Any) -> Any:
    results = []
    for wanted in request.topics:
        topic = state.topics[wanted.name]
        if not request.validate_only:
            topic.partitions += [topic.partitions[0]] * (wanted.count - len(topic.partitions))
        results.append(create_partitions.CreatePartitionsTopicResult(name=wanted.name, error_code=NONE))
    return create_partitions.CreatePartitionsResponse(throttle_time_ms=0, results=tuple(results))


def _delete_records(state: FakeCluster, _node: int, _version: int, request: Any) -> Any:
    topics = []
    for topic in request.topics:
        for wanted in topic.partitions:
            state.topics[topic.name].partitions[wanted.partition_index].log_start_offset = wanted.offset
        some = tuple(
            delete_records.DeleteRecordsPartitionResult(
                partition_index=one.partition_index, low_watermark=one.offset, error_code=NONE
            )
            for one in topic.partitions
        )
        topics.append(delete_records.DeleteRecordsTopicResult(name=topic.name, partitions=some))
    return delete_records.DeleteRecordsResponse(throttle_time_ms=0, topics=tuple(topics))


def _incremental(state: FakeCluster, _node: int, _version: int, request: Any) -> Any:
    for resource in request.resources if not request.validate_only else ():
        own = state.configs.setdefault((resource.resource_type, resource.resource_name), {})
        for change in resource.configs:
            if change.config_operation == incremental_alter_configs.DELETE:
                own.pop(change.name, None)
            else:
                own[change.name] = change.value
    results = (
        incremental_alter_configs.IncrementalAlterConfigsResult(
            error_code=NONE, error_message=None, resource_type=one.resource_type, resource_name=one.resource_name
        )
        for one in request.resources
    )
    return incremental_alter_configs.IncrementalAlterConfigsResponse(throttle_time_ms=0, responses=tuple(results))


def _whole(state: FakeCluster, _node: int, _version: int, request: Any) -> Any:
    for resource in request.resources if not request.validate_only else ():
        own = {one.name: one.value for one in resource.configs}
        state.configs[resource.resource_type, resource.resource_name] = own
    results = (
        alter_configs.AlterConfigsResult(
            error_code=NONE, error_message=None, resource_type=one.resource_type, resource_name=one.resource_name
        )
        for one in request.resources
    )
    return alter_configs.AlterConfigsResponse(throttle_time_ms=0, responses=tuple(results))


def _elect(state: FakeCluster, _node: int, _version: int, request: Any) -> Any:
    topics = []
    for topic in request.topic_partitions:
        results = []
        for number in topic.partitions:
            partition = state.topics[topic.topic].partitions[number]
            preferred = partition.replicas[0]
            code = NOT_NEEDED if partition.leader_id == preferred else NONE
            code = code if preferred in state.addresses else NO_PREFERRED
            partition.leader_id = preferred if not code else partition.leader_id
            text = "The preferred leader was not available." if code == NO_PREFERRED else None
            results.append(
                elect_leaders.ElectionPartitionResult(partition_id=number, error_code=code, error_message=text)
            )
        topics.append(elect_leaders.ElectionTopicResult(topic=topic.topic, partition_result=tuple(results)))
    return elect_leaders.ElectLeadersResponse(
        throttle_time_ms=0, error_code=NONE, replica_election_results=tuple(topics)
    )


def _reassign(state: FakeCluster, node: int, _version: int, request: Any) -> Any:
    if node != state.controller_id:
        return alter_partition_reassignments.AlterPartitionReassignmentsResponse(
            throttle_time_ms=0, error_code=NOT_CONTROLLER, error_message="not the controller", responses=()
        )
    topics = []
    for topic in request.topics:
        for wanted in topic.partitions:
            if wanted.replicas is not None:
                state.topics[topic.name].partitions[wanted.partition_index].replicas = wanted.replicas
        some = tuple(
            alter_partition_reassignments.ReassignablePartitionResponse(
                partition_index=one.partition_index, error_code=NONE, error_message=None
            )
            for one in topic.partitions
        )
        topics.append(alter_partition_reassignments.ReassignableTopicResponse(name=topic.name, partitions=some))
    return alter_partition_reassignments.AlterPartitionReassignmentsResponse(
        throttle_time_ms=0, error_code=NONE, error_message=None, responses=tuple(topics)
    )


def _move_replicas(state: FakeCluster, node: int, _version: int, request: Any) -> Any:
    results = []
    for log_dir in request.dirs:
        for topic in log_dir.topics:
            some = []
            for number in topic.partitions:
                has_it = node in state.topics[topic.name].partitions[number].replicas
                if has_it:
                    state.log_dirs[node, topic.name, number] = log_dir.path
                some.append(
                    alter_replica_log_dirs.AlterReplicaLogDirPartitionResult(
                        partition_index=number, error_code=NONE if has_it else NO_REPLICA
                    )
                )
            results.append(
                alter_replica_log_dirs.AlterReplicaLogDirTopicResult(topic_name=topic.name, partitions=tuple(some))
            )
    return alter_replica_log_dirs.AlterReplicaLogDirsResponse(throttle_time_ms=0, results=tuple(results))


def _log_dirs(state: FakeCluster, node: int, _version: int, request: Any) -> Any:
    """Return log directories: /a for every replica that was not moved."""
    by_path: dict[str, list[Any]] = {"/a": [], "/b": []}
    for topic in request.topics or ():
        for number in topic.partitions:
            if node in state.topics[topic.topic].partitions[number].replicas:
                replica = describe_log_dirs.DescribeLogDirsPartition(
                    partition_index=number, partition_size=1, offset_lag=0, is_future_key=False
                )
                path = state.log_dirs.get((node, topic.topic, number), "/a")
                by_path[path].append(describe_log_dirs.DescribeLogDirsTopic(name=topic.topic, partitions=(replica,)))
    return describe_log_dirs.DescribeLogDirsResponse(
        throttle_time_ms=0,
        results=tuple(
            describe_log_dirs.DescribeLogDirsResult(error_code=NONE, log_dir=path, topics=tuple(topics))
            for path, topics in by_path.items()
        ),
    )


def _add_voter(_state: FakeCluster, _node: int, _version: int, _request: Any) -> Any:
    return add_raft_voter.AddRaftVoterResponse(throttle_time_ms=0, error_code=NONE, error_message=None)


def _remove_voter(_state: FakeCluster, _node: int, _version: int, _request: Any) -> Any:
    return remove_raft_voter.RemoveRaftVoterResponse(throttle_time_ms=0, error_code=NONE, error_message=None)


def _unregister(_state: FakeCluster, _node: int, _version: int, _request: Any) -> Any:
    return unregister_broker.UnregisterBrokerResponse(throttle_time_ms=0, error_code=NONE, error_message=None)


def _update_features(_state: FakeCluster, _node: int, version: int, request: Any) -> Any:
    results = (
        update_features.UpdatableFeatureResult(feature=one.feature, error_code=NONE, error_message=None)
        for one in request.feature_updates
    )
    return update_features.UpdateFeaturesResponse(
        throttle_time_ms=0, error_code=NONE, error_message=None, results=tuple(results) if version <= 1 else ()
    )


ANSWERS = (
    (create_topics.CREATE_TOPICS, _create_topics),
    (delete_topics.DELETE_TOPICS, _delete_topics),
    (create_partitions.CREATE_PARTITIONS, _create_partitions),
    (delete_records.DELETE_RECORDS, _delete_records),
    (incremental_alter_configs.INCREMENTAL_ALTER_CONFIGS, _incremental),
    (alter_configs.ALTER_CONFIGS, _whole),
    (elect_leaders.ELECT_LEADERS, _elect),
    (alter_partition_reassignments.ALTER_PARTITION_REASSIGNMENTS, _reassign),
    (alter_replica_log_dirs.ALTER_REPLICA_LOG_DIRS, _move_replicas),
    (describe_log_dirs.DESCRIBE_LOG_DIRS, _log_dirs),
    (add_raft_voter.ADD_RAFT_VOTER, _add_voter),
    (remove_raft_voter.REMOVE_RAFT_VOTER, _remove_voter),
    (unregister_broker.UNREGISTER_BROKER, _unregister),
    (update_features.UPDATE_FEATURES, _update_features),
)
