"""Times `lagoon restore` of 1,000 and of 1,000,000 records, start to end: in its own process, and on Spark's executors.

Both are the same release and whole processes, each into a new topic; a setting chooses between them (restore.local_max_bytes).
"""

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

from kafka_lagoon.sandbox.kafka import LocalKafka
from tests.bench.measure import Comparison, Findings, Sample, alternate, environment, process
from tests.bench.record_topics import PARTITIONS, BenchTopic, fill

_TOPICS = (
    BenchTopic(name="few", records=1_000, value_bytes=100, codec="none"),
    BenchTopic(name="many", records=1_000_000, value_bytes=100, codec="none"),
)
_ROUNDS = int(os.environ.get("BENCH_RESTORE_ROUNDS", "3"))
_PLACES = {"driver": "restore.local_max_bytes=268435456", "executors": "restore.local_max_bytes=0"}
_PEER = "the same on Spark's executors"
_LAGOON = str(Path(sys.executable).with_name("lagoon"))


def run() -> Findings:
    """Compare restores in their own process with restores on executors."""
    comparisons: list[Comparison] = []
    with tempfile.TemporaryDirectory(prefix="bench-") as name, LocalKafka(Path(name, "kafka"), heap_mb=1024) as kafka:
        servers, lake, numbers = kafka.bootstrap_servers, Path(name, "lake"), count()
        for topic in _TOPICS:
            fill(servers, topic)
        names = ",".join(topic.name for topic in _TOPICS)
        archive = (_LAGOON, "ingest", "--create", "--warehouse", str(lake), "--topics", names)
        process(*archive, "--set", f"kafka.bootstrap_servers={servers}", environ=environment())()
        for topic in _TOPICS:
            cases = {place: _restore(servers, lake, topic, setting, numbers) for place, setting in _PLACES.items()}
            samples = alternate(cases, rounds=_ROUNDS)
            what = f"restore of {topic.records:,} records in {PARTITIONS} partitions, with receipts"
            comparisons.append(Comparison(what=what, ours=samples["driver"], peer=_PEER, theirs=samples["executors"]))
    return Findings(comparisons=comparisons)


def _restore(servers: str, lake: Path, topic: BenchTopic, setting: str, numbers: Iterator[int]) -> Callable[[], Sample]:
    """Make a case that restores a topic into a new one, of as many partitions."""
    cluster = f"kafka.bootstrap_servers={servers}"
    words = (_LAGOON, "restore", "--yes", "--warehouse", str(lake), "--set", cluster, "--set", setting)
    named = ("--from-cluster", "default", "--to-cluster", "default", "--topics", topic.name)

    def case() -> Sample:
        rename = ("--rename", f"{topic.name}={topic.name}-{next(numbers)}")
        equal = f"{PARTITIONS} of {PARTITIONS} partitions are equal to the archive"
        return process(*words, *named, *rename, printed=equal, environ=environment())()

    return case
