"""Lists the collectors of all state tables, and defines those that need no module of their own."""

from collections.abc import Iterable

from kafka_lagoon import __version__
from kafka_lagoon.admin.permissions import Permission
from kafka_lagoon.admin.releases import kafka_version_range
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.protocol.acls import CLUSTER, DESCRIBE, DESCRIBE_CONFIGS, GROUP, READ, TOPIC
from kafka_lagoon.protocol.messages import consumer_group_describe, share_group_describe, streams_group_describe
from kafka_lagoon.protocol.messages.describe_acls import DESCRIBE_ACLS
from kafka_lagoon.protocol.messages.describe_cluster import DESCRIBE_CLUSTER
from kafka_lagoon.protocol.messages.describe_configs import DESCRIBE_CONFIGS as DESCRIBE_CONFIGS_API
from kafka_lagoon.protocol.messages.describe_groups import DESCRIBE_GROUPS
from kafka_lagoon.protocol.messages.describe_quorum import DESCRIBE_QUORUM
from kafka_lagoon.protocol.messages.describe_share_group_offsets import DESCRIBE_SHARE_GROUP_OFFSETS
from kafka_lagoon.protocol.messages.describe_topic_partitions import DESCRIBE_TOPIC_PARTITIONS
from kafka_lagoon.protocol.messages.fetch import FETCH
from kafka_lagoon.protocol.messages.find_coordinator import FIND_COORDINATOR
from kafka_lagoon.protocol.messages.list_groups import LIST_GROUPS
from kafka_lagoon.protocol.messages.list_offsets import LIST_OFFSETS
from kafka_lagoon.protocol.messages.metadata import METADATA
from kafka_lagoon.protocol.messages.offset_fetch import OFFSET_FETCH
from kafka_lagoon.snapshot.acl_visibility import complete_lists
from kafka_lagoon.snapshot.acls import ACLS
from kafka_lagoon.snapshot.collection import Collected, Collection, Collector, Phase
from kafka_lagoon.snapshot.configs import CONFIGS
from kafka_lagoon.snapshot.coverage import (
    coverage_rows,
    failure_rows,
    not_offered,
    worth_a_row,
)
from kafka_lagoon.snapshot.delegation_tokens import DELEGATION_TOKENS
from kafka_lagoon.snapshot.group_state import lag_of
from kafka_lagoon.snapshot.log_dirs import LOG_DIRS
from kafka_lagoon.snapshot.offsets import offset_rows
from kafka_lagoon.snapshot.owners import EXPECTED_GROUPS, OWNERS
from kafka_lagoon.snapshot.quorum import QUORUM
from kafka_lagoon.snapshot.quotas import QUOTAS
from kafka_lagoon.snapshot.reassignments import REASSIGNMENTS, added_replicas
from kafka_lagoon.snapshot.scram_users import SCRAM_USERS
from kafka_lagoon.snapshot.share_lag import share_lag_rows, unnamed_topics
from kafka_lagoon.snapshot.time_lag import local_starts, with_time_lag
from kafka_lagoon.snapshot.topology import broker_rows, partition_rows, topic_rows
from kafka_lagoon.snapshot.transaction_tables import PRODUCERS, TRANSACTIONS
from kafka_lagoon.snapshot.versions import API_VERSIONS_TABLE, FEATURES
from kafka_lagoon.snapshot.visibility import complete_without_acls, visibility
from kafka_lagoon.tables import state_tables
from kafka_lagoon.tables.cluster_rows import BrokerRow, PartitionOffsetsRow, PartitionRow, TopicRow
from kafka_lagoon.tables.group_rows import ConsumerGroupRow, ConsumerLagRow
from kafka_lagoon.tables.row_columns import Joined
from kafka_lagoon.tables.security_rows import AclRow
from kafka_lagoon.tables.snapshot_rows import CollectionFailureRow, CoverageRow, SnapshotRow

_TOPICS = Permission(DESCRIBE, TOPIC, "topics are left out, with their partitions, offsets and commits")
_GROUPS = Permission(DESCRIBE, GROUP, "members, commits and lag are refused for each group")
_GROUP_APIS = (
    LIST_GROUPS,
    FIND_COORDINATOR,
    DESCRIBE_GROUPS,
    consumer_group_describe.CONSUMER_GROUP_DESCRIBE,
    share_group_describe.SHARE_GROUP_DESCRIBE,
    streams_group_describe.STREAMS_GROUP_DESCRIBE,
)

BROKERS = Collector(
    table=state_tables.BROKERS,
    phase=Phase.LAG,
    collect=lambda collection: Collected(list(broker_rows(collection.topology.metadata, collection.identity))),
    apis=(METADATA, DESCRIBE_CLUSTER, DESCRIBE_QUORUM),
    permissions=(Permission(DESCRIBE, CLUSTER, "the controller is unknown"),),
)

TOPICS = Collector(
    table=state_tables.TOPICS,
    phase=Phase.LAG,
    collect=lambda collection: Collected(list(topic_rows(collection.topology))),
    apis=(METADATA,),
    permissions=(_TOPICS,),
)


def _partitions(collection: Collection) -> Collected:
    added = added_replicas(collection.reassignments)
    return Collected(partition_rows(collection.topology, collection.durability, added))


PARTITIONS = Collector(
    table=state_tables.PARTITIONS,
    phase=Phase.LAG,
    collect=_partitions,
    apis=(METADATA, DESCRIBE_CONFIGS_API, DESCRIBE_TOPIC_PARTITIONS),
    permissions=(_TOPICS, Permission(DESCRIBE_CONFIGS, TOPIC, "columns about min.insync.replicas are null")),
)

PARTITION_OFFSETS = Collector(
    table=state_tables.PARTITION_OFFSETS,
    phase=Phase.LAG,
    collect=lambda collection: Collected(offset_rows(collection.topology, collection.group_state.offsets)),
    apis=(METADATA, LIST_OFFSETS),
    permissions=(_TOPICS,),
)

CONSUMER_GROUPS = Collector(
    table=state_tables.CONSUMER_GROUPS,
    phase=Phase.LAG,
    collect=lambda collection: Collected(collection.group_state.groups.groups),
    apis=_GROUP_APIS,
    permissions=(_GROUPS, Permission(DESCRIBE, CLUSTER, "the list of groups is filtered")),
)

GROUP_MEMBERS = Collector(
    table=state_tables.GROUP_MEMBERS,
    phase=Phase.LAG,
    collect=lambda collection: Collected(collection.group_state.groups.members),
    apis=_GROUP_APIS,
    permissions=(_GROUPS,),
)

COMMITTED_OFFSETS = Collector(
    table=state_tables.COMMITTED_OFFSETS,
    phase=Phase.LAG,
    collect=lambda collection: Collected(collection.group_state.commits.rows.with_ids(collection.topology.given_ids)),
    apis=(OFFSET_FETCH, FIND_COORDINATOR),
    permissions=(_TOPICS, _GROUPS),
)


def _lag(collection: Collection) -> Collected:
    """Collect lag.

    If time lag fails, the snapshot is still complete: reading records needs a permission that the rest does not.
    """
    offsets = collection.of(PartitionOffsetsRow)
    rows = lag_of(collection.topology, collection.group_state, offsets)
    epochs = rows.committed_leader_epochs()
    timed = with_time_lag(rows, epochs, local_starts(offsets), collection.measure)
    collection.failures += timed.failures
    state = collection.group_state
    sharing = share_lag_rows(state.groups.groups, state.groups.members, state.shares, offsets, collection.topology)
    return Collected(Joined(ConsumerLagRow, timed.rows, sharing), unnamed_topics(state.shares, collection.topology))


CONSUMER_LAG = Collector(
    table=state_tables.CONSUMER_LAG,
    phase=Phase.LAG,
    collect=_lag,
    apis=(*_GROUP_APIS, OFFSET_FETCH, DESCRIBE_SHARE_GROUP_OFFSETS, METADATA, LIST_OFFSETS, FETCH),
    permissions=(_TOPICS, _GROUPS, Permission(READ, TOPIC, "time lag is unreadable")),
)


def _coverage(collection: Collection) -> Collected:
    skipped = {table.name: [api.name for api in table.apis] for table in collection.skipped}
    trusted = visibility(collection.identity.operations, _complete_lists(collection))
    left_out = {"Metadata": collection.topology.left_out, "ListGroups": collection.group_state.left_out}
    unoffered = not_offered(collection.failures)
    return Collected(list(coverage_rows(collection.cluster.request_stats, trusted, unoffered, skipped, left_out)))


def _complete_lists(collection: Collection) -> Iterable[str]:
    if ACLS in collection.skipped:
        return ()
    for failure in collection.failures:
        if failure.api == DESCRIBE_ACLS.name:
            return complete_without_acls(failure)
    return complete_lists(collection.cluster, collection.identity.operations, collection.of(AclRow))


COVERAGE = Collector(
    table=state_tables.COVERAGE,
    phase=Phase.SUMMARY,
    collect=_coverage,
)


def _failures(collection: Collection) -> Collected:
    stats = collection.cluster.request_stats
    return Collected(list(failure_rows(worth_a_row(collection.failures, collection.topology, stats))))


COLLECTION_FAILURES = Collector(
    table=state_tables.COLLECTION_FAILURES,
    phase=Phase.SUMMARY,
    collect=_failures,
)


def _published(collection: Collection) -> Collected:
    coverage = collection.of(CoverageRow)
    expected = sum(row.expected for row in coverage)
    row = SnapshotRow(
        slot_ms=collection.slot_ms,
        started_at_ms=collection.started_at_ms,
        finished_at_ms=collection.cluster.clock.now_ms(),
        status="partial" if collection.is_partial else "complete",
        software_version=__version__,
        kafka_version_range=kafka_version_range(collection.cluster.api_versions()),
        brokers=len(collection.of(BrokerRow)),
        topics=len(collection.of(TopicRow)),
        partitions=len(collection.of(PartitionRow)),
        groups=len(collection.of(ConsumerGroupRow)),
        failures=len(collection.of(CollectionFailureRow)),
        requests=sum(row.requests for row in coverage),
        bytes_in=sum(row.bytes for row in coverage),
        bytes_out=sum(stats.request_bytes for stats in collection.cluster.request_stats.by_api.values()),
        throttle_ms=sum(row.throttle_ms for row in coverage),
        completeness=sum(row.answered for row in coverage) / expected if expected else None,
        tables=tuple(collection.states),
    )
    return Collected([row])


SNAPSHOTS = Collector(
    table=state_tables.SNAPSHOTS,
    phase=Phase.COMMIT,
    collect=_published,
)

# The order in which they are collected and published.
COLLECTORS = (
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
    API_VERSIONS_TABLE,
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


def skipped_tables(names: str | None) -> tuple[Collector, ...]:
    """The tables that the setting `snapshot.skip_tables` names; ConfigError if one of them is needed or does not exist."""
    skipped = {name.strip() for name in (names or "").split(",")} - {""}
    may_be = {table.name: table for table in COLLECTORS if table.may_be_skipped}
    if unknown := sorted(skipped - may_be.keys()):
        known = ", ".join(may_be)
        raise ConfigError([f"snapshot.skip_tables: {name} cannot be skipped; these can: {known}" for name in unknown])
    return tuple(table for name, table in may_be.items() if name in skipped)


def required_permissions() -> tuple[Permission, ...]:
    """The permissions that a snapshot with all tables needs; each operation on a resource type once."""
    needed: dict[tuple[int, int], list[str]] = {}
    for table in COLLECTORS:
        for permission in table.permissions:
            losses = needed.setdefault((permission.operation, permission.resource_type), [])
            losses += [] if permission.without in losses else [permission.without]
    return tuple(Permission(*key, "; ".join(losses)) for key, losses in needed.items())
