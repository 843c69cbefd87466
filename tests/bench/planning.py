"""Measures the driver's share of an ingest of 100,000 partitions: read and write next offsets, and plan.

The brokers are synthetic and answer at once. Each case is a process of its own, because a peak of memory belongs to a process; it has
no Spark, which takes as much with one partition. Give another checkout as PYTHONPATH to compare with it. With BENCH_LARGEST=1 there
are a million partitions on 500 brokers, and one run of each case.
"""

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from time import process_time
from typing import TextIO

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import SYSTEM_CLOCK, Deadline
from kafka_lagoon.fetch.archived import Archived
from kafka_lagoon.fetch.leader_epochs import EpochRange
from kafka_lagoon.fetch.offset_specs import EARLIEST, OffsetSpecs
from kafka_lagoon.fetch.planning import plan
from kafka_lagoon.fetch.ranges import Position
from kafka_lagoon.fetch.read_spec import ReadSpec
from kafka_lagoon.fetch.tasks import divide
from kafka_lagoon.garbage import gc_paused
from kafka_lagoon.ingest.next_offsets import NextOffsets, from_json, to_json
from kafka_lagoon.kafka_settings import KafkaSettings
from kafka_lagoon.wire.primitives import uuid_text
from tests.bench.large import IS_LARGEST
from tests.bench.large import SIZE as LARGE
from tests.bench.measure import Findings
from tests.bench.synthetic_brokers import end_offset, synthetic_brokers, topic_name

SIZE = replace(LARGE, groups=0)
_ROUNDS = 1 if IS_LARGEST else 3
_BUDGET_MS = 600_000
_NEW = {"nothing new": 0, "20 new records in each": 20}


def run() -> Findings:
    """Return the best of several runs of each case."""
    notes = []
    with synthetic_brokers(SIZE) as address:
        for case, new in _NEW.items():
            runs = [_in_a_process(address, new) for _ in range(_ROUNDS)]
            best = min(runs, key=lambda sample: sample["read_s"] + sample["plan_s"] + sample["write_s"])
            notes.append(
                f"{SIZE.topics * SIZE.partitions:,} partitions, {case}: next offsets read in {best['read_s']:.2f}, planned in "
                f"{best['plan_s']:.2f} and written in {best['write_s']:.2f} processor seconds with {best['requests']:.0f} requests; "
                f"{max(one['peak_mb'] for one in runs):.0f} MB at most, {best['at_first_mb']:.0f} of them before."
            )
    return Findings(comparisons=[], notes=notes)


def _in_a_process(address: str, new: int) -> dict[str, float]:
    command = [sys.executable, "-m", "tests.bench.planning", address, str(new)]
    stored = to_json(NextOffsets(topics=_archived(new)))
    done = subprocess.run(command, input=stored, check=True, capture_output=True, text=True)
    measured: dict[str, float] = json.loads(done.stdout)
    return measured


def _archived(new: int) -> Mapping[str, Archived]:
    """Make archived topics that lack this many records of each partition."""
    return {
        topic_name(topic): Archived(
            topic_id=uuid_text((topic + 1).to_bytes(16, "big")),
            partitions={
                index: Position(
                    next_offset=end_offset(topic, index) - new,
                    leader_epoch=7,
                    epochs=(EpochRange(7, 0, end_offset(topic, index) - new),),
                    confirmed=True,
                )
                for index in range(SIZE.partitions)
            },
        )
        for topic in range(SIZE.topics)
    }


def measured(address: str, stored: TextIO) -> dict[str, float]:
    """Measure one case in this process."""
    at_first, stats, spec = _peak_mb(), RequestStats(), OffsetSpecs(name="ingest.start", default=EARLIEST)
    deadline = Deadline.after(SYSTEM_CLOCK, _BUDGET_MS)
    settings = KafkaSettings(bootstrap_servers=address)
    began = process_time()
    with gc_paused():
        topics = from_json(stored.read()).topics
    read = process_time()
    with Cluster.connect(settings, SYSTEM_CLOCK, stats, deadline) as cluster, gc_paused():
        planned = plan(cluster, ReadSpec(topics=(), pattern=".*", start=spec), topics, deadline)
        divide(planned.ranges, planned.bytes_of, 2, 256 << 20)
    done = process_time()
    assert not planned.failures
    with gc_paused():
        to_json(NextOffsets(topics=topics))
    return {
        "read_s": read - began,
        "plan_s": done - read,
        "write_s": process_time() - done,
        "requests": sum(api.requests for api in stats.by_api.values()),
        "ranges": len(planned.ranges),
        "at_first_mb": at_first,
        "peak_mb": _peak_mb(),
    }


def _peak_mb() -> float:
    """Return the peak memory of this process; getrusage would include the process that has started it."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024  # words: ok, a field of Linux


if __name__ == "__main__":
    print(json.dumps(measured(sys.argv[1], sys.stdin)))
