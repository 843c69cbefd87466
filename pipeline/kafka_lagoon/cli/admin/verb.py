"""Declares what a verb of `lagoon admin` is: its options, and the actions that it asks for.

A verb reads the live state and makes actions of it. It alters nothing: cli/alterations.py shows the actions, asks, and has
them carried out, in the same way for all verbs.
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kafka_lagoon.apply.action import Action, Guard
from kafka_lagoon.cli.kafka.verb import Context
from kafka_lagoon.client.failures import Failure


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """The actions that a verb asks for.

    `failures` are about what could not be read, so that there is no action for it (exit 3); `notes` are lines beside the plan.
    """

    actions: Sequence[Action]
    failures: Sequence[Failure] = ()
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AdminVerb:
    """A verb; the module that run.VERBS names for it has it in its own VERBS.

    `guards` are those that its actions may have: each is an option of the verb. `check` finds the faults of arguments that
    argparse cannot, before anything is connected.
    """

    summary: str
    declare: Callable[[argparse.ArgumentParser], None]
    plan: Callable[[Context], Planned]
    guards: Sequence[Guard] = ()
    check: Callable[[argparse.Namespace], Sequence[str]] = lambda _: ()
