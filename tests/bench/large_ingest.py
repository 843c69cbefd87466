"""Measures the memory of each kind of process in an ingest of gigabytes, on local cores and on a cluster of executors.

    python -m tests.bench.large_ingest 10

reads so many GB of records of 1 KB in 100 partitions, and a quarter of them before, which shows what grows with their number. It is
no part of `make bench`, because it takes minutes and as much disk.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable

from kafka_lagoon.sandbox.kafka import LocalKafka
from tests.bench.record_topics import LARGE_ZSTD, BenchTopic, fill
from tests.integration.restore_process import members
from tests.processor_time import seconds_of

_PROJECT = Path(__file__).resolve().parents[2]
_MASTERS = ("local[2]", "local-cluster[2,1,1024]")
_RECORDS_PER_GB = 1_000_000
_PARTITIONS = 100
_EVERY_S = 0.2
# The first that a command line contains; the driver's Python process contains none.
_KINDS = {
    b"pyspark.daemon": "Python worker",
    b"CoarseGrainedExecutorBackend": "JVM of an executor",
    b"SparkSubmit": "JVM of the driver",
}


@dataclass(slots=True)
class Processes:
    """The largest process of each kind in MB, the number of processes, and their processor seconds."""

    peak_mb: dict[int, tuple[str, float]] = field(default_factory=dict)
    cpu_s: dict[int, float] = field(default_factory=dict)

    def sample(self, session: int) -> None:
        """Measure the processes of a session."""
        for process in members(session):
            with suppress(OSError, IndexError, KeyError):  # the process has ended
                status = dict(
                    line.split(":", 1) for line in Path(f"/proc/{process.pid}/status").read_text().splitlines()
                )
                kind = next(
                    (name for words, name in _KINDS.items() if words in process.command), "Python of the driver"
                )
                peak = int(status["VmHWM"].split()[0]) / 1024  # words: ok, a field of Linux
                self.peak_mb[process.pid] = kind, peak
                self.cpu_s[process.pid] = seconds_of(process.pid)

    def summary(self) -> str:
        """Format the measurement in one line."""
        by_kind: defaultdict[str, list[float]] = defaultdict(list)
        for kind, peak in self.peak_mb.values():
            by_kind[kind].append(peak)
        sizes = [f"{kind} {max(peaks):.0f} MB" for kind, peaks in sorted(by_kind.items())]
        return f"{sum(self.cpu_s.values()):.0f} CPU s; {', '.join(sizes)}"


def run(gigabytes: int) -> Iterator[str]:
    """Measure the resources of each run."""
    with tempfile.TemporaryDirectory(prefix="bench-") as name, LocalKafka(Path(name, "kafka"), heap_mb=1024) as kafka:
        for part in (gigabytes / 4, gigabytes):
            topic = BenchTopic(
                name=f"gb-{part:g}",
                records=round(part * _RECORDS_PER_GB),
                value_bytes=LARGE_ZSTD.value_bytes,
                codec="zstd",
                partitions=_PARTITIONS,
            )
            fill(kafka.bootstrap_servers, topic)
            for master in _MASTERS:
                yield f"{part:g} GB, {master}: {_ingest(kafka, topic, Path(name, 'lake'), master)}"


def _ingest(kafka: LocalKafka, topic: BenchTopic, lake: Path, master: str) -> str:
    warehouse = lake / f"{topic.name}-{master.partition('[')[0]}"
    words = ["--warehouse", str(warehouse), "--create", "--topics", topic.name]
    words += ["--set", f"kafka.bootstrap_servers={kafka.bootstrap_servers}"]
    command = ["spark-submit", "--master", master, str(_PROJECT / "jobs" / "ingest.py"), *words]
    environment = {**os.environ, "SPARK_CONF_DIR": str(_PROJECT / "conf")}
    processes, began = Processes(), time.monotonic()
    with tempfile.TemporaryFile("w+") as output:
        job = subprocess.Popen(
            command, env=environment, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
        while job.poll() is None:
            processes.sample(job.pid)
            time.sleep(_EVERY_S)
        output.seek(0)
        assert job.returncode == 0, output.read()
    seconds = time.monotonic() - began
    table = DeltaTable(str(warehouse / "records"))
    rows = sum(pa.table(table.get_add_actions(flatten=True))["num_records"].to_pylist())
    assert rows == topic.records, rows
    return f"{seconds:.0f} s, {processes.summary()}"


if __name__ == "__main__":
    for line in run(int(sys.argv[1])):
        print(line, flush=True)
