"""Runs commands and measures their usage: processor seconds, requests and bytes to brokers, requests and bytes to an object store."""

import os
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

from kafka_lagoon.jars.locked_jars import cache_folder, jar_paths
from tests.bench.counted_network import CountedNetwork
from tests.object_store import BUCKET, ObjectStore, Request, hadoop_aws

PROJECT = Path(__file__).resolve().parents[2]
_BIN = Path(sys.executable).parent
_TIMEOUT_S = 900


@dataclass(frozen=True, slots=True)
class Usage:
    """The usage of a run, or the mean or a multiple of runs."""

    cpu_s: float = 0.0
    kafka_requests: float = 0.0
    kafka_received: float = 0.0  # bytes
    kafka_sent: float = 0.0
    gets: float = 0.0
    heads: float = 0.0
    lists: float = 0.0
    puts: float = 0.0  # with the requests that begin and end an upload in parts
    deletes: float = 0.0
    uploaded: float = 0.0  # bytes of bodies
    downloaded: float = 0.0

    def __sub__(self, other: "Usage") -> "Usage":
        return Usage(*(ours - theirs for ours, theirs in zip(astuple(self), astuple(other), strict=True)))

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(*(ours + theirs for ours, theirs in zip(astuple(self), astuple(other), strict=True)))

    def __mul__(self, factor: float) -> "Usage":
        return Usage(*(number * factor for number in astuple(self)))


def median(usages: Sequence[Usage]) -> Usage:
    """Return the median of each number."""
    return Usage(*map(statistics.median, zip(*map(astuple, usages), strict=True)))


def mean(usages: Sequence[Usage]) -> Usage:
    """Return the mean of each number."""
    return Usage(*map(statistics.fmean, zip(*map(astuple, usages), strict=True)))


@dataclass(frozen=True, slots=True)
class Place:
    """A folder, or a prefix of a bucket with the folder of Spark's settings that reach it."""

    name: str
    location: str
    store: ObjectStore | None = None
    conf: Path = PROJECT / "conf"

    def spark_submit(self, *command: str, jars: Sequence[str] = (), quick: bool = True) -> list[str]:
        """Return the command; without `quick` the JVM has the compilers of a server and more memory, for many rows in Spark."""
        options = ["--master", "local[2]"]
        if not quick:
            options += ["--driver-memory", "4g", "--driver-java-options", ""]
        needed = [*jars, *(hadoop_aws() if self.store else ())]
        if needed:
            options += ["--jars", ",".join(needed)]
        return [*self._environment(), "spark-submit", *options, *command]

    def lagoon(self, *command: str, later_s: int | None = None) -> list[str]:
        """Return a command of ours, which starts Spark only if it needs it; `later_s` shifts its clock."""
        shifted = (sys.executable, str(PROJECT / "tests/bench/shifted_clock.py"), str(later_s))
        program = ("lagoon",) if later_s is None else shifted
        return [*self._environment(), *program, *command, "--warehouse", self.location]

    def _environment(self) -> list[str]:
        return ["env", f"SPARK_CONF_DIR={self.conf}"]

    def connector(self, *command: str, quick: bool = True) -> list[str]:
        """Return a command of the connector."""
        jars = list(map(str, jar_paths("connector-4.2.0")))
        return self.spark_submit(str(PROJECT / "tests/bench/connector_job.py"), *command, jars=jars, quick=quick)


@dataclass(frozen=True, slots=True)
class Meter:
    """Measures commands that reach brokers by a counted network, one at a time."""

    network: CountedNetwork
    folder: Path

    def run(self, place: Place, command: Sequence[str]) -> Usage:
        """Run a command to its end; it must succeed."""
        before, by_api, requested = (
            self._kafka(),
            Counter(self.network.requests),
            len(place.store.requests()) if place.store else 0,
        )
        result = self.folder / "processor-seconds"
        with tempfile.TemporaryFile("w+") as output:
            wrapped = [sys.executable, "-m", "tests.bench.process_tree", str(result), *command]
            streams = {"stdout": output, "stderr": subprocess.STDOUT}
            code = subprocess.call(wrapped, env=_environment(), cwd=PROJECT, timeout=_TIMEOUT_S, **streams)  # type: ignore[call-overload]
            output.seek(0)
            assert code == 0, f"{command}: {output.read()}"
        stored = _of_store(place.store.requests()[requested:]) if place.store else Usage()
        usage = Usage(cpu_s=float(result.read_text())) + self._kafka() - before + stored
        by_api = self.network.requests - by_api
        words = (word for word in command if word.isalnum())
        print(place.name, *words, usage, f"requests by API key: {dict(by_api)}", file=sys.stderr, flush=True)
        return usage

    def _kafka(self) -> Usage:
        network = self.network
        return Usage(
            kafka_requests=network.requests.total(),
            kafka_received=network.response_bytes,
            kafka_sent=network.request_bytes,
        )


def _of_store(requests: Sequence[Request]) -> Usage:
    kinds = [_kind(request) for request in requests]
    return Usage(
        gets=kinds.count("GET"),
        heads=kinds.count("HEAD"),
        lists=kinds.count("LIST"),
        puts=kinds.count("PUT"),
        deletes=kinds.count("DELETE"),
        uploaded=sum(request.received for request in requests),
        downloaded=sum(request.sent for request in requests),
    )


def _kind(request: Request) -> str:
    """Return the kind of a request as stores count them; those about the bucket itself list objects or delete several."""
    is_of_bucket = request.path.strip("/") == BUCKET
    if request.method == "POST":
        return "DELETE" if is_of_bucket else "PUT"
    return "LIST" if is_of_bucket and request.method == "GET" else request.method


def _environment() -> dict[str, str]:
    of_others = ("LAGOON_", "SPARK_", "PYSPARK_")
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith(of_others)},
        "PATH": f"{_BIN}{os.pathsep}{os.environ['PATH']}",
        "PYSPARK_PYTHON": sys.executable,
        "LAGOON_CACHE": str(cache_folder()),
        "LAGOON_CONF": "",
        "LAGOON_CREATE": "true",
    }
