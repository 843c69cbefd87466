"""Compares the product with programs that share no code with it: see README.md."""

import argparse
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tests.proof.differential.batches import compare_batches
from tests.proof.differential.histories import compare_histories
from tests.proof.differential.lag import compare_lag
from tests.proof.differential.messages import compare_messages
from tests.proof.differential.report import Piece, Report
from tests.proof.differential.restores import compare_restores
from tests.proof.figures import Figures

# The numbers of cases are those of a night: 200 messages of each API, version and side, a million batches,
# 100,000 transactions, 10,000 samples of lag, 40 restored topics.
PIECES = {
    "messages": Piece(run=compare_messages, cases=200),
    "batches": Piece(run=compare_batches, cases=5_000),
    "histories": Piece(run=compare_histories, cases=200),
    "lag": Piece(run=compare_lag, cases=40),
    "restores": Piece(run=compare_restores, cases=40),
}
_TERMINATED = 128 + signal.SIGTERM


def main(arguments: Sequence[str]) -> int:
    """Run the pieces; return 1 if anything differs, or nothing was compared."""
    options = _parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(_TERMINATED))  # so that no broker or JVM is left
    report, started = Report(options.seed), time.monotonic()
    try:
        for name in options.only or PIECES:
            piece, began = PIECES[name], time.monotonic()
            piece.run(piece.cases_at(options.scale, options.seed, options.first, options.cases), report)
            print(f"{name}: {time.monotonic() - began:.0f} s", flush=True)
    finally:  # a run that is ended early says what it has compared
        seconds = time.monotonic() - started
        for name, count in sorted(report.happened.items()):
            print(f"{count:12,} {name}")
        print(f"differential: {report.line()}, seed {options.seed}, {seconds:.0f} s", flush=True)
    figures_of(report, seconds).write(options.json)
    return 1 if report.differences or not report.compared or not all(report.compared.values()) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.proof.differential", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="seed of what is drawn (default 1)")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the cases, 1 (default) is a night")
    parser.add_argument("--only", action="append", choices=PIECES, metavar="PIECE", help=f"of {', '.join(PIECES)}")
    parser.add_argument("--first", type=int, default=0, metavar="N", help="number of the first case (default 0)")
    parser.add_argument("--cases", type=int, metavar="N", help="number of cases of each piece, instead of --scale")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to a file")
    return parser


def figures_of(report: Report, seconds: float) -> Figures:
    """Make the figures of a run."""
    differences = {"differences": len(report.differences)}
    return Figures(tried=report.compared, happened=report.happened, violations=differences, seconds=seconds)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
