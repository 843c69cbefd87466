"""Searches for inputs of one target by atheris, in a process of its own: `python -m tests.proof.fuzz.worker` is started by `__main__`.

It goes on after a fault, so that one fault hides no other; the input of each place is kept. What ends the process (a crash, a loop without
an end) is left to libFuzzer, which keeps the input, too; `last-input` is there where its own handler hangs.
"""

import json
import os
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

import atheris

from tests.proof.fuzz.limits import Trial, stretched, tried
from tests.proof.fuzz.table import TARGETS

ARTIFACTS = "ended-"  # what the names of libFuzzer's own files begin with
_STRETCHED_EVERY = 50
_WRITTEN_EVERY_S = 1.0
_TIMEOUT_S, _MOST_MEMORY_MB = 60, 4096
# Their functions are compiled to machine code, from bytecode as Python made it.
_KERNELS = [
    f"kafka_lagoon.records.{name}"
    for name in ("compiler", "fields", "decode_kernel", "digest_kernel", "encode_kernel", "walk_kernel")
]


@dataclass(kw_only=True)
class Figures:
    """The results of a search so far; `findings` has the fault of each kept input by the name of its file."""

    inputs: int = 0
    seconds: float = 0.0
    longest_ms: float = 0.0
    growth_mib: float = 0.0
    findings: dict[str, str] = field(default_factory=dict)


class Search:
    """Tries inputs until there were enough, or for long enough, and keeps figures and findings in `folder`."""

    def __init__(self, name: str, folder: Path, runs: int, seconds: float) -> None:
        self.target = TARGETS[name]
        self.run, self.seeds = self.target.load()
        self.folder, self.runs, self.seconds = folder, runs, seconds
        self.figures, self._places = Figures(), set[str]()
        self._started = self._written = time.monotonic()
        self._last = (folder / "last-input").open("wb", buffering=0)

    def __call__(self, data: bytes) -> None:
        """Try an input, and now and then a longer one that is made of it."""
        self._try(data)
        if self.figures.inputs % _STRETCHED_EVERY == 0:
            self._try(stretched(data, self.target.longest))
        now = time.monotonic()
        is_over = self.figures.inputs >= self.runs or now - self._started >= self.seconds
        if is_over or now - self._written >= _WRITTEN_EVERY_S:
            self._written = now
            self._write(now)
        if is_over:
            os._exit(0)  # libFuzzer would write its statistics

    def _try(self, data: bytes) -> None:
        os.pwrite(self._last.fileno(), data, 0)  # of a process that hangs or is killed nothing else remains
        os.ftruncate(self._last.fileno(), len(data))
        trial = tried(self.run, data)
        figures = self.figures
        figures.inputs += 1
        figures.longest_ms = max(figures.longest_ms, round(trial.seconds * 1000, 1))
        figures.growth_mib = max(figures.growth_mib, round(trial.growth / 2**20, 1))
        if trial.fault and trial.place not in self._places:
            self._keep(data, trial)

    def _keep(self, data: bytes, trial: Trial) -> None:
        self._places.add(trial.place)
        name = f"finding-{len(self._places):02}"
        (self.folder / name).write_bytes(data)
        self.figures.findings[name] = f"{trial.place}\n{trial.fault}"

    def _write(self, now: float) -> None:
        self.figures.seconds = round(now - self._started, 1)
        path = self.folder / "figures.json"
        path.with_suffix(".new").write_text(json.dumps(asdict(self.figures)))
        path.with_suffix(".new").replace(path)


def main(name: str, folder: Path, runs: int, seconds: float) -> None:
    """Search; the inputs that reach something new are kept in `folder/corpus`."""
    with atheris.instrument_imports(include=["kafka_lagoon", "tests.reference"], exclude=_KERNELS):
        search = Search(name, folder, runs, seconds)
    corpus = folder / "corpus"
    corpus.mkdir(exist_ok=True)
    for number, seed in enumerate(search.seeds()):
        (corpus / f"seed-{number:03}").write_bytes(seed)
    kept = search.target.corpus
    options = [
        f"-max_len={search.target.longest}",
        f"-timeout={_TIMEOUT_S}",
        # Slow by the clock is what waits for a busy machine; `tried` has the limit of processor time.
        f"-report_slow_units={_TIMEOUT_S}",
        f"-rss_limit_mb={_MOST_MEMORY_MB}",
        "-print_final_stats=0",
        "-verbosity=0",
    ]
    folders = [str(corpus), *([str(kept)] if kept.is_dir() else [])]
    atheris.Setup([sys.argv[0], *options, f"-artifact_prefix={folder}/{ARTIFACTS}", *folders], search)
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]))
