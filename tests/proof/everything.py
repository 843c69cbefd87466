"""Runs the parts of the proof, two side by side, and writes the figures of each into docs/proof.md (`page.py`).

python -m tests.proof.everything [--long] [--seed N] [--part NAME]... [--folder DIR] [--minutes N]

Without --long (`make proof`) the seed is fixed, and a part of the tests and of the points to die at is tried; with it (`make proof-long`)
the seed is new, and all of them are. Histories, points, fuzzing, differential and races with --long go on where the last run of their seed ended: the
folder `played` has its figures. Each part is a command of its own whose output is kept in the folder. Exit 1 if a part failed.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tests.proof.figures import Figures, this_run
from tests.proof.page import Entry, entry, with_entries

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "proof.md"
PLAYED = Path(__file__).parent / "played"
SIDE_BY_SIDE = 2
_LONGEST = ("tests", "points to die at")  # of `make proof`; they begin first, so that no core is idle at the end
GOES_ON = "--go-on"
SHARES = 4  # `make proof` runs one of so many parts of the tests, by its seed: all take two hours
SECTIONS = {False: "make proof", True: "make proof-long"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part: a module with arguments for either length, or tests by marker where there is no module.

    `headline` names the figures of what was tried that its row has; all of them if it is empty.
    """

    name: str
    headline: Sequence[str] = ()
    module: str = ""
    arguments: Sequence[str] = ()
    long_arguments: Sequence[str] = ()
    marker: str = ""
    is_seeded: bool = False

    def command(self, folder: Path, seed: int, *, is_long: bool, minutes: int | None = None) -> list[str]:
        """The command that runs the part, and writes its figures; what goes on later may end after some minutes."""
        if self.marker:
            share = [] if is_long else ["--share", f"{seed}/{SHARES}"]
            workers = ["--numprocesses=2", "--dist=loadfile", "--no-loadscope-reorder"]
            tests = ["--ignore=tests/bench", "--ignore=tests/proof", "-m", self.marker, *share, "tests"]
            return [sys.executable, "-m", "pytest", *workers, *tests, "--junitxml", str(self.file(folder, "xml"))]
        arguments = self.long_arguments if is_long else self.arguments
        seeds = ["--seed", str(seed)] if self.is_seeded else []
        limit = ["--minutes", str(minutes)] if minutes and GOES_ON in arguments else []
        figures = self.figures_file(folder, seed, is_long=is_long)
        return [sys.executable, "-m", self.module, *arguments, *seeds, *limit, "--json", str(figures)]

    @property
    def stem(self) -> str:
        """The beginning of the names of its files."""
        return self.name.replace(" ", "-")

    def file(self, folder: Path, ending: str) -> Path:
        """A file of the part in the folder of a run."""
        return folder / f"{self.stem}.{ending}"

    def figures_file(self, folder: Path, seed: int, *, is_long: bool) -> Path:
        """The file of its figures; a part that goes on in a later run has one in the repository for each seed."""
        if is_long and GOES_ON in self.long_arguments:
            return PLAYED / f"{self.stem}-{seed}.json"
        return self.file(folder, "xml" if self.marker else "json")

    def figures(self, folder: Path, seed: int, *, is_long: bool) -> Figures | None:
        """Its figures; None if it ended without any."""
        path = self.figures_file(folder, seed, is_long=is_long)
        if not path.exists():
            return None
        return _of_tests(path) if self.marker else Figures.read(path)


SCENARIOS = ("--replay", *(str(path) for path in sorted((Path(__file__).parent / "scenarios").iterdir())))
PARTS = (
    Part(name="tests", marker="proof or examples or hypothesis"),
    Part(
        name="histories",
        headline=("histories", "acknowledged records"),
        module="tests.proof",
        arguments=("--histories", "8"),
        long_arguments=(GOES_ON, "--histories", "140"),
        is_seeded=True,
    ),
    Part(
        name="deaths",
        headline=("histories", "acknowledged records"),
        module="tests.proof",
        arguments=("--with-deaths", "--histories", "2"),
        long_arguments=(GOES_ON, "--with-deaths", "--histories", "100"),
        is_seeded=True,
    ),
    Part(
        name="scenarios",
        headline=("histories", "acknowledged records"),
        module="tests.proof",
        arguments=SCENARIOS,
        long_arguments=SCENARIOS,
    ),
    Part(
        name="fuzzing",
        module="tests.proof.fuzz",
        arguments=("--seconds", "20"),
        long_arguments=(GOES_ON, "--runs", "1000000", "--seconds", "600"),
    ),
    Part(name="points to die at", module="tests.proof.points", arguments=("--every", "14"), long_arguments=(GOES_ON,)),
    Part(name="altered answers", module="tests.proof.answers", arguments=("--step", "61")),
    Part(
        name="differential",
        headline=("messages", "batches of Java", "transactions", "samples of lag"),
        module="tests.proof.differential",
        arguments=("--scale", "0.025"),
        long_arguments=(GOES_ON, "--scale", "1"),
        is_seeded=True,
    ),
    Part(
        name="races",
        module="tests.proof.races",
        arguments=("--processes", "4", "--rounds", "5"),
        long_arguments=(GOES_ON, "--store", "folder", "--store", "s3", "--store", "gcs"),
    ),
    Part(name="secrets", module="tests.proof.secrets"),
    Part(
        name="soak",
        headline=("minutes", "acknowledged records", "rows of lag"),
        module="tests.proof.soak",
        arguments=("--minutes", "4", "--pace", "4"),
        long_arguments=("--minutes", "120"),
        is_seeded=True,
    ),
)
HEADLINES = {part.name: part.headline for part in PARTS}


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """A part that has ended; `figures` is None if it broke off."""

    part: Part
    exit_code: int
    seconds: float
    figures: Figures | None


def main() -> int:
    """Run the parts, write the page, and return 1 if one has failed."""
    parser = argparse.ArgumentParser("python -m tests.proof.everything", description=__doc__)
    parser.add_argument("--long", action="store_true", help="hours instead of an hour, and a new seed")
    parser.add_argument("--seed", type=int, help="seed of what is drawn (default 1; with --long the day)")
    parser.add_argument("--part", action="append", choices=[part.name for part in PARTS], help="only this part")
    parser.add_argument("--folder", type=Path, help="a folder for outputs and figures")
    parser.add_argument("--minutes", type=int, help="with --long: begin no history or case after so many minutes")
    options = parser.parse_args()
    seed = options.seed or (int(f"{datetime.now(UTC):%Y%m%d}") if options.long else 1)
    folder = options.folder or Path(tempfile.mkdtemp(prefix="lagoon-proof-"))
    folder.mkdir(parents=True, exist_ok=True)
    parts = [part for part in PARTS if not options.part or part.name in options.part]
    started = time.monotonic()
    results: list[Result] = []
    with ThreadPoolExecutor(SIDE_BY_SIDE) as lanes:
        in_order = sorted(parts, key=lambda part: part.name not in _LONGEST)
        running = [
            lanes.submit(run, part, folder, seed, is_long=options.long, minutes=options.minutes) for part in in_order
        ]
        for future in as_completed(running):  # a run that is ended keeps the rows of the parts before
            result = future.result()
            results.append(result)
            entries = {result.part.name: entry_of(result, seed)}
            PAGE.write_text(with_entries(PAGE.read_text("utf-8"), SECTIONS[options.long], entries, HEADLINES), "utf-8")
    minutes = (time.monotonic() - started) / 60
    failed = [result.part.name for result in results if result.exit_code]
    print(f"{len(results)} parts in {minutes:.0f} minutes; failed: {', '.join(failed) or 'none'}; outputs in {folder}")
    return 1 if failed else 0


def run(part: Part, folder: Path, seed: int, *, is_long: bool, minutes: int | None = None) -> Result:
    """Run a part, with its output in a file."""
    started = time.monotonic()
    print(f"{part.name}: begins", flush=True)
    environment = os.environ | ({"TEST_EXAMPLES": "all"} if part.marker else {})
    with part.file(folder, "log").open("wb") as log:
        command = part.command(folder, seed, is_long=is_long, minutes=minutes)
        code = subprocess.run(
            command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=False
        ).returncode
    seconds = time.monotonic() - started
    print(f"{part.name}: exit {code} after {seconds / 60:.0f} minutes", flush=True)
    return Result(part=part, exit_code=code, seconds=seconds, figures=part.figures(folder, seed, is_long=is_long))


def _of_tests(path: Path) -> Figures:
    """The figures of tests, from pytest's report."""
    suite = next(ET.parse(path).getroot().iter("testsuite"))  # noqa: S314  pytest wrote it
    counts = {name: int(suite.get(name, "0")) for name in ("tests", "failures", "errors", "skipped")}
    return Figures(
        tried={"tests": counts["tests"]},
        happened={"skipped": counts["skipped"]} if counts["skipped"] else {},
        violations={"failures": counts["failures"], "errors": counts["errors"]},
        seconds=float(suite.get("time", "0")),
    )


def entry_of(result: Result, seed: int) -> Entry:
    """A part on the page; of several runs it has the sums."""
    figures = result.figures or Figures(violations={"did not end": 1})
    runs = figures.runs or (this_run(),)
    seconds = figures.seconds if figures.runs else result.seconds
    headline = result.part.headline
    return entry(result.part.name, figures, headline, minutes=seconds / 60, runs=f"{'; '.join(runs)}, seed {seed}")


if __name__ == "__main__":
    sys.exit(main())
