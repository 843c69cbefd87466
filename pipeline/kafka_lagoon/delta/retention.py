"""Decides by age which published snapshots are kept, and which rows of the state tables those need.

A snapshot is kept or removed as a whole. Rows may be stored under the id of an earlier snapshot of the same day
(tables/table_states.py), and stay as long as any kept snapshot names them.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from itertools import groupby

from kafka_lagoon.frozen import frozen
from kafka_lagoon.job_settings import RetentionSettings


@frozen(kw_only=False)
class StoredRows:
    """The id under which rows of a snapshot's table are stored, and their number."""

    snapshot_id: str
    rows: int


@frozen
class PublishedSnapshot:
    """The parts of a row of table `snapshots` that retention needs; `stored`, by table, is None in rows of version 0.1.0.

    `day` is the UTC day of `captured_at`, by which the tables are partitioned.
    """

    snapshot_id: str
    cluster: str
    cluster_id: str | None
    captured_at: datetime
    day: date
    is_complete: bool
    stored: Mapping[str, StoredRows] | None


def not_kept(published: Iterable[PublishedSnapshot], retention: RetentionSettings, today: date) -> frozenset[str]:
    """Ids of the snapshots that retention removes.

    A snapshot that is kept for its day is also kept for its hour, so thinning by hours first does not change the result.
    """
    if retention.snapshots_all_days is None:
        return frozenset()
    removed = set[str]()
    in_order = sorted(
        published,
        key=lambda snapshot: (snapshot.cluster, snapshot.cluster_id or "", snapshot.captured_at, snapshot.snapshot_id),
    )
    for _, of_cluster in groupby(in_order, key=lambda snapshot: (snapshot.cluster, snapshot.cluster_id)):
        snapshots = list(of_cluster)
        kept = {snapshot.snapshot_id for snapshot in _latest(snapshots)}
        for period, of_period in groupby(snapshots, key=lambda snapshot: _period(snapshot, retention, today)):
            kept |= {_first(list(of_period)).snapshot_id} if period else set()
        removed |= {snapshot.snapshot_id for snapshot in snapshots} - kept
    return frozenset(removed)


def _latest(snapshots: Sequence[PublishedSnapshot]) -> Sequence[PublishedSnapshot]:
    """The last and the last complete snapshot of a cluster.

    Restores need the last snapshot of a cluster that is gone, and a run that has not published yet may refer to its rows.
    """
    return [*snapshots[-1:], *[snapshot for snapshot in snapshots if snapshot.is_complete][-1:]]


def _period(snapshot: PublishedSnapshot, retention: RetentionSettings, today: date) -> tuple[date | int | str, ...]:
    """The period of which one snapshot is kept: the snapshot itself, an hour or a day; empty if it is too old."""
    age = (today - snapshot.day).days
    if age <= (retention.snapshots_all_days or 0):
        return snapshot.day, snapshot.snapshot_id
    if age <= (retention.snapshots_hourly_days or 0):
        return snapshot.day, snapshot.captured_at.hour
    is_kept = retention.snapshots_daily_days is None or age <= retention.snapshots_daily_days
    return (snapshot.day,) if is_kept else ()


def _first(snapshots: Sequence[PublishedSnapshot]) -> PublishedSnapshot:
    """The first complete snapshot, or the first if none is complete: the first of a day stores all of its rows itself."""
    return next((snapshot for snapshot in snapshots if snapshot.is_complete), snapshots[0])


def ids_with_rows(published: Iterable[PublishedSnapshot], table: str) -> frozenset[str]:
    """Ids under which a state table may hold rows of these snapshots."""
    ids = set[str]()
    for snapshot in published:
        ids.add(snapshot.snapshot_id)
        if snapshot.stored and table in snapshot.stored:
            ids.add(snapshot.stored[table].snapshot_id)
    return frozenset(ids)


def rows_of(published: Iterable[PublishedSnapshot], table: str) -> int | None:
    """The number of rows of a state table that these snapshots need; None if they do not tell."""
    stored = dict[str, int]()
    for snapshot in published:
        if snapshot.stored is None or table not in snapshot.stored:
            return None
        stored[snapshot.stored[table].snapshot_id] = snapshot.stored[table].rows
    return sum(stored.values())
