"""Data files stay open from one partition to the next, and small row groups are read once."""

from datetime import UTC, datetime
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from kafka_lagoon.errors import TableError
from kafka_lagoon.restore import open_files
from kafka_lagoon.restore.archive_reader import read_archived
from kafka_lagoon.restore.open_files import OpenFiles, SourceFile
from tests.restore.lake import records, wanted, write_files

LIMIT = 1 << 24


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the URLs of files that are opened."""
    urls: list[str] = []
    really = open_files.arrow_file
    monkeypatch.setattr(open_files, "arrow_file", lambda url, access: urls.append(url) or really(url, access))
    return urls


def offsets(opened: OpenFiles, files: list[SourceFile]) -> list[int]:
    batches = read_archived(files, wanted(0, 100), LIMIT, ("offset", "value"), opened)
    return [number for batch in batches for number in batch.column("offset").to_pylist()]


def test_a_file_is_opened_once(tmp_path: Path, counted: list[str]) -> None:
    """Whoever reads alone opens it for each read."""
    files = write_files(tmp_path, [records(range(5)), records(range(5, 9))])
    opened = OpenFiles()
    for _ in range(3):
        assert offsets(opened, files) == list(range(9))
    assert counted == [files[0].url]
    assert offsets(OpenFiles(), files) == list(range(9))
    assert counted == [files[0].url] * 2


def test_small_row_groups_are_read_once(tmp_path: Path) -> None:
    """Other columns of them are read when somebody wants them."""
    files = write_files(tmp_path, [records(range(5))])
    opened = OpenFiles()
    first = opened.columns(files[0], 0, ("offset", "value"))
    assert opened.columns(files[0], 0, ("offset", "value")) is first
    assert opened.columns(files[0], 0, ("offset",)).column_names == ["offset"]


def test_large_row_groups_are_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their columns are in memory as long as somebody uses them."""
    monkeypatch.setattr(open_files, "SMALL_BYTES", 10)
    files = write_files(tmp_path, [records(range(5))])
    opened = OpenFiles()
    assert opened.columns(files[0], 0, ("offset",)) is not opened.columns(files[0], 0, ("offset",))


def test_what_is_kept_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, counted: list[str]) -> None:
    """The files and columns that were used last stay; a reader of a file that goes is not disturbed."""
    monkeypatch.setattr(open_files, "_MOST_FILES", 1)
    monkeypatch.setattr(open_files, "_HELD_BYTES", 100)
    files = write_files(tmp_path, [records(range(20))]) + write_files(tmp_path, [records(range(20, 40))])
    opened = OpenFiles()
    with opened.opened(files[0]) as parquet:
        opened.columns(files[1], 0, ("offset",))
        assert parquet.read_row_group(0, columns=["offset"]).num_rows == 20
    assert opened.columns(files[0], 0, ("offset",)) is not opened.columns(files[0], 0, ("offset",))
    assert counted == [files[0].url, files[1].url, files[0].url]


def test_a_file_that_is_gone(tmp_path: Path) -> None:
    """The error names it."""
    gone = SourceFile(f"file:{tmp_path}/gone.parquet", is_one_topic=True)
    with pytest.raises(TableError, match=r"gone\.parquet cannot be read"):
        OpenFiles().columns(gone, 0, ("offset",))


def test_times_as_spark_may_write_them(tmp_path: Path) -> None:
    """OPTIMIZE by Spark may store times as INT96, which in nanoseconds end in 2262; a condition sees the same times."""
    times = [datetime(9999, 12, 31, tzinfo=UTC), datetime(2026, 11, 21, tzinfo=UTC), None]
    (file,) = write_files(tmp_path, [records(range(3), timestamp=times)])
    path = file.url.removeprefix("file:")
    pq.write_table(pq.read_table(path, partitioning=None), path, use_deprecated_int96_timestamps=True)
    assert OpenFiles().columns(file, 0, ("timestamp",))["timestamp"].to_pylist() == times
    chosen = wanted(0, 3, condition="timestamp > TIMESTAMPTZ '2027-01-01 00:00:00+00'")
    (batch,) = read_archived([file], chosen, LIMIT, ("offset",))
    assert batch.column("offset").to_pylist() == [0]
