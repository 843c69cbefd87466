"""Ranges whose pending file was removed are rebuilt from the committed records."""

from pathlib import Path

import pytest

from kafka_lagoon.delta.kernel import Kernel
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.ingest import staged_commit
from kafka_lagoon.ingest.commit import commit
from tests.ingest.writers import Died, Writer, contents, dies, folder, ingest, remove, reports
from tests.jobs.commands import rows as table_rows

pytestmark = pytest.mark.spark


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
