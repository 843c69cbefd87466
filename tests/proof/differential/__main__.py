"""Compares the product with programs that share no code with it: see README.md."""

import argparse
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
from tests.proof.figures import Figures, this_run
from tests.proof.termination import exit_on_termination

# The numbers of cases are those of a night: 200 messages of each API, version and side, a million batches,
# 100,000 transactions, 10,000 samples of lag, 40 restored topics.
PIECES = {
    "messages": Piece(run=compare_messages, cases=200, step=200),
    "batches": Piece(run=compare_batches, cases=5_000, step=500),
    "histories": Piece(run=compare_histories, cases=200, step=50),
    "lag": Piece(run=compare_lag, cases=40, step=10),
    "restores": Piece(run=compare_restores, cases=40, step=20),
}
_CASES = "cases of {}"


def main(arguments: Sequence[str]) -> int:
    """Run the pieces; return 1 if anything differs, or nothing was compared."""
    options = _parser().parse_args(arguments)
    exit_on_termination()
    goes_on = options.go_on and options.json and options.json.exists()
    figures = before = Figures.read(options.json) if goes_on else Figures()
    report, started = Report(options.seed), time.monotonic()
    try:
        for name in options.only or PIECES:
            piece, began = PIECES[name], time.monotonic()
            cases = piece.cases_at(options.scale, options.seed, options.first, options.cases)
            for some in cases.after(before.tried.get(_CASES.format(name), 0)).in_steps(piece.step):
                if options.minutes and time.monotonic() - started > options.minutes * 60:
                    break
                piece.run(some, report)
                report.cases[name] += len(some.numbers)
                figures = before + figures_of(report, time.monotonic() - started)
                figures.write(options.json)  # a run that is ended keeps these cases
            print(f"{name}: {time.monotonic() - began:.0f} s", flush=True)
    finally:  # a run that is ended early says what it has compared
        seconds = time.monotonic() - started
        for name, count in sorted(report.happened.items()):
            print(f"{count:12,} {name}")
        print(f"differential: {report.line()}, seed {options.seed}, {seconds:.0f} s", flush=True)
    return 0 if _is_good(figures, report) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.proof.differential", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="seed of what is drawn (default 1)")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the cases, 1 (default) is a night")
    parser.add_argument("--only", action="append", choices=PIECES, metavar="PIECE", help=f"of {', '.join(PIECES)}")
    parser.add_argument("--first", type=int, default=0, metavar="N", help="number of the first case (default 0)")
    parser.add_argument("--cases", type=int, metavar="N", help="number of cases of each piece, instead of --scale")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to a file")
    parser.add_argument(
        "--go-on", action="store_true", help="begin after the cases in that file, and add to its figures"
    )
    parser.add_argument("--minutes", type=int, help="begin no more cases after so many minutes")
    return parser


def figures_of(report: Report, seconds: float) -> Figures:
    """Make the figures of a run."""
    cases = {_CASES.format(name): count for name, count in report.cases.items()}
    return Figures(
        tried=cases | report.compared,
        happened=report.happened,
        violations={"differences": len(report.differences)},
        seconds=seconds,
        runs=(this_run(),),
    )


def _is_good(figures: Figures, report: Report) -> bool:
    """True if each piece has compared something, in this run or, if nothing was left for it, before, and nothing differs."""
    has_compared = bool(report.compared) and all(report.compared.values())
    return bool(figures.tried) and (has_compared or not report.cases) and not any(figures.violations.values())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
