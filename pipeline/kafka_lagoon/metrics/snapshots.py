"""The metrics of a published snapshot: when it was taken, what it lacks, and the state of the cluster in a few numbers."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import field

from kafka_lagoon.frozen import frozen
from kafka_lagoon.metrics.exposition import Metric, Sample
from kafka_lagoon.metrics.groups import GroupFacts, group_facts, group_samples, owners_of
from kafka_lagoon.tables import state_tables, table_states
from kafka_lagoon.tables.cluster_rows import BrokerRow, PartitionRow
from kafka_lagoon.tables.owner_rows import TOPIC
from kafka_lagoon.tables.row_columns import column_of
from kafka_lagoon.tables.snapshot_rows import CollectionFailureRow, CoverageRow, Snapshot

_CLUSTER = ("kafka_cluster",)
PUBLISHED = Metric(
    "lagoon_snapshot_published",
    "1 if the cluster has a published snapshot; 0 for a cluster of the settings that has none yet.",
    _CLUSTER,
)
CAPTURED = Metric(
    "lagoon_snapshot_captured_timestamp_seconds", "When the newest snapshot began to look at the cluster.", _CLUSTER
)
SLOT = Metric("lagoon_snapshot_slot_timestamp_seconds", "The slot of the newest snapshot.", _CLUSTER)
COMPLETE = Metric(
    "lagoon_snapshot_complete",
    "1 if the newest snapshot is complete, 0 if it is partial; tables that can be skipped do not count.",
    _CLUSTER,
)
FAILURES = Metric(
    "lagoon_snapshot_failures",
    "Rows of table collection_failures of the newest snapshot, by the name of the error.",
    (*_CLUSTER, "error"),
)
BROKERS = Metric("lagoon_snapshot_brokers", "Brokers that the cluster knows.", _CLUSTER)
FENCED = Metric("lagoon_snapshot_fenced_brokers", "Brokers that the controller has fenced.", _CLUSTER)
UNKNOWN_FENCED = Metric(
    "lagoon_snapshot_unknown_fenced_brokers", "Brokers of which it is not known whether they are fenced.", _CLUSTER
)
TOPICS = Metric("lagoon_snapshot_topics", "Topics.", _CLUSTER)
PARTITIONS = Metric("lagoon_snapshot_partitions", "Partitions.", _CLUSTER)
GROUPS = Metric("lagoon_snapshot_groups", "Groups that brokers listed; no sample if no list could be read.", _CLUSTER)
LIST_PROVEN = Metric(
    "lagoon_snapshot_list_proven",
    "1 if the list of topics, or of groups, is proven to be whole, 0 if brokers may hide some for want of permissions; "
    "of an empty list that is not proven no numbers have samples.",
    (*_CLUSTER, "list"),
)
UNDER_REPLICATED = Metric(
    "lagoon_snapshot_under_replicated_partitions", "Partitions with fewer replicas in sync than replicas.", _CLUSTER
)
UNDER_MIN_ISR = Metric(
    "lagoon_snapshot_under_min_isr_partitions",
    "Partitions with fewer replicas in sync than min.insync.replicas.",
    _CLUSTER,
)
UNKNOWN_MIN_ISR = Metric(
    "lagoon_snapshot_unknown_min_isr_partitions", "Partitions whose min.insync.replicas is not known.", _CLUSTER
)
LEADERLESS = Metric("lagoon_snapshot_leaderless_partitions", "Partitions that no broker leads.", _CLUSTER)
TOPIC_INFO = Metric(
    "lagoon_topic_info",
    "1, with the team that owns the topic; topics that nobody owns have none.",
    (*_CLUSTER, "topic", "owner"),
)
TOPICS_LEFT_OUT = Metric(
    "lagoon_snapshot_left_out_topics",
    "Owned topics without a metric of their own because of metrics.max_topics.",
    _CLUSTER,
)

# Metrics of the rows in which a column is true. Where it may be null, another metric counts the nulls.
COUNTED: Mapping[Metric, tuple[str, str]] = {
    FENCED: (state_tables.BROKERS.name, "is_fenced"),
    UNDER_REPLICATED: (state_tables.PARTITIONS.name, "is_under_replicated"),
    UNDER_MIN_ISR: (state_tables.PARTITIONS.name, "is_under_min_isr"),
    LEADERLESS: (state_tables.PARTITIONS.name, "is_leaderless"),
}
_NULLS: Mapping[Metric, Metric] = {FENCED: UNKNOWN_FENCED, UNDER_MIN_ISR: UNKNOWN_MIN_ISR}

# Lists by the API that returns them, as in table coverage, and the metrics that count their items.
_LISTS = {"Metadata": "topics", "ListGroups": "groups"}
_OF_LISTS: Mapping[str, tuple[Metric, ...]] = {
    "topics": (TOPICS, PARTITIONS, UNDER_REPLICATED, UNDER_MIN_ISR, UNKNOWN_MIN_ISR, LEADERLESS),
    "groups": (GROUPS,),
}


@frozen
class SnapshotFacts:
    """The numbers that the metrics of a snapshot show; `counts` are by metric (None: unknown), `failures` by error.

    `proven` has the lists of topics and groups that were requested, and False for those of which permissions may hide a part.
    """

    cluster: str
    captured_at_ms: int
    slot_ms: int
    is_complete: bool
    counts: Mapping[Metric, int | None]
    failures: Mapping[str, int]
    proven: Mapping[str, bool]
    groups: Mapping[str, GroupFacts] = field(default_factory=dict)
    topic_owners: Mapping[str, str] = field(default_factory=dict)


def snapshot_facts(snapshot: Snapshot) -> SnapshotFacts:
    """Of a snapshot that was just taken."""
    published = snapshot.published
    outcomes = {state.table_name: state.outcome for state in published.tables or ()}
    counts = {
        BROKERS: published.brokers,
        TOPICS: published.topics,
        PARTITIONS: published.partitions,
        GROUPS: groups_of(published.groups, outcomes.get(state_tables.CONSUMER_GROUPS.name)),
    }
    rows = {state_tables.BROKERS.name: snapshot.of(BrokerRow), state_tables.PARTITIONS.name: snapshot.of(PartitionRow)}
    for metric, (table, column) in COUNTED.items():
        values = Counter(column_of(rows[table], column))
        counts |= counts_of(metric, trues=values[True], falses=values[False], nulls=values[None])
    return SnapshotFacts(
        cluster=snapshot.header.cluster,
        captured_at_ms=snapshot.header.captured_at_ms,
        slot_ms=published.slot_ms,
        is_complete=published.status == "complete",
        counts=counts,
        failures=Counter(column_of(snapshot.of(CollectionFailureRow), "error_name")),
        proven=proven_lists((row.api, row.visibility) for row in snapshot.of(CoverageRow)),
        groups=group_facts(snapshot),
        topic_owners=owners_of(snapshot, TOPIC),
    )


def counts_of(metric: Metric, *, trues: int, falses: int, nulls: int) -> dict[Metric, int | None]:
    """The number of rows in which a column is true, None if it is null in all; and the number of nulls where it can be."""
    counts: dict[Metric, int | None] = {metric: None if nulls and not trues and not falses else trues}
    return counts | ({_NULLS[metric]: nulls} if metric in _NULLS else {})


def groups_of(listed: int, outcome: str | None) -> int | None:
    """The number of groups; None if there is no list of groups, by the outcome of table consumer_groups."""
    return None if outcome == table_states.FAILED else listed


def proven_lists(coverage: Iterable[tuple[str, str | None]]) -> dict[str, bool]:
    """The lists of topics and groups, from the APIs and visibilities of table coverage: True if all of a list is visible."""
    proven: dict[str, bool] = {}
    for api, visibility in coverage:
        if api in _LISTS and visibility is not None:
            proven[_LISTS[api]] = visibility == "complete" and proven.get(_LISTS[api], True)
    return proven


def _hidden(facts: SnapshotFacts) -> set[Metric]:
    """The metrics of empty lists that are not proven: all of the list may be hidden, so that 0 is not known."""
    return {
        metric
        for name, (number, *others) in _OF_LISTS.items()
        if not facts.counts[number] and not facts.proven.get(name, False)
        for metric in (number, *others)
    }


def snapshot_samples(facts: SnapshotFacts, max_groups: int, max_topics: int) -> Iterator[Sample]:
    """The samples of one snapshot, of at most `max_groups` of its groups, and of `max_topics` topics with an owner."""
    cluster = facts.cluster
    yield Sample(PUBLISHED, (cluster,), 1)
    yield Sample(CAPTURED, (cluster,), facts.captured_at_ms / 1000)
    yield Sample(SLOT, (cluster,), facts.slot_ms / 1000)
    yield Sample(COMPLETE, (cluster,), facts.is_complete)
    for error, count in sorted(facts.failures.items()):
        yield Sample(FAILURES, (cluster, error), count)
    hidden = _hidden(facts)
    known = {metric: count for metric, count in facts.counts.items() if count is not None and metric not in hidden}
    yield from (Sample(metric, (cluster,), count) for metric, count in known.items())
    yield from (Sample(LIST_PROVEN, (cluster, name), proven) for name, proven in facts.proven.items())
    yield from group_samples(cluster, facts.groups, max_groups, facts.captured_at_ms)
    for topic, owner in sorted(facts.topic_owners.items())[:max_topics]:
        yield Sample(TOPIC_INFO, (cluster, topic, owner), 1)
    yield Sample(TOPICS_LEFT_OUT, (cluster,), max(0, len(facts.topic_owners) - max_topics))


def missing_samples(clusters: Iterable[str], known: Collection[str]) -> Iterator[Sample]:
    """The samples of clusters of the settings that are not among the `known` ones with a snapshot."""
    return (Sample(PUBLISHED, (cluster,), 0) for cluster in clusters if cluster not in known)
