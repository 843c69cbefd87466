"""Makes snapshots of past days, and warehouses that have published them, quickly: files are written without Hadoop."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import groupby
from pathlib import Path

from kafka_lagoon.delta.arrow import arrow_blocks, snapshot_date, write_parquet
from kafka_lagoon.delta.files import DataFile
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.tables import snapshot_rows
from kafka_lagoon.tables.schema import SNAPSHOT_DATE, STATE_TABLES
from kafka_lagoon.tables.security_rows import AclRow
from kafka_lagoon.tables.snapshot_rows import CoverageRow
from kafka_lagoon.tables.table import Table
from kafka_lagoon.tables.table_states import table_state
from tests.delta.history import log_files
from tests.delta.samples import lag_row, row
from tests.duckdb_views import connected

MIDNIGHT = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
SUMMARIES = ("coverage", "collection_failures", "snapshots")  # tables that a snapshot does not have
SOME = ("snapshots", "consumer_lag", "acls", "coverage")


def moment(days_ago: int, time: str) -> datetime:
    """Return the time of some days ago."""
    hour, minute = time.split(":")
    return MIDNIGHT - timedelta(days=days_ago) + timedelta(hours=int(hour), minutes=int(minute))


def taken(
    captured_at: datetime,
    *facts: object,
    cluster: str = "default",
    status: str = "complete",
    stored_in: Mapping[str, str] | None = None,
    lists_tables: bool = True,
) -> snapshot_rows.Snapshot:
    """Make a snapshot; tables in `stored_in` are stored under another id, and have one row."""
    captured_at_ms = round(captured_at.timestamp() * 1000)
    header = snapshot_rows.SnapshotHeader(
        snapshot_id=f"{captured_at:%Y%m%d-%H%M}-{cluster}",
        cluster=cluster,
        cluster_id=f"id of {cluster}",
        captured_at_ms=captured_at_ms,
    )
    by_class = {table.row: [fact for fact in facts if isinstance(fact, table.row)] for table in STATE_TABLES}
    stored_in = stored_in or {}
    states = [
        table_state(
            table.name,
            "complete",
            1 if table.name in stored_in else len(by_class[table.row]),
            header.snapshot_id,
            "digest" if table.when_changed else None,
            stored_in.get(table.name),
        )
        for table in STATE_TABLES
        if table.name not in SUMMARIES
    ]
    times = dict.fromkeys(("slot_ms", "started_at_ms", "finished_at_ms"), captured_at_ms)
    last = row(snapshot_rows.SnapshotRow, status=status, tables=tuple(states) if lists_tables else None, **times)
    return snapshot_rows.Snapshot(header=header, rows={**by_class, snapshot_rows.SnapshotRow: [last]})


def day_of_snapshots(days_ago: int, *times: str, partial: Sequence[str] = ()) -> Iterator[snapshot_rows.Snapshot]:
    """Make snapshots of one day; only the first stores the ACLs; each has one row of lag more than its minute."""
    first = f"{moment(days_ago, times[0]):%Y%m%d-%H%M}-default"
    for time in times:
        lag = [lag_row("g", "t", partition, lag=partition) for partition in range(1 + int(time[-2:]))]
        acl = [] if time != times[0] else [row(AclRow, principal=f"of day {days_ago}")]
        status = "partial" if time in partial else "complete"
        referred = {"acls": first} if not acl else None
        yield taken(
            moment(days_ago, time), *lag, *acl, row(CoverageRow, api="Fetch"), status=status, stored_in=referred
        )


def publish_all(
    warehouse: Warehouse, snapshots: Iterable[snapshot_rows.Snapshot], tables: Sequence[Table] = STATE_TABLES
) -> None:
    """Add the rows of snapshots to the tables: one commit per table and day, with a file per snapshot."""
    ordered = sorted(snapshots, key=lambda made: made.header.captured_at_ms)
    for table in tables:
        for day, of_day in groupby(ordered, key=lambda made: snapshot_date(made.header)):
            files = [file for made in of_day for file in _written(warehouse, table, made)]
            if files:
                warehouse.kernel.append(warehouse.state(table.name), files, (SNAPSHOT_DATE, day))


def _written(warehouse: Warehouse, table: Table, made: snapshot_rows.Snapshot) -> Iterator[DataFile]:
    facts = made.rows[table.row]
    if not facts or table.name in made.stored_elsewhere:
        return
    day = snapshot_date(made.header)
    url = f"{warehouse.locations[table.name]}/{SNAPSHOT_DATE}={day}/{made.header.snapshot_id}.parquet"
    path = Path(url.removeprefix("file:"))
    path.parent.mkdir(exist_ok=True)
    with path.open("wb") as file:
        statistics = write_parquet(file, arrow_blocks(table, made.header, facts))
    os.utime(path, (made.header.captured_at_ms / 1000,) * 2)
    yield DataFile(url=url, size=path.stat().st_size, modified_at_ms=made.header.captured_at_ms, statistics=statistics)


def shown(warehouse: Warehouse, tables: Iterable[str] = SOME) -> dict[str, dict[str, list[str]]]:
    """Return the rows that views show of each published snapshot, as text, by table."""
    snapshots: dict[str, dict[str, list[str]]] = {}
    views = {table: table if table == "snapshots" else f"{table}_published" for table in tables}
    with connected(warehouse.name, views.values()) as connection:
        for table, view in views.items():
            for fact in connection.table(view).to_arrow_table().to_pylist():
                snapshots.setdefault(fact["snapshot_id"], {}).setdefault(table, []).append(repr(fact))
    return {name: {table: sorted(facts) for table, facts in of_one.items()} for name, of_one in snapshots.items()}


def ids_in(warehouse: Warehouse, table: str) -> set[str]:
    """Return the ids under which a table has rows, published or not."""
    with connected(warehouse.name, [table]) as connection:
        return {one for (one,) in connection.table(table).project("snapshot_id").distinct().fetchall()}


def a_day_passes(warehouse: Warehouse, tables: Iterable[str] = SOME, hours: int = 25) -> None:
    """Make all commits older."""
    for path in (path for table in tables for path in log_files(warehouse, table, "*")):
        modified = path.stat().st_mtime - hours * 3600
        os.utime(path, (modified, modified))
