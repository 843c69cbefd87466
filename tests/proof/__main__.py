"""Plays histories of a seed, or of a file, and prints one line of counts: python -m tests.proof --help."""

import argparse
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path

from tests.integration.releases import NEWEST, OLDER, OLDEST
from tests.proof.draw import draw
from tests.proof.draw_faults import FAULTS
from tests.proof.figures import Figures, this_run
from tests.proof.history import History
from tests.proof.load import as_text
from tests.proof.play.cluster import Cluster3, cluster
from tests.proof.play.player import Outcome, play
from tests.proof.shrink import shrunk
from tests.proof.termination import exit_on_termination

_SHOWN = 20
NOT_PLAYED = "histories not played"


def main() -> int:
    """Play, print, and return 1 if the judge found anything."""
    options = _parser().parse_args()
    folder = options.folder or Path(tempfile.mkdtemp(prefix="lagoon-proof-"))
    goes_on = options.go_on and options.json and options.json.exists()
    figures = Figures.read(options.json) if goes_on else Figures()
    histories = (
        _replayed(options.replay)
        if options.replay
        else _drawn(options, figures.tried.get("histories", 0) + figures.tried.get(NOT_PLAYED, 0))
    )
    started, run = time.monotonic(), this_run()
    exit_on_termination()
    with ExitStack() as stack:
        on = stack.enter_context(cluster(folder, options.release))
        for history in histories:
            if options.minutes and time.monotonic() - started > options.minutes * 60:
                break
            try:
                outcome = _played(on, history)
            except Exception:  # noqa: BLE001  of the machine, not of the product: the next history gets a cluster that is whole
                traceback.print_exc()
                figures += Figures(tried={NOT_PLAYED: 1}, runs=(run,))
                figures.write(options.json)
                stack.close()
                on = stack.enter_context(cluster(folder, options.release))
                continue
            figures += _figures(outcome, run)
            figures.write(options.json)  # a run that is ended keeps what it has played
            if not outcome.verdict.is_good and options.shrink:
                _shrink(on, history)
            if outcome.verdict.is_good and not options.keep:
                shutil.rmtree(folder / history.name, ignore_errors=True)
    print(_line(figures))
    return 1 if figures.tried.get(NOT_PLAYED) or any(figures.violations.values()) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m tests.proof", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--histories", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="number of the first history (default 0)")
    parser.add_argument(
        "--go-on", action="store_true", help="begin after the histories in the file of --json, and add to its figures"
    )
    parser.add_argument(
        "--with-deaths", action="store_true", help="in each round a worker, a broker and drivers die, too"
    )
    parser.add_argument("--only", choices=sorted(FAULTS), help="faults of this kind alone")
    parser.add_argument(
        "--release",
        choices=(NEWEST, OLDER, OLDEST),
        default=NEWEST,
        help=f"of Kafka (default {NEWEST}; {OLDEST} on ZooKeeper)",
    )
    parser.add_argument("--replay", type=Path, nargs="+", help="files of histories instead of a seed")
    parser.add_argument(
        "--shrink", action="store_true", help="leave steps out of a history that fails, and play it again"
    )
    parser.add_argument("--minutes", type=int, help="begin no history after so many minutes")
    parser.add_argument("--folder", type=Path, help="an empty folder for brokers and warehouses")
    parser.add_argument("--json", type=Path, help="write the figures into this file")
    parser.add_argument("--keep", action="store_true", help="keep the warehouses of histories that are good, too")
    return parser


def _drawn(options: argparse.Namespace, played: int) -> Iterator[History]:
    for number in range(options.first + played, options.first + options.histories):
        yield draw(options.seed, number, options.only, with_deaths=options.with_deaths)


def _replayed(paths: Iterable[Path]) -> Iterator[History]:
    for path in paths:
        yield History.parse(path.read_text("utf-8"))


def _played(on: Cluster3, history: History) -> Outcome:
    """Play a history, and leave its text, evidence and outputs in its folder."""
    place = on.folder / history.name
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    (place / "history.txt").write_text(str(history), "utf-8")
    outcome = play(on, history)
    for number, run in enumerate(outcome.evidence.runs):
        (place / f"{number:02}-{run.job}-exit-{run.exit_code}.log").write_text(run.output, "utf-8")
    violations = {kind: count for kind, count in outcome.verdict.counts().items() if count}
    print(
        f"{history.name}: {outcome.acknowledged:,} records, {sum(outcome.happened.values())} faults, {outcome.seconds:.0f} s: "
        + (", ".join(f"{count} {kind}" for kind, count in violations.items()) or "good"),
        flush=True,
    )
    if violations:
        findings = [f"{finding.kind} {finding.count}: {finding.text}" for finding in outcome.verdict.findings]
        (place / "findings.txt").write_text("\n".join(findings) + "\n", "utf-8")
        (place / "acknowledged.txt").write_text(as_text(outcome.evidence.committed, outcome.names), "utf-8")
        print("\n".join(f"  {line}" for line in findings[:_SHOWN]))
        release = "" if on.kafka.version == NEWEST else f"--release {on.kafka.version} "
        print(f"  python -m tests.proof {release}--replay {place / 'history.txt'}", flush=True)
    return outcome


def _shrink(on: Cluster3, history: History) -> None:
    def fails(shorter: History) -> bool:
        return not _played(on, shorter).verdict.is_good

    shortest = shrunk(History(f"{history.name}s", history.steps), fails)
    path = on.folder / f"{history.name}-shrunk.txt"
    path.write_text(str(shortest), "utf-8")
    print(f"  {len(shortest.steps)} of {len(history.steps)} steps are left: {path}", flush=True)


def _figures(outcome: Outcome, run: str) -> Figures:
    """Return the figures of one history: what was played, deaths by process, the faults that happened, and the judge's counts."""
    return Figures(
        tried={
            "histories": 1,
            "acknowledged records": outcome.acknowledged,
            "removed before they were read, and reported": outcome.verdict.reported,
        },
        happened={**_deaths(outcome.happened), **outcome.happened},
        violations=outcome.verdict.counts(),
        seconds=outcome.seconds,
        longest_recovery_s=outcome.recovery_s,
        runs=(run,),
    )


def _line(figures: Figures) -> str:
    """Make the line of counts."""
    return "; ".join(
        ", ".join(f"{count:,} {name}" for name, count in counts.items() if count or counts is figures.violations)
        for counts in (figures.tried, figures.happened, figures.violations)
    )


def _deaths(happened: Counter[str]) -> dict[str, int]:
    drivers = workers = 0
    for name, count in happened.items():
        if name.endswith(" killed"):
            is_worker = name.split()[1] in ("worker", "executor")
            drivers, workers = drivers + count * (not is_worker), workers + count * is_worker
    brokers = sum(happened[fault] for fault in ("broker kill", "controller kill", "unclean elections", "disk full"))
    return {"deaths of drivers": drivers, "deaths of workers and executors": workers, "deaths of brokers": brokers}


if __name__ == "__main__":
    sys.exit(main())
