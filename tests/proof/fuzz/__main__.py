"""Searches by coverage for bytes and text that our code does not refuse as it declares, or that cost too much time or memory.

python -m tests.proof.fuzz [--target NAME]... [--runs N] [--seconds S] [--json FILE [--go-on]] [--folder FOLDER] [--list]
python -m tests.proof.fuzz --target NAME --input FILE
python -m tests.proof.fuzz [--target NAME]... --folder FOLDER --keep

Each target (see `table.py`) runs in a process of its own, one after the other, until N inputs or S seconds. Prints a line for each finding,
with the file that repeats it, and one line of counts; exit 1 if anything was found. The figures of each target are in the folder, in
figures.json; those of all targets together in FILE, after each target, so that a run with --go-on begins with the next one.
"""

import argparse
import importlib.util
import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tests.proof.figures import Figures, this_run
from tests.proof.fuzz.corpus import keep
from tests.proof.fuzz.limits import tried
from tests.proof.fuzz.table import TARGETS, Target

_ENOUGH = 1 << 62
_SECONDS = 60.0
_MISSING = "atheris is not installed: .venv/bin/pip install -e '.[fuzz]'"
_NEEDS_IT = 2
_ARTIFACTS = "ended-*"
# To start, and for the last input: libFuzzer ends a slow one in a signal handler, which may hang itself.
_SPARE_S = 300.0


@dataclass
class Outcome:
    """The figures of a target's search, and its findings."""

    figures: dict[str, Any]
    findings: list[str] = field(default_factory=list)


def searched(target: Target, folder: Path, runs: int, seconds: float) -> Outcome:
    """Search in a process of its own; a fault that shows only there, slowed down by what is counted, is none."""
    folder.mkdir(parents=True, exist_ok=True)
    figures_file = folder / "figures.json"
    for old in (figures_file, *folder.glob(_ARTIFACTS), *folder.glob("finding-*")):
        old.unlink(missing_ok=True)
    with (folder / "output").open("w") as output:
        command = [sys.executable, "-m", "tests.proof.fuzz.worker", target.name, str(folder), str(runs), str(seconds)]
        limit = None if seconds == _ENOUGH else seconds + _SPARE_S
        try:
            code = subprocess.run(command, check=False, stdout=output, stderr=output, timeout=limit).returncode
        except subprocess.TimeoutExpired:
            code = -signal.SIGKILL
    figures = json.loads(figures_file.read_text()) if figures_file.is_file() else {"inputs": 0, "findings": {}}
    outcome = Outcome(figures | {"corpus_files": sum(1 for _ in target.corpus.glob("*"))})
    places = {name: text.partition("\n")[0] for name, text in figures.pop("findings").items()}
    for name, place in places.items():
        if place not in ("time", "memory") or _repeats(target, folder / name):
            outcome.findings.append(f"{target.name}: {place}: {folder / name}")
    ended = list(folder.glob(_ARTIFACTS))
    if code or ended:
        kept = next(path for path in (*ended, folder / "last-input", folder / "output") if path.is_file())
        outcome.findings.append(f"{target.name}: the process ended with {code}: {kept}")
    outcome.figures = outcome.figures | {"findings": len(outcome.findings)}
    return outcome


def figures_of(outcome: Outcome, seconds: float) -> Figures:
    """The figures of one target."""
    return Figures(
        tried={"inputs": outcome.figures["inputs"], "targets": 1},
        happened={
            "ms at most": round(outcome.figures.get("longest_ms", 0)),
            "MiB at most": round(outcome.figures.get("growth_mib", 0)),
        },
        violations={"findings": len(outcome.findings)},
        seconds=round(seconds, 1),
        runs=(this_run(),),
    )


def together(before: Figures, target: Figures) -> Figures:
    """The figures of the targets before and of one more: sums, and the largest of what is "at most"."""
    largest = {name: max(count, before.happened.get(name, 0)) for name, count in target.happened.items()}
    return replace(before + target, happened=largest)


def _repeats(target: Target, path: Path) -> bool:
    command = [sys.executable, "-m", "tests.proof.fuzz", "--target", target.name, "--input", str(path)]
    return subprocess.run(command, check=False, capture_output=True).returncode != 0


def shown(target: Target, path: Path) -> int:
    """Try one input without atheris; print its measures and fault."""
    run, _ = target.load()
    trial = tried(run, path.read_bytes())
    print(trial.fault or "no fault")
    print(f"{target.name}: {trial.seconds:.3f} s of processor time, {trial.growth >> 20} MiB")
    return 1 if trial.fault else 0


def listed() -> Iterator[str]:
    """A line for each target."""
    width = max(map(len, TARGETS))
    return (f"{target.name:{width}}  {target.about}" for target in TARGETS.values())


def main(arguments: Sequence[str]) -> int:
    """Run as the module's docstring describes; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.proof.fuzz", description=__doc__)
    parser.add_argument(
        "--target", action="append", choices=list(TARGETS), help="a target; all by default", metavar="NAME"
    )
    parser.add_argument("--runs", type=int, help="inputs to try of each target")
    parser.add_argument("--seconds", type=float, help=f"time for each target; without --runs {_SECONDS:.0f} by default")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where to write the figures of all targets")
    parser.add_argument(
        "--go-on", action="store_true", help="begin after the targets in the file of --json, and add to its figures"
    )
    parser.add_argument("--minutes", type=int, help="begin no target after so many minutes")
    parser.add_argument("--folder", type=Path, help="where findings and reached inputs are kept, for another search")
    parser.add_argument("--keep", action="store_true", help="add inputs of the folder that reach more to the corpus")
    parser.add_argument("--input", type=Path, metavar="FILE", help="try this input of one target, without atheris")
    parser.add_argument("--list", action="store_true", help="only list the targets")
    options = parser.parse_args(arguments)
    targets = [TARGETS[name] for name in options.target or TARGETS]
    if options.list:
        print(*listed(), sep="\n")
        return 0
    if options.input:
        return shown(targets[0], options.input)
    folder = options.folder or Path(tempfile.mkdtemp(prefix="fuzz-"))
    if options.keep:
        print(
            *(f"{target.name}: {keep(target, folder / target.name / 'corpus')} inputs" for target in targets), sep="\n"
        )
        return 0
    if not importlib.util.find_spec("atheris"):
        print(_MISSING, file=sys.stderr)
        return _NEEDS_IT
    folder.mkdir(parents=True, exist_ok=True)
    seconds = options.seconds or (_ENOUGH if options.runs else _SECONDS)
    goes_on = options.go_on and options.json and options.json.exists()
    total = Figures.read(options.json) if goes_on else Figures()
    outcomes, started = {}, time.monotonic()
    for target in targets[total.tried.get("targets", 0) :]:
        began = time.monotonic()
        if options.minutes and began - started > options.minutes * 60:
            break
        outcome = outcomes[target.name] = searched(target, folder / target.name, options.runs or _ENOUGH, seconds)
        print(*(f"FOUND {finding}" for finding in outcome.findings), sep="\n", end="\n" if outcome.findings else "")
        print(f"{target.name}: {outcome.figures}", flush=True)
        total = together(total, figures_of(outcome, time.monotonic() - began))
        total.write(options.json)  # a run that is ended keeps these targets
    (folder / "figures.json").write_text(json.dumps({name: one.figures for name, one in outcomes.items()}, indent=1))
    inputs, searches, findings = total.tried["inputs"], total.tried["targets"], total.violations["findings"]
    print(f"fuzz: {inputs:,} inputs, {searches} targets, {findings} findings; figures in {folder}")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
