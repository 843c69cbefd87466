"""Ranges whose pending file was removed are rebuilt from the committed records."""

from pathlib import Path

import pytest

from kafka_lagoon.delta.kernel import Kernel
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.errors import TableError
from kafka_lagoon.fetch.ranges import Position
from kafka_lagoon.ingest import staged_commit
from kafka_lagoon.ingest.commit import commit
from kafka_lagoon.ingest.next_offsets import LastRun
from kafka_lagoon.ingest.rebuilt_ranges import COUNTS_LOST, _Records, _Rows
from tests.ingest.writers import Died, Writer, contents, dies, folder, ingest, remove, reports
from tests.jobs.commands import rows as table_rows

RUN = LastRun(
    ingest_id="0199c82c-c800-7000-8000-000000000000",
    sequence=4,
    ingest_date="2026-01-01",
    base_version=3,
    ranges=None,
    problems=None,
)
Shown = tuple[int, int, int, int]  # from, to, records, lost


@pytest.mark.parametrize(
    ("end", "own", "next_offset", "expected"),
    [
        (5, _Records(count=3, first_offset=5, files=1), 9, [(5, 9, 3, 1)]),
        (5, _Records(count=3, first_offset=7, files=1), 10, [(5, 10, 3, 2)]),  # the first offsets have no record
        (5, _Records(count=4, first_offset=3, files=1), 9, [(5, 3, 0, 0), (3, 9, 4, 2)]),  # the log was truncated
        (None, _Records(count=4, first_offset=2, files=1), 6, [(2, 6, 4, 0)]),  # of a partition that is new
        (5, None, 9, [(5, 9, 0, 4)]),
        (9, None, 5, [(9, 5, 0, 0)]),
        (5, None, 5, []),
        (None, None, 5, []),
    ],
)
def test_a_rebuilt_range_joins_the_one_before(
    end: int | None, own: _Records | None, next_offset: int, expected: list[Shown]
):
    """It ends at the next offset, and an event goes back first if the records begin before; what has no record is lost."""
    key = ("t", "id", 0)
    records, ends = {} if own is None else {key: own}, {} if end is None else {key: end}
    made = list(_Rows("cluster-id", RUN).of(key, Position(next_offset=next_offset, leader_epoch=0), records, ends))
    assert [(row.from_offset, row.to_offset, row.records, row.lost) for row in made] == expected
    assert {(row.problem, row.leader_epoch, row.sequence, row.topic_id) for row in made} <= {(COUNTS_LOST, 0, 4, "id")}
    assert {row.planned_at_ms for row in made} <= {0x0199C82CC800}
    unknown = {
        (row.control, row.aborted, row.compacted, row.corrupt, row.bytes_fetched, row.bytes_decoded) for row in made
    }
    assert unknown <= {(0, 0, 0, 0, 0, 0)}  # sums over ranges stay those of what is known
    without_epoch = _Rows("cluster-id", RUN).of(key, Position(next_offset=next_offset), records, ends)
    assert {row.leader_epoch for row in without_epoch} <= {None}


@pytest.mark.spark
@pytest.mark.parametrize(
    ("writer", "first"),
    [("kernel", 1), pytest.param("kernel", 7, id="clock behind"), pytest.param("spark", 1, marks=pytest.mark.proof)],
    indirect=["writer"],
)
def test_ranges_whose_file_was_removed_are_rebuilt(writer: Writer, warehouse: Warehouse, tmp_path: Path, first: int):
    """The ranges have no gaps and say that their counts are lost, as does the next report; later runs continue.

    Also if the clock of the first run was ahead, so that its id is greater than those of later runs.
    """
    ingest(writer, first, 5)
    is_kernel = writer.commit is commit
    with dies(Kernel if is_kernel else staged_commit, "append" if is_kernel else "_append", 1), pytest.raises(Died):
        ingest(writer, 2, 9)
    pending = "_lagoon/*/*-record_{}.parquet" if is_kernel else "{}/*/0192-0002.parquet"
    for table in ("ranges", "problems"):
        remove(tmp_path, pending.format(table))
    reported = reports(writer)
    assert len(reported) == 2
    assert "1 ranges were rebuilt" in reported[0] + reported[1]
    ingest(writer, 3, 12)
    assert contents(warehouse) == (list(range(12)), [(0, 5), (5, 9), (9, 12)], [0, 9])
    ranges = table_rows(folder(warehouse), "record_ranges")
    assert [
        (row["records"], row["lost"], row["files"], row["problem"]) for row in ranges if row["from_offset"] == 5
    ] == [(4, 0, 1, "COUNTS_LOST")]


@pytest.mark.spark
def test_records_that_cannot_be_read(by_kernel: Writer, warehouse: Warehouse, tmp_path: Path):
    """The error names the file in one line, although a task of Spark met it; the next run rebuilds the ranges."""
    with dies(Kernel, "append", 1), pytest.raises(Died):
        ingest(by_kernel, 1, 9)
    for table in ("ranges", "problems"):
        remove(tmp_path, f"_lagoon/*/*-record_{table}.parquet")
    (file,) = (folder(warehouse) / "records").rglob("*.parquet")
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(TableError, match=rf"ranges of ingest .* cannot be rebuilt: .*{file.name}") as raised:
        reports(by_kernel)
    assert "\n" not in str(raised.value)
    file.write_bytes(whole)
    assert len(reports(by_kernel)) == 2
    assert contents(warehouse)[:2] == (list(range(9)), [(0, 9)])
