"""Compares spark-submit of a snapshot of a small cluster with spark-submit of a job that appends one Delta row.

Both are whole processes under the same conf/, and their tables exist already. What lies between them is ours.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from confluent_kafka.admin import NewTopic

from kafka_lagoon.sandbox.kafka import LocalKafka
from tests.bench import measure
from tests.bench.measure import Comparison, Findings, Sample, alternate
from tests.integration.state import commit, create_topics, produce

_PROJECT = Path(__file__).resolve().parents[2]
_TOPICS = ("orders", "payments", "clicks", "emails", "audit")
_ROUNDS = 3


def run() -> Findings:
    """Compare our job with an empty job."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder, LocalKafka(Path(folder, "kafka")) as kafka:
        fill(kafka.bootstrap_servers)
        environ = environment(kafka.bootstrap_servers, Path(folder, "warehouse"))
        empty = str(_PROJECT / "tests/bench/empty_job.py")
        samples = alternate(
            {
                "snapshot": spark_submit(environ, folder, str(_PROJECT / "jobs/snapshot.py")),
                "empty": spark_submit(environ, folder, empty, str(Path(folder, "empty"))),
            },
            rounds=_ROUNDS,
        )
    ours, theirs = samples["snapshot"], samples["empty"]
    peer = "spark-submit of a job that appends one Delta row"
    what = "spark-submit jobs/snapshot.py, one small broker, tables there already"
    return Findings(
        comparisons=[
            Comparison(what=what, ours=ours, peer=peer, theirs=theirs),
            Comparison(what="the same", ours=ours, peer=peer, theirs=theirs, measure="cpu_s"),
        ],
        notes=[
            f"Largest process (the JVM): {_peak(ours):.0f} MB in the snapshot, {_peak(theirs):.0f} MB in the empty job."
        ],
    )


def fill(bootstrap_servers: str) -> None:
    """Make a small cluster: five topics with records, and a group of each."""
    create_topics(bootstrap_servers, [NewTopic(name, 3, 1) for name in _TOPICS])
    for number, name in enumerate(_TOPICS):
        produce(bootstrap_servers, name)
        commit(bootstrap_servers, f"group-{number}", {(name, index): number for index in range(3)})


def environment(bootstrap_servers: str, warehouse: Path) -> dict[str, str]:
    """Return the environment of `make`, with the settings of the job."""
    return {
        **measure.environment(),
        "SPARK_CONF_DIR": str(_PROJECT / "conf"),
        "LAGOON_KAFKA__BOOTSTRAP_SERVERS": bootstrap_servers,
        "LAGOON_WAREHOUSE": str(warehouse),
        "LAGOON_CREATE": "true",
    }


def spark_submit(environ: Mapping[str, str], folder: str, *arguments: str) -> Callable[[], Sample]:
    """Make a case that runs spark-submit and checks its exit code."""
    program = str(Path(sys.executable).parent / "spark-submit")

    def run() -> Sample:
        with tempfile.TemporaryFile(mode="w+") as output:
            began = time.perf_counter()
            process = subprocess.Popen(
                [program, *arguments], env=environ, cwd=folder, stdout=output, stderr=subprocess.STDOUT
            )
            _, status, used = os.wait4(process.pid, 0)  # of this process and of its children that have ended
            wall_s = time.perf_counter() - began
            process.returncode = os.waitstatus_to_exitcode(status)
            output.seek(0)
            assert process.returncode == 0, output.read()
        return Sample(wall_s=wall_s, cpu_s=used.ru_utime + used.ru_stime, peak_mb=used.ru_maxrss / 1024)

    return run


def _peak(samples: list[Sample]) -> float:
    return statistics.median(one.peak_mb for one in samples if one.peak_mb is not None)
