"""Verbs of `lagoon admin` for leaders and replicas of partitions: elections, reassignments and their cancellation."""

import json
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from kafka_lagoon.admin.brokers import no_broker, registered_brokers
from kafka_lagoon.admin.log_dirs import Replica, describe_log_dirs, replica_places
from kafka_lagoon.admin.reassignments import list_reassignments
from kafka_lagoon.apply.action import Guard
from kafka_lagoon.apply.kinds.moves import cancel, move_replica, placements, reassign
from kafka_lagoon.apply.kinds.partitions import elect_leader
from kafka_lagoon.cli.admin.command import altering
from kafka_lagoon.cli.admin.selection import SPELLING, Partitions, Selected, find, moved, selected
from kafka_lagoon.cli.arguments import file_path, number_from
from kafka_lagoon.cli.command import Command
from kafka_lagoon.cli.kafka.command import ClusterContext
from kafka_lagoon.cli.permissions import MOVES
from kafka_lagoon.cli.planned_actions import PlannedActions
from kafka_lagoon.client.failures import Failure, Scope, own_failure
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.integers import MOST_INT32
from kafka_lagoon.topic_partition import TopicPartition

_FORM = '{"partitions": [{"topic": "orders", "partition": 0, "replicas": [1, 2]}]}'
_WITHOUT_LEADER = "an unclean election is for partitions without a leader only, and may lose records"


def _declare_election(parser: ArgumentParser) -> None:
    _add_partitions(parser, "default: all partitions")
    parser.add_argument("--unclean", action="store_true", help=_WITHOUT_LEADER)


def _add_partitions(parser: ArgumentParser, default: str) -> None:
    parser.add_argument(
        "partitions", nargs="*", type=selected, metavar=SPELLING, help=f"partitions of topics; {default}"
    )


def _plan_election(context: ClusterContext) -> PlannedActions:
    selection, unclean = find(context, context.options.partitions), context.options.unclean
    wanted = (elect_leader(one, described, unclean=unclean) for one, described in selection.described.items())
    return PlannedActions(actions=[action for action in wanted if action], failures=selection.failures)


def _declare_reassignment(parser: ArgumentParser) -> None:
    parser.add_argument(
        "moves",
        nargs="*",
        type=moved,
        metavar="TOPIC:PARTITION=BROKERS",
        help="new replicas of a partition, the preferred leader first: orders:0=2,3,1",
    )
    parser.add_argument(
        "--file",
        type=file_path,
        metavar="FILE",
        help="JSON file with reassignments, as kafka-reassign-partitions takes it",
    )


def _check_reassignment(options: Namespace) -> list[str]:
    named = Counter(partition for partition, _ in options.moves)
    twice = sorted(str(one) for one, count in named.items() if count > 1)
    nothing = [] if named or options.file else ["nothing to move: name partitions, or give --file"]
    return [*nothing, *(f"{one}: named twice" for one in twice)]


def _plan_reassignment(context: ClusterContext) -> PlannedActions:
    in_file, named = _moves_in(context.options.file), dict(context.options.moves)
    if twice := [f"{partition}: named as an argument and in --file" for partition in named if partition in in_file]:
        raise ConfigError(twice)
    moves = {**in_file, **named}
    placed = placements(context.cluster, list(moves), context.deadline)
    if missing := list(_missing_brokers(context, moves, placed)):
        raise ConfigError(missing)
    wanted = (
        reassign(partition, known, moves[partition])
        for partition, known in placed.items()
        if not isinstance(known, Failure)
    )
    failures = [known for known in placed.values() if isinstance(known, Failure)]
    return PlannedActions(actions=[action for action in wanted if action], failures=failures)


def _missing_brokers(
    context: ClusterContext,
    moves: Mapping[TopicPartition, Sequence[int]],
    placed: Mapping[TopicPartition, Mapping[str, Sequence[int]] | Failure],
) -> Iterator[str]:
    """Lines about partitions that are to be moved to brokers which are not registered, if the cluster tells which are."""
    added = {
        partition: set(moves[partition]).difference(known["replicas"], context.cluster.brokers)
        for partition, known in placed.items()
        if not isinstance(known, Failure)
    }
    if not any(added.values()):
        return
    registered = registered_brokers(context.cluster, context.deadline)
    if not isinstance(registered, Mapping):
        return  # the controller refuses a broker that does not exist
    for partition, brokers in added.items():
        for broker_id in sorted(brokers - registered.keys()):
            yield f"{partition}: {no_broker(broker_id, registered)}"


def _moves_in(file: Path | None) -> Mapping[TopicPartition, Sequence[int]]:
    """Read the reassignments of a file. A log directory in it is a fault: `move-replica` sets those."""
    if file is None:
        return {}
    try:
        entries = json.loads(file.read_text("utf-8-sig"))["partitions"]
        moves = list(map(_move, entries))
        directed = [move[0] for move, entry in zip(moves, entries, strict=True) if _has_log_dirs(entry)]
    except OSError as error:
        raise ConfigError([f"--file: {file}: {error.strerror}"]) from None
    except UnicodeDecodeError:
        raise ConfigError([f"--file: {file}: not text in UTF-8"]) from None
    except json.JSONDecodeError as error:
        raise ConfigError([f"--file: {file}: not JSON: {error}"]) from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ConfigError([f"--file: {file}: not moves as kafka-reassign-partitions has them: {_FORM}"]) from None
    counts = Counter(partition for partition, _ in moves)
    problems = [
        f"--file: {file}: {partition} stands there {count} times" for partition, count in counts.items() if count > 1
    ]
    problems += [
        f"--file: {file}: {partition} names a broker twice"
        for partition, brokers in moves
        if len(set(brokers)) < len(brokers)
    ]
    problems += [
        f"--file: {file}: {partition} has log_dirs: leave them out here, and use lagoon admin move-replica"
        for partition in directed
    ]
    if problems:
        raise ConfigError(problems)
    return dict(moves)


def _move(entry: Any) -> tuple[TopicPartition, list[int]]:
    """Read an entry of the list; KeyError, TypeError or ValueError for other JSON."""
    topic, partition, brokers = entry["topic"], entry["partition"], entry["replicas"]
    if not (
        isinstance(topic, str) and isinstance(brokers, list) and brokers and all(map(_is_id, [partition, *brokers]))
    ):
        raise ValueError(entry)
    return TopicPartition(topic, partition), brokers


def _has_log_dirs(entry: Any) -> bool:
    """Return True if an entry says in which log directory a replica is to be; TypeError for other JSON."""
    return any(log_dir != "any" for log_dir in entry.get("log_dirs") or ())


def _is_id(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_INT32


def _declare_cancelling(parser: ArgumentParser) -> None:
    _add_partitions(parser, "default: all partitions that are being moved")


def _plan_cancelling(context: ClusterContext) -> PlannedActions:
    wanted = context.options.partitions
    selection = find(context, wanted) if wanted else _all_moving(context)
    placed = placements(context.cluster, list(selection.described), context.deadline)
    actions = [
        action
        for partition, known in placed.items()
        if not isinstance(known, Failure) and (action := cancel(partition, known))
    ]
    unknown = [known for known in placed.values() if isinstance(known, Failure)]
    return PlannedActions(actions=actions, failures=[*selection.failures, *unknown])


def _all_moving(context: ClusterContext) -> Partitions:
    listed = list_reassignments(context.cluster, context.deadline)
    if isinstance(listed, Failure):
        return Partitions(failures=[listed])
    moving = [
        Selected(topic.name, frozenset(one.partition_index for one in topic.partitions)) for topic in listed.topics
    ]
    return find(context, moving) if moving else Partitions()


def _declare_move(parser: ArgumentParser) -> None:
    parser.add_argument("partitions", nargs="+", type=selected, metavar=SPELLING, help="partitions of topics")
    parser.add_argument(
        "--broker",
        type=number_from(0, MOST_INT32),
        required=True,
        metavar="ID",
        help="the broker that has the replicas",
    )
    parser.add_argument("--to", required=True, metavar="DIRECTORY", help="one of its log.dirs, as an absolute path")


def _check_move(options: Namespace) -> list[str]:
    return [] if options.to.startswith("/") else [f"--to: {options.to}: not an absolute path"]


def _plan_move(context: ClusterContext) -> PlannedActions:
    selection, broker_id = find(context, context.options.partitions), context.options.broker
    named = _named(context.options.partitions)
    replicas = [
        Replica(*partition, broker_id)
        for partition, described in selection.described.items()
        if broker_id in described.replica_nodes or partition in named
    ]
    gathered = replica_places(context.cluster, replicas, context.deadline)
    wanted = (move_replica(replica, place, context.options.to) for replica, place in gathered.answers.items())
    actions = [action for action in wanted if action]
    failures = [*selection.failures, *gathered.failures.values()]
    if actions and (unknown := _unknown_directory(context, broker_id, context.options.to)):
        return PlannedActions(actions=[], failures=[*failures, unknown])
    return PlannedActions(actions=actions, failures=failures)


def _unknown_directory(context: ClusterContext, broker_id: int, log_dir: str) -> Failure | None:
    """Why nothing can be moved there: brokers cannot validate a move, so a dry run shows only what is found here."""
    answer = describe_log_dirs(context.cluster, [broker_id], context.deadline).answers.get(broker_id)
    known = sorted(one.log_dir for one in answer.results) if answer else [log_dir]
    if log_dir in known:
        return None
    message = f"it has {', '.join(known)}"
    return own_failure("AlterReplicaLogDirs", Scope.of_log_dir(broker_id, log_dir), "LOG_DIR_NOT_FOUND", message)


def _named(wanted: Sequence[Selected]) -> set[TopicPartition]:
    """Return the partitions that were named themselves: only their absence on the broker is a failure."""
    return {TopicPartition(one.topic, number) for one in wanted for number in one.partitions or ()}


ELECT_LEADERS = Command(
    kind=altering(Guard.UNCLEAN_ELECTIONS),
    summary="Elects preferred replicas as leaders, or with --unclean any live replica.",
    examples=(
        "lagoon admin elect-leaders -b kafka-1:9092",
        "lagoon admin elect-leaders orders:0,1 -b kafka-1:9092 --unclean --allow-unclean-elections",
    ),
    declare=_declare_election,
    answer=_plan_election,
    requires={"": MOVES},
)
REASSIGN = Command(
    kind=altering(),
    summary="Moves partitions to other brokers; the brokers still copy data after the command has ended.",
    examples=(
        "lagoon admin reassign orders:0=1,2,3 orders:1=2,3,1 -b kafka-1:9092",
        "lagoon admin reassign --file reassignment.json -b kafka-1:9092 --dry-run",
    ),
    declare=_declare_reassignment,
    check=_check_reassignment,
    answer=_plan_reassignment,
    requires={"": MOVES},
)
CANCEL = Command(
    kind=altering(),
    summary="Cancels reassignments: partitions stay on the brokers that they had before.",
    examples=(
        "lagoon admin cancel-reassignment -b kafka-1:9092",
        "lagoon admin cancel-reassignment orders:0 -b kafka-1:9092",
    ),
    declare=_declare_cancelling,
    answer=_plan_cancelling,
    requires={"": MOVES},
)
MOVE_REPLICA = Command(
    kind=altering(),
    summary="Moves replicas to another log directory of their broker, which still copies data after the command has ended.",
    examples=("lagoon admin move-replica orders:0,1 -b kafka-1:9092 --broker 2 --to /data/kafka-2",),
    declare=_declare_move,
    check=_check_move,
    answer=_plan_move,
    requires={"": MOVES},
)
