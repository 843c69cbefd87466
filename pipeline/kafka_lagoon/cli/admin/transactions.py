"""Verbs of `lagoon admin` about transactions: abort hanging transactions, fence producers."""

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence

from kafka_lagoon.admin.permissions import Permission
from kafka_lagoon.admin.transactions import Producers, describe_producers, transactions_of_producers
from kafka_lagoon.apply.kinds.names import parse_partition
from kafka_lagoon.apply.kinds.transactions import abort_transaction, fence_producer, read_transactional_ids
from kafka_lagoon.cli.admin.command import altering
from kafka_lagoon.cli.command import Command
from kafka_lagoon.cli.kafka.command import ClusterContext
from kafka_lagoon.cli.permissions import READ_TOPIC, Requirement
from kafka_lagoon.cli.planned_actions import PlannedActions
from kafka_lagoon.client.agreement import agreed_metadata
from kafka_lagoon.client.failures import Failure, Scope, failure_of, own_failure
from kafka_lagoon.protocol import acls
from kafka_lagoon.protocol.messages.describe_producers import ProducerState
from kafka_lagoon.protocol.messages.metadata import METADATA
from kafka_lagoon.snapshot.producers import IN_TRANSACTION, NO_TRANSACTION, RECENT, Verdict, candidates, verdict
from kafka_lagoon.topic_partition import TopicPartition

_API = "abort-transaction"
_REASONS = {
    RECENT: "its last record is at most 15 minutes old, so its coordinator may still end it",
    IN_TRANSACTION: "its coordinator knows it and ends it at its timeout; `lagoon admin fence-producer` ends it now",
}
_UNLISTED = (
    "no coordinator lists this producer; coordinators leave out transactional ids without permission to describe them, "
    "so make sure that this user may describe all"
)


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
    """Plan to abort the transactions that no coordinator will end: kafka-transactions.sh find-hanging has the same rules."""
    producers, failures = _open_producers(context)
    now_ms = context.cluster.clock.now_ms()
    transactions = transactions_of_producers(context.cluster, candidates(producers, now_ms), context.deadline)
    verdicts = [
        (partition, producer, verdict(partition, producer, transactions, now_ms))
        for partition, answer in sorted(producers.answers.items())
        for producer in _chosen(answer.active_producers, context.options)
    ]
    refused = [*failures, *(_refusal(*one) for one in verdicts if not one[2].is_hanging)]
    actions = [
        abort_transaction(partition, producer) for partition, producer, decided in verdicts if decided.is_hanging
    ]
    notes = [_UNLISTED] if any(decided.evidence == NO_TRANSACTION for _, _, decided in verdicts) else []
    nothing = [] if actions or refused else ["no transaction is open in it"]
    return PlannedActions(actions=actions, failures=refused, notes=[*notes, *nothing])


def _open_producers(context: ClusterContext) -> tuple[Producers, list[Failure]]:
    """Describe the producers of the existing partitions, and return failures of the others."""
    partitions = list(dict.fromkeys(map(parse_partition, context.options.partitions)))
    metadata = agreed_metadata(context.cluster, {partition.topic for partition in partitions}, context.deadline)
    missing = {topic.name: topic.error_code for topic in metadata.topics if topic.error_code}
    failures = [failure_of(METADATA, Scope.of_topic(name), code) for name, code in missing.items()]
    there = [partition for partition in partitions if partition.topic not in missing]
    producers = describe_producers(context.cluster, there, context.deadline)
    return producers, [*failures, *producers.failures.values()]


def _chosen(producers: Sequence[ProducerState], options: Namespace) -> list[ProducerState]:
    return [
        producer
        for producer in producers
        if producer.current_txn_start_offset >= 0
        and options.producer_id in (None, producer.producer_id)
        and options.start_offset in (None, producer.current_txn_start_offset)
    ]


def _refusal(partition: TopicPartition, producer: ProducerState, decided: Verdict) -> Failure:
    scope = Scope.of_partition(*partition, f"producer {producer.producer_id}")
    if decided.evidence is None:
        return own_failure(_API, scope, decided.problem or "UNKNOWN", "it is not known to hang")
    return own_failure(_API, scope, "NOT_HANGING", _REASONS[decided.evidence])


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
