"""`lagoon kafka health`: partitions without a leader, with too few replicas in sync, and other findings.

Findings do not change the exit code. With `--fail` they do: it is 3, the same as if partitions could not be read, because
a cluster counts as healthy only if it is known to be.
"""

from argparse import ArgumentParser
from collections.abc import Iterator, Sequence

from kafka_lagoon.admin.reassignments import list_reassignments
from kafka_lagoon.cli.arguments import names_among
from kafka_lagoon.cli.command import Command
from kafka_lagoon.cli.kafka.command import CLUSTER, ClusterContext
from kafka_lagoon.cli.kafka.lag_selection import LIMITS
from kafka_lagoon.cli.kafka.selection import add_topics, selected_topology, topic_notes
from kafka_lagoon.cli.kafka.watch import add_watch
from kafka_lagoon.cli.output import CommandOutput, RowSet, failure_lines
from kafka_lagoon.cli.permissions import TOPIC_SETTINGS, TOPICS, Requirement
from kafka_lagoon.cli.terminal import COMPLETE, INCOMPLETE
from kafka_lagoon.cli.thresholds import Measured, Threshold, Unit, add_fail_above, lines_of, nothing_visible
from kafka_lagoon.client.failures import Failure, Scope, own_failure
from kafka_lagoon.protocol.messages.describe_configs import DESCRIBE_CONFIGS
from kafka_lagoon.snapshot.health import (
    FINDINGS,
    GRAVE,
    MIN_ISR_UNKNOWN,
    FindingCountRow,
    finding_counts,
    findings,
    unhealthy_rows,
)
from kafka_lagoon.snapshot.min_isr import read_durability
from kafka_lagoon.snapshot.reassignments import added_replicas
from kafka_lagoon.snapshot.topology import Durability, partition_rows

_MOVES_WAIT_MS = 3_000  # for the controller, which may be down
_MOVES = "With DESCRIBE on the cluster, replicas that a reassignment adds do not count as missing."


def _declare(parser: ArgumentParser) -> None:
    add_topics(parser)
    parser.add_argument(
        "--only",
        type=names_among(FINDINGS),
        default=list(FINDINGS),
        metavar="A,B",
        help=f"only these findings: {', '.join(FINDINGS)}",
    )
    parser.add_argument(
        "--fail",
        type=names_among(FINDINGS),
        nargs="?",
        const=list(GRAVE),
        default=[],
        metavar="A,B",
        help=f"exit 3 if a partition has one of these findings; without names: {', '.join(GRAVE)}",
    )
    of_groups = dict.fromkeys(LIMITS, "lagoon kafka lag")
    add_fail_above(parser, dict.fromkeys(FINDINGS, (Unit.COUNT, "partitions with this finding")), of_groups)
    add_watch(parser)


def _answer(context: ClusterContext) -> CommandOutput:
    topology, refused = selected_topology(context)
    durability, unread = read_durability(context.cluster, list(topology.partitions), context.deadline)
    hidden = topic_notes(context)
    partitions, notes = list(partition_rows(topology, durability)), list(hidden)
    if any(one.is_under_replicated for one in partitions):  # perhaps only because a reassignment adds replicas
        moves = list_reassignments(context.cluster, context.deadline.within(_MOVES_WAIT_MS))
        partitions = list(partition_rows(topology, durability, added_replicas(moves)))
        if isinstance(moves, Failure) and not moves.is_too_old:
            (reason,) = failure_lines([moves])
            notes.append(f"under_replicated: replicas that a reassignment adds count, too: {reason}")
    failures = [failure for failure in unread if not failure.is_too_old]
    grave = any(finding in context.options.fail for one in partitions for finding in findings(one))
    counts = list(finding_counts(partitions))
    passed = list(_passed(counts, context.options.fail_above))
    if hidden and not partitions and (context.options.fail or context.options.fail_above):
        passed.append(nothing_visible("topic"))
    columns = ("topic", "partition", "findings", "leader_id", "replicas", "isr", "problem")
    wide = (*columns[:-1], "offline_replicas", "problem")
    return CommandOutput(
        rows=[
            RowSet(kind="finding", rows=counts, columns=("finding", "partitions", "of")),
            RowSet(kind="partition", rows=unhealthy_rows(partitions, context.options.only), columns=columns, wide=wide),
        ],
        failures=[*refused, *failures, *_unread_settings(durability, unread)],
        complaints=passed,
        notes=notes,
        exit_code=INCOMPLETE if grave else COMPLETE,
    )


def _passed(counts: Sequence[FindingCountRow], limits: Sequence[Threshold]) -> Iterator[str]:
    by_finding = {row.finding: row.partitions for row in counts}
    for limit in limits:
        number = by_finding[limit.name]
        yield from lines_of(limit, Measured(above=number if number > limit.limit else 0), "partitions")


def _unread_settings(durability: Durability, unread: Sequence[Failure]) -> Iterator[Failure]:
    """List failures of topics whose configs were refused, unless the request has failed as a whole."""
    reported = {failure.name for failure in unread}
    for topic, problem in sorted(durability.problems.items()):
        if problem not in reported:
            yield own_failure(DESCRIBE_CONFIGS, Scope.of_topic(topic), problem)


COMMAND = Command(
    kind=CLUSTER,
    summary="Lists partitions that are leaderless, under-replicated, below min.insync.replicas, or not led by their preferred "
    f"leader. {MIN_ISR_UNKNOWN}: min.insync.replicas could not be read.",
    examples=(
        "lagoon kafka health -b kafka-1:9092",
        "lagoon kafka health -b kafka-1:9092 --only leaderless --fail leaderless  # exit 3 where there is one",
    ),
    declare=_declare,
    answer=_answer,
    requires={"": Requirement(permissions=(TOPICS, TOPIC_SETTINGS), remark=_MOVES)},
)
