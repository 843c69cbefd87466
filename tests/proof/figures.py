"""The figures of one part of the proof, as a file that `tests.proof.everything` puts together."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Numbers by name: of what was tried, of the faults that happened, and of violations.

    `longest_recovery_s` is the longest time that the jobs needed to end with exit 0 after a fault was over, if that was measured. `runs` are
    the runs that they were added up from, by `this_run`; empty if they are of one.
    """

    tried: Mapping[str, int] = field(default_factory=dict)
    happened: Mapping[str, int] = field(default_factory=dict)
    violations: Mapping[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    longest_recovery_s: float | None = None
    runs: Sequence[str] = ()

    def __add__(self, other: "Figures") -> "Figures":
        """Add what another run of the part has tried."""
        recoveries = [one for one in (self.longest_recovery_s, other.longest_recovery_s) if one is not None]
        return Figures(
            tried=_sums(self.tried, other.tried),
            happened=_sums(self.happened, other.happened),
            violations=_sums(self.violations, other.violations),
            seconds=self.seconds + other.seconds,
            longest_recovery_s=max(recoveries, default=None),
            runs=tuple(dict.fromkeys((*self.runs, *other.runs))),
        )

    def write(self, path: Path | None) -> None:
        """Write them, if there is a path."""
        if path is not None:
            values = {one.name: getattr(self, one.name) for one in fields(self)}
            path.write_text(json.dumps(values, indent=1, sort_keys=True) + "\n", "utf-8")

    @classmethod
    def read(cls, path: Path) -> "Figures":
        """The figures of a file."""
        values = json.loads(path.read_text("utf-8"))
        return cls(**values | {"runs": tuple(values["runs"])})


def this_run() -> str:
    """The UTC day and the commit."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=Path(__file__).parent, capture_output=True, text=True, check=False
    ).stdout.strip()
    return f"{datetime.now(UTC):%Y-%m-%d}, {commit or 'unknown'}"


def _sums(first: Mapping[str, int], second: Mapping[str, int]) -> dict[str, int]:
    return {name: first.get(name, 0) + second.get(name, 0) for name in {**first, **second}}
