"""`lagoon kafka transactions`: transactions, what some of them are about, and the producers that a partition knows."""

import argparse
from collections.abc import Sequence

from kafka_lagoon.admin.transactions import (
    ListedTransactionRow,
    describe_listed,
    list_transactions,
    listed_transaction_rows,
    producer_rows,
    read_producers,
    transaction_rows,
)
from kafka_lagoon.cli.kafka.chosen import add_topics, chosen_topology, list_notes, not_listed
from kafka_lagoon.cli.kafka.verb import Answer, Asked, Part, Verb, names
from kafka_lagoon.client.failures import Failure, Scope
from kafka_lagoon.protocol.messages.list_transactions import LIST_TRANSACTIONS
from kafka_lagoon.protocol.messages.metadata import METADATA

_LISTED = ("transactional_id", "state", "producer_id", "coordinator_id")
_DESCRIBED = (
    *("transactional_id", "state", "producer_id", "producer_epoch", "coordinator_id", "timeout_ms"),
    *("started_at_ms", "duration_ms", "partitions"),
)
_PRODUCER = (
    *("topic", "partition", "producer_id", "producer_epoch", "last_sequence", "last_written_at_ms"),
    *("coordinator_epoch", "open_since_offset"),
)


def _declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", nargs="*", metavar="ID", help="describe these transactional ids; default: list all")
    parser.add_argument("--describe", action="store_true", help="describe all that are listed")
    parser.add_argument("--state", type=names, metavar="A,B", help="only those in these states, e.g. Ongoing")
    parser.add_argument("--longer-than-ms", type=int, metavar="MS", help="only those open for longer (Kafka 3.8)")
    add_topics(parser)
    parser.add_argument("--open", action="store_true", help="with --topic: only producers with an open transaction")


def _check(told: argparse.Namespace) -> list[str]:
    problems = []
    if told.open and told.topic is None:
        problems.append("--open is about producers of a topic: give --topic")
    if told.topic is not None and (told.id or told.describe or told.state or told.longer_than_ms is not None):
        problems.append("--topic shows producers of partitions: it goes with --open only")
    return problems


def _answer(asked: Asked) -> Answer:
    return _transactions(asked) if asked.told.topic is None else _producers(asked)


def _transactions(asked: Asked) -> Answer:
    told = asked.told
    found = list_transactions(asked.cluster, asked.deadline, told.longer_than_ms)
    refused_lists = list(found.failures.values())
    if not found.answers:  # nothing can be said of what is there
        return Answer(parts=[_listed(())], failures=refused_lists)
    listed = list(listed_transaction_rows(found))
    chosen = [one for one in listed if _is_chosen(one, told)]
    describing = told.id or told.describe
    part, refused = _described(asked, chosen) if describing else (_listed(chosen), [])
    known = {one.transactional_id for one in listed}
    missing = not_listed(LIST_TRANSACTIONS.name, Scope.transaction, told.id, known, refused_lists)
    # Nothing but the right to do everything proves that all ids, and all topics that they write to, are shown.
    lists = (("transactions", not told.id), ("topics of transactions", describing))
    notes = [note for what, is_shown in lists if is_shown for note in list_notes(asked, METADATA.name, what)]
    return Answer(parts=[part], failures=[*refused_lists, *refused, *missing], notes=notes)


def _is_chosen(one: ListedTransactionRow, told: argparse.Namespace) -> bool:
    states = {state.lower() for state in told.state or ()}
    return (not told.id or one.transactional_id in told.id) and (not states or one.state.lower() in states)


def _listed(chosen: Sequence[ListedTransactionRow]) -> Part:
    return Part(kind="transaction", rows=chosen, columns=_LISTED)


def _described(asked: Asked, chosen: Sequence[ListedTransactionRow]) -> tuple[Part, list[Failure]]:
    found = describe_listed(asked.cluster, [one.transactional_id for one in chosen], asked.deadline)
    rows = transaction_rows(found, asked.cluster.clock.now_ms())
    return Part(kind="transaction", rows=rows, columns=_DESCRIBED), list(found.failures.values())


def _producers(asked: Asked) -> Answer:
    topology, refused = chosen_topology(asked)
    found = read_producers(asked.cluster, topology.every_partition(), asked.deadline)
    rows = (row for row in producer_rows(found.answers) if row.open_since_offset is not None or not asked.told.open)
    return Answer(
        parts=[Part(kind="producer", rows=rows, columns=_PRODUCER)], failures=[*refused, *found.failures.values()]
    )


VERB = Verb(
    summary="Transactions, listed or described; with --topic the producers that its partitions' leaders remember.",
    declare=_declare,
    check=_check,
    answer=_answer,
)
