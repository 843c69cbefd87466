"""Declares the alterations that no client could tell from true answers, field by field, each with its reason.

Only a value or an item that a broker may have is indistinguishable. A list with an item twice, two items of one name that
differ, numbers that Kafka never sends and error codes are not, whoever answers.
"""

from dataclasses import dataclass

from tests.proof.answers.alterations import ALL, ONE, Alteration


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """Fields whose altered values may be true, for all that any other answer says, if `who` alters them.

    `only` limits it to alterations of these names.
    """

    kind: str
    fields: tuple[str, ...]
    who: tuple[str, ...] = (ONE, ALL)
    reason: str
    only: tuple[str, ...] = ()


def _below(path: str, *names: str) -> tuple[str, ...]:
    """The fields of a struct."""
    return tuple(f"{path}.{name}" for name in names)


_EVERY = "every broker says the same, and nobody else can be asked"
_LEADER = "only the leader knows its log: other replicas refuse, or are behind"
_COORDINATOR = "only the coordinator knows a group or a transaction: other brokers answer NOT_COORDINATOR"
_OWN = "only the broker itself knows it"
_CONTROLLER = "only the active controller knows it, and it has moved on when another broker passes the next answer on"
_CONFIGS = "configs of topics are most bytes of a snapshot, so one broker is asked"

_MEMBER = ("member_id", "client_id", "client_host", "rack_id", "member_epoch", "subscribed_topic_names")
_ASSIGNED = ("topic_partitions", *_below("topic_partitions", "topic_id", "topic_name", "partitions"))
_NEW_GROUP = (
    *_below("groups", "group_state", "group_epoch", "assignment_epoch", "assignor_name", "members"),
    *_below("groups.members", *_MEMBER),
    *_below("groups.members.assignment", *_ASSIGNED),
)
_TASKS = ("active_tasks", *_below("active_tasks", "subtopology_id", "partitions"))
_CONFIG = ("name", "value", "config_source", "config_type", "is_sensitive", "read_only", "synonyms")
_DESCRIBED_CONFIGS = (
    *("results.configs", *_below("results.configs", *_CONFIG)),
    *_below("results.configs.synonyms", "name", "value", "source"),
)
_PARTITION = ("leader_id", "leader_epoch", "replica_nodes", "isr_nodes", "offline_replicas")
_VERSIONS = (
    *("api_keys", *_below("api_keys", "api_key", "min_version", "max_version")),
    *("supported_features", *_below("supported_features", "name", "min_version", "max_version")),
    *("finalized_features", *_below("finalized_features", "name", "min_version_level", "max_version_level")),
    "finalized_features_epoch",
)

DECLARED = (
    Declared(
        kind="Metadata",
        fields=(
            *("brokers", *_below("brokers", "node_id", "host", "port", "rack"), "cluster_id", "controller_id"),
            *(
                "topics",
                *_below("topics", "name", "topic_id", "is_internal", "partitions", "topic_authorized_operations"),
            ),
            *_below("topics.partitions", "partition_index", *_PARTITION),
        ),
        who=(ALL,),
        reason=_EVERY,
    ),
    Declared(
        kind="DescribeCluster",
        fields=(
            "brokers",
            *_below("brokers", "broker_id", "host", "port", "rack", "is_fenced"),
            "cluster_authorized_operations",
        ),
        who=(ALL,),
        reason=_EVERY,
    ),
    Declared(
        kind="DescribeTopicPartitions",
        fields=_below("topics.partitions", "eligible_leader_replicas", "last_known_elr"),
        who=(ALL,),
        reason=_EVERY,
    ),
    Declared(
        kind="DescribeAcls",
        fields=(
            *("resources", *_below("resources", "resource_type", "resource_name", "pattern_type", "acls")),
            *_below("resources.acls", "principal", "host", "operation", "permission_type"),
        ),
        who=(ALL,),
        reason=_EVERY,
    ),
    Declared(
        kind="DescribeClientQuotas",
        fields=(
            *("entries", "entries.entity", *_below("entries.entity", "entity_type", "entity_name")),
            *("entries.values", *_below("entries.values", "key", "value")),
        ),
        who=(ALL,),
        reason=_EVERY,
    ),
    Declared(
        kind="DescribeUserScramCredentials",
        fields=(
            *("results", "results.user", "results.credential_infos"),
            *_below("results.credential_infos", "mechanism", "iterations"),
        ),
        who=(ALL,),
        reason=_EVERY,
    ),
    Declared(
        kind="DescribeDelegationToken",
        fields=(
            *("tokens", *_below("tokens", "principal_type", "principal_name", "token_id", "renewers")),
            *_below("tokens", "token_requester_principal_type", "token_requester_principal_name"),
            *_below("tokens", "issue_timestamp", "expiry_timestamp", "max_timestamp"),
            *_below("tokens.renewers", "principal_type", "principal_name"),
        ),
        who=(ALL,),
        reason=_EVERY,
    ),
    Declared(kind="DescribeConfigs[2]", fields=_DESCRIBED_CONFIGS, reason=_CONFIGS),
    Declared(kind="DescribeConfigs[4]", fields=_DESCRIBED_CONFIGS, reason=_OWN),
    Declared(kind="ApiVersions", fields=_VERSIONS, reason=_OWN),
    Declared(
        kind="ApiVersions",
        fields=("error_code",),
        only=("= 35",),
        reason="so answers a broker that only knows older versions (KIP-511)",
    ),
    Declared(
        kind="DescribeLogDirs",
        fields=(
            *("results", *_below("results", "log_dir", "total_bytes", "usable_bytes", "is_cordoned", "topics")),
            *("results.topics.name", "results.topics.partitions"),
            *_below("results.topics.partitions", "partition_index", "partition_size", "offset_lag", "is_future_key"),
        ),
        reason=_OWN,
    ),
    Declared(
        kind="ListOffsets", fields=_below("topics.partitions", "offset", "timestamp", "leader_epoch"), reason=_LEADER
    ),
    Declared(
        kind="OffsetForLeaderEpoch", fields=_below("topics.partitions", "end_offset", "leader_epoch"), reason=_LEADER
    ),
    Declared(
        kind="Fetch",
        fields=("responses.partitions.records",),
        only=("= None", "= b''"),
        reason="a compacted partition may have no record left before its end",
    ),
    Declared(
        kind="DescribeProducers",
        fields=(
            "topics.partitions.active_producers",
            *_below("topics.partitions.active_producers", "producer_id", "producer_epoch", "coordinator_epoch"),
            *_below(
                "topics.partitions.active_producers", "last_sequence", "last_timestamp", "current_txn_start_offset"
            ),
        ),
        reason=_LEADER,
    ),
    Declared(
        kind="DescribeGroups",
        fields=(
            *_below("groups", "group_state", "protocol_type", "protocol_data", "members"),
            *_below("groups.members", "member_id", "group_instance_id", "client_id", "client_host"),
            *_below("groups.members", "member_metadata", "member_assignment"),
        ),
        reason=_COORDINATOR,
    ),
    Declared(
        kind="ConsumerGroupDescribe",
        fields=(
            *_NEW_GROUP,
            *_below("groups.members", "instance_id", "subscribed_topic_regex", "member_type"),
            *_below("groups.members.target_assignment", *_ASSIGNED),
        ),
        reason=_COORDINATOR,
    ),
    Declared(kind="ShareGroupDescribe", fields=_NEW_GROUP, reason=_COORDINATOR),
    Declared(
        kind="StreamsGroupDescribe",
        fields=(
            *_NEW_GROUP,
            *_below("groups.members", "instance_id", "topology_epoch", "process_id", "is_classic"),
            *_below("groups.members.assignment", *_TASKS),
            *_below("groups.members.target_assignment", *_TASKS),
            *_below("groups.topology", "epoch", "subtopologies"),
            *_below("groups.topology.subtopologies", "subtopology_id", "source_topics", "repartition_source_topics"),
            "groups.topology.subtopologies.repartition_source_topics.name",
        ),
        reason=_COORDINATOR,
    ),
    Declared(
        kind="OffsetFetch",
        fields=(
            *("groups.topics", "groups.topics.name", "groups.topics.partitions"),
            *_below(
                "groups.topics.partitions", "partition_index", "committed_offset", "committed_leader_epoch", "metadata"
            ),
        ),
        reason=_COORDINATOR,
    ),
    Declared(
        kind="DescribeShareGroupOffsets",
        fields=(
            *("groups.topics", *_below("groups.topics", "topic_name", "topic_id", "partitions")),
            *_below("groups.topics.partitions", "partition_index", "start_offset", "leader_epoch", "lag"),
        ),
        reason=_COORDINATOR,
    ),
    Declared(
        kind="DescribeTransactions",
        fields=(
            *_below(
                "transaction_states", "producer_id", "producer_epoch", "transaction_state", "transaction_timeout_ms"
            ),
            *_below("transaction_states", "transaction_start_time_ms", "topics", "topics.topic", "topics.partitions"),
        ),
        reason=_COORDINATOR,
    ),
    Declared(
        kind="ListGroups",
        fields=("groups", *_below("groups", "group_id", "group_state", "group_type", "protocol_type")),
        reason=_COORDINATOR,
    ),
    Declared(
        kind="ListTransactions",
        fields=(
            "transaction_states",
            *_below("transaction_states", "transactional_id", "producer_id", "transaction_state"),
        ),
        reason=_COORDINATOR,
    ),
    Declared(
        kind="ListPartitionReassignments",
        fields=(
            *("topics", "topics.name", "topics.partitions"),
            *_below("topics.partitions", "partition_index", "replicas", "adding_replicas", "removing_replicas"),
        ),
        who=(ALL,),
        reason=_EVERY,
    ),
    Declared(
        kind="DescribeQuorum",
        fields=(
            "topics.partitions.high_watermark",
            *_below(
                "topics.partitions.current_voters", "log_end_offset", "last_fetch_timestamp", "last_caught_up_timestamp"
            ),
        ),
        reason=_CONTROLLER,
    ),
    Declared(
        kind="DescribeQuorum",
        fields=(
            *_below("topics.partitions", "leader_id", "leader_epoch", "current_voters"),
            *_below("topics.partitions.current_voters", "replica_id", "replica_directory_id"),
            *("nodes", "nodes.node_id", "nodes.listeners", *_below("nodes.listeners", "name", "host", "port")),
        ),
        who=(ALL,),
        reason=_EVERY,
    ),
)
_NEVER = ("doubled", "contradicting itself", "= -7777", "= -77", "with an odd value", "null")
_ANY_NUMBER = frozenset(  # fields with numbers that clients choose, or that may be negative for a moment
    {
        "offset_lag",
        "timestamp",
        "last_timestamp",
        "committed_offset",
        "committed_leader_epoch",
        "start_offset",
        "lag",
        "epoch",
        "topology_epoch",
    }
)


def reason_of(alteration: Alteration) -> str | None:
    """The reason why an altered answer is indistinguishable from a true one; None if it is not."""
    mutation, path = alteration.mutation, ".".join(alteration.mutation.path)
    if mutation.name in _NEVER and not (mutation.name == "= -7777" and mutation.path[-1] in _ANY_NUMBER):
        return None
    for declared in DECLARED:
        is_kind = declared.kind in (alteration.kind, alteration.api) and alteration.who in declared.who
        if is_kind and path in declared.fields and (not declared.only or mutation.name in declared.only):
            return declared.reason
    return None
