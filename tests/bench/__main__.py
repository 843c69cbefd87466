"""Runs the benchmarks that are named, or all of them: prints a table, and writes every sample to bench-results/."""

import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.bench import (
    compare,
    connect,
    cost,
    decode,
    encode,
    history,
    job,
    lag,
    large,
    metadata,
    partitions,
    planning,
    produce,
    records,
    restore,
    small_ingest,
    small_restore,
    start,
    verbs,
)
from tests.bench.measure import Findings
from tests.bench.report import machine, markdown, write_json

BENCHMARKS: dict[str, Callable[[], Findings]] = {
    "metadata": metadata.run,
    "lag": lag.run,
    "large": large.run,
    "planning": planning.run,
    "job": job.run,
    "decode": decode.run,
    "encode": encode.run,
    "records": records.run,
    "small_ingest": small_ingest.run,
    "small_restore": small_restore.run,
    "partitions": partitions.run,
    "produce": produce.run,
    "restore": restore.run,
    "compare": compare.run,
    "connect": connect.run,
    "verbs": verbs.run,
    "start": start.run,
    "history": history.run,
    "cost": cost.run,
}
_RESULTS = Path(__file__).resolve().parents[2] / "bench-results"


def main(names: Sequence[str]) -> int:
    """Run the named benchmarks; return 2 for an unknown name."""
    unknown = sorted(set(names) - BENCHMARKS.keys())
    if unknown:
        print(f"no such benchmark: {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}", file=sys.stderr)
        return 2
    findings, load = {}, {}
    for name in names or BENCHMARKS:
        load[name] = os.getloadavg()[0]
        began = time.perf_counter()
        findings[name] = BENCHMARKS[name]()
        seconds = time.perf_counter() - began
        print(f"{name}: {seconds:.0f} s, load average {load[name]:.1f} when it began", file=sys.stderr, flush=True)
    path = _RESULTS / time.strftime("%Y%m%dT%H%M%S.json")
    write_json(path, findings, load)
    print(markdown(findings))
    print(f"\n{machine()}; load average {min(load.values()):.1f} to {max(load.values()):.1f}.")
    print(f"Every sample is in {path.relative_to(_RESULTS.parent)}.", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
