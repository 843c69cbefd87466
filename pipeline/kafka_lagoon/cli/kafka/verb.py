"""Declares what a verb of `lagoon kafka` is: its options, the context in which it runs, and its answer.

An answer carries failures beside its rows, and notes about what brokers may have left out of them.
"""

import argparse
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What a verb runs with: a connected cluster, its options, and a deadline.

    `options` has what the verb's `declare` adds, and what arguments.py adds for every verb (`json`, `timeout` and others).
    """

    cluster: Cluster
    options: argparse.Namespace
    deadline: Deadline


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Rows of one kind: dataclasses whose fields scripts see all, and people those in `columns`, or with --wide in `wide`.

    `rows` may be a generator; scripts see each row as it comes, and so do people where `line` makes one line of it.
    Without `line` they see an aligned table when all rows are there.
    """

    kind: str
    rows: Iterable[Any]
    columns: Sequence[str] = ()
    wide: Sequence[str] = ()
    line: Callable[[Any], str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Parts in the order in which they are shown.

    `failures` (exit 3) and `notes` (lines beside the output) are read after all rows are printed: a generator may add to them.
    """

    parts: Sequence[Part]
    failures: Collection[Failure] = ()
    notes: Sequence[str] = ()
    exit_code: int = 0


class Together(Collection[Failure]):
    """Failures of several origins, each of which may grow until they are read."""

    def __init__(self, *several: Collection[Failure]) -> None:
        self._several = several

    def __contains__(self, failure: object) -> bool:
        return any(failure in some for some in self._several)

    def __iter__(self) -> Iterator[Failure]:
        return chain.from_iterable(self._several)

    def __len__(self) -> int:
        return sum(map(len, self._several))


@dataclass(frozen=True, slots=True, kw_only=True)
class Verb:
    """A verb; every module that run.VERBS names has one, called VERB.

    `check` finds the faults of arguments that argparse cannot, before anything is context.
    """

    summary: str
    declare: Callable[[argparse.ArgumentParser], None]
    answer: Callable[[Context], Answer]
    check: Callable[[argparse.Namespace], Sequence[str]] = lambda _: ()


def refuse(*problems: str) -> None:
    """End with exit 2 because of a fault of the arguments that only the cluster shows: names that it does not have."""
    raise ConfigError(problems)
