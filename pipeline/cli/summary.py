"""A snapshot in, the one line that a person reads out."""

from collections.abc import Iterable

from pipeline.snapshot.rows import ConsumerLagRow, Snapshot
from pipeline.text import printable


def snapshot_line(snapshot: Snapshot, place: str, seconds: float) -> str:
    """Cluster, sizes, worst lag, what is unknown, and where the tables are."""
    header, published = snapshot.header, snapshot.published
    lag = snapshot.of(ConsumerLagRow)
    unknown = sum(1 for row in lag if row.lag is None)
    parts = [
        f"{published.brokers:,} brokers",
        f"{published.topics:,} topics",
        f"{published.partitions:,} partitions",
        f"{published.groups:,} groups",
        _worst(lag),
    ]
    if unknown:
        parts.append(f"lag unknown for {unknown:,} of {len(lag):,}")
    if published.failures:
        parts.append(f"INCOMPLETE: {published.failures:,} failures, see table collection_failures")
    return f"{header.cluster} ({header.cluster_id}): {', '.join(parts)}; tables in {place} ({seconds:.1f} s)"


def _worst(lag: Iterable[ConsumerLagRow]) -> str:
    known = [row for row in lag if row.lag is not None]
    if not known:
        return "no lag known"
    worst = max(known, key=lambda row: row.lag or 0)
    return f"worst lag {worst.lag:,} (group {printable(worst.group_id)}, {worst.topic}-{worst.partition})"
