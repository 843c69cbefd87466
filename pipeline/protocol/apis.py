"""The APIs that we speak, by key, and the names of all that Kafka 4.3 and 3.9 know.

Guards one rule: a number that has no name here is shown as a number, never dropped.
"""

from collections.abc import Mapping
from typing import Any

from pipeline.protocol.messages.api_versions import API_VERSIONS
from pipeline.protocol.messages.consumer_group_describe import CONSUMER_GROUP_DESCRIBE
from pipeline.protocol.messages.describe_cluster import DESCRIBE_CLUSTER
from pipeline.protocol.messages.describe_configs import DESCRIBE_CONFIGS
from pipeline.protocol.messages.describe_groups import DESCRIBE_GROUPS
from pipeline.protocol.messages.describe_log_dirs import DESCRIBE_LOG_DIRS
from pipeline.protocol.messages.describe_quorum import DESCRIBE_QUORUM
from pipeline.protocol.messages.describe_topic_partitions import DESCRIBE_TOPIC_PARTITIONS
from pipeline.protocol.messages.fetch import FETCH
from pipeline.protocol.messages.find_coordinator import FIND_COORDINATOR
from pipeline.protocol.messages.list_groups import LIST_GROUPS
from pipeline.protocol.messages.list_offsets import LIST_OFFSETS
from pipeline.protocol.messages.metadata import METADATA
from pipeline.protocol.messages.offset_fetch import OFFSET_FETCH
from pipeline.protocol.messages.offset_for_leader_epoch import OFFSET_FOR_LEADER_EPOCH
from pipeline.wire.schema import Api

APIS: Mapping[int, Api[Any, Any]] = {
    api.key: api
    for api in (
        FETCH,
        LIST_OFFSETS,
        METADATA,
        OFFSET_FETCH,
        FIND_COORDINATOR,
        DESCRIBE_GROUPS,
        LIST_GROUPS,
        API_VERSIONS,
        OFFSET_FOR_LEADER_EPOCH,
        DESCRIBE_CONFIGS,
        DESCRIBE_LOG_DIRS,
        DESCRIBE_QUORUM,
        DESCRIBE_CLUSTER,
        CONSUMER_GROUP_DESCRIBE,
        DESCRIBE_TOPIC_PARTITIONS,
    )
}

# By key, from 0 on without a gap. Key 74 was ListClientMetricsResources until 4.1 widened it (KIP-1142).
_NAMES = (
    *("Produce", "Fetch", "ListOffsets", "Metadata", "LeaderAndIsr", "StopReplica", "UpdateMetadata"),
    *("ControlledShutdown", "OffsetCommit", "OffsetFetch", "FindCoordinator", "JoinGroup", "Heartbeat", "LeaveGroup"),
    *("SyncGroup", "DescribeGroups", "ListGroups", "SaslHandshake", "ApiVersions", "CreateTopics", "DeleteTopics"),
    *("DeleteRecords", "InitProducerId", "OffsetForLeaderEpoch", "AddPartitionsToTxn", "AddOffsetsToTxn", "EndTxn"),
    *("WriteTxnMarkers", "TxnOffsetCommit", "DescribeAcls", "CreateAcls", "DeleteAcls", "DescribeConfigs"),
    *("AlterConfigs", "AlterReplicaLogDirs", "DescribeLogDirs", "SaslAuthenticate", "CreatePartitions"),
    *("CreateDelegationToken", "RenewDelegationToken", "ExpireDelegationToken", "DescribeDelegationToken"),
    *("DeleteGroups", "ElectLeaders", "IncrementalAlterConfigs", "AlterPartitionReassignments"),
    *("ListPartitionReassignments", "OffsetDelete", "DescribeClientQuotas", "AlterClientQuotas"),
    *("DescribeUserScramCredentials", "AlterUserScramCredentials", "Vote", "BeginQuorumEpoch", "EndQuorumEpoch"),
    *("DescribeQuorum", "AlterPartition", "UpdateFeatures", "Envelope", "FetchSnapshot", "DescribeCluster"),
    *("DescribeProducers", "BrokerRegistration", "BrokerHeartbeat", "UnregisterBroker", "DescribeTransactions"),
    *("ListTransactions", "AllocateProducerIds", "ConsumerGroupHeartbeat", "ConsumerGroupDescribe"),
    *("ControllerRegistration", "GetTelemetrySubscriptions", "PushTelemetry", "AssignReplicasToDirs"),
    *("ListConfigResources", "DescribeTopicPartitions", "ShareGroupHeartbeat", "ShareGroupDescribe", "ShareFetch"),
    *("ShareAcknowledge", "AddRaftVoter", "RemoveRaftVoter", "UpdateRaftVoter", "InitializeShareGroupState"),
    *("ReadShareGroupState", "WriteShareGroupState", "DeleteShareGroupState", "ReadShareGroupStateSummary"),
    *("StreamsGroupHeartbeat", "StreamsGroupDescribe", "DescribeShareGroupOffsets", "AlterShareGroupOffsets"),
    *("DeleteShareGroupOffsets",),
)


def api_name(api_key: int) -> str:
    """Kafka's name of an API, of those that only brokers ask too; UNKNOWN_API_n for a key that is newer than we."""
    return _NAMES[api_key] if 0 <= api_key < len(_NAMES) else f"UNKNOWN_API_{api_key}"
