"""`lagoon kafka transactions`: transactions, what some of them are about, and the producers that a partition knows."""

import argparse
from collections.abc import Sequence

from kafka_lagoon.admin.transactions import describe_producers, describe_transactions, list_transactions
from kafka_lagoon.cli.kafka.selection import add_topic_option, list_notes, not_listed, selected_topology
from kafka_lagoon.cli.kafka.verb import Answer, Context, Part, Verb, names
from kafka_lagoon.client.failures import Failure, Scope
from kafka_lagoon.protocol.messages.list_transactions import LIST_TRANSACTIONS
from kafka_lagoon.protocol.messages.metadata import METADATA
from kafka_lagoon.snapshot.transactions import (
    ListedTransactionRow,
    listed_transaction_rows,
    producer_rows,
    transaction_rows,
)

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
    add_topic_option(parser)
    parser.add_argument("--open", action="store_true", help="with --topic: only producers with an open transaction")


def _check(options: argparse.Namespace) -> list[str]:
    problems = []
    if options.open and options.topic is None:
        problems.append("--open is about producers of a topic: give --topic")
    if options.topic is not None and (
        options.id or options.describe or options.state or options.longer_than_ms is not None
    ):
        problems.append("--topic shows producers of partitions: it goes with --open only")
    return problems


def _answer(context: Context) -> Answer:
    return _transactions(context) if context.options.topic is None else _producers(context)


def _transactions(context: Context) -> Answer:
    options = context.options
    found = list_transactions(context.cluster, context.deadline, options.longer_than_ms)
    refused_lists = list(found.failures.values())
    if not found.answers:  # nothing can be said of what is there
        return Answer(parts=[_listed(())], failures=refused_lists)
    listed = list(listed_transaction_rows(found))
    chosen = [one for one in listed if _is_chosen(one, options)]
    describing = options.id or options.describe
    part, refused = _described(context, chosen) if describing else (_listed(chosen), [])
    known = {one.transactional_id for one in listed}
    missing = not_listed(LIST_TRANSACTIONS.name, Scope.transaction, options.id, known, refused_lists)
    # Nothing but the right to do everything proves that all ids, and all topics that they write to, are shown.
    lists = (("transactions", not options.id), ("topics of transactions", describing))
    notes = [note for what, is_shown in lists if is_shown for note in list_notes(context, METADATA.name, what)]
    return Answer(parts=[part], failures=[*refused_lists, *refused, *missing], notes=notes)


def _is_chosen(one: ListedTransactionRow, options: argparse.Namespace) -> bool:
    states = {state.lower() for state in options.state or ()}
    return (not options.id or one.transactional_id in options.id) and (not states or one.state.lower() in states)


def _listed(chosen: Sequence[ListedTransactionRow]) -> Part:
    return Part(kind="transaction", rows=chosen, columns=_LISTED)


def _described(context: Context, chosen: Sequence[ListedTransactionRow]) -> tuple[Part, list[Failure]]:
    found = describe_transactions(context.cluster, [one.transactional_id for one in chosen], context.deadline)
    rows = transaction_rows(found, context.cluster.clock.now_ms())
    return Part(kind="transaction", rows=rows, columns=_DESCRIBED), list(found.failures.values())


def _producers(context: Context) -> Answer:
    topology, refused = selected_topology(context)
    found = describe_producers(context.cluster, topology.every_partition(), context.deadline)
    rows = (
        row for row in producer_rows(found.answers) if row.open_since_offset is not None or not context.options.open
    )
    return Answer(
        parts=[Part(kind="producer", rows=rows, columns=_PRODUCER)], failures=[*refused, *found.failures.values()]
    )


VERB = Verb(
    summary="Transactions, listed or described; with --topic the producers that its partitions' leaders remember.",
    declare=_declare,
    check=_check,
    answer=_answer,
)
