"""Verbs of `lagoon admin` for topics: create topics, add partitions, delete topics and delete records."""

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Sequence

from kafka_lagoon.admin.permissions import Permission
from kafka_lagoon.admin.topics import describe_topics
from kafka_lagoon.apply.action import Action, Guard
from kafka_lagoon.apply.kinds.partitions import delete_records_before
from kafka_lagoon.apply.kinds.topic_guards import partition_notes
from kafka_lagoon.apply.kinds.topics import create_topic, delete_topic, extend_topic
from kafka_lagoon.cli.admin.command import altering
from kafka_lagoon.cli.admin.selection import SPELLING, find, placed, selected
from kafka_lagoon.cli.arguments import number_from
from kafka_lagoon.cli.command import Command
from kafka_lagoon.cli.kafka.command import ClusterContext, refuse
from kafka_lagoon.cli.permissions import DESCRIBED_TOPIC, Requirement
from kafka_lagoon.cli.planned_actions import PlannedActions
from kafka_lagoon.client.failures import Failure, Scope, failure_of, own_failure
from kafka_lagoon.fetch.log_bounds import ask_log_bounds
from kafka_lagoon.fetch.offset_resolution import ResolvedOffsets, resolve
from kafka_lagoon.fetch.offset_specs import SPELLINGS, parse_offset_specs
from kafka_lagoon.fetch.split import READ_UNCOMMITTED
from kafka_lagoon.integers import MOST_INT16, MOST_INT32
from kafka_lagoon.protocol import acls
from kafka_lagoon.protocol.error_codes import (
    INVALID_PARTITIONS,
    TOPIC_ALREADY_EXISTS,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from kafka_lagoon.protocol.messages.create_partitions import CREATE_PARTITIONS
from kafka_lagoon.protocol.messages.create_topics import CREATE_TOPICS
from kafka_lagoon.protocol.messages.delete_records import DELETE_RECORDS
from kafka_lagoon.protocol.messages.metadata import METADATA
from kafka_lagoon.topic_partition import TopicPartition

_EXISTS = "it exists already: alter-configs, create-partitions and reassign change it"


def config(text: str) -> tuple[str, str]:
    """Parse a config: NAME=VALUE."""
    name, separator, value = text.partition("=")
    if not (name and separator):
        raise ArgumentTypeError(f"{text!r} is not CONFIG=VALUE")
    return name, value


def _declare_create(parser: ArgumentParser) -> None:
    parser.add_argument("topics", nargs="+", metavar="TOPIC", help="names of new topics")
    parser.add_argument(
        "--partitions", type=number_from(1, MOST_INT32), metavar="N", help="default: the brokers' num.partitions"
    )
    parser.add_argument(
        "--replication-factor",
        type=number_from(1, MOST_INT16),
        metavar="N",
        help="default: the brokers' default.replication.factor",
    )
    parser.add_argument(
        "--assignment",
        action="append",
        type=placed,
        default=[],
        metavar="PARTITION=BROKERS",
        help="brokers of a partition, the preferred leader first: 0=1,2,3; one option for each partition",
    )
    parser.add_argument(
        "--config",
        action="append",
        type=config,
        default=[],
        metavar="CONFIG=VALUE",
        help="e.g. retention.ms=86400000; may be given several times",
    )
    parser.add_argument("--if-not-exists", action="store_true", help="do not fail if a topic exists")


def _check_create(options: Namespace) -> list[str]:
    numbers = [partition for partition, _ in options.assignment]
    problems = []
    if numbers and (options.partitions or options.replication_factor):
        problems.append("--assignment excludes --partitions and --replication-factor")
    if sorted(numbers) != list(range(len(numbers))):
        problems.append("--assignment: name every partition once, from 0 on")
    if len({name for name, _ in options.config}) < len(options.config):
        problems.append("--config: names a config twice")
    return problems


def _plan_create(context: ClusterContext) -> PlannedActions:
    options, actions, failures = context.options, [], []
    names = list(dict.fromkeys(options.topics))
    for name, known in describe_topics(context.cluster, names, context.deadline).items():
        if isinstance(known, Failure):
            failures.append(known)
        elif known is None:
            actions.append(_creation(name, options))
        elif not options.if_not_exists:
            scope = Scope.of_topic(name)
            failures.append(failure_of(CREATE_TOPICS, scope, TOPIC_ALREADY_EXISTS, explanation=_EXISTS))
    return PlannedActions(actions=actions, failures=failures, notes=list(partition_notes(actions)))


def _creation(name: str, options: Namespace) -> Action:
    return create_topic(
        name,
        partitions=options.partitions,
        replication_factor=options.replication_factor,
        assignments=dict(options.assignment),
        configs=dict(options.config),
    )


def _declare_delete(parser: ArgumentParser) -> None:
    parser.add_argument("topics", nargs="+", metavar="TOPIC", help="names of topics")
    parser.add_argument("--if-exists", action="store_true", help="do not fail if a topic does not exist")


def _plan_delete(context: ClusterContext) -> PlannedActions:
    actions, failures = [], []
    names = list(dict.fromkeys(context.options.topics))
    for name, known in describe_topics(context.cluster, names, context.deadline).items():
        if isinstance(known, Failure):
            failures.append(known)
        elif known is not None:
            actions.append(delete_topic(known))
        elif not context.options.if_exists:
            failures.append(_unknown(name))
    return PlannedActions(actions=actions, failures=failures)


def _unknown(name: str) -> Failure:
    return failure_of(METADATA, Scope.of_topic(name), UNKNOWN_TOPIC_OR_PARTITION)


def _declare_extend(parser: ArgumentParser) -> None:
    parser.add_argument("topics", nargs="+", metavar="TOPIC", help="names of topics")
    parser.add_argument(
        "--partitions",
        type=number_from(1, MOST_INT32),
        required=True,
        metavar="N",
        help="new number of partitions in total",
    )
    parser.add_argument(
        "--assignment",
        action="append",
        type=placed,
        default=[],
        metavar="PARTITION=BROKERS",
        help="brokers of a new partition: 6=2,3; one option for each new one",
    )


def _plan_extend(context: ClusterContext) -> PlannedActions:
    options, actions, failures = context.options, [], []
    names = list(dict.fromkeys(options.topics))
    for name, known in describe_topics(context.cluster, names, context.deadline).items():
        if known is None or isinstance(known, Failure):
            failures.append(known or _unknown(name))
            continue
        count = len(known.partitions)
        problem = _extension_problem(count, options)
        if problem:
            failures.append(
                failure_of(CREATE_PARTITIONS, Scope.of_topic(name), INVALID_PARTITIONS, explanation=problem)
            )
        elif count < options.partitions:
            actions.append(extend_topic(name, count, options.partitions, dict(options.assignment)))
    note = "keys go to other partitions from then on: old and new records of one key are in different partitions, without order"
    return PlannedActions(
        actions=actions, failures=failures, notes=[note, *partition_notes(actions)] if actions else ()
    )


def _extension_problem(count: int, options: Namespace) -> str | None:
    """Return the reason why partitions cannot be added; a topic that has so many partitions already is no problem."""
    if count > options.partitions:
        return f"it has {count} partitions, and cannot have fewer"
    numbers, added = sorted(partition for partition, _ in options.assignment), range(count, options.partitions)
    # Lengths first: a list of all new numbers of an absurd count takes all memory.
    if numbers and added and (len(numbers) != len(added) or numbers != list(added)):
        return f"--assignment has to name each new partition once: {count} to {options.partitions - 1}"
    return None


def _declare_records(parser: ArgumentParser) -> None:
    parser.add_argument("partitions", nargs="+", type=selected, metavar=SPELLING, help="partitions of topics")
    parser.add_argument(
        "--before", required=True, metavar="WHERE", help=f"delete the records before this position: {SPELLINGS}"
    )


def _check_records(options: Namespace) -> list[str]:
    try:
        parse_offset_specs("--before", options.before, 0)
    except ValueError as error:
        return [f"--before: {error}; it takes {SPELLINGS}"]
    return []


def _plan_records(context: ClusterContext) -> PlannedActions:
    selection = find(context, context.options.partitions)
    specs = parse_offset_specs("--before", context.options.before, context.cluster.clock.now_ms())
    partitions = list(selection.described)
    if problems := specs.problems(partitions, {}):
        refuse(*problems)
    logs, unknown = ask_log_bounds(context.cluster, partitions, READ_UNCOMMITTED, context.deadline)
    resolved = resolve(context.cluster, specs, logs, context.deadline)
    beyond = {partition: offset for partition, offset in resolved.outside.items() if offset > logs[partition].end}
    actions = [
        action
        for partition, offset in resolved.offsets.items()
        if partition not in beyond
        and (action := delete_records_before(partition, logs[partition].log_start_offset, offset))
    ]
    refused = [_beyond(partition, offset) for partition, offset in beyond.items()]
    failures = [*selection.failures, *unknown.values(), *resolved.failures.values(), *refused]
    return PlannedActions(actions=actions, failures=failures, notes=_record_notes(resolved))


def _beyond(partition: TopicPartition, offset: int) -> Failure:
    text = f"{offset} is beyond the end of the log"
    return own_failure(DELETE_RECORDS, Scope.of_partition(*partition), "OFFSET_OUT_OF_RANGE", text)


def _record_notes(resolved: ResolvedOffsets) -> Sequence[str]:
    return [
        f"{partition}: all records are earlier than that time, so all are deleted"
        for partition in resolved.without_record
    ]


CREATE = Command(
    kind=altering(Guard.MANY_PARTITIONS),
    summary="Creates topics.",
    examples=(
        "lagoon admin create-topic orders -b kafka-1:9092 --partitions 6 --replication-factor 3",
        "lagoon admin create-topic orders -b kafka-1:9092 --config cleanup.policy=compact --if-not-exists",
    ),
    declare=_declare_create,
    check=_check_create,
    answer=_plan_create,
    requires={
        "": Requirement(
            permissions=(Permission(acls.CREATE, acls.TOPIC, "refused for each topic"), DESCRIBED_TOPIC),
            remark="CREATE on Cluster does for all topics.",
        )
    },
)
DELETE = Command(
    kind=altering(Guard.DELETIONS, Guard.INTERNAL_TOPICS),
    summary="Deletes topics with all their records. This cannot be undone.",
    examples=("lagoon admin delete-topic orders-old -b kafka-1:9092 --allow-deletions",),
    declare=_declare_delete,
    answer=_plan_delete,
    requires={"": Requirement(permissions=(Permission(acls.DELETE, acls.TOPIC, "refused for each topic"),))},
)
EXTEND = Command(
    kind=altering(Guard.INTERNAL_TOPICS, Guard.MANY_PARTITIONS),
    summary="Adds partitions to topics, up to a number in total. This cannot be undone.",
    examples=("lagoon admin create-partitions orders -b kafka-1:9092 --partitions 12 --dry-run",),
    declare=_declare_extend,
    answer=_plan_extend,
    requires={"": Requirement(permissions=(Permission(acls.ALTER, acls.TOPIC, "refused for each topic"),))},
)
TRIM = Command(
    kind=altering(Guard.RECORD_DELETION, Guard.INTERNAL_TOPICS),
    summary="Deletes the oldest records of partitions, up to an offset or a time.",
    examples=(
        "lagoon admin delete-records orders:0 -b kafka-1:9092 --before 5000 --allow-record-deletion",
        "lagoon admin delete-records orders -b kafka-1:9092 --before '7d ago' --dry-run",
    ),
    declare=_declare_records,
    check=_check_records,
    answer=_plan_records,
    requires={"": Requirement(permissions=(Permission(acls.DELETE, acls.TOPIC, "refused for each topic"),))},
)
