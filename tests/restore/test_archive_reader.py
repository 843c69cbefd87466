"""Archived records of a partition are read in the order of their offsets, wherever they are in files."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_lagoon.errors import TableError
from kafka_lagoon.fetch.range_history import SupersededRange
from kafka_lagoon.restore import archive_reader
from kafka_lagoon.restore.archive_reader import ArchivedPartition, read_archived
from kafka_lagoon.restore.open_files import SourceFile
from tests.effort import examples
from tests.restore.lake import records, wanted, write_files

LIMIT = 1 << 24


def read(files: list[SourceFile], partition: ArchivedPartition, limit: int = LIMIT) -> list[dict[str, Any]]:
    """Read the records as rows."""
    return [row for batch in read_archived(files, partition, limit) for row in batch.to_pylist()]


def offsets(files: list[SourceFile], partition: ArchivedPartition, limit: int = LIMIT) -> list[int]:
    """Return the offsets of the records."""
    return [row["offset"] for row in read(files, partition, limit)]


def test_records_are_as_they_were_archived(tmp_path: Path) -> None:
    """Records of the range are unchanged, with nulls, empty values and headers, from files in any order."""
    odd = records([7, 9], key=[None, b""], value=[b"", None], headers=[[], [{"key": "k", "value": None}]])
    files = [*write_files(tmp_path, [records(range(10, 20))]), *write_files(tmp_path, [odd])]
    rows = read(files, wanted(7, 12))
    assert [row["offset"] for row in rows] == [7, 9, 10, 11]
    assert [(row["key"], row["value"], row["headers"]) for row in rows[:2]] == [
        (None, b"", []),
        (b"", None, [{"key": "k", "value": None}]),
    ]
    assert rows[2] == {
        "offset": 10,
        "timestamp_ms": 1_700_000_000_010,
        "key": b"k10",
        "value": b"value 10",
        "headers": [],
    }


@pytest.mark.parametrize("is_one_topic", [True, False])
def test_other_topics_and_partitions_are_left_out(tmp_path: Path, is_one_topic: bool) -> None:
    """They are left out by the statistics of row groups, and by the rows if those are not enough."""
    files = [
        *write_files(tmp_path, [records(range(5))], is_one_topic=is_one_topic),
        *write_files(tmp_path, [records(range(5))], partition=1),
        *write_files(tmp_path, [records(range(5))], topic="u"),
    ]
    assert offsets(files, wanted(0, 100)) == [0, 1, 2, 3, 4]
    assert offsets(files[:1], wanted(0, 100, cluster_id="other")) == ([] if not is_one_topic else [0, 1, 2, 3, 4])


def test_offsets_without_statistics(tmp_path: Path) -> None:
    """Only wanted offsets are read from a file whose writer kept no bounds of offsets."""
    (file,) = write_files(tmp_path, [records(range(20))])
    path = file.url.removeprefix("file:")
    pq.write_table(pq.read_table(path), path, write_statistics=["topic", "partition"], row_group_size=8)
    assert offsets([file], wanted(3, 12)) == list(range(3, 12))
    assert offsets([file], wanted(30, 40)) == []


def test_files_without_any_statistics(tmp_path: Path) -> None:
    """Other programs may rewrite a file without them: its rows tell what it has."""
    (file,) = mixed(tmp_path, {"partition": 0}, {"partition": 1})
    path = file.url.removeprefix("file:")
    pq.write_table(pq.read_table(path), path, write_statistics=False, row_group_size=8)
    assert offsets([file], wanted(3, 7)) == [3, 4, 5, 6]
    assert offsets([file], wanted(3, 7, partition=2)) == []


@pytest.mark.parametrize("to_offset", [10, 11])
def test_a_range_begins_and_ends_with_one_record_of_a_row_group(tmp_path: Path, to_offset: int) -> None:
    """A restore that goes on after a round may have to write only the last record of a row group."""
    files = [*write_files(tmp_path, [records(range(10))]), *write_files(tmp_path, [records(range(10, 20))])]
    assert offsets(files, wanted(9, to_offset)) == list(range(9, to_offset))


def mixed(folder: Path, *of: dict[str, Any], in_order: bool = False) -> list[SourceFile]:
    """Make a file of one row group, in which the ten records of each partition stand together, or alternate."""
    tables = []
    for number, place in enumerate(of):
        made = records(range(10), value=[b"%d of %d" % (offset, number) for offset in range(10)])
        tables += [pq.read_table(file.url.removeprefix("file:")) for file in write_files(folder, [made], **place)]
    table = pa.concat_tables([part.cast(tables[0].schema) for part in tables])
    pq.write_table(table if in_order else table.sort_by("offset"), folder / "mixed.parquet")
    return [SourceFile(f"file:{folder}/mixed.parquet", all("topic_id" not in place for place in of))]


@pytest.mark.parametrize("other", [{"partition": 1}, {"topic": "u", "topic_id": "AAAAAAAAAAAAAAAAAAAAAg"}])
def test_rows_of_partitions_that_alternate(tmp_path: Path, other: dict[str, Any]) -> None:
    """After OPTIMIZE a row group may have rows of others between those of a partition, with the same offsets."""
    files = mixed(tmp_path, other, {}, other | {"partition": 2})
    assert [row["value"] for row in read(files, wanted(2, 100))] == [b"%d of 1" % offset for offset in range(2, 10)]


@pytest.mark.parametrize("order", [[0, 5, 3, 9], [5, 0, 3, 9], [0, 3, 9, 5]])
def test_a_row_group_in_another_order(tmp_path: Path, order: list[int]) -> None:
    """If a record is out of order anywhere, all of it is sorted."""
    assert offsets(write_files(tmp_path, [records(order)]), wanted(0, 100)) == [0, 3, 5, 9]


@pytest.mark.parametrize("rows_at_once", [1, 4, 7, 100])
def test_a_partition_within_a_large_row_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows_at_once: int
) -> None:
    """Its records are decoded some at a time, and those of the partitions before and after it are left out."""
    files = mixed(tmp_path, {"partition": 1}, {}, {"partition": 2}, in_order=True)
    size = pq.ParquetFile(tmp_path / "mixed.parquet").metadata.row_group(0).total_byte_size
    monkeypatch.setattr(archive_reader, "SMALL_BYTES", 0)
    monkeypatch.setattr(archive_reader, "_AT_ONCE_BYTES", -(-size * rows_at_once // 30))
    assert [row["value"] for row in read(files, wanted(2, 9))] == [b"%d of 1" % offset for offset in range(2, 9)]


def test_records_from_before_topics_had_ids(tmp_path: Path) -> None:
    """They are read if the topic began without an id, and then not those that an earlier topic of the name had."""
    files = [
        *write_files(tmp_path, [records(range(5))], topic_id=None, is_one_topic=False, ingest_id="0192-0002"),
        *write_files(tmp_path, [records(range(5, 9))], ingest_id="0192-0003"),
        *write_files(tmp_path, [records(range(9))], topic_id=None, is_one_topic=False, ingest_id="0192-0001"),
    ]
    assert offsets(files, wanted(0, 9)) == [5, 6, 7, 8]
    earlier = SupersededRange(ingest_id="0192-0001", from_offset=0, to_offset=9, reason="EARLIER_TOPIC")
    assert offsets(files, wanted(0, 9, began_without_id=True, superseded=(earlier,))) == list(range(9))
    assert offsets(files[:2], wanted(0, 9, began_without_id=True)) == list(range(9))
    with pytest.raises(TableError, match="more than once"):
        offsets(files, wanted(0, 9, began_without_id=True))


def test_records_without_an_end_are_left_out(tmp_path: Path) -> None:
    """Records of aborted transactions, and of transactions that were open when they were archived, are left out."""
    files = write_files(tmp_path, [records(range(4), is_aborted=[False, True, None, False])])
    assert offsets(files, wanted(0, 4)) == [0, 3]


def test_records_of_open_transactions_alone_are_left_out(tmp_path: Path) -> None:
    """A file without an aborted record may have some of which it is not known."""
    files = write_files(tmp_path, [records(range(3), is_aborted=[False, None, False])])
    assert offsets(files, wanted(0, 100)) == [0, 2]


def test_a_truncated_log_goes_on_with_what_replaced_it(tmp_path: Path) -> None:
    """Records that an earlier run archived at or after the truncation are no longer in the log."""
    files = [
        *write_files(tmp_path, [records(range(8))], ingest_id="0192-0001"),
        *write_files(tmp_path, [records(range(5, 7), value=[b"new"] * 2)], ingest_id="0192-0002"),
    ]
    rows = read(files, wanted(0, 8, superseded=(SupersededRange(ingest_id="0192-0001", from_offset=5, to_offset=8),)))
    assert [(row["offset"], row["value"] == b"new") for row in rows][4:] == [(4, False), (5, True), (6, True)]
    with pytest.raises(TableError, match=r"offset 5 of partition 0 of topic t .* more than once"):
        read(files, wanted(0, 8))


def test_a_condition_reads_the_columns_that_it_names(tmp_path: Path) -> None:
    """Columns are read for a condition also if their names stand before a function."""
    files = write_files(tmp_path, [records(range(4), leader_epoch=[1, None, 2, 1])])
    assert offsets(files, wanted(0, 4, condition="leader_epoch.abs() = 1")) == [0, 3]


def test_a_condition_chooses(tmp_path: Path) -> None:
    """Conditions may use columns that are not restored."""
    files = write_files(tmp_path, [records(range(6), is_transactional=[True, False] * 3)])
    assert offsets(files, wanted(0, 6, condition='NOT is_transactional AND "offset" > 1')) == [3, 5]
    with pytest.raises(TableError, match="--where"):
        read(files, wanted(0, 6, condition="CAST(value AS VARCHAR)::INTEGER > 1"))


def test_a_file_that_is_gone_is_named(tmp_path: Path) -> None:
    """The error comes before anything is written."""
    with pytest.raises(TableError, match=r"gone\.parquet"):
        read([SourceFile(f"file:{tmp_path}/gone.parquet", True)], wanted(0, 1))


def test_a_file_of_another_table_is_named(tmp_path: Path) -> None:
    """A file that a person put back from a backup under the wrong name has none of the columns that identify a record."""
    pq.write_table(pa.table({"topic": ["t"], "replicas": [3]}), tmp_path / "topics.parquet")
    with pytest.raises(TableError, match=r"topics\.parquet cannot be read: .* lacks partition, offset"):
        read([SourceFile(f"file:{tmp_path}/topics.parquet", True)], wanted(0, 1))


@settings(max_examples=examples(25))  # each example reads a small file, with as many passes as records at most
@given(st.permutations(range(20)), st.integers(1, 7), st.integers(1, 1500))
def test_mixed_files_are_read_in_order(
    tmp_path_factory: pytest.TempPathFactory, order: list[int], groups: int, limit: int
) -> None:
    """After OPTIMIZE rows are in any order across row groups; the reader makes as many passes as its memory requires."""
    folder = tmp_path_factory.mktemp("mixed")
    (file,) = write_files(folder, [records(sorted(order))])
    path = file.url.removeprefix("file:")
    table = pq.read_table(path, partitioning=None).take(pa.array(order))
    pq.write_table(table, path, row_group_size=-(-20 // groups))
    assert offsets([file], wanted(3, 18), limit) == list(range(3, 18))


@pytest.mark.parametrize("is_one_topic", [True, False])
def test_row_groups_that_partitions_share_are_read_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_one_topic: bool
) -> None:
    """In files of an ingest, bounds of offsets of another partition do not cause row groups to be sorted together."""
    files = [write_files(tmp_path, [records(range(50))], partition=number)[0] for number in (0, 1)]
    tables = [pq.read_table(file.url.removeprefix("file:"), partitioning=None) for file in files]
    pq.write_table(pa.concat_tables(tables, promote_options="permissive"), tmp_path / "shared", row_group_size=30)
    monkeypatch.delattr(archive_reader, "_sorted")
    shared = [SourceFile(f"file:{tmp_path}/shared", is_one_topic)]
    for number in (0, 1):
        assert offsets(shared, wanted(3, 48, partition=number)) == list(range(3, 48))


def test_a_shared_row_group_is_decoded_to_the_end_of_the_partition(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows of the partitions after it are not decoded: with many small partitions they would be, once for each of them."""
    tables = [
        pq.read_table(write_files(tmp_path, [records(range(50))], partition=number)[0].url[5:], partitioning=None)
        for number in (0, 1)
    ]
    pq.write_table(pa.concat_tables(tables, promote_options="permissive"), tmp_path / "shared")
    decoded: list[int] = []

    class Counting(pq.ParquetFile):  # type: ignore[misc]
        def iter_batches(self, *arguments: Any, **options: Any) -> Iterator[pa.RecordBatch]:
            for batch in super().iter_batches(*arguments, **options):
                decoded.append(batch.num_rows)
                yield batch

    monkeypatch.setattr(pq, "ParquetFile", Counting)
    monkeypatch.setattr(archive_reader, "_AT_ONCE_BYTES", 1)
    monkeypatch.setattr(archive_reader, "SMALL_BYTES", 0)
    shared = [SourceFile(f"file:{tmp_path}/shared", True)]
    assert offsets(shared, wanted(0, 100)) == list(range(50))
    assert sum(decoded) == 50
    assert offsets(shared, wanted(0, 100, partition=1)) == list(range(50))
