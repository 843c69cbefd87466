"""Decides which exit code of a job is no violation, from what disturbed the run."""

import signal
from collections.abc import Sequence
from dataclasses import dataclass

from tests.proof.soak.bounds import Period

COMPLETE, FAILED, INCOMPLETE, LOCKED = 0, 1, 3, 4
DIFFERENT = 3  # of `lagoon compare`
DOCUMENTED = (COMPLETE, FAILED, INCOMPLETE, LOCKED)  # 2 says that settings are wrong, which they are not


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """A run of a job that has ended, by its number in the soak."""

    job: str
    number: int = 0
    exit_code: int
    period: Period
    is_signalled: bool = False
    has_ended: bool = True  # otherwise it was killed because it did not end


def is_disturbed(ending: Ending, faults: Sequence[Period]) -> bool:
    """Return True if the job was signalled, or a fault overlaps with the run."""
    return ending.is_signalled or ending.period.is_disturbed(faults)


def problem(ending: Ending, faults: Sequence[Period]) -> str | None:
    """Return why an ending is a violation, or None."""
    code, what = ending.exit_code, f"run {ending.number}, {ending.job},"
    if not ending.has_ended:
        return f"{what} did not end"
    if ending.job.startswith("compare") and code == DIFFERENT:
        return f"{what} found that a restored topic differs from the archive"
    if code == -signal.SIGKILL and ending.is_signalled:
        return None
    if code not in DOCUMENTED:
        return f"{what} ended with exit {code}, which is not documented"
    if code in (FAILED, LOCKED) and not is_disturbed(ending, faults):
        return f"{what} ended with exit {code}, and nothing disturbed it"
    return None
