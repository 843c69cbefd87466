"""Lists the APIs that we implement, by key, and the names of all that Kafka 4.4 and 3.9 know."""

from collections.abc import Mapping
from typing import Any

from kafka_lagoon.protocol.messages.add_offsets_to_txn import ADD_OFFSETS_TO_TXN
from kafka_lagoon.protocol.messages.add_partitions_to_txn import ADD_PARTITIONS_TO_TXN
from kafka_lagoon.protocol.messages.add_raft_voter import ADD_RAFT_VOTER
from kafka_lagoon.protocol.messages.alter_client_quotas import ALTER_CLIENT_QUOTAS
from kafka_lagoon.protocol.messages.alter_configs import ALTER_CONFIGS
from kafka_lagoon.protocol.messages.alter_partition_reassignments import ALTER_PARTITION_REASSIGNMENTS
from kafka_lagoon.protocol.messages.alter_replica_log_dirs import ALTER_REPLICA_LOG_DIRS
from kafka_lagoon.protocol.messages.alter_share_group_offsets import ALTER_SHARE_GROUP_OFFSETS
from kafka_lagoon.protocol.messages.alter_user_scram_credentials import ALTER_USER_SCRAM_CREDENTIALS
from kafka_lagoon.protocol.messages.api_versions import API_VERSIONS
from kafka_lagoon.protocol.messages.consumer_group_describe import CONSUMER_GROUP_DESCRIBE
from kafka_lagoon.protocol.messages.consumer_group_heartbeat import CONSUMER_GROUP_HEARTBEAT
from kafka_lagoon.protocol.messages.create_acls import CREATE_ACLS
from kafka_lagoon.protocol.messages.create_delegation_token import CREATE_DELEGATION_TOKEN
from kafka_lagoon.protocol.messages.create_partitions import CREATE_PARTITIONS
from kafka_lagoon.protocol.messages.create_topics import CREATE_TOPICS
from kafka_lagoon.protocol.messages.delete_acls import DELETE_ACLS
from kafka_lagoon.protocol.messages.delete_groups import DELETE_GROUPS
from kafka_lagoon.protocol.messages.delete_records import DELETE_RECORDS
from kafka_lagoon.protocol.messages.delete_share_group_offsets import DELETE_SHARE_GROUP_OFFSETS
from kafka_lagoon.protocol.messages.delete_topics import DELETE_TOPICS
from kafka_lagoon.protocol.messages.describe_acls import DESCRIBE_ACLS
from kafka_lagoon.protocol.messages.describe_client_quotas import DESCRIBE_CLIENT_QUOTAS
from kafka_lagoon.protocol.messages.describe_cluster import DESCRIBE_CLUSTER
from kafka_lagoon.protocol.messages.describe_configs import DESCRIBE_CONFIGS
from kafka_lagoon.protocol.messages.describe_delegation_token import DESCRIBE_DELEGATION_TOKEN
from kafka_lagoon.protocol.messages.describe_groups import DESCRIBE_GROUPS
from kafka_lagoon.protocol.messages.describe_log_dirs import DESCRIBE_LOG_DIRS
from kafka_lagoon.protocol.messages.describe_producers import DESCRIBE_PRODUCERS
from kafka_lagoon.protocol.messages.describe_quorum import DESCRIBE_QUORUM
from kafka_lagoon.protocol.messages.describe_share_group_offsets import DESCRIBE_SHARE_GROUP_OFFSETS
from kafka_lagoon.protocol.messages.describe_topic_partitions import DESCRIBE_TOPIC_PARTITIONS
from kafka_lagoon.protocol.messages.describe_transactions import DESCRIBE_TRANSACTIONS
from kafka_lagoon.protocol.messages.describe_user_scram_credentials import DESCRIBE_USER_SCRAM_CREDENTIALS
from kafka_lagoon.protocol.messages.elect_leaders import ELECT_LEADERS
from kafka_lagoon.protocol.messages.end_txn import END_TXN
from kafka_lagoon.protocol.messages.expire_delegation_token import EXPIRE_DELEGATION_TOKEN
from kafka_lagoon.protocol.messages.fetch import FETCH
from kafka_lagoon.protocol.messages.find_coordinator import FIND_COORDINATOR
from kafka_lagoon.protocol.messages.get_telemetry_subscriptions import GET_TELEMETRY_SUBSCRIPTIONS
from kafka_lagoon.protocol.messages.heartbeat import HEARTBEAT
from kafka_lagoon.protocol.messages.incremental_alter_configs import INCREMENTAL_ALTER_CONFIGS
from kafka_lagoon.protocol.messages.init_producer_id import INIT_PRODUCER_ID
from kafka_lagoon.protocol.messages.join_group import JOIN_GROUP
from kafka_lagoon.protocol.messages.leave_group import LEAVE_GROUP
from kafka_lagoon.protocol.messages.list_config_resources import LIST_CONFIG_RESOURCES
from kafka_lagoon.protocol.messages.list_groups import LIST_GROUPS
from kafka_lagoon.protocol.messages.list_offsets import LIST_OFFSETS
from kafka_lagoon.protocol.messages.list_partition_reassignments import LIST_PARTITION_REASSIGNMENTS
from kafka_lagoon.protocol.messages.list_transactions import LIST_TRANSACTIONS
from kafka_lagoon.protocol.messages.metadata import METADATA
from kafka_lagoon.protocol.messages.offset_commit import OFFSET_COMMIT
from kafka_lagoon.protocol.messages.offset_delete import OFFSET_DELETE
from kafka_lagoon.protocol.messages.offset_fetch import OFFSET_FETCH
from kafka_lagoon.protocol.messages.offset_for_leader_epoch import OFFSET_FOR_LEADER_EPOCH
from kafka_lagoon.protocol.messages.produce import PRODUCE
from kafka_lagoon.protocol.messages.push_telemetry import PUSH_TELEMETRY
from kafka_lagoon.protocol.messages.remove_raft_voter import REMOVE_RAFT_VOTER
from kafka_lagoon.protocol.messages.renew_delegation_token import RENEW_DELEGATION_TOKEN
from kafka_lagoon.protocol.messages.sasl_authenticate import SASL_AUTHENTICATE
from kafka_lagoon.protocol.messages.sasl_handshake import SASL_HANDSHAKE
from kafka_lagoon.protocol.messages.share_acknowledge import SHARE_ACKNOWLEDGE
from kafka_lagoon.protocol.messages.share_fetch import SHARE_FETCH
from kafka_lagoon.protocol.messages.share_group_describe import SHARE_GROUP_DESCRIBE
from kafka_lagoon.protocol.messages.share_group_heartbeat import SHARE_GROUP_HEARTBEAT
from kafka_lagoon.protocol.messages.streams_group_describe import STREAMS_GROUP_DESCRIBE
from kafka_lagoon.protocol.messages.streams_group_heartbeat import STREAMS_GROUP_HEARTBEAT
from kafka_lagoon.protocol.messages.streams_group_topology_description_update import (
    STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE,
)
from kafka_lagoon.protocol.messages.sync_group import SYNC_GROUP
from kafka_lagoon.protocol.messages.txn_offset_commit import TXN_OFFSET_COMMIT
from kafka_lagoon.protocol.messages.unregister_broker import UNREGISTER_BROKER
from kafka_lagoon.protocol.messages.unregister_controller import UNREGISTER_CONTROLLER
from kafka_lagoon.protocol.messages.update_features import UPDATE_FEATURES
from kafka_lagoon.protocol.messages.update_raft_voter import UPDATE_RAFT_VOTER
from kafka_lagoon.protocol.messages.write_txn_markers import WRITE_TXN_MARKERS
from kafka_lagoon.wire.schema import Api

APIS: Mapping[int, Api[Any, Any]] = {
    api.key: api
    for api in (
        PRODUCE,
        FETCH,
        LIST_OFFSETS,
        METADATA,
        OFFSET_COMMIT,
        OFFSET_FETCH,
        FIND_COORDINATOR,
        JOIN_GROUP,
        HEARTBEAT,
        LEAVE_GROUP,
        SYNC_GROUP,
        DESCRIBE_GROUPS,
        LIST_GROUPS,
        SASL_HANDSHAKE,
        API_VERSIONS,
        CREATE_TOPICS,
        DELETE_TOPICS,
        DELETE_RECORDS,
        INIT_PRODUCER_ID,
        OFFSET_FOR_LEADER_EPOCH,
        ADD_PARTITIONS_TO_TXN,
        ADD_OFFSETS_TO_TXN,
        END_TXN,
        WRITE_TXN_MARKERS,
        TXN_OFFSET_COMMIT,
        DESCRIBE_ACLS,
        CREATE_ACLS,
        DELETE_ACLS,
        DESCRIBE_CONFIGS,
        ALTER_CONFIGS,
        ALTER_REPLICA_LOG_DIRS,
        DESCRIBE_LOG_DIRS,
        SASL_AUTHENTICATE,
        CREATE_PARTITIONS,
        CREATE_DELEGATION_TOKEN,
        RENEW_DELEGATION_TOKEN,
        EXPIRE_DELEGATION_TOKEN,
        DESCRIBE_DELEGATION_TOKEN,
        DELETE_GROUPS,
        ELECT_LEADERS,
        INCREMENTAL_ALTER_CONFIGS,
        ALTER_PARTITION_REASSIGNMENTS,
        LIST_PARTITION_REASSIGNMENTS,
        OFFSET_DELETE,
        DESCRIBE_CLIENT_QUOTAS,
        ALTER_CLIENT_QUOTAS,
        DESCRIBE_USER_SCRAM_CREDENTIALS,
        ALTER_USER_SCRAM_CREDENTIALS,
        DESCRIBE_QUORUM,
        UPDATE_FEATURES,
        DESCRIBE_CLUSTER,
        DESCRIBE_PRODUCERS,
        UNREGISTER_BROKER,
        DESCRIBE_TRANSACTIONS,
        LIST_TRANSACTIONS,
        CONSUMER_GROUP_HEARTBEAT,
        CONSUMER_GROUP_DESCRIBE,
        GET_TELEMETRY_SUBSCRIPTIONS,
        PUSH_TELEMETRY,
        LIST_CONFIG_RESOURCES,
        DESCRIBE_TOPIC_PARTITIONS,
        SHARE_GROUP_HEARTBEAT,
        SHARE_GROUP_DESCRIBE,
        SHARE_FETCH,
        SHARE_ACKNOWLEDGE,
        ADD_RAFT_VOTER,
        REMOVE_RAFT_VOTER,
        UPDATE_RAFT_VOTER,
        STREAMS_GROUP_HEARTBEAT,
        STREAMS_GROUP_DESCRIBE,
        DESCRIBE_SHARE_GROUP_OFFSETS,
        ALTER_SHARE_GROUP_OFFSETS,
        DELETE_SHARE_GROUP_OFFSETS,
        STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE,
        UNREGISTER_CONTROLLER,
    )
}

# By key, from 0 on without a gap. Key 74 was ListClientMetricsResources until 4.1 widened it (KIP-1142).
_NAMES_BY_KEY = """
Produce Fetch ListOffsets Metadata LeaderAndIsr StopReplica UpdateMetadata ControlledShutdown OffsetCommit OffsetFetch
FindCoordinator JoinGroup Heartbeat LeaveGroup SyncGroup DescribeGroups ListGroups SaslHandshake ApiVersions
CreateTopics DeleteTopics DeleteRecords InitProducerId OffsetForLeaderEpoch AddPartitionsToTxn AddOffsetsToTxn EndTxn
WriteTxnMarkers TxnOffsetCommit DescribeAcls CreateAcls DeleteAcls DescribeConfigs AlterConfigs AlterReplicaLogDirs
DescribeLogDirs SaslAuthenticate CreatePartitions CreateDelegationToken RenewDelegationToken ExpireDelegationToken
DescribeDelegationToken DeleteGroups ElectLeaders IncrementalAlterConfigs AlterPartitionReassignments
ListPartitionReassignments OffsetDelete DescribeClientQuotas AlterClientQuotas DescribeUserScramCredentials
AlterUserScramCredentials Vote BeginQuorumEpoch EndQuorumEpoch DescribeQuorum AlterPartition UpdateFeatures Envelope
FetchSnapshot DescribeCluster DescribeProducers BrokerRegistration BrokerHeartbeat UnregisterBroker DescribeTransactions
ListTransactions AllocateProducerIds ConsumerGroupHeartbeat ConsumerGroupDescribe ControllerRegistration
GetTelemetrySubscriptions PushTelemetry AssignReplicasToDirs ListConfigResources DescribeTopicPartitions
ShareGroupHeartbeat ShareGroupDescribe ShareFetch ShareAcknowledge AddRaftVoter RemoveRaftVoter UpdateRaftVoter
InitializeShareGroupState ReadShareGroupState WriteShareGroupState DeleteShareGroupState ReadShareGroupStateSummary
StreamsGroupHeartbeat StreamsGroupDescribe DescribeShareGroupOffsets AlterShareGroupOffsets DeleteShareGroupOffsets
StreamsGroupTopologyDescriptionUpdate UnregisterController
"""
_NAMES = tuple(_NAMES_BY_KEY.split())


def api_name(api_key: int) -> str:
    """Kafka's name of an API, including those between brokers; UNKNOWN_API_n for a key that we do not know."""
    return _NAMES[api_key] if 0 <= api_key < len(_NAMES) else f"UNKNOWN_API_{api_key}"
