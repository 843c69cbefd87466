"""Declares the commands of `lagoon`, and their kinds: commands of one kind share options, context and the way that they run.

cli/registry.py lists all commands. The kinds are CLUSTER of cli/kafka/command.py, `altering` of cli/admin/command.py, `over` of
cli/tables/command.py, JOB of cli/jobs.py, and PLAIN here.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any, Generic, TypeVar

from kafka_lagoon.cli.permissions import Requirement
from kafka_lagoon.clock import Clock
from kafka_lagoon.frozen import frozen

ContextT = TypeVar("ContextT")


@frozen
class Invocation:
    """A call of a command: its name (the words after `lagoon`), its parsed options, the environment and the clock."""

    name: str
    options: Namespace
    environ: Mapping[str, str]
    clock: Clock


def no_options(_: ArgumentParser) -> None:
    """Declare nothing."""


def no_faults(_: Namespace) -> Iterable[str]:
    """Accept every combination of options."""
    return ()


@frozen
class Kind(Generic[ContextT]):
    """The properties that commands of one kind share.

    `declare` adds their common options, `check` finds faults of these. `run` makes the context, passes it to the command's
    `answer`, prints the answer, and returns the exit code.
    """

    declare: Callable[[ArgumentParser], None] = no_options
    check: Callable[[Namespace], Iterable[str]] = no_faults
    run: Callable[[Invocation, Callable[[ContextT], Any]], int]


@frozen
class Command(Generic[ContextT]):
    """A command: `declare` adds its own options, `check` finds the faults of arguments that argparse cannot find.

    Both run before anything is read or connected. `requires` are the permissions on the cluster, by what is typed after the
    name; words in capitals stand for names. `examples` are lines for a shell, which --help shows.
    """

    kind: Kind[ContextT]
    summary: str
    examples: Sequence[str] = ()
    answer: Callable[[ContextT], Any]
    declare: Callable[[ArgumentParser], None] = no_options
    check: Callable[[Namespace], Iterable[str]] = no_faults
    requires: Mapping[str, Requirement] = field(default_factory=dict)
    epilog: str = ""


# Commands that print by themselves: their `answer` returns the exit code.
PLAIN: Kind[Invocation] = Kind(run=lambda invocation, answer: int(answer(invocation)))
