"""A process logs its effects on the warehouse, and stops before the one that is named."""

import sys
from pathlib import Path

import pytest

from tests.proof.points.effects import points, read_effects
from tests.proof.points.loaded.durable_effects import kind_of
from tests.proof.points.processes import JobProcess

WRITES = """
import os, sys
from pathlib import Path
root = Path(sys.argv[1])
(root / "t" / "day=1").mkdir(parents=True, exist_ok=True)
with (root / "t" / "day=1" / "a.parquet").open("xb") as file:
    file.write(b"content")
handle = os.open(root / ".lagoon-commit.lock", os.O_RDWR | os.O_CREAT)
os.ftruncate(handle, 0)  # the text of a lock is no point
(root / "t" / "day=1" / "a.parquet").unlink()
(root.parent / "elsewhere").write_text("not logged")
"""
NAMES = [
    "process:mkdir t#1",
    "process:mkdir t day#2",
    "process:create t file#1",
    "process:write t file#1",
    "process:create lock commit#1",
    "process:remove t file#1",
]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """An empty warehouse."""
    (tmp_path / "lake").mkdir()
    return tmp_path / "lake"


def test_all_effects_are_logged(root: Path) -> None:
    """In their order, and those elsewhere are not."""
    with JobProcess([sys.executable, "-c", WRITES, str(root)], root.parent / "run", str(root)) as process:
        assert process.wait() == 0, process.output
    assert points(read_effects(process.log)) == NAMES


@pytest.mark.parametrize("number", range(len(NAMES)))
def test_a_process_stops(root: Path, number: int) -> None:
    """Nothing happens after its point."""
    command = [sys.executable, "-c", WRITES, str(root)]
    with JobProcess(command, root.parent / "run", str(root), stop=NAMES[number]) as process:
        assert process.stops()
        assert points(read_effects(process.log)) == NAMES[:number]
        file = root / "t" / "day=1" / "a.parquet"
        assert file.exists() is (number > 2)
        assert (file.read_bytes() if file.exists() else b"") == (b"content" if number > 3 else b"")


def test_a_process_goes_on(root: Path) -> None:
    """It ends as if it had not stopped."""
    command = [sys.executable, "-c", WRITES, str(root)]
    with JobProcess(command, root.parent / "run", str(root), stop=NAMES[-1]) as process:
        assert process.stops()
        process.resume()
        assert process.wait() == 0, process.output
    assert points(read_effects(process.log)) == NAMES
    assert not (root / "t" / "day=1" / "a.parquet").exists()


def test_names_have_no_ids() -> None:
    """The name of a point is the same in every run."""
    assert kind_of(".lagoon-records-MkU3OEVBNTcwNTJENDM2Qg.lock") == "lock records"
    assert kind_of(".lagoon-commit.lock") == "lock commit"
    assert kind_of(".lagoon-probe-0f") == "file probe"
    assert kind_of("records/ingest_date=2026-01-01") == "records day"
    assert kind_of("records/ingest_date=2026-01-01/0f.parquet") == "records file"
    assert (
        kind_of("records/_lagoon/MkU3/000000000002-01a2-086e-record_ranges.parquet") == "records record_ranges.parquet"
    )
    assert kind_of("restore_map/_lagoon/MkU3/01a2086e-7256-74fd-ba76-ea37b9fc8c8c.json") == "restore_map .json"
    assert kind_of("_staging/MkU3") == "_staging folder"
    assert kind_of("_staging/MkU3/ranges/ingest_date=2026-01-01") == "_staging day"
    assert kind_of("_staging/MkU3/000000000002.end.json") == "_staging .end.json"
    assert kind_of("_staging/MkU3/.000000000002.end.json.914b2dd0fdab490e.tmp") == "_staging .end.json part"
    assert kind_of("records/_delta_log") == "records _delta_log"
