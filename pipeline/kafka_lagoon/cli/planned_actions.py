"""The actions that a verb of `lagoon admin` or `lagoon apply` plans, and the options that show and confirm them."""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Sequence

from kafka_lagoon.apply.action import Action, Guard
from kafka_lagoon.apply.kinds.topic_guards import MOST_PARTITIONS
from kafka_lagoon.cli.arguments import add_flags
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.frozen import frozen

_MEANINGS = {
    Guard.DELETIONS: "allow actions that delete something",
    Guard.UNCLEAN_ELECTIONS: "allow elections that may lose records, and configs that make brokers hold them",
    Guard.SHRINKING_RETENTION: "allow configs that keep fewer records, or keep them for a shorter time",
    Guard.RECORD_DELETION: "allow the deletion of records",
    Guard.INTERNAL_TOPICS: "allow actions on topics in which brokers keep their own state: commits, transactions",
    Guard.MANY_PARTITIONS: f"allow more than {MOST_PARTITIONS:,} new partitions of a topic",
}


@frozen
class PlannedActions:
    """The actions that a verb plans.

    `failures` (exit 3) are about state that could not be read: no actions are planned for it. `undone` are changes that have to
    wait, and actions with guards wait for them. `notes` are only printed.
    """

    actions: Sequence[Action] = ()
    failures: Sequence[Failure] = ()
    undone: Sequence[str] = ()
    notes: Sequence[str] = ()


def add_alteration_options(parser: ArgumentParser, guards: Iterable[Guard] = Guard) -> None:
    """Declare the options that show and confirm a plan, and those that allow its guarded actions."""
    parser.add_argument("-y", "--yes", action="store_true", help="carry the plan out without asking")
    add_flags(
        parser,
        {
            "--dry-run": "show and validate the plan, change nothing",
            "--json": "print one JSON object per action",
            **{f"--{guard}": _MEANINGS[guard] for guard in guards},
        },
    )


def allowed_guards(options: Namespace) -> frozenset[Guard]:
    """Return the guards whose options were given."""
    return frozenset(guard for guard in Guard if getattr(options, guard.replace("-", "_"), False))


def confirmation_problems(options: Namespace) -> list[str]:
    """Make a line if the plan cannot be confirmed: no terminal to ask on, and no --yes."""
    if options.yes or options.dry_run:
        return []
    if getattr(options, "json", False):
        return ["--json does not ask for confirmation: give --yes or --dry-run as well"]
    if sys.stdin.isatty():
        return []
    return ["there is no terminal to ask on: give --yes to carry the plan out, or --dry-run to only see it"]
