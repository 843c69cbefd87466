"""Declares the state tables: the name, row class and key of each, and the occasion on which its rows are written.

Each table has a collector in snapshot/, which makes its rows. A new state table needs a declaration here and a collector there.
"""

from collections.abc import Sequence
from typing import Any

from kafka_lagoon.frozen import frozen
from kafka_lagoon.tables.cluster_rows import (
    BrokerApiRow,
    BrokerFeatureRow,
    BrokerRow,
    ConfigRow,
    PartitionOffsetsRow,
    PartitionRow,
    QuorumStateRow,
    ReassignmentRow,
    StoredReplicaRow,
    TopicRow,
)
from kafka_lagoon.tables.group_rows import CommittedOffsetRow, ConsumerGroupRow, ConsumerLagRow, GroupMemberRow
from kafka_lagoon.tables.owner_rows import ExpectedGroupRow, OwnerRow
from kafka_lagoon.tables.security_rows import AclRow, DelegationTokenRow, QuotaRow, ScramUserRow
from kafka_lagoon.tables.snapshot_rows import CollectionFailureRow, CoverageRow, SnapshotRow
from kafka_lagoon.tables.transaction_rows import PartitionProducerRow, TransactionRow

FIRST_VERSION = "0.1.0"


@frozen
class StateTable:
    """One table of a snapshot. Its comment is the docstring of `row`.

    A table that is written `when_changed` is read through its view `<name>_published` (table_states.py). `added_in` is the
    version of Kafka Lagoon that introduced the table. No two rows of a snapshot have the same `key`. A table without a key has
    one row per requested item.
    """

    name: str
    row: type[Any]
    added_in: str
    key: Sequence[str] = ()
    when_changed: bool = False


BROKERS = StateTable(name="brokers", row=BrokerRow, key=("broker_id",), added_in=FIRST_VERSION)
TOPICS = StateTable(name="topics", row=TopicRow, added_in=FIRST_VERSION)
PARTITIONS = StateTable(name="partitions", row=PartitionRow, added_in=FIRST_VERSION)
PARTITION_OFFSETS = StateTable(name="partition_offsets", row=PartitionOffsetsRow, added_in=FIRST_VERSION)
CONSUMER_GROUPS = StateTable(name="consumer_groups", row=ConsumerGroupRow, added_in=FIRST_VERSION)
GROUP_MEMBERS = StateTable(
    name="group_members", row=GroupMemberRow, key=("group_id", "member_id"), added_in=FIRST_VERSION
)
COMMITTED_OFFSETS = StateTable(name="committed_offsets", row=CommittedOffsetRow, added_in=FIRST_VERSION)
CONSUMER_LAG = StateTable(name="consumer_lag", row=ConsumerLagRow, added_in=FIRST_VERSION)
OWNERS = StateTable(name="owners", row=OwnerRow, key=("entity_type", "name"), when_changed=True, added_in="0.2.0")
EXPECTED_GROUPS = StateTable(
    name="expected_groups", row=ExpectedGroupRow, key=("group_id",), when_changed=True, added_in="0.2.0"
)
CONFIGS = StateTable(name="configs", row=ConfigRow, when_changed=True, added_in="0.2.0")
LOG_DIRS = StateTable(name="log_dirs", row=StoredReplicaRow, added_in="0.2.0")
QUORUM = StateTable(name="quorum", row=QuorumStateRow, key=("replica_id", "directory_id"), added_in="0.2.0")
FEATURES = StateTable(
    name="features", row=BrokerFeatureRow, key=("broker_id", "feature"), when_changed=True, added_in="0.2.0"
)
API_VERSIONS = StateTable(
    name="api_versions", row=BrokerApiRow, key=("broker_id", "api_key"), when_changed=True, added_in="0.2.0"
)
ACLS = StateTable(
    name="acls",
    row=AclRow,
    key=("resource_type", "resource_name", "pattern_type", "principal", "host", "operation", "permission"),
    when_changed=True,
    added_in="0.2.0",
)
QUOTAS = StateTable(
    name="quotas", row=QuotaRow, key=("user", "client_id", "ip", "name"), when_changed=True, added_in="0.2.0"
)
SCRAM_USERS = StateTable(
    name="scram_users", row=ScramUserRow, key=("user", "mechanism"), when_changed=True, added_in="0.2.0"
)
DELEGATION_TOKENS = StateTable(
    name="delegation_tokens", row=DelegationTokenRow, key=("token_id",), when_changed=True, added_in="0.2.0"
)
REASSIGNMENTS = StateTable(name="reassignments", row=ReassignmentRow, key=("topic", "partition"), added_in="0.2.0")
TRANSACTIONS = StateTable(name="transactions", row=TransactionRow, key=("transactional_id",), added_in="0.2.0")
PRODUCERS = StateTable(
    name="producers", row=PartitionProducerRow, key=("topic", "partition", "producer_id"), added_in="0.2.0"
)
COVERAGE = StateTable(name="coverage", row=CoverageRow, added_in=FIRST_VERSION)
COLLECTION_FAILURES = StateTable(name="collection_failures", row=CollectionFailureRow, added_in=FIRST_VERSION)
SNAPSHOTS = StateTable(name="snapshots", row=SnapshotRow, added_in=FIRST_VERSION)

# In the order of publication: `snapshots` is last, because its row publishes the rows of all other tables.
DECLARATIONS = (
    BROKERS,
    TOPICS,
    PARTITIONS,
    PARTITION_OFFSETS,
    CONSUMER_GROUPS,
    GROUP_MEMBERS,
    COMMITTED_OFFSETS,
    CONSUMER_LAG,
    OWNERS,
    EXPECTED_GROUPS,
    CONFIGS,
    LOG_DIRS,
    QUORUM,
    FEATURES,
    API_VERSIONS,
    ACLS,
    QUOTAS,
    SCRAM_USERS,
    DELEGATION_TOKENS,
    REASSIGNMENTS,
    TRANSACTIONS,
    PRODUCERS,
    COVERAGE,
    COLLECTION_FAILURES,
    SNAPSHOTS,
)
