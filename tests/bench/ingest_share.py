"""Measures which part of the processor time of an ingest is the decoder's: of 3,000,000 small records, and of gigabytes of 1 KB.

    python -m tests.bench.ingest_share 20

The tasks of a run are carried out in this process, one after the other, with a clock around the decoder, its kernel and the writer of
files. What is left is fetching, and the bookkeeping of offsets. It is no part of `make bench`, because gigabytes take minutes and disk.
"""

import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar
from unittest.mock import patch

from kafka_lagoon.delta.record_files import RecordFiles
from kafka_lagoon.fetch import reader
from kafka_lagoon.records import columns
from kafka_lagoon.sandbox.kafka import LocalKafka
from tests.bench.partitions import archived, tasks_of
from tests.bench.record_topics import LARGE_ZSTD, SMALL, SMALL_ZSTD, BenchTopic, fill

P = ParamSpec("P")
R = TypeVar("R")

_RECORDS_PER_GB = 1_000_000
_ROUNDS = 5
_GIGABYTES_ROUNDS = 1


class Clocks:
    """Processor seconds of this thread in parts of the program."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)

    def around(self, name: str, function: Callable[P, R]) -> Callable[P, R]:
        """The function with a clock around each call."""

        @wraps(function)
        def clocked(*args: P.args, **kwargs: P.kwargs) -> R:
            began = time.thread_time()
            try:
                return function(*args, **kwargs)
            finally:
                self.seconds[name] += time.thread_time() - began

        return clocked


class _Decoding:
    """A `Decoding` with a clock around each step of its iteration; other attributes are the decoding's own."""

    def __init__(self, decoding: columns.Decoding, clocks: Clocks) -> None:
        self._decoding, self._clocks = decoding, clocks

    def __iter__(self) -> Iterator[Any]:
        step = self._clocks.around("decoder", next)
        batches = iter(self._decoding)
        while (batch := step(batches, None)) is not None:
            yield batch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._decoding, name)


def run(gigabytes: float) -> Iterator[str]:
    """The shares of each topic."""
    large = BenchTopic(
        name="gigabytes",
        records=round(gigabytes * _RECORDS_PER_GB),
        value_bytes=LARGE_ZSTD.value_bytes,
        codec=LARGE_ZSTD.codec,
    )
    with tempfile.TemporaryDirectory(prefix="bench-") as name, LocalKafka(Path(name, "kafka"), heap_mb=1024) as kafka:
        for topic, rounds in ((SMALL, _ROUNDS), (SMALL_ZSTD, _ROUNDS), (large, _GIGABYTES_ROUNDS)):
            fill(kafka.bootstrap_servers, topic)
            tasks = tasks_of(kafka.bootstrap_servers, topic.name)
            best = min(
                (
                    _shares(kafka.bootstrap_servers, tasks, Path(name, f"{topic.name}-{number}"))
                    for number in range(rounds)
                ),
                key=lambda shares: shares["all"],
            )
            yield f"{topic.records:,} records of {topic.value_bytes + 16} bytes, {topic.codec}: {_spelled(best, topic.records)}"


def _shares(bootstrap_servers: str, tasks: Any, folder: Path) -> dict[str, float]:
    """Processor seconds of a run: of everything, and of parts of it."""
    clocks = Clocks()
    with ExitStack() as stack:
        decode = reader.decode
        stack.enter_context(patch.object(reader, "decode", lambda *a, **b: _Decoding(decode(*a, **b), clocks)))
        stack.enter_context(patch.object(columns, "decode_batches", clocks.around("kernel", columns.decode_batches)))
        for method in ("write", "close"):
            clocked = clocks.around("writer", getattr(RecordFiles, method))
            stack.enter_context(patch.object(RecordFiles, method, clocked))
        sample, _ = archived(bootstrap_servers, tasks, folder)
    return {"all": sample.cpu_s, **clocks.seconds}


def _spelled(shares: dict[str, float], records: int) -> str:
    parts = [
        f"{name} {shares[name]:.2f} ({shares[name] / shares['all']:.0%})" for name in ("decoder", "kernel", "writer")
    ]
    return f"{shares['all']:.2f} CPU s, {records / shares['all'] / 1e6:.1f} million records a second and core; {', '.join(parts)}"


if __name__ == "__main__":
    for line in run(float(sys.argv[1])):
        print(line, flush=True)
