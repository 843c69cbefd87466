"""Executors write the decoder's records to files that every reader of the table can read."""

import os
import pickle
import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import deltalake
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import fs

from kafka_lagoon.delta.files import DataFile
from kafka_lagoon.delta.record_codecs import AUTO, CODECS
from kafka_lagoon.delta.record_files import PartitionRows, RecordFiles
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.errors import TableError
from kafka_lagoon.tables.record_tables import INGEST_DATE, RECORDS
from tests.effort import examples, first

DAY = (INGEST_DATE, date(2026, 11, 21))
NOON_MS = 1_763_726_400_123
ADDED = ("cluster", "cluster_id", "topic", "topic_id", "partition", "ingest_id")
DECODED = pa.schema([field for field in RECORDS.file_schema() if field.name not in ADDED])


def record(offset: int, **values: Any) -> dict[str, Any]:
    """Make a record as the decoder has it."""
    timestamp_ms = values.pop("timestamp_ms", NOON_MS + offset)
    return {
        "offset": offset,
        "timestamp": None if timestamp_ms == -1 else datetime.fromtimestamp(timestamp_ms / 1000, UTC),
        "timestamp_ms": timestamp_ms,
        "timestamp_type": 0,
        "key": None,
        "value": b"value",
        "headers": [],
        "leader_epoch": 3,
        "producer_id": None,
        "producer_epoch": None,
        "is_transactional": False,
        "is_aborted": False,
        **values,
    }


def batch_of(*records: dict[str, Any]) -> pa.RecordBatch:
    """Make an Arrow batch of records."""
    return pa.RecordBatch.from_pylist(list(records), DECODED)


def big(first_offset: int, count: int = 2_000, size: int = 1_000) -> pa.RecordBatch:
    """Make records that do not compress."""
    return many(first_offset, [os.urandom(size) for _ in range(count)])


def repetitive(first_offset: int) -> pa.RecordBatch:
    """Make enough compressible records for a row group."""
    return many(first_offset, [b"x" * 1_000] * 40_000)


def many(first_offset: int, values: list[bytes]) -> pa.RecordBatch:
    """Make records with these values by column, ten times as fast as row by row."""
    offsets = pa.array(range(first_offset, first_offset + len(values)), pa.int64())
    times_ms = pc.add(offsets, NOON_MS)
    given = {
        "offset": offsets,
        "timestamp_ms": times_ms,
        "timestamp": times_ms.cast(pa.timestamp("ms", "UTC")),
        "value": pa.array(values),
    }
    same = batch_of(record(0)).take(pa.array([0] * len(values)))
    columns = [given.get(name, same.column(name)).cast(same.schema.field(name).type) for name in DECODED.names]
    return pa.RecordBatch.from_arrays(columns, schema=DECODED)


def into(folder: str, **options: Any) -> RecordFiles:
    """Open a writer to a folder."""
    given = {"cluster": "name", "cluster_id": "cluster", "ingest_id": "run"}
    given |= {"target_bytes": 128 << 20, "compression": "zstd-fast"}
    return RecordFiles(folder_url=folder, **{**given, **options})


def rows_in(files: tuple[DataFile, ...]) -> list[dict[str, Any]]:
    """Read every row of the files with all columns of the table; missing columns are null, as in Delta."""
    schema = RECORDS.file_schema()
    all_rows = []
    for file in files:
        rows = pq.ParquetFile(file.url.removeprefix("file:")).read().to_pylist()
        all_rows += [{name: row.get(name) for name in schema.names} for row in rows]
    return all_rows


def wanted(topic: str, topic_id: str | None, partition: int, batch: pa.RecordBatch) -> list[dict[str, Any]]:
    """Make the rows that a batch should become."""
    added = dict(zip(ADDED, ("name", "cluster", topic, topic_id, partition, "run"), strict=True))
    return [added | row for row in batch.to_pylist()]


TINY = st.none() | st.binary(max_size=3)
RECORD = st.fixed_dictionaries(
    {
        "timestamp_ms": st.sampled_from([-1, 0, NOON_MS, 253_402_300_799_999]),
        "timestamp_type": st.sampled_from([-1, 0, 1]),
        "key": TINY,
        "value": TINY,
        "headers": st.lists(st.fixed_dictionaries({"key": st.text(max_size=2), "value": TINY}), max_size=2),
        "leader_epoch": st.none() | st.integers(0, 3),
        "producer_id": st.none() | st.integers(0, 2**63 - 1),
        "producer_epoch": st.none() | st.integers(0, 2**15 - 1),
        "is_transactional": st.booleans(),
        "is_aborted": st.none() | st.booleans(),
    }
)
PIECES = st.lists(
    st.tuples(
        st.sampled_from(["a", "ä b"]),
        st.none() | st.just("id"),
        st.integers(0, 2),
        st.lists(RECORD, min_size=1, max_size=4),
        st.booleans(),
    ),
    min_size=1,
    max_size=6,
)


@settings(max_examples=examples(100))
@given(pieces=PIECES)
def test_every_record_is_written_as_it_was(tmp_path_factory: pytest.TempPathFactory, pieces: Any) -> None:
    """Nulls, empty values, headers and constants are equal, for any order of batches with and without nulls."""
    files = into(f"file:{tmp_path_factory.mktemp('day')}")
    expected, held = [], {}
    for number, (topic, topic_id, partition, values, is_group_end) in enumerate(pieces):
        batch = batch_of(*(record(number * 10 + index, **dict(one)) for index, one in enumerate(values)))
        held[number] = files.write(topic, topic_id, partition, batch)
        expected += wanted(topic, topic_id, partition, batch)
        if is_group_end:
            files._write_row_group()
    written = files.close()
    assert rows_in(written) == expected
    assert sum(file.statistics.rows for file in written) == len(expected)
    named = {file.url.rpartition("/")[2]: {row["offset"] // 10 for row in rows_in((file,))} for file in written}
    assert all(number in named[name] for number, name in held.items())


def test_statistics_bound_what_is_in_the_file(tmp_path: Path) -> None:
    """Least, greatest and nulls are those of the rows, over all partitions and row groups; the description can be pickled."""
    files = into(f"file:{tmp_path}")
    files.write("b", None, 4, batch_of(record(7, timestamp_ms=5), record(9, timestamp_ms=-1)))
    files._write_row_group()
    files.write("a", None, 2, batch_of(record(100, timestamp_ms=3), record(101)))
    (file,) = files.close()
    assert pickle.loads(pickle.dumps(file)) == file  # noqa: S301  what Spark does with it
    path = Path(file.url.removeprefix("file:"))
    assert (file.size, file.modified_at_ms) == (path.stat().st_size, path.stat().st_mtime_ns // 1_000_000)
    statistics = file.statistics
    assert statistics.rows == 4
    some = {"topic_id": 4, "timestamp": 1, "key": 4, "producer_id": 4, "producer_epoch": 4}
    assert statistics.nulls == {**dict.fromkeys(RECORDS.file_schema().names, 0), **some}
    same = {"cluster": "name", "cluster_id": "cluster", "ingest_id": "run", "timestamp_type": 0, "leader_epoch": 3}
    same |= {"is_transactional": False, "is_aborted": False}
    times = {ms: datetime.fromtimestamp(ms / 1000, UTC) for ms in (3, NOON_MS + 101)}
    least = {"topic": "a", "partition": 2, "offset": 7, "timestamp": times[3], "timestamp_ms": -1}
    assert statistics.least == {**same, **least}
    last_ms = NOON_MS + 101
    greatest = {"topic": "b", "partition": 4, "offset": 101, "timestamp": times[last_ms], "timestamp_ms": last_ms}
    assert statistics.greatest == {**same, **greatest}


@pytest.mark.parametrize(
    "other", first(["key = X'6b'", "value IS NULL", "timestamp_ms > 5", "producer_id = 9", "size(headers) = 0"])
)
def test_no_other_condition_brings_files_back(warehouse: Warehouse, other: str) -> None:
    """With any other condition Spark still skips the files of other topics; without a column's statistics it does not."""
    written = []
    for topic in ("t", "u"):
        files = into(f"{warehouse.locations['records']}/{INGEST_DATE}={DAY[1]}")
        files.write(topic, None, 0, batch_of(record(6, key=b"k", value=None)))
        written += files.close()
    warehouse.kernel.append(warehouse.state("records"), written, DAY)
    filtered = warehouse.spark.table(warehouse.identifiers["records"]).where(f"topic = 'u' AND {other}")
    assert {Path(url).name for url in filtered.inputFiles()} <= {written[1].url.rpartition("/")[2]}


def test_records_of_several_partitions_in_one_batch(tmp_path: Path) -> None:
    """Each row has the topic, id and partition of its owner, and the bounds are those of all owners."""
    files = into(f"file:{tmp_path}")
    owners = [PartitionRows("b", None, 4, 1), PartitionRows("b", None, 7, 0), PartitionRows("a", "id", 2, 2)]
    files.write_several(owners, batch_of(record(1), record(2), record(3)))
    (file,) = files.close()
    rows = [(row["topic"], row["topic_id"], row["partition"], row["offset"]) for row in rows_in((file,))]
    assert rows == [("b", None, 4, 1), ("a", "id", 2, 2), ("a", "id", 2, 3)]
    least, greatest = file.statistics.least, file.statistics.greatest
    assert [(least[name], greatest[name]) for name in ("topic", "topic_id")] == [("a", "b"), ("id", "id")]
    assert [(least[name], greatest[name]) for name in ("partition", "offset")] == [(2, 4), (1, 3)]
    assert file.statistics.nulls["topic_id"] == 1


def test_unknown_times_have_no_bounds(tmp_path: Path) -> None:
    """A file whose records have no time has such statistics, so that a filter on time skips it."""
    files = into(f"file:{tmp_path}")
    files.write("t", None, 0, batch_of(record(1, timestamp_ms=-1)))
    (file,) = files.close()
    assert file.statistics.nulls["timestamp"] == 1
    assert "timestamp" not in file.statistics.least


@pytest.mark.parametrize("codec", first([AUTO, *CODECS]))
def test_all_readers_understand(warehouse: Warehouse, codec: str) -> None:
    """Spark and a reader without Java read every codec, encoding and omitted column."""
    files = into(f"{warehouse.locations['records']}/{INGEST_DATE}={DAY[1]}", compression=codec)
    plain = batch_of(*(record(offset, value=None if offset % 7 == 0 else b"x" * offset) for offset in range(1_000)))
    rich = batch_of(record(5, headers=[{"key": "k", "value": None}] * 2, producer_id=9, producer_epoch=1, key=b""))
    files.write("t", None, 0, plain)
    files._write_row_group()
    files.write("u", "id", 1, rich)
    written = files.close()
    warehouse.kernel.append(warehouse.state("records"), written, DAY)
    expected = [row | {INGEST_DATE: DAY[1]} for row in (*wanted("t", None, 0, plain), *wanted("u", "id", 1, rich))]
    for reader in (
        warehouse.spark.table(warehouse.identifiers["records"]).toArrow(),
        deltalake.DeltaTable(warehouse.locations["records"]).to_pyarrow_table(),
    ):
        assert sorted(reader.to_pylist(), key=lambda row: (row["topic"], row["offset"])) == expected
    assert len(written) == 2


@pytest.mark.long
def test_a_full_file_is_followed_by_another(tmp_path: Path) -> None:
    """Files end near the target size; each batch is in the file that was named for it; names are unique."""
    files = into(f"file:{tmp_path}", target_bytes=8 << 20)
    names = [files.write("t", "id", number % 2, big(number * 20_000, 20_000)) for number in range(6)]
    written = files.close()
    assert [file.url.rpartition("/")[2] for file in written] == list(dict.fromkeys(names))
    assert [file.statistics.rows for file in written] == [40_000] * 3
    assert all(40_000_000 < file.size < 45_000_000 for file in written)
    assert {row["partition"] for row in rows_in(written[1:2])} == {0, 1}


def test_nothing_written_is_no_file(tmp_path: Path) -> None:
    """A task without records writes no file."""
    assert into(f"file:{tmp_path / 'day'}").close() == ()
    assert not (tmp_path / "day").exists()


def test_what_is_discarded_is_gone(tmp_path: Path) -> None:
    """A failed task removes its files, complete ones and the current one."""
    files = into(f"file:{tmp_path}", target_bytes=1)
    some = big(0, 1_000)
    for _ in range(33):
        files.write("t", "id", 0, some)
    files.write("t", "id", 0, big(40_000, 100))
    assert len(list(tmp_path.iterdir())) == 1
    files.discard()
    assert not list(tmp_path.iterdir())
    assert files.close() == ()


@contextmanager
def small_disk(folder: Path) -> Iterator[str]:
    """Limit a folder to less than 4 MB; writes then fail as on a full disk."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)]
    if os.geteuid() == 0 and subprocess.run(mount, check=False, capture_output=True).returncode == 0:
        try:
            yield "No space left on device"
        finally:
            subprocess.run(["umount", "--lazy", str(folder)], check=True)
        return
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4 << 20, before[1]))
    try:
        yield "File too large"
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_leaves_nothing_behind(tmp_path: Path) -> None:
    """A full disk is one line that names the file, also at the end of writing; complete files are removed, too."""
    folder = tmp_path / "disk"
    no_room = rf"^file:{folder}/[0-9a-f]+\.parquet cannot be written: "
    with small_disk(folder) as words:
        at_the_end = into(f"file:{folder}")
        at_the_end.write("t", "id", 0, big(0, 5_000))
        with pytest.raises(TableError, match=f"{no_room}{words}$"):
            at_the_end.close()
        assert not list(folder.iterdir())
        in_the_middle = into(f"file:{folder}", target_bytes=1)
        in_the_middle.write("t", "id", 0, repetitive(0))
        assert len(list(folder.iterdir())) == 1
        with pytest.raises(TableError, match=f"{no_room}{words}$"):
            in_the_middle.write("t", "id", 0, big(50_000, 40_000))
        in_the_middle.discard()
        assert not list(folder.iterdir())


def test_a_place_that_arrow_cannot_write_is_named(tmp_path: Path) -> None:
    """An unknown scheme, and a folder that cannot be made, are one line each; the first names a remedy."""
    with pytest.raises(TableError, match=r'^wasb://c@a/x: Arrow cannot write there .*; set records\.writer = "spark"$'):
        into("wasb://c@a/x")
    (tmp_path / "file").write_text("")
    files = into(f"file:{tmp_path}/file/day")
    files.write("t", None, 0, batch_of(record(1)))
    with pytest.raises(TableError, match=r"/file/day/[0-9a-f]+\.parquet cannot be written: Not a directory$"):
        files.close()


def test_a_file_that_is_not_there_after_it_was_written(tmp_path: Path) -> None:
    """A store that does not yet know an object is one line that names the file, and no TypeError."""
    files = into(f"file:{tmp_path}")
    files.write("t", "id", 0, batch_of(record(1)))
    late = Mock(wraps=files._files)
    late.get_file_info.side_effect = lambda path: fs.FileInfo(path, fs.FileType.NotFound)
    files._files = late
    with pytest.raises(
        TableError, match=r"/[0-9a-f]+\.parquet cannot be written: it is not there after it was written$"
    ):
        files.close()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("url", "kind", "path"),
    [
        (
            "gs://bucket/a b/records/ingest_date=2026-11-21",
            fs.GcsFileSystem,
            "bucket/a b/records/ingest_date=2026-11-21",
        ),
        ("abfss://files@account.dfs.core.windows.net/records", fs.AzureFileSystem, "files/records"),
    ],
)
def test_object_stores_are_reached_by_hadoops_names(url: str, kind: type, path: str) -> None:
    """Hadoop's URLs name the same place for Arrow."""
    files = into(url)
    assert isinstance(files._files, kind)
    assert files._folder == path
