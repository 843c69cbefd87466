"""Measures processor seconds and memory of the process that takes a snapshot of 100,000 partitions and 50,000 groups.

The brokers are synthetic and answer at once, so what is measured is the client, the rows and the files; nothing is written through
the JVM. Each run is a process of its own, because a peak of memory belongs to a process. It is compared with nothing: the size
is what nobody's benchmark has. Give another checkout as PYTHONPATH to compare with it. Then `lagoon snapshot` publishes the same
snapshot in a folder, and commands read it. With BENCH_LARGEST=1 there are a million partitions on 500 brokers, and one run, which
takes minutes and 10 GB of memory for the brokers.
"""

import io
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from time import perf_counter, process_time

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import SYSTEM_CLOCK, Deadline
from kafka_lagoon.delta.arrow import arrow_blocks, write_parquet
from kafka_lagoon.freed_memory import give_back_freed_memory
from kafka_lagoon.kafka_settings import KafkaSettings
from kafka_lagoon.snapshot.collect import collect
from kafka_lagoon.tables.group_rows import ConsumerLagRow
from kafka_lagoon.tables.schema import STATE_TABLES
from tests.bench.measure import Findings
from tests.bench.synthetic_brokers import Size, synthetic_brokers

IS_LARGEST = "BENCH_LARGEST" in os.environ
SIZE = (
    Size(topics=20_000, partitions=50, brokers=500, groups=100_000, committed_partitions=100)
    if IS_LARGEST
    else Size(topics=2_000, partitions=50, brokers=12, groups=50_000)
)
_ROUNDS = 1 if IS_LARGEST else 3
_BUDGET_MS = 600_000
_COMMANDS = (
    ("snapshot", "--create", "--set", f"snapshot.deadline_ms={_BUDGET_MS}", "--set", "snapshot.time_lag=off"),
    ("lag", "-n", "5", "--no-pager"),
    ("health", "-n", "5", "--no-pager"),
)


def run() -> Findings:
    """Return the best of several runs."""
    with synthetic_brokers(SIZE) as address:
        runs = [_in_a_process(address) for _ in range(_ROUNDS)]
        read = list(_published_and_read(address))
    best = min(runs, key=lambda sample: sample["gathering_s"] + sample["files_s"])
    note = (
        f"{SIZE.topics * SIZE.partitions:,} partitions on {SIZE.brokers} brokers, {SIZE.groups:,} groups, {best['rows']:,} lag rows: "
        f"gathered in {best['gathering_s']:.1f} and made into files in {best['files_s']:.1f} processor seconds with "
        f"{best['requests']} requests; the process had {max(one['peak_mb'] for one in runs):,} MB at most."
    )
    return Findings(comparisons=[], notes=[note, f"Published in a folder, and read: {'; '.join(read)}."])


def _published_and_read(address: str) -> Iterator[str]:
    """Yield what each command takes, of the process of Python."""
    with tempfile.TemporaryDirectory(prefix="lagoon-large-") as folder:
        conf = Path(folder) / "lagoon.toml"
        conf.write_text(f'warehouse = "{folder}/lake"\n[kafka]\nbootstrap_servers = "{address}"\n')
        for command in _COMMANDS:
            began = perf_counter()
            words = (sys.executable, "-m", "kafka_lagoon", *command, "--conf", str(conf))
            with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
                _, status, used = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
            assert process.returncode == 0, command
            cpu_s = used.ru_utime + used.ru_stime
            peak_mb = used.ru_maxrss // 1024
            yield f"`lagoon {command[0]}` {perf_counter() - began:.1f} s, {cpu_s:.1f} CPU s, {peak_mb:,} MB"


def _in_a_process(address: str) -> dict[str, float]:
    command = [sys.executable, "-m", "tests.bench.large", address]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    measured: dict[str, float] = json.loads(done.stdout)
    return measured


def snapshot_of(address: str) -> dict[str, float]:
    """Take a snapshot and make its files, in memory."""
    give_back_freed_memory()
    deadline, began = Deadline.after(SYSTEM_CLOCK, _BUDGET_MS), process_time()
    settings = KafkaSettings(bootstrap_servers=address)
    with Cluster.connect(settings, SYSTEM_CLOCK, RequestStats(), deadline) as cluster:
        snapshot = collect(cluster, "bench", SYSTEM_CLOCK.now_ms(), deadline, lambda _step, _items: None)
    gathered = process_time()
    assert snapshot.published.status == "complete"
    for table in STATE_TABLES:
        if len(snapshot.rows[table.row]):
            write_parquet(io.BytesIO(), arrow_blocks(table, snapshot.header, snapshot.rows[table.row]))
    return {
        "gathering_s": gathered - began,
        "files_s": process_time() - gathered,
        "peak_mb": getrusage(RUSAGE_SELF).ru_maxrss // 1024,
        "requests": snapshot.published.requests,
        "rows": len(snapshot.rows[ConsumerLagRow]),
    }


if __name__ == "__main__":
    print(json.dumps(snapshot_of(sys.argv[1])))
