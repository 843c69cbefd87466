"""Runs jobs for minutes or hours on a cluster with a steady load and faults, and prints one line of counts: see README.md."""

import argparse
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.proof.figures import Figures
from tests.proof.play.cluster import cluster
from tests.proof.soak.soak import Soak
from tests.proof.termination import exit_on_termination


def main() -> int:
    """Play a soak, print, and return 1 if anything was wrong."""
    options = _parser().parse_args()
    folder = options.folder or Path(tempfile.mkdtemp(prefix="lagoon-soak-"))
    started = time.monotonic()
    exit_on_termination()
    with cluster(folder) as on:
        soak = Soak(on, options.seed, options.pace)
        soak.run(options.minutes * 60)
    figures = figures_of(soak, options.minutes, time.monotonic() - started)
    figures.write(options.json)
    is_good = not any(figures.violations.values())
    if is_good and not options.folder:
        shutil.rmtree(folder)
    print(line(figures))
    return 0 if is_good else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m tests.proof.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=120, help="minutes of load and faults (default 120)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--pace",
        type=float,
        default=1,
        help="run jobs so many times as often as once a minute, two and ten (default 1)",
    )
    parser.add_argument(
        "--folder", type=Path, help="an empty folder for brokers, warehouse and outputs, which are kept"
    )
    parser.add_argument("--json", type=Path, help="write the figures into this file")
    return parser


def figures_of(soak: Soak, minutes: float, seconds: float) -> Figures:
    """Make the figures of a soak that has ended."""
    runs = Counter(f"runs of {done.ending.job}" for done in soak.runs.done)
    return Figures(
        tried={
            "minutes": round(minutes),
            "acknowledged records": soak.player.world.known.acknowledged,
            "records read by groups": soak.read,
            **dict(sorted(runs.items())),
            "rows of lag": soak.lag_rows,
            "figures that level off": sum(one.is_level for one in soak.compared),
        },
        happened={name: count for name, count in sorted(soak.player.world.happened.items()) if count},
        violations=soak.findings.counts(),
        seconds=seconds,
        longest_recovery_s=soak.player.recovery_s,
    )


def line(figures: Figures) -> str:
    """Make the line of counts: what was tried, what happened, and violations by kind."""
    parts = (figures.tried, figures.happened, figures.violations)
    return "; ".join(", ".join(f"{count:,} {name}" for name, count in part.items()) for part in parts)


if __name__ == "__main__":
    sys.exit(main())
