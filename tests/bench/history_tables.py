"""Makes a warehouse with a long history: snapshots of one cluster every five minutes, laid out as `lagoon maintain` leaves them.

One snapshot of synthetic brokers is repeated with later times and other offsets. Days that are over have one file per table and day;
the last day has files as `lagoon snapshot` joins them, an hour's in one: it is over, and maintenance has not come yet. Days further back than
`Size.written_days` name the files of an earlier day again, so that a year costs the disk of some days: their rows have ids of other
snapshots, so a query that reads these days pays for them and finds nothing in them.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import SYSTEM_CLOCK, Deadline
from kafka_lagoon.delta.arrow import arrow_table
from kafka_lagoon.delta.files import (
    DataFile,
    LiveFile,
    Statistics,
    add_action,
    merged,
    parquet_bytes,
    remove_action,
    statistics_of,
)
from kafka_lagoon.delta.join_today import AT_ONCE
from kafka_lagoon.delta.sessionless import without_session
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.kafka_settings import KafkaSettings
from kafka_lagoon.snapshot.collect import collect
from kafka_lagoon.tables.schema import SNAPSHOT_DATE, STATE_TABLES
from kafka_lagoon.tables.snapshot_rows import Snapshot, SnapshotRow
from kafka_lagoon.tables.table import Table
from kafka_lagoon.uuid7 import new_id
from tests.bench import synthetic_brokers
from tests.warehouses import settings

CLUSTER = "year"
OF_THE_ISSUE = synthetic_brokers.Size(topics=120, partitions=5, brokers=6, groups=200, committed_partitions=30)
EVERY = timedelta(minutes=5)
SNAPSHOTS_OF_A_DAY = timedelta(days=1) // EVERY
_LOG_DAYS = 3  # commits of these days are in the logs, as their retention keeps them
_COMMITS_AFTER_THE_CHECKPOINT = 15  # half of the interval between checkpoints
_ROW_GROUP_BYTES = 16 << 20
_BUDGET_MS = 60_000
_ENDS = ("high_watermark", "last_stable_offset", "log_end_offset", "max_timestamp_offset")
_PRODUCED = 500  # records of a partition between two snapshots
_MOVES_EVERY = 36  # snapshots until leaders move


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """The length of a history, which ends at the end of `last_day` (UTC)."""

    days: int
    last_day: date
    written_days: int = 9  # the last days have rows of their own
    unmaintained: bool = False  # no day's files were joined
    snapshots: int | None = None  # only so many of the last ones

    def taken(self) -> Iterator[tuple[date, Sequence[int]]]:
        """The days with rows of their own, each with the numbers of its snapshots, counted from the last one back to 0."""
        count = self.snapshots or self.days * SNAPSHOTS_OF_A_DAY
        for back in reversed(range(min(self.days, self.written_days))):
            first = (back + 1) * SNAPSHOTS_OF_A_DAY
            yield self.last_day - timedelta(days=back), range(min(first, count) - 1, first - SNAPSHOTS_OF_A_DAY - 1, -1)


def write(folder: Path, size: Size, of: synthetic_brokers.Size = OF_THE_ISSUE) -> None:
    """Make the warehouse in an empty folder."""
    with synthetic_brokers.synthetic_brokers(of) as address, ExitStack() as stack:
        snapshot = _collected(address)
        made = settings(f"warehouse={folder}", "clusters.year.bootstrap_servers=127.0.0.1:1")
        warehouse = without_session(stack, made, SYSTEM_CLOCK, STATE_TABLES)
        assert warehouse
        histories = [_History(folder / table.name, table, size) for table in STATE_TABLES]
        ids = _ids(size)
        for day, numbers in size.taken():
            for history in histories:
                history.take_day(day, [_piece(history.table, snapshot, ids, number) for number in numbers])
        for history in histories:
            history.commit(warehouse)


def _collected(address: str) -> Snapshot:
    deadline = Deadline.after(SYSTEM_CLOCK, _BUDGET_MS)
    with Cluster.connect(KafkaSettings(bootstrap_servers=address), SYSTEM_CLOCK, RequestStats(), deadline) as cluster:
        snapshot = collect(cluster, CLUSTER, SYSTEM_CLOCK.now_ms(), deadline, lambda _step, _items: None)
    assert snapshot.published.status == "complete"
    return snapshot


def _begin(size: Size, number: int) -> datetime:
    """When the snapshot of this number began."""
    end = datetime(size.last_day.year, size.last_day.month, size.last_day.day, tzinfo=UTC) + timedelta(days=1)
    return end - (number + 1) * EVERY


@dataclass(frozen=True, slots=True)
class _Ids:
    begins: Mapping[int, datetime]
    ids: Mapping[int, str]
    first_of_day: Mapping[int, int]  # the number of the first snapshot of the same day


def _ids(size: Size) -> _Ids:
    begins, first_of_day = {}, {}
    for _, numbers in size.taken():
        for number in numbers:
            begins[number], first_of_day[number] = _begin(size, number), numbers[0]
    return _Ids(begins, {number: new_id(_ms(moment)) for number, moment in begins.items()}, first_of_day)


def _piece(table: Table, snapshot: Snapshot, ids: _Ids, number: int) -> pa.Table | None:
    """The rows of a snapshot in a table; None if it has none, or an earlier one of the day has stored them."""
    if table.when_changed and ids.first_of_day[number] != number:
        return None
    moment = ids.begins[number]
    header = replace(snapshot.header, snapshot_id=ids.ids[number], captured_at_ms=_ms(moment))
    rows: Sequence[Any] = snapshot.rows[table.row]
    if table.row is SnapshotRow:
        rows = [_published(snapshot.published, moment, ids, number)]
    if not rows:
        return None
    made = arrow_table(table, header, rows)
    return _moved(_later(made, moment, snapshot.header.captured_at_ms), number)


def _published(row: SnapshotRow, moment: datetime, ids: _Ids, number: int) -> SnapshotRow:
    own, first = ids.ids[number], ids.ids[ids.first_of_day[number]]
    states = [replace(one, stored_in=first if one.digest is not None else own) for one in row.tables or ()]
    begin = _ms(moment)
    return replace(row, slot_ms=begin, started_at_ms=begin, finished_at_ms=begin + 2_000, tables=tuple(states))


def _later(rows: pa.Table, moment: datetime, captured_at_ms: int) -> pa.Table:
    """The rows with times and ends of logs as they were at another time."""
    later = pa.scalar(moment - datetime.fromtimestamp(captured_at_ms / 1000, UTC), pa.duration("us"))
    produced = pa.scalar(int(moment.timestamp()) // int(EVERY.total_seconds()) % 10_000_000 * _PRODUCED, pa.int64())
    for place, field in enumerate(rows.schema):
        if pa.types.is_timestamp(field.type) and field.name not in ("captured_at", "slot", "started_at", "finished_at"):
            rows = rows.set_column(place, field, pc.add(rows[field.name], later).cast(field.type))
        elif field.name in _ENDS or field.name == "committed_offset":
            rows = rows.set_column(place, field, pc.add(rows[field.name], produced))
    return rows


def _moved(rows: pa.Table, number: int) -> pa.Table:
    """The rows with lags that rise and fall, and leaders that move now and then."""
    for name, by in (("committed_offset", -1), ("lag", 1), ("lag_lower_bound", 1), ("lag_read_committed", 1)):
        if name in rows.column_names and "group_id" in rows.column_names:
            place, behind = rows.column_names.index(name), pa.scalar(number % 12 * 40 * by, pa.int64())
            rows = rows.set_column(place, rows.schema.field(place), pc.add(rows[name], behind))
    if "leader_id" in rows.column_names and "partition" in rows.column_names:
        place, of = rows.column_names.index("leader_id"), pc.bit_wise_and(rows["partition"], 3)
        moves = pc.equal(of, pa.scalar(number // _MOVES_EVERY % 4, of.type))
        other = pc.add(pc.bit_wise_xor(pc.subtract(rows["leader_id"], 1), 1), 1)
        field = rows.schema.field(place)
        rows = rows.set_column(place, field, pc.if_else(moves, other, rows["leader_id"]).cast(field.type))
    return rows


class _History:
    """The files of a table, and the commits of its log."""

    def __init__(self, folder: Path, table: Table, size: Size) -> None:
        self.folder, self.table, self.size = folder, table, size
        self.first: list[str] = []  # actions of days whose commits are no longer in the log
        self.commits: list[list[str]] = []
        self.oldest: tuple[Path, Statistics, date] | None = None

    def take_day(self, day: date, pieces: Sequence[pa.Table | None]) -> None:
        """Write the files of a day: one, or one per hour of the last day, or one per snapshot if nothing has joined them."""
        there = [piece for piece in pieces if piece is not None]
        if not there:
            return
        if self.size.unmaintained:
            self.commits += [[self._added(day, [piece])] for piece in there]
            return
        if day == self.size.last_day:
            self.commits += [
                [self._added(day, there[first : first + AT_ONCE])] for first in range(0, len(there), AT_ONCE)
            ]
            return
        if (self.size.last_day - day).days >= _LOG_DAYS:
            self.first.append(self._added(day, there))
            return
        small = [self._small(day, piece) for piece in there]
        self.commits += [[added] for added, _ in small]
        removed = [remove_action(file, SNAPSHOT_DATE, file.modified_at_ms) for _, file in small]
        self.commits.append([*removed, self._added(day, there)])

    def commit(self, warehouse: Warehouse) -> None:
        """Write the log, with a checkpoint that is some commits old."""
        first = [*self._repeated(), *self.first]
        commits = [first, *self.commits] if first else self.commits
        log, version = self.folder / "_delta_log", 1
        checkpoint_at = max(1, len(commits) - _COMMITS_AFTER_THE_CHECKPOINT)
        for actions in commits:
            (log / f"{version:020}.json").write_text("\n".join(actions) + "\n", "utf-8")
            if version == checkpoint_at:
                warehouse.kernel.checkpoint(warehouse.locations[self.table.name])
            version += 1

    def _repeated(self) -> Iterator[str]:
        """Add the files of the oldest written day again, under earlier days."""
        if self.oldest is None:
            return
        source, statistics, oldest = self.oldest
        for back in range(1, self.size.days - self.size.written_days + 1):
            day = oldest - timedelta(days=back)
            path = self._path(day, source.name)
            os.link(source, path)
            yield self._action(path, day, _shifted(statistics, -back))

    def _added(self, day: date, pieces: Sequence[pa.Table]) -> str:
        path = self._path(day, f"{new_id(_ms(datetime.now(UTC)))}-joined.parquet")
        statistics = merged([statistics_of(piece) for piece in pieces])
        if len(pieces) == 1:
            path.write_bytes(parquet_bytes(pieces[0]))
        else:
            with pq.ParquetWriter(path, self.table.file_schema(), compression="zstd", store_schema=False) as writer:
                for group in _row_groups(pieces):
                    writer.write_table(group)
        if self.oldest is None:
            self.oldest = path, statistics, day
        return self._action(path, day, statistics)

    def _small(self, day: date, piece: pa.Table) -> tuple[str, LiveFile]:
        """A commit with a snapshot's file that was joined and removed since, and that file."""
        name = f"{piece['snapshot_id'][0]}.parquet"
        path, at_ms = f"{SNAPSHOT_DATE}={day}/{name}", _ms(piece["captured_at"][0].as_py())
        statistics = statistics_of(piece)
        file = DataFile(url=path, size=piece.nbytes // 10, modified_at_ms=at_ms, statistics=statistics)
        live = LiveFile(path=path, day=day, size=file.size, modified_at_ms=at_ms, rows=statistics.rows)
        return add_action(file, path, (SNAPSHOT_DATE, day)), live

    def _path(self, day: date, name: str) -> Path:
        of_day = self.folder / f"{SNAPSHOT_DATE}={day}"
        of_day.mkdir(exist_ok=True)
        return of_day / name

    def _action(self, path: Path, day: date, statistics: Statistics) -> str:
        kept = path.stat()
        file = DataFile(
            url=str(path), size=kept.st_size, modified_at_ms=int(kept.st_mtime * 1000), statistics=statistics
        )
        return add_action(file, str(path.relative_to(self.folder)), (SNAPSHOT_DATE, day))


def _row_groups(pieces: Iterable[pa.Table]) -> Iterator[pa.Table]:
    gathered: list[pa.Table] = []
    for piece in pieces:
        gathered.append(piece)
        if sum(one.nbytes for one in gathered) >= _ROW_GROUP_BYTES:
            yield pa.concat_tables(gathered)
            gathered = []
    if gathered:
        yield pa.concat_tables(gathered)


def _shifted(statistics: Statistics, days: int) -> Statistics:
    """Bounds of rows that are so many days later."""
    by = timedelta(days=days)

    def moved(bounds: Mapping[str, Any]) -> dict[str, Any]:
        later = {name: value + by if isinstance(value, datetime) else value for name, value in bounds.items()}
        if "snapshot_id" in later:  # a UUIDv7 begins with its time
            later["snapshot_id"] = new_id(_ms(later["captured_at"]))
        return later

    return replace(statistics, least=moved(statistics.least), greatest=moved(statistics.greatest))


def _ms(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)
