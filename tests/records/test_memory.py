"""The memory of a worker that archives a batch which expands to a thousand times its size."""

import gc
import subprocess
import sys
import weakref
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from kafka_lagoon.records.batches import find_batches
from kafka_lagoon.records.columns import decode
from kafka_lagoon.records.decoding import DecodeOptions
from tests.effort import first
from tests.records.examples import ZSTD, Batch, Record, varint

SIZE = 57_000_000  # of decompressed records, below the limit of a batch
TASK_MEMORY_MB, MARGIN_MB = 256, 60
WORKER = """
import sys
from pathlib import Path
from kafka_lagoon.records.batches import find_batches
from kafka_lagoon.records.columns import decode
from kafka_lagoon.job_settings import IngestSettings
from kafka_lagoon.runs.ingest import read_options
from kafka_lagoon.delta.record_files import RecordFiles

def peak_mb():
    return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) >> 10  # words: ok, a field of Linux

raw, before, rows = Path(sys.argv[1]).read_bytes(), peak_mb(), 0
files = RecordFiles(
    folder_url="file:" + sys.argv[2],
    ingest_id="i",
    cluster="n",
    cluster_id="c",
    target_bytes=128 << 20,
    compression="zstd-fast",
)
asked = {"from_offset": 0, "to_offset": 2**62, "aborted": (), "read_committed": True, "stable_end": 2**62}
decoding = decode(find_batches(raw), options=read_options(IngestSettings()).decoding, **asked)
for arrow_batch in decoding:
    rows += arrow_batch.num_rows
    files.write("t", None, 0, arrow_batch)
files.close()
print(peak_mb() - before, rows, *(problem.reason for problem in decoding.problems))
"""


def headers() -> tuple[int, bytes]:
    """One record with 28 million empty headers."""
    count = SIZE // 2
    body = b"\0" + varint(0) + varint(0) + varint(-1) + varint(-1) + varint(count) + b"\0\x01" * count
    return 1, varint(len(body)) + body


def records_with_headers() -> tuple[int, bytes]:
    """Many records of a thousand empty headers each."""
    tail, count = varint(-1) + varint(-1) + varint(1000) + b"\0\x01" * 1000, SIZE // 2015
    bodies = (b"\0" + varint(0) + varint(delta) + tail for delta in range(count))
    return count, b"".join(varint(len(body)) + body for body in bodies)


def tiny_records() -> tuple[int, bytes]:
    """Nearly six million records of ten bytes, four of which are the offset."""
    count = SIZE // 10
    deltas = np.arange(1 << 20, (1 << 20) + count, dtype=np.int64) << 1
    rows = np.tile(np.frombuffer(varint(9) + b"\0\0????" + varint(-1) * 2 + varint(0), np.uint8), (count, 1))
    for place in range(4):
        rows[:, 3 + place] = (deltas >> (7 * place) & 0x7F) | (0x80 if place < 3 else 0)
    return count, rows.tobytes()


@pytest.mark.parametrize(
    ("bomb", "rows", "reasons"),
    first(
        [(headers, 0, ["EXPANDED_TOO_LARGE"]), (records_with_headers, SIZE // 2015, []), (tiny_records, SIZE // 10, [])]
    ),
)
def test_memory_of_a_worker(
    bomb: Callable[[], tuple[int, bytes]], rows: int, reasons: list[str], tmp_path: Path
) -> None:
    """Beyond the memory of an idle process it is about ingest.task_memory_mb, for any content of a batch."""
    count, plain = bomb()
    raw = Batch(codec=ZSTD, count=count, last_delta=(1 << 20) + count).around(plain)
    del plain
    (tmp_path / "raw").write_bytes(raw)
    folder = tmp_path / "written"
    command = [sys.executable, "-c", WORKER, str(tmp_path / "raw"), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    grown_mb, count, *problems = done.stdout.split()
    assert (int(count), problems) == (rows, reasons)
    assert int(grown_mb) < TASK_MEMORY_MB + MARGIN_MB


def test_a_response_is_let_go_without_the_garbage_collector() -> None:
    """A reference cycle would keep every Fetch response until the garbage collector runs, which may never happen."""
    wanted = {"from_offset": 0, "to_offset": 2**62, "aborted": (), "read_committed": True, "stable_end": 2**62}
    decoding = decode(find_batches(Batch(records=(Record(delta=0),)).write()), options=DecodeOptions(), **wanted)
    assert sum(batch.num_rows for batch in decoding) == 1
    reference = weakref.ref(decoding)
    gc.disable()
    try:
        del decoding
        assert reference() is None
    finally:
        gc.enable()
