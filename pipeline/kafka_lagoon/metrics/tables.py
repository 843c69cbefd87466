"""Reads the metrics of the newest published snapshot of each cluster from the tables, by either engine.

They equal the metrics that the run wrote when it took the snapshot.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from kafka_lagoon.group_lag import GroupLag
from kafka_lagoon.metrics import snapshots
from kafka_lagoon.metrics.groups import GroupFacts
from kafka_lagoon.metrics.snapshots import SnapshotFacts
from kafka_lagoon.query.group_sums import LAG_TABLE, SUMS
from kafka_lagoon.query.statements import Ask, tuples
from kafka_lagoon.query.window import Span, Window
from kafka_lagoon.tables.owner_rows import GROUP, TOPIC
from kafka_lagoon.tables.state_tables import CONSUMER_GROUPS

RELATIONS = frozenset(
    {
        "snapshots",
        "snapshots_now",
        "brokers_published",
        "partitions_published",
        "consumer_groups_published",
        "consumer_lag_published",
        "collection_failures",
        "coverage",
        "loss_ahead",
        "owners_published",
        "expected_groups_published",
        "table_states",
    }
)
_VALUES = (("TRUE", "trues"), ("FALSE", "falses"), ("NULL", "nulls"))
_MOMENTS = "unix_millis(captured_at) AS captured_ms, unix_millis(slot) AS slot_ms"


def window_of_newest(ask: Ask, clusters: Collection[str] | None = None) -> Window:
    """The newest snapshots; `clusters` None is all of them.

    View loss_ahead compares a snapshot with the day before, but not for the times that records expire.
    """
    newest = tuples(ask("SELECT cluster, max(captured_at) FROM snapshots GROUP BY cluster"))
    return [
        Span(begin=captured_at, end=captured_at)
        for cluster, captured_at in newest
        if clusters is None or cluster in clusters
    ]


def newest_facts(ask: Ask, clusters: Collection[str] | None = None) -> Iterator[SnapshotFacts]:
    """The numbers of each cluster's newest snapshot; None is all clusters."""
    statement = (
        f"SELECT cluster, snapshot_id, status, {_MOMENTS}, brokers, topics, partitions, groups "  # noqa: S608  ours
        "FROM snapshots_now ORDER BY cluster"
    )
    for newest in _rows(ask, statement):
        if clusters is None or newest["cluster"] in clusters:
            yield _facts(ask, newest)


def _facts(ask: Ask, newest: Mapping[str, Any]) -> SnapshotFacts:
    counted = {
        snapshots.BROKERS: newest["brokers"],
        snapshots.TOPICS: newest["topics"],
        snapshots.PARTITIONS: newest["partitions"],
        snapshots.GROUPS: snapshots.groups_of(newest["groups"], _outcome(ask, CONSUMER_GROUPS.name, newest)),
    }
    for metric, (table, column) in snapshots.COUNTED.items():
        counted |= snapshots.counts_of(metric, **_count(ask, f"{table}_published", column, newest))
    failures = _of_snapshot(
        ask, "SELECT error_name, count(*) AS failures FROM collection_failures WHERE {} GROUP BY error_name", newest
    )
    listed = _of_snapshot(ask, "SELECT DISTINCT api, visibility FROM coverage WHERE {} ORDER BY api DESC", newest)
    return SnapshotFacts(
        cluster=newest["cluster"],
        captured_at_ms=newest["captured_ms"],
        slot_ms=newest["slot_ms"],
        is_complete=newest["status"] == "complete",
        counts=counted,
        failures={failure["error_name"]: failure["failures"] for failure in failures},
        proven=snapshots.proven_lists((row["api"], row["visibility"]) for row in listed),
        groups=_groups(ask, newest),
        topic_owners=_owners(ask, TOPIC, newest),
    )


def _owners(ask: Ask, entity_type: str, newest: Mapping[str, Any]) -> dict[str, str]:
    statement = f"SELECT name, owner FROM owners_published WHERE {{}} AND entity_type = '{entity_type}'"  # noqa: S608  ours
    return {row["name"]: row["owner"] for row in _of_snapshot(ask, statement, newest)}


def _groups(ask: Ask, newest: Mapping[str, Any]) -> dict[str, GroupFacts]:
    groups = _of_snapshot(ask, "SELECT group_id FROM consumer_groups_published WHERE {}", newest)
    statement = f"SELECT group_id, {SUMS} FROM {LAG_TABLE} WHERE {{}} GROUP BY group_id"  # noqa: S608  names of ours
    sums = {row.pop("group_id"): GroupLag(**row) for row in _of_snapshot(ask, statement, newest)}
    statement = "SELECT group_id, unix_millis(min(expires_at)) AS expires_ms FROM loss_ahead WHERE {} GROUP BY group_id"
    expiries = {row["group_id"]: row["expires_ms"] for row in _of_snapshot(ask, statement, newest)}
    owners = _owners(ask, GROUP, newest)
    expected = _of_snapshot(ask, "SELECT group_id, should_run FROM expected_groups_published WHERE {}", newest)
    should_run = {row["group_id"]: row["should_run"] for row in expected}
    group_ids = dict.fromkeys([*(group["group_id"] for group in groups), *sums])
    return {
        name: GroupFacts(sums.get(name, GroupLag()), expiries.get(name), owners.get(name), should_run.get(name))
        for name in group_ids
    }


def _outcome(ask: Ask, table: str, newest: Mapping[str, Any]) -> str | None:
    """The outcome of the collection of a table; None for snapshots of version 0.1.0."""
    statement = f"SELECT outcome FROM table_states WHERE {{}} AND table_name = '{table}'"  # noqa: S608  names of ours
    return next((row["outcome"] for row in _of_snapshot(ask, statement, newest)), None)


def _count(ask: Ask, relation: str, column: str, newest: Mapping[str, Any]) -> dict[str, int]:
    """The rows of a snapshot in which a column is true, false, and null."""
    counts = (f"count(CASE WHEN {column} IS {value} THEN 1 END) AS {name}" for value, name in _VALUES)
    statement = f"SELECT {', '.join(counts)} FROM {relation} WHERE {{}}"  # noqa: S608  names of ours
    (row,) = _of_snapshot(ask, statement, newest)
    return row


def _of_snapshot(ask: Ask, statement: str, newest: Mapping[str, Any]) -> list[dict[str, Any]]:
    condition = "cluster = ? AND snapshot_id = ?"
    return _rows(ask, statement.format(condition), newest["cluster"], newest["snapshot_id"])


def _rows(ask: Ask, statement: str, *values: str) -> list[dict[str, Any]]:
    return [row for batch in ask(statement, *values).batches for row in batch.to_pylist()]
