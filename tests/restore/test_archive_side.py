"""An archive is compared with live topics, within the archived offsets, by DuckDB on Delta tables."""

from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from kafka_lagoon.cli.main import main
from kafka_lagoon.records.encoding import Record
from kafka_lagoon.tables.record_tables import RECORD_RANGES, RECORDS
from kafka_lagoon.tables.table import Table
from kafka_lagoon.wire.primitives import uuid_text
from tests.compare.logs import append, record
from tests.fake.broker import FakeBroker
from tests.fake.cluster import FakeCluster

LOG = [record(number) for number in range(100)]
DAY = date(2026, 11, 21)
Compare = Callable[..., tuple[int, list[str], list[str]]]


@pytest.fixture
def state() -> FakeCluster:
    """A topic of two partitions, of which the second is empty, and a copy of it."""
    state = FakeCluster()
    for topic in ("orders", "copy"):
        append(state.add_topic(topic, 2, end=0).partitions[0], LOG)
    return state


def _append(folder: Path, table: Table, rows: Sequence[dict[str, Any]], day: date = DAY) -> None:
    """Append rows whose other columns are null, 0 or empty."""
    schema = table.file_schema()
    by = table.partition_by
    usual = {"string": "", "int32": 0, "int64": 0, "bool": False}
    full = [
        {column.name: None if column.nullable else usual.get(str(column.type)) for column in schema} | row
        for row in rows
    ]
    dated = pa.Table.from_pylist(full, schema).append_column(
        pa.field(by, pa.date32(), nullable=False), pa.array([day] * len(rows), pa.date32())
    )
    write_deltalake(folder / table.name, dated, mode="append", partition_by=[by])


@pytest.fixture
def archive(tmp_path: Path, state: FakeCluster) -> Callable[..., Path]:
    """Make an archive of topic orders with these records, from an offset on."""

    def made(records: Sequence[Record], first: int, day: date = DAY, **more: Any) -> Path:
        of = {
            "cluster": "a",
            "cluster_id": "fake",
            "topic": "orders",
            "topic_id": uuid_text(state.topics["orders"].topic_id),
            "ingest_id": "1",
            **more,
        }
        problem, of["sequence"] = of.pop("problem", None), int(of["ingest_id"])
        truncated_from = of.pop("truncated_from", None)
        rows = [
            {
                "offset": first + index,
                "timestamp_ms": sent.timestamp_ms,
                "key": sent.key,
                "value": sent.value,
                "headers": [],
            }
            for index, sent in enumerate(records)
        ]
        no_ranges = {name: value for name, value in of.items() if name != "sequence"}
        if rows:
            _append(tmp_path, RECORDS, [{**no_ranges, "partition": 0, **row} for row in rows], day)
        ends = [(0, first, first + len(records)), (1, 0, 0)] if records else [(0, first, first)]
        if truncated_from is not None:
            ends.append((0, truncated_from, first))
        ranges = [
            {
                **of,
                "partition": number,
                "from_offset": low,
                "to_offset": high,
                "records": max(0, high - low),
                "problem": problem,
                "planned_at": datetime(2026, 11, 21, tzinfo=UTC),
            }
            for number, low, high in ends
        ]
        _append(tmp_path, RECORD_RANGES, ranges, day)
        return tmp_path

    return made


@pytest.fixture
def compare(state: FakeCluster, brokers: dict[int, FakeBroker], capsys: pytest.CaptureFixture[str]) -> Compare:  # noqa: ARG001
    """Return the exit code and the lines of a comparison."""
    servers = ",".join(f"{host}:{port}" for host, port in state.addresses.values())

    def shown(folder: Path, *argv: str) -> tuple[int, list[str], list[str]]:
        settings = ("--set", f"clusters.a.bootstrap_servers={servers}", "--warehouse", str(folder))
        code = main(["compare", *argv, *settings])
        output = capsys.readouterr()
        return code, output.out.splitlines(), output.err.splitlines()

    return shown


@pytest.mark.long
def test_an_archive_that_is_whole(archive: Callable[[Sequence[Record], int], Path], compare: Compare) -> None:
    """With its own topic only the archived offsets are compared; with another topic all are."""
    folder = archive(LOG[10:90], 10)
    code, lines, notes = compare(folder, "records@a:orders", "a:orders")
    assert (code, lines) == (0, ["records@a:orders: 80 records; a:orders: 80", "equal"])
    assert notes == [
        "lagoon: a:orders: 10 offsets before what the other side has are not compared",
        "lagoon: a:orders: 10 offsets after what the other side has are not compared",
    ]
    code, lines, _ = compare(folder, "a:copy", "records@a:orders")
    assert code == 3
    assert lines[-2:] == ["not compared: 10 before what records@a still has", "different: 10 missing in records@a"]


def test_a_range_after_the_end_of_an_archive(
    archive: Callable[[Sequence[Record], int], Path], compare: Compare
) -> None:
    """The archive has no offsets there, so none of them is left out."""
    folder = archive(LOG[10:90], 10)
    code, lines, notes = compare(folder, "records@a:orders", "a:orders", "--from", "95")
    assert (code, lines) == (0, ["records@a:orders: 0 records; a:orders: 0", "equal"])
    assert notes == ["lagoon: a:orders: 5 offsets after what the other side has are not compared"]


def test_a_range_within_an_archive(archive: Callable[[Sequence[Record], int], Path], compare: Compare) -> None:
    """Records that an archive lacks are missing, also the first ones of the range: only what precedes it may be gone."""
    folder = archive([*(record(number) for number in range(500, 550)), *LOG[70:]], 0)
    code, lines, _ = compare(folder, "a:copy", "records@a:orders", "--from", "50")
    assert (code, lines[-1]) == (3, "different: 20 missing in records@a")
    assert lines[1].split()[:6] == ["0", "missing", "in", "records@a", "20", "50"]


@pytest.mark.long
def test_records_that_retention_has_removed(archive: Callable[..., Path], compare: Compare) -> None:
    """They are not missing in the archive while it still has their ranges."""
    archive(LOG[:30], 0, DAY - timedelta(days=100))
    folder = archive(LOG[30:], 30, ingest_id="2")
    assert compare(folder, "records@a:orders", "a:orders")[:2] == (
        0,
        ["records@a:orders: 100 records; a:orders: 100", "equal"],
    )
    DeltaTable(folder / RECORDS.name).delete(f"ingest_date < '{DAY}'")
    code, lines, notes = compare(folder, "records@a:orders", "a:orders")
    assert (code, lines) == (0, ["records@a:orders: 70 records; a:orders: 70", "equal"])
    assert notes == ["lagoon: a:orders: 30 offsets before what the other side has are not compared"]


@pytest.mark.long
def test_an_archive_that_began_without_an_id(archive: Callable[..., Path], compare: Compare) -> None:
    """Records from before the brokers gave ids are of the topic; those of an earlier topic of its name are not."""
    archive(LOG[:20], 0, topic_id=None)
    archive([], 20, topic_id=None, ingest_id="2", problem="TOPIC_RECREATED")
    archive(LOG[:60], 0, topic_id=None, ingest_id="3")
    folder = archive(LOG[60:], 60, ingest_id="4")
    code, lines, notes = compare(folder, "records@a:orders", "a:orders")
    assert (code, lines, notes) == (0, ["records@a:orders: 100 records; a:orders: 100", "equal"], [])


def test_an_archive_under_several_names(archive: Callable[..., Path], compare: Compare) -> None:
    """Ranges of an earlier version have no name of the cluster, and others its former name; all records are compared."""
    archive(LOG[:20], 0, cluster=None)
    archive(LOG[20:60], 20, cluster="former", ingest_id="2")
    archive(LOG[60:], 60, ingest_id="3")
    folder = archive(LOG[:5], 0, cluster="other", cluster_id="other", ingest_id="4")
    code, lines, notes = compare(folder, "records@a:orders", "a:copy")
    assert (code, lines, notes) == (0, ["records@a:orders: 100 records; a:copy: 100", "equal"], [])
    assert compare(folder, "records@none:orders", "a:copy")[0] == 2


def test_an_archive_without_names(archive: Callable[..., Path], compare: Compare) -> None:
    """An archive of version 0.1.0 alone has no name of its cluster: the line has the id, by which it is compared."""
    folder = archive(LOG, 0, cluster=None)
    code, _, notes = compare(folder, "records@a:orders", "a:copy")
    assert (code, len(notes)) == (2, 1)
    assert notes[0].endswith("it is of id fake: give the id")
    assert compare(folder, "records@fake:orders", "a:copy")[0] == 0


@pytest.mark.long
def test_an_archive_that_is_not(archive: Callable[[Sequence[Record], int], Path], compare: Compare) -> None:
    """Missing and different records are named by their offsets."""
    folder = archive([*LOG[:50], record(50, value=b"x"), *LOG[51:]], 0)
    code, lines, notes = compare(folder, "a:orders", "records@a:orders")
    assert (code, notes, lines[-1]) == (3, [], "different: 1 altered")
    assert lines[1].split() == ["0", "altered", "1", "50", "50"]


@pytest.mark.long
def test_an_archive_of_a_truncated_log(archive: Callable[..., Path], compare: Compare) -> None:
    """It ends where the log ended at last: records that were written after that are not missing in it."""
    archive([*LOG[:50], *(record(number) for number in range(500, 550))], 0)
    folder = archive(LOG[50:80], 50, ingest_id="2", truncated_from=100)
    code, lines, notes = compare(folder, "records@a:orders", "a:orders")
    assert (code, lines) == (0, ["records@a:orders: 80 records; a:orders: 80", "equal"])
    assert notes == ["lagoon: a:orders: 20 offsets after what the other side has are not compared"]


@pytest.mark.long
def test_partitions_that_only_one_side_has(
    archive: Callable[[Sequence[Record], int], Path], compare: Compare, state: FakeCluster
) -> None:
    """Partitions that were not archived are empty: records that the other topic has there are a difference."""
    folder = archive(LOG, 0)
    DeltaTable(folder / RECORD_RANGES.name).update(predicate="partition = 1", updates={"partition": "2"})
    other = [record(number) for number in range(1_000, 1_033)]
    append(state.topics["copy"].partitions[1], other)
    code, lines, notes = compare(folder, "records@a:orders", "a:copy")
    assert (code, lines[-1]) == (3, "different: 33 only in a")
    assert notes == ["lagoon: records@a:orders has 3 partitions, a:copy 2: compared as a whole, without order"]
    three = state.add_topic("three", 3, end=0).partitions
    append(three[0], LOG)
    assert compare(folder, "records@a:orders", "a:three")[0] == 0
    append(three[1], other)
    code, lines, notes = compare(folder, "a:three", "records@a:orders")
    assert (code, notes, lines[-1]) == (3, [], "different: 33 missing in records@a")
    assert lines[1].split()[:6] == ["1", "missing", "in", "records@a", "33", "0"]


@pytest.mark.long
def test_an_archive_of_the_second_partition_only(
    archive: Callable[[Sequence[Record], int], Path], compare: Compare, state: FakeCluster
) -> None:
    """A topic that has only the first partition differs from it, although no partition is on both sides."""
    folder = archive(LOG, 0)
    DeltaTable(folder / RECORD_RANGES.name).delete("partition = 1")
    for table in (RECORDS, RECORD_RANGES):
        DeltaTable(folder / table.name).update(updates={"partition": "1"})
    append(state.add_topic("one", 1, end=0).partitions[0], LOG[:30])
    code, lines, notes = compare(folder, "records@a:orders", "a:one")
    assert (code, lines[-1]) == (3, "different: 70 missing in a")
    assert notes == ["lagoon: records@a:orders has 2 partitions, a:one 1: compared as a whole, without order"]


@pytest.mark.long
def test_what_is_not_there(archive: Callable[[Sequence[Record], int], Path], compare: Compare, tmp_path: Path) -> None:
    """Topics and partitions that are not archived are refused, and so are times, because an archive is chosen by offsets."""
    archive(LOG, 0)
    for argv, line in (
        (["records@a:none", "a:copy"], "records@a:none: nothing is archived of it"),
        (["records@a:orders", "a:copy", "--partitions", "7"], "records@a:orders: nothing is archived of partition 7"),
        (["records@a:orders", "a:copy", "--from", "2020-01-01"], "--from, --until: an archive takes offsets"),
    ):
        code, _, notes = compare(tmp_path, *argv)
        assert code == 2
        assert notes[0].startswith(f"lagoon: {line}")
    assert compare(Path("s3://bucket/lake"), "records@a:orders", "a:copy")[0] == 2
