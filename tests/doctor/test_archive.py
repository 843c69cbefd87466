"""Records that were archived twice are reported, with the view that leaves them out."""

from datetime import date
from pathlib import Path

import pytest

from kafka_lagoon.delta.arrow import plain_table
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.doctor.archive import copies
from kafka_lagoon.tables.record_tables import RECORD_RANGES
from tests.delta.record_samples import range_row

DAY = date(2026, 11, 21)


def test_no_archive(tmp_path: Path) -> None:
    """A warehouse without records has nothing to check."""
    assert list(copies(tmp_path)) == []


@pytest.mark.spark
def test_topics_with_copies(warehouse: Warehouse) -> None:
    """Each topic is reported with the number of offsets; a topic whose ranges do not overlap is not."""
    folder = Path(warehouse.name.removeprefix("file:"))
    store(warehouse, ("a", 0, 5, None), ("b", 5, 5, "TOPIC_DELETED"))
    (result,) = copies(folder)
    assert (result.status, result.observed) == ("ok", "no offset is archived twice")
    store(warehouse, ("c", 0, 7, None))
    (result,) = copies(folder)
    assert result.status == "warning"
    assert result.observed == "offsets are archived more than once (t of cluster cluster-id: 5)"
    assert "records_now" in (result.to_do or "")


def store(warehouse: Warehouse, *ranges: tuple[str, int, int, str | None]) -> None:
    """Ranges of one partition, as earlier versions wrote them: without the number of their run."""
    rows = [range_row(run, "t", start, end) for run, start, end, _ in ranges]
    for row, (*_, problem) in zip(rows, ranges, strict=True):
        row.problem = problem
    state = warehouse.state(RECORD_RANGES.name)
    url = f"{state.location}/{RECORD_RANGES.partition_by}={DAY}/{len(rows)}.parquet"
    file = warehouse.kernel.storage.write_rows(url, plain_table(RECORD_RANGES, rows))
    warehouse.kernel.append(state, [file], (RECORD_RANGES.partition_by, DAY))
