"""The things that are raced for: the command, how many may win, and the exit codes that are documented for the others."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.proof.points.jobs import Apply, Ingest, Job, Restore, Snapshot
from tests.proof.points.world import World
from tests.proof.races.racers import Run

COMPLETE, NOTHING_DONE, INCOMPLETE, LOCKED = 0, 1, 3, 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One of the things that processes race for."""

    job: Callable[[World, str], Job]  # of a store by name: each has topics of its own
    has_won: Callable[[Mapping[str, Any]], bool]  # says the event that ends a run
    exits_of_winner: frozenset[int]
    exits_of_others: frozenset[int]
    needs_session: bool  # in a folder of this machine
    lock_wait: str | None  # the setting

    def commands(self, command: Sequence[str], processes: int) -> list[Sequence[str]]:
        """Make the command of each racer: half of them wait for a lock, the others give up at once."""
        _, *arguments = command
        no_wait = [*arguments, "--set", f"{self.lock_wait}=0"] if self.lock_wait else arguments
        return [no_wait if number % 2 else arguments for number in range(processes)]

    def problems(self, runs: Sequence[Run]) -> list[str]:
        """Return what is wrong about winners and exit codes."""
        won = [run for run in runs if self.has_won(run.event)]
        problems = [] if len(won) == 1 else [f"{len(won)} winners"]
        for run in runs:
            expected = self.exits_of_winner if run in won else self.exits_of_others
            if run.exit_code not in expected:
                problems.append(f"exit {run.exit_code}: {run.output[-1500:]}")
        return problems


def _published(event: Mapping[str, Any]) -> bool:
    return event.get("exit_code") == COMPLETE and event.get("already_published") is False


def _has_written(event: Mapping[str, Any]) -> bool:
    return event.get("exit_code") in (COMPLETE, INCOMPLETE) and bool(event.get("records"))


def _has_altered(event: Mapping[str, Any]) -> bool:
    return bool(event.get("done"))


# docs/exit-codes.md; of apply docs/administration.md, of restore docs/restore.md.
KINDS = {
    "slot": Kind(
        job=lambda world, store: Snapshot(world, name=f"race-slot-{store}"),
        has_won=_published,
        exits_of_winner=frozenset({COMPLETE}),
        exits_of_others=frozenset({COMPLETE, LOCKED}),
        needs_session=False,
        lock_wait="snapshot.lock_wait_ms",
    ),
    "archive": Kind(
        job=lambda world, store: Ingest(world, name=f"race-archive-{store}"),
        has_won=_has_written,
        exits_of_winner=frozenset({INCOMPLETE}),  # it reports the loss
        exits_of_others=frozenset({COMPLETE, LOCKED}),
        needs_session=True,
        lock_wait="ingest.lock_wait_ms",
    ),
    "restore": Kind(
        job=lambda world, store: Restore(world, name=f"race-restore-{store}"),
        has_won=_has_written,
        exits_of_winner=frozenset({COMPLETE}),
        exits_of_others=frozenset({COMPLETE, LOCKED}),
        needs_session=True,
        lock_wait="restore.lock_wait_ms",
    ),
    "apply": Kind(
        job=lambda world, store: Apply(world, name=f"race-apply-{store}"),
        has_won=_has_altered,
        exits_of_winner=frozenset({COMPLETE}),
        # 1: what it planned differs from the cluster by now, so it has sent nothing
        exits_of_others=frozenset({COMPLETE, NOTHING_DONE, LOCKED}),
        needs_session=False,
        lock_wait=None,
    ),
}
