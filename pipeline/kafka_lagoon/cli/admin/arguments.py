"""Reads the options of a verb of `lagoon admin`, and those of every command that alters a cluster."""

import argparse
import sys
from collections.abc import Iterable, Sequence

from kafka_lagoon.apply.action import Guard
from kafka_lagoon.apply.kinds.names import MOST_PARTITIONS
from kafka_lagoon.cli.admin.verb import AdminVerb
from kafka_lagoon.cli.arguments import Parser
from kafka_lagoon.cli.kafka.arguments import add_cluster_options
from kafka_lagoon.errors import ConfigError

_MEANING = {
    Guard.DELETIONS: "allow actions that delete something",
    Guard.UNCLEAN_ELECTIONS: "allow elections that lose records",
    Guard.SHRINKING_RETENTION: "allow settings that keep records for a shorter time, or fewer of them",
    Guard.RECORD_DELETION: "allow the deletion of records",
    Guard.INTERNAL_TOPICS: "allow it of topics in which brokers keep their own state: commits, transactions",
    Guard.MANY_PARTITIONS: f"allow more than {MOST_PARTITIONS:,} new partitions of a topic",
}


class _VerbParser(Parser):
    """Adds the required permissions to the help of a verb."""

    def __init__(self, verb: AdminVerb, name: str) -> None:
        self._summary, self._command = verb.summary, f"admin {name}"
        super().__init__(self._command, self._summary)

    def format_help(self) -> str:
        """Called by argparse for --help."""
        from kafka_lagoon.cli.permissions import permissions_line  # noqa: PLC0415  0.2 s: they are made of all tables

        self.description = f"{self._summary} Required permissions: {permissions_line(self._command)}."
        return super().format_help()


def parse(verb: AdminVerb, name: str, argv: Sequence[str]) -> argparse.Namespace:
    """The options of this verb and those that all verbs have; ConfigError lists what the verb refuses."""
    parser = _VerbParser(verb, name)
    verb.declare(parser)
    add_cluster_options(parser)
    parser.add_argument("--warehouse", metavar="PLACE", help="short for --set warehouse=PLACE")
    add_alteration_options(parser, verb.guards)
    options = parser.parse_intermixed_args(argv)
    options.set += [f"warehouse={options.warehouse}"] if options.warehouse else []
    if problems := [*verb.check(options), *confirmation_problems(options)]:
        raise ConfigError(problems)
    return options


def add_alteration_options(parser: argparse.ArgumentParser, guards: Iterable[Guard] = Guard) -> None:
    """How a plan is shown and confirmed, and what it may destroy."""
    parser.add_argument("-y", "--yes", action="store_true", help="carry it out without asking")
    parser.add_argument("--dry-run", action="store_true", help="show and validate what would be done, change nothing")
    parser.add_argument("--json", action="store_true", help="one JSON object an action and line")
    for guard in guards:
        parser.add_argument(f"--{guard}", action="store_true", help=_MEANING[guard])


def allowed_guards(options: argparse.Namespace) -> frozenset[Guard]:
    """The guards whose options were given."""
    return frozenset(guard for guard in Guard if getattr(options, guard.replace("-", "_"), False))


def confirmation_problems(options: argparse.Namespace) -> list[str]:
    """A line if nobody can confirm a plan: no terminal to ask on, and no --yes."""
    if options.yes or options.dry_run:
        return []
    if options.json:
        return ["--json is for scripts, which cannot be asked: give --yes or --dry-run as well"]
    if sys.stdin.isatty():
        return []
    return ["there is no terminal to ask on: give --yes to carry it out, or --dry-run to see what it would do"]
