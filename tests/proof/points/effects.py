"""Reads the log of a job's durable effects, and names the points between them at which the job can die."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

_FIRST_OF_COMMIT = re.compile(r".*/_delta_log/\.\d{20}\.json\..+\.tmp")


@dataclass(frozen=True, slots=True)
class Effect:
    """A durable effect: its name, the number of its occurrence, the path below the warehouse or the API, and its process.

    `outcome` is after, failed, nothing (there was nothing to remove), or before: it was not completed.
    """

    name: str
    number: int
    path: str
    is_driver: bool
    outcome: str = "before"

    @property
    def point(self) -> str:
        """The point before this effect, as EFFECTS_STOP has it."""
        return f"{self.name}#{self.number}"

    @property
    def verb(self) -> str:
        """The kind of the effect: a verb, or the API of a request."""
        return self.name.rpartition(":")[2].partition(" ")[0]

    @property
    def is_request(self) -> bool:
        """True for a request to a broker."""
        return self.verb[0].isupper()


def read_effects(log: Path) -> list[Effect]:
    """The effects of a job in the order in which they began."""
    effects: dict[tuple[str, int], Effect] = {}
    for outcome, name, number, path, role in _lines(log):
        if outcome in ("before", "after", "failed", "nothing"):
            effects[name, number] = Effect(name, number, path, role == "driver", outcome)
    return list(effects.values())


def has_stopped(log: Path) -> bool:
    """True if a process waits before its effect for ever, or was killed there."""
    return any(what == "stopped" for what, *_ in _lines(log))


def is_waiting(log: Path) -> bool:
    """True if a process has met a lock that another process holds."""
    return any(what == "waiting" for what, *_ in _lines(log))


def points(effects: Sequence[Effect]) -> list[str]:
    """The points of a job: before each effect, and before its exit. Of workers also their death alone.

    The temporary file of a commit is the first effect of the commit, before which there is a point already. The text of a lock
    file only names its holder: no run depends on it.
    """
    real = [effect for effect in effects if effect.outcome == "after" and not _is_covered(effect)]
    alone = [f"worker {effect.point}" for effect in real if not effect.is_driver]
    return [effect.point for effect in real] + alone


def _is_covered(effect: Effect) -> bool:
    begins_commit = _FIRST_OF_COMMIT.fullmatch(effect.path) is not None
    return effect.verb == "write" and (begins_commit or effect.path.endswith(".lock"))


def _lines(log: Path) -> Iterator[tuple[str, str, int, str, str]]:
    written = log.read_text() if log.exists() else ""
    for line in written[: written.rfind("\n") + 1].splitlines():  # a line that is being written has no end yet
        what, name, number, path, _, role = line.split("\t")
        yield what, name, int(number), path, role
