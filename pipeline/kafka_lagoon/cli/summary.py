"""Makes the last line of a snapshot for people: sizes, worst lag, and an outage if there is one."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from kafka_lagoon.group_lag import LOG_START
from kafka_lagoon.tables.cluster_rows import BrokerRow, PartitionRow
from kafka_lagoon.tables.group_rows import ConsumerLagRow
from kafka_lagoon.tables.row_columns import column_of
from kafka_lagoon.tables.snapshot_rows import CollectionFailureRow, Snapshot
from kafka_lagoon.text import counted, printable

_MOST_ERRORS, _MOST_APIS = 2, 2  # in the line


def snapshot_line(snapshot: Snapshot, place: str, seconds: float) -> str:
    """Make the line: cluster, sizes, worst lag, brokers that are down, unknown lag, and the place of the tables."""
    header, published = snapshot.header, snapshot.published
    lag = snapshot.of(ConsumerLagRow)
    # Without a commit there is no lag to know, as in group_lag.py.
    rows = zip(column_of(lag, "lag"), column_of(lag, "lag_basis"), strict=True)
    unknown = sum(1 for records, basis in rows if records is None and basis != LOG_START)
    parts = [
        *_health(snapshot.of(BrokerRow), snapshot.of(PartitionRow)),
        counted(published.topics, "topic"),
        counted(published.partitions, "partition"),
        counted(published.groups, "group"),
        _worst(worst_lag(snapshot)),
    ]
    if unknown:
        parts.append(f"lag unknown for {unknown:,} of {len(lag):,}")
    if published.failures:
        incomplete = "INCOMPLETE: " if published.status == "partial" else ""
        causes = _causes(snapshot.rows.get(CollectionFailureRow, ()))
        parts.append(f"{incomplete}{counted(published.failures, 'failure')}{causes}, see table collection_failures")
    line = f"{header.cluster} ({header.cluster_id}): {', '.join(parts)}; tables in {place} ({seconds:.1f} s)"
    return f"{line}; lagoon doctor checks connections and permissions" if published.status == "partial" else line


def _causes(failures: Iterable[Any]) -> str:
    """Spell the commonest errors, with the APIs of their requests."""
    apis: dict[str, list[str]] = {}
    for failure in failures:
        apis.setdefault(failure.error_name, []).append(failure.api)
    most = sorted(apis.items(), key=lambda item: (-len(item[1]), item[0]))
    named = [f"{len(of):,} {printable(name)} of {_some(sorted(set(of)))}" for name, of in most[:_MOST_ERRORS]]
    if more := len(most) - len(named):
        named.append(counted(more, "other error"))
    return f" ({'; '.join(named)})" if named else ""


def _some(apis: Sequence[str]) -> str:
    """Name the first of some APIs, and count the others."""
    more = len(apis) - _MOST_APIS
    return f"{', '.join(apis[:_MOST_APIS])} and {more:,} more" if more > 0 else " and ".join(apis)


def _health(brokers: Sequence[BrokerRow], partitions: Sequence[PartitionRow]) -> Iterator[str]:
    """Spell the number of brokers; in an outage also the brokers that are down and the affected partitions."""
    down = _down(brokers, partitions)
    under_replicated = sum(row.is_under_replicated is True for row in partitions)
    leaderless = sum(row.is_leaderless is True for row in partitions)
    under_min_isr = sum(row.is_under_min_isr is True for row in partitions)
    yield down or counted(len(brokers), "broker")
    if down or under_replicated or leaderless:
        yield f"{counted(under_replicated, 'partition')} under-replicated"
        yield f"{leaderless:,} leaderless"
    if under_min_isr:
        yield f"{counted(under_min_isr, 'partition')} with fewer in sync than min.insync.replicas"


def _down(brokers: Sequence[BrokerRow], partitions: Sequence[PartitionRow]) -> str | None:
    """Spell fenced and missing brokers. Missing brokers have replicas, but Metadata does not list them (before Kafka 4.0)."""
    known = {row.broker_id for row in brokers}
    missing = {replica for row in partitions for replica in row.replicas or ()} - known
    fenced = sum(row.is_fenced is True for row in brokers)
    brokers_in_all = counted(len(known | missing), "broker")
    if fenced:
        return f"{fenced:,} of {brokers_in_all} fenced" + (f", {len(missing):,} missing" if missing else "")
    return f"{len(missing):,} of {brokers_in_all} missing" if missing else None


def worst_lag(snapshot: Snapshot) -> ConsumerLagRow | None:
    """The row with the largest known lag."""
    lag = snapshot.of(ConsumerLagRow)
    known = ((records, index) for index, records in enumerate(column_of(lag, "lag")) if records is not None)
    worst, index = max(known, key=lambda pair: pair[0], default=(None, 0))
    return None if worst is None else lag[index]


def _worst(row: ConsumerLagRow | None) -> str:
    if row is None:
        return "no lag known"
    return f"worst lag {row.lag:,} (group {printable(row.group_id)}, {row.topic}-{row.partition})"
