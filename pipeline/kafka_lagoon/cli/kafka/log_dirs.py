"""`lagoon kafka log-dirs`: the log directories of every broker, and optionally their replicas."""

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence

from kafka_lagoon.admin.log_dirs import LogDirs, describe_log_dirs
from kafka_lagoon.cli.arguments import ids
from kafka_lagoon.cli.command import Command
from kafka_lagoon.cli.kafka.command import CLUSTER, ClusterContext
from kafka_lagoon.cli.kafka.selection import add_topics, every_broker, not_listed
from kafka_lagoon.cli.output import CommandOutput, RowSet
from kafka_lagoon.cli.permissions import DESCRIBED_CLUSTER, Requirement
from kafka_lagoon.client.failures import Failure, Scope
from kafka_lagoon.protocol.messages.describe_log_dirs import DESCRIBE_LOG_DIRS
from kafka_lagoon.snapshot.log_dirs import log_dir_rows, replica_rows


def _declare(parser: ArgumentParser) -> None:
    parser.add_argument("--broker", type=ids, metavar="1,2", help="only these brokers; default: all")
    parser.add_argument("--replicas", action="store_true", help="add a row for every replica")
    add_topics(parser)


def _answer(context: ClusterContext) -> CommandOutput:
    options = context.options
    brokers: Sequence[int] = every_broker(context) if options.broker is None else options.broker
    log_dirs = describe_log_dirs(context.cluster, brokers, context.deadline)
    columns = ("broker_id", "log_dir", "total_bytes", "usable_bytes", "replicas", "size_bytes", "problem")
    wide = (*columns[:-1], "is_cordoned", "problem")
    parts = [RowSet(kind="log_dir", rows=log_dir_rows(log_dirs.answers), columns=columns, wide=wide)]
    if options.replicas or options.topic is not None:
        topics = None if options.topic is None else frozenset(options.topic)
        rows = (row for row in replica_rows(log_dirs.answers) if topics is None or row.topic in topics)
        replica_columns = ("broker_id", "log_dir", "topic", "partition", "size_bytes", "offset_lag", "is_future")
        parts.append(RowSet(kind="replica", rows=rows, columns=replica_columns))
    return CommandOutput(rows=parts, failures=[*log_dirs.failures, *_nowhere(options, log_dirs)])


def _nowhere(options: Namespace, log_dirs: LogDirs) -> list[Failure]:
    """Make failures for named topics without a replica; none if a directory failed or brokers were selected."""
    if options.topic is None or options.broker is not None or log_dirs.failures:
        return []
    existing = {topic.name for answer in log_dirs.answers.values() for one in answer.results for topic in one.topics}
    return not_listed(DESCRIBE_LOG_DIRS.name, Scope.of_topic, options.topic, existing)


COMMAND = Command(
    kind=CLUSTER,
    summary="Lists log directories of the brokers; --replicas or --topic adds replicas.",
    examples=(
        "lagoon kafka log-dirs -b kafka-1:9092",
        "lagoon kafka log-dirs orders -b kafka-1:9092 --broker 1,2",
    ),
    declare=_declare,
    answer=_answer,
    requires={"": Requirement(permissions=(DESCRIBED_CLUSTER,))},
)
