"""`lagoon kafka transactions`: lists and describes transactions, and lists the producers of partitions."""

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence

from kafka_lagoon.admin.permissions import Permission
from kafka_lagoon.admin.transactions import describe_producers, describe_transactions, list_transactions
from kafka_lagoon.cli.arguments import names_among, number_from
from kafka_lagoon.cli.command import Command
from kafka_lagoon.cli.kafka.command import CLUSTER, ClusterContext
from kafka_lagoon.cli.kafka.selection import add_topic_option, list_notes, not_listed, selected_topology
from kafka_lagoon.cli.output import CommandOutput, RowSet
from kafka_lagoon.cli.permissions import READ_TOPIC, TOPICS_OF_TRANSACTIONS, TRANSACTIONS, Requirement
from kafka_lagoon.client.failures import Failure, Scope
from kafka_lagoon.protocol import acls
from kafka_lagoon.protocol.messages.describe_transactions import STATES
from kafka_lagoon.protocol.messages.list_transactions import LIST_TRANSACTIONS
from kafka_lagoon.protocol.messages.metadata import METADATA
from kafka_lagoon.snapshot.transactions import (
    ListedTransactionRow,
    listed_transaction_rows,
    producer_rows,
    transaction_rows,
)

_LISTED = ("transactional_id", "state", "producer_id", "coordinator_id")
_DESCRIBED = ("transactional_id", "state", "producer_id", "coordinator_id", "duration_ms", "partitions")
_TIMES = ("timeout_ms", "started_at_ms", "duration_ms")
_WIDE_DESCRIBED = (*_LISTED[:3], "producer_epoch", "coordinator_id", *_TIMES, "partitions", "problem")
_PRODUCER = ("topic", "partition", "producer_id", "last_written_at_ms", "open_since_offset")
_WRITTEN = ("producer_epoch", "last_sequence", "last_written_at_ms", "coordinator_epoch")
_WIDE_PRODUCER = (*_PRODUCER[:3], *_WRITTEN, "open_since_offset")


def _declare(parser: ArgumentParser) -> None:
    parser.add_argument("id", nargs="*", metavar="ID", help="describe these transactional ids; default: list all")
    parser.add_argument("--describe", action="store_true", help="describe all listed transactions")
    parser.add_argument(
        "--state",
        type=names_among(STATES),
        metavar="A,B",
        help=f"only transactions in these states: {', '.join(STATES)}",
    )
    parser.add_argument(
        "--longer-than-ms",
        type=number_from(0),
        metavar="MS",
        help="only transactions that are open for longer (Kafka 3.8)",
    )
    add_topic_option(parser, "list the producers of these topics instead; excludes all other options but --open")
    parser.add_argument("--open", action="store_true", help="with --topic: only producers with an open transaction")


def _check(options: Namespace) -> list[str]:
    problems = []
    if options.open and options.topic is None:
        problems.append("--open selects producers of a topic: give --topic")
    if options.topic is not None and (
        options.id or options.describe or options.state or options.longer_than_ms is not None
    ):
        problems.append("--topic shows producers of partitions, and excludes all other options but --open")
    return problems


def _answer(context: ClusterContext) -> CommandOutput:
    return _transactions(context) if context.options.topic is None else _producers(context)


def _transactions(context: ClusterContext) -> CommandOutput:
    options = context.options
    listings = list_transactions(context.cluster, context.deadline, options.longer_than_ms)
    failures = list(listings.failures.values())
    if not listings.answers:  # no answer proves that a transactional id does not exist
        return CommandOutput(rows=[_listed(())], failures=failures)
    listed = list(listed_transaction_rows(listings))
    ids, states = frozenset(options.id), frozenset(state.lower() for state in options.state or ())
    selected = [row for row in listed if _is_selected(row, ids, states)]
    describing = options.id or options.describe
    part, refused = _described(context, selected) if describing else (_listed(selected), [])
    known = {row.transactional_id for row in listed}
    if options.longer_than_ms is not None and not known.issuperset(options.id):
        # Brokers have left out transactions that are not open for so long: these exist all the same.
        everything = list_transactions(context.cluster, context.deadline)
        known |= {row.transactional_id for row in listed_transaction_rows(everything)}
        scopes = {failure.scope for failure in failures}
        failures += [failure for failure in everything.failures.values() if failure.scope not in scopes]
    missing = not_listed(LIST_TRANSACTIONS.name, Scope.transaction, options.id, known, failures)
    # Brokers leave out transactional ids, and topics that their transactions write to, that we may not describe.
    lists = (
        (LIST_TRANSACTIONS.name, "transactions", not options.id),
        (METADATA.name, "topics of transactions", describing),
    )
    notes = [note for api, what, is_shown in lists if is_shown for note in list_notes(context, api, what)]
    return CommandOutput(rows=[part], failures=[*failures, *refused, *missing], notes=notes)


def _is_selected(row: ListedTransactionRow, ids: frozenset[str], states: frozenset[str]) -> bool:
    return (not ids or row.transactional_id in ids) and (not states or row.state.lower() in states)


def _listed(rows: Sequence[ListedTransactionRow]) -> RowSet:
    return RowSet(kind="transaction", rows=rows, columns=_LISTED)


def _described(context: ClusterContext, listed: Sequence[ListedTransactionRow]) -> tuple[RowSet, list[Failure]]:
    transactional_ids = [row.transactional_id for row in listed]
    descriptions = describe_transactions(context.cluster, transactional_ids, context.deadline)
    rows = transaction_rows(descriptions, context.cluster.clock.now_ms())
    return RowSet(kind="transaction", rows=rows, columns=_DESCRIBED, wide=_WIDE_DESCRIBED), list(
        descriptions.failures.values()
    )


def _producers(context: ClusterContext) -> CommandOutput:
    topology, refused = selected_topology(context)
    producers = describe_producers(context.cluster, topology.every_partition(), context.deadline)
    only_open = context.options.open
    rows = (row for row in producer_rows(producers.answers) if row.open_since_offset is not None or not only_open)
    part = RowSet(kind="producer", rows=rows, columns=_PRODUCER, wide=_WIDE_PRODUCER)
    return CommandOutput(rows=[part], failures=[*refused, *producers.failures.values()])


COMMAND = Command(
    kind=CLUSTER,
    summary="Lists or describes transactions; with --topic lists the producers that the leaders of its partitions know.",
    examples=(
        "lagoon kafka transactions -b kafka-1:9092 --state Ongoing --longer-than-ms 600000",
        "lagoon kafka transactions -b kafka-1:9092 --topic orders --open",
    ),
    declare=_declare,
    check=_check,
    answer=_answer,
    requires={
        "": Requirement(permissions=(TRANSACTIONS,)),
        "--describe": Requirement(permissions=(TRANSACTIONS, TOPICS_OF_TRANSACTIONS)),
        "ID": Requirement(
            permissions=(
                Permission(acls.DESCRIBE, acls.TRANSACTIONAL_ID, "the transaction is not listed"),
                TOPICS_OF_TRANSACTIONS,
            )
        ),
        "--topic TOPIC": Requirement(permissions=(READ_TOPIC,)),
    },
)
