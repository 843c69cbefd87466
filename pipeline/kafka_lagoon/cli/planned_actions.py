"""Shared by `lagoon admin` and `lagoon apply`: the actions that a command plans, and the options that show and confirm them."""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kafka_lagoon.apply.action import Action, Guard
from kafka_lagoon.apply.kinds.names import MOST_PARTITIONS
from kafka_lagoon.cli.arguments import add_flags
from kafka_lagoon.client.failures import Failure

_MEANINGS = {
    Guard.DELETIONS: "allow actions that delete something",
    Guard.UNCLEAN_ELECTIONS: "allow elections that lose records",
    Guard.SHRINKING_RETENTION: "allow settings that keep records for a shorter time, or fewer of them",
    Guard.RECORD_DELETION: "allow the deletion of records",
    Guard.INTERNAL_TOPICS: "allow it for topics in which brokers keep their own state: commits, transactions",
    Guard.MANY_PARTITIONS: f"allow more than {MOST_PARTITIONS:,} new partitions of a topic",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedActions:
    """The actions that a verb plans.

    `failures` (exit 3) are about state that could not be read, so that nothing is planned for it. `notes` are printed beside.
    """

    actions: Sequence[Action] = ()
    failures: Sequence[Failure] = ()
    notes: Sequence[str] = ()


def add_alteration_options(parser: ArgumentParser, guards: Iterable[Guard] = Guard) -> None:
    """Declare how a plan is shown and confirmed, and what it may destroy."""
    parser.add_argument("-y", "--yes", action="store_true", help="carry it out without asking")
    add_flags(
        parser,
        {
            "--dry-run": "show and validate what would be done, change nothing",
            "--json": "one JSON object an action and line",
            **{f"--{guard}": _MEANINGS[guard] for guard in guards},
        },
    )


def allowed_guards(options: Namespace) -> frozenset[Guard]:
    """The guards whose options were given."""
    return frozenset(guard for guard in Guard if getattr(options, guard.replace("-", "_"), False))


def confirmation_problems(options: Namespace) -> list[str]:
    """A line if nobody can confirm a plan: no terminal to ask on, and no --yes."""
    if options.yes or options.dry_run:
        return []
    if getattr(options, "json", False):
        return ["--json is for scripts, which cannot be asked: give --yes or --dry-run as well"]
    if sys.stdin.isatty():
        return []
    return ["there is no terminal to ask on: give --yes to carry it out, or --dry-run to see what it would do"]
