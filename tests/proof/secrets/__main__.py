"""Runs every job with secrets that nothing else contains, and searches for them in all places: see README.md."""

import argparse
import json
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.proof.figures import Figures
from tests.proof.secrets.canaries import Hit, Search, canary
from tests.proof.secrets.places import PLACES, Observed
from tests.proof.secrets.runs import HERE, HMAC, ON_EXECUTORS, runs
from tests.proof.secrets.world import Spec, World, new_world

_TERMINATED = 128 + signal.SIGTERM
_MEMORY = "memory of JVMs"


@dataclass
class Counts:
    """Counts of runs, searches and what they found."""

    runs: int = 0
    searched: Counter[str] = field(default_factory=Counter)  # texts and files by place
    bytes: Counter[str] = field(default_factory=Counter)
    planted: dict[str, bool] = field(default_factory=dict)
    hits: Counter[str] = field(default_factory=Counter)  # by place
    failures: list[str] = field(default_factory=list)

    def fail(self, text: str) -> None:
        """Print and keep a failure."""
        self.failures.append(text)
        print(f"FAILED {text}", flush=True)


def searched(world: World, spec: Spec, observed: Observed, counts: Counts) -> None:
    """Search everything that a run has left for every secret."""
    search = Search(world.secrets)
    reported: set[Hit] = set()
    for place, contents in observed.evidence().items():
        for where, content in contents:
            counts.searched[place] += 1
            counts.bytes[place] += len(content)
            for hit in search.in_bytes(content, where):
                if (place == "stdout" and hit.name in spec.printed) or hit in reported:
                    continue
                reported.add(hit)
                counts.hits[place] += 1
                counts.fail(f"{spec.name}: {hit.name} ({hit.encoding}) in {place}: {hit.where}")
    for size, hits in observed.processes.memory:
        counts.searched[_MEMORY] += 1
        counts.bytes[_MEMORY] += size
        for hit in hits:
            counts.hits[_MEMORY] += 1
            counts.fail(f"{spec.name}: {hit.name} ({hit.encoding}) in {_MEMORY}: {hit.where}")


def self_check(world: World, counts: Counts) -> None:
    """Plant a canary into each place, and fail for each that is not found there."""
    plants = {place: canary() for place in PLACES}
    search = Search(plants)
    file = world.given_file("plants.json", json.dumps(plants))
    script = [str(HERE / "planting.py"), str(file), str(world.left.folder), world.secured.kafka.bootstrap_servers]
    spec = Spec(
        name="planting",
        command=[
            "spark-submit",
            *ON_EXECUTORS,
            "--conf",
            f"spark.executorEnv.PLANTED={plants['environments']}",
            *script,
        ],
        exits=frozenset({1}),
        of_memory=Search({_MEMORY: plants[_MEMORY]}),
    )
    observed = world.observed(spec)
    seen = {
        (place, hit.name)
        for place, contents in observed.evidence().items()
        for where, content in contents
        for hit in search.in_bytes(content, where)
    }
    seen |= {(_MEMORY, hit.name) for _, hits in observed.processes.memory for hit in hits}
    counts.planted = {place: (place, place) in seen for place in PLACES}
    shutil.rmtree(world.left.made)
    world.left.make()
    if missing := [place for place, is_found in counts.planted.items() if not is_found]:
        said = (observed.stdout + observed.stderr)[-4000:].decode(errors="replace")
        counts.fail(
            f"self-check, exit {observed.exit_code}: not found where they were planted: {', '.join(missing)}: {said}"
        )


def chosen(world: World, wanted: Sequence[str], counts: Counts) -> Iterator[tuple[Spec, Observed]]:
    """Run what is wanted, all by default, and what the runs after it need."""
    for spec in runs(world):
        if wanted and not any(word in spec.name for word in wanted) and not spec.printed:
            continue
        started = time.monotonic()
        observed = world.observed(spec)
        print(f"{spec.name}: exit {observed.exit_code}, {time.monotonic() - started:.0f} s", flush=True)
        counts.runs += 1
        if observed.exit_code not in spec.exits:
            said = observed.stdout[-3000:] + observed.stderr[-3000:]
            counts.fail(f"{spec.name}: exit {observed.exit_code}: {said.decode(errors='replace')}")
        if HMAC in spec.printed:
            answer = json.loads(observed.stdout.splitlines()[0])["answer"]
            world.secrets[HMAC] = answer["hmac"]
            world.token_id.append(answer["token_id"])
        yield spec, observed


def main(arguments: Sequence[str]) -> int:
    """Run as the module's docstring describes; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.proof.secrets", description=__doc__)
    parser.add_argument(
        "--run", action="append", default=[], metavar="TEXT", help="only runs whose names have this text"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to a file")
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(_TERMINATED))  # so that no job, broker or server is left
    counts, started = Counts(), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="secrets-") as folder, new_world(Path(folder) / "world") as world:
        self_check(world, counts)
        for spec, observed in chosen(world, options.run, counts):
            searched(world, spec, observed, counts)
        names = len(world.secrets)
    seconds = time.monotonic() - started
    figures(counts, seconds).write(options.json)
    for place in PLACES:
        print(f"{place}: {counts.searched[place]} texts, {counts.bytes[place]:,} bytes, {counts.hits[place]} found")
    print(
        f"secrets: {counts.runs} runs, {names} secrets, {len(PLACES)} places, {sum(counts.searched.values()):,} texts, "
        f"{sum(counts.bytes.values()):,} bytes, {sum(counts.planted.values())} of {len(PLACES)} planted were found, "
        f"{sum(counts.hits.values())} secrets found, {len(counts.failures)} failures, {seconds:.0f} s"
    )
    return 1 if counts.failures else 0


def figures(counts: Counts, seconds: float) -> Figures:
    """Make the figures, with the texts of each place."""
    return Figures(
        tried={"runs": counts.runs, "texts": sum(counts.searched.values())},
        happened={**counts.searched, "planted and found": sum(counts.planted.values())},
        violations={"secrets found": sum(counts.hits.values()), "failures": len(counts.failures)},
        seconds=seconds,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
