"""Verbs of `lagoon admin` about transactions: abort hanging transactions, fence producers."""

from argparse import ArgumentParser, Namespace

from kafka_lagoon.admin.permissions import Permission
from kafka_lagoon.admin.transactions import Producers, describe_producers
from kafka_lagoon.apply.kinds.names import parse_partition
from kafka_lagoon.apply.kinds.transactions import fence_producer, read_transactional_ids
from kafka_lagoon.apply.transaction_aborts import abort_actions
from kafka_lagoon.cli.admin.command import altering
from kafka_lagoon.cli.command import Command
from kafka_lagoon.cli.kafka.command import ClusterContext
from kafka_lagoon.cli.permissions import READ_TOPIC, Requirement
from kafka_lagoon.cli.planned_actions import PlannedActions
from kafka_lagoon.client.agreement import agreed_metadata, refused_topics
from kafka_lagoon.client.failures import Failure, Scope, own_failure
from kafka_lagoon.protocol import acls


def _declare_abort(parser: ArgumentParser) -> None:
    parser.add_argument(
        "partitions", nargs="+", metavar="TOPIC-PARTITION", help="abort the hanging transactions of these partitions"
    )
    parser.add_argument("--producer-id", type=int, metavar="ID", help="only the transaction of this producer")
    parser.add_argument(
        "--start-offset", type=int, metavar="OFFSET", help="only the transaction that begins at this offset"
    )


def _check_abort(options: Namespace) -> list[str]:
    problems = []
    for name in options.partitions:
        try:
            parse_partition(name)
        except ValueError as error:
            problems.append(str(error))
    return problems


def _plan_abort(context: ClusterContext) -> PlannedActions:
    options = context.options
    producers, failures = _open_producers(context)
    aborts = abort_actions(
        context.cluster, producers, options.start_offset, context.deadline, producer_id=options.producer_id
    )
    refused = [*failures, *aborts.failures]
    nothing = [] if aborts.actions or refused else ["no transaction is open in it"]
    return PlannedActions(actions=aborts.actions, failures=refused, notes=[*aborts.notes, *nothing])


def _open_producers(context: ClusterContext) -> tuple[Producers, list[Failure]]:
    """Describe the producers of the existing partitions, and return failures of the others."""
    partitions = list(dict.fromkeys(map(parse_partition, context.options.partitions)))
    metadata = agreed_metadata(context.cluster, {partition.topic for partition in partitions}, context.deadline)
    missing = {topic.name for topic in metadata.topics if topic.error_code}
    there = [partition for partition in partitions if partition.topic not in missing]
    producers = describe_producers(context.cluster, there, context.deadline)
    return producers, [*refused_topics(metadata.topics), *producers.failures.values()]


def _declare_fence(parser: ArgumentParser) -> None:
    parser.add_argument("ids", nargs="+", metavar="ID", help="transactional ids")


def _plan_fence(context: ClusterContext) -> PlannedActions:
    wanted = list(dict.fromkeys(context.options.ids))
    states = read_transactional_ids(context.cluster, wanted, context.deadline)
    failures = [state for state in states.values() if isinstance(state, Failure)]
    failures += [
        own_failure(
            "ListTransactions", Scope.transaction(one), "NOT_LISTED", "no broker lists it, or we may not see it"
        )
        for one, state in states.items()
        if state is None
    ]
    actions = [
        fence_producer(one, state)
        for one, state in states.items()
        if state is not None and not isinstance(state, Failure)
    ]
    return PlannedActions(actions=actions, failures=failures)


ABORT = Command(
    kind=altering(),
    summary="Aborts hanging transactions: those that are open in a partition, but unknown to their coordinator.",
    examples=(
        "lagoon admin abort-transaction orders-0 -b kafka-1:9092 --dry-run",
        "lagoon admin abort-transaction orders-0 -b kafka-1:9092 --producer-id 4001",
    ),
    declare=_declare_abort,
    check=_check_abort,
    answer=_plan_abort,
    requires={
        "": Requirement(
            permissions=(
                READ_TOPIC,
                Permission(
                    acls.DESCRIBE,
                    acls.TRANSACTIONAL_ID,
                    "transactions that their coordinator has are taken for hanging",
                ),
                Permission(acls.ALTER, acls.CLUSTER, "refused"),
            )
        )
    },
)
FENCE = Command(
    kind=altering(),
    summary="Fences the producers of transactional ids; their open transactions are aborted.",
    examples=("lagoon admin fence-producer billing-tx-1 -b kafka-1:9092",),
    declare=_declare_fence,
    answer=_plan_fence,
    requires={
        "": Requirement(
            permissions=(Permission(acls.WRITE, acls.TRANSACTIONAL_ID, "the transaction is not listed, or refused"),)
        )
    },
)
