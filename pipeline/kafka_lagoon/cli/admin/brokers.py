"""Verbs of `lagoon admin` for brokers and controllers: voters, features, and removal of stopped brokers."""

import re
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence

from kafka_lagoon.admin.brokers import registered_brokers
from kafka_lagoon.admin.features import feature_levels
from kafka_lagoon.admin.quorum import describe_quorum, quorum_partitions
from kafka_lagoon.apply.action import Guard
from kafka_lagoon.apply.kinds.cluster import (
    add_voter,
    remove_voter,
    unregister_broker,
    update_feature,
    voters,
)
from kafka_lagoon.apply.kinds.names import parse_directory_id, parse_listener
from kafka_lagoon.cli.admin.command import altering
from kafka_lagoon.cli.arguments import number_from
from kafka_lagoon.cli.command import Command
from kafka_lagoon.cli.kafka.command import ClusterContext
from kafka_lagoon.cli.permissions import ALTERS_CLUSTER
from kafka_lagoon.cli.planned_actions import PlannedActions
from kafka_lagoon.client.agreement import agreed_metadata
from kafka_lagoon.client.failures import Failure, Scope, own_failure
from kafka_lagoon.integers import MOST_INT16, MOST_INT32
from kafka_lagoon.protocol.messages.add_raft_voter import ADD_RAFT_VOTER
from kafka_lagoon.protocol.messages.remove_raft_voter import REMOVE_RAFT_VOTER
from kafka_lagoon.protocol.messages.unregister_broker import UNREGISTER_BROKER
from kafka_lagoon.protocol.messages.update_features import UPDATE_FEATURES
from kafka_lagoon.wire.primitives import uuid_text

_LEVEL = re.compile(r"([a-z.]+)=(\d{1,5})", re.ASCII)
_RUNNING = "it is running: stop it first, or it goes on running while no broker lists it"


def _accepted_by(parse: Callable[[str], object]) -> Callable[[str], str]:
    """An argument as it is written, if a parser accepts it; the message of its ValueError is shown."""

    def accepted(text: str) -> str:
        try:
            parse(text)
        except ValueError as error:
            raise ArgumentTypeError(str(error)) from None
        return text

    return accepted


def _declare_adding(parser: ArgumentParser) -> None:
    parser.add_argument(
        "voter",
        type=number_from(0, MOST_INT32),
        metavar="ID",
        help="node.id of a running controller that is an observer",
    )
    parser.add_argument(
        "--listener",
        action="append",
        type=_accepted_by(parse_listener),
        required=True,
        metavar="NAME://HOST:PORT",
        help="address at which other controllers reach it, for each of its controller.listener.names",
    )
    _add_directory(parser, "default: the directory of the observer with this id")


def _add_directory(parser: ArgumentParser, default: str) -> None:
    parser.add_argument(
        "--directory-id",
        type=_accepted_by(parse_directory_id),
        metavar="UUID",
        help=f"directory.id in its meta.properties; {default}",
    )


def _plan_adding(context: ClusterContext) -> PlannedActions:
    voter_id, known = context.options.voter, voters(context.cluster, context.deadline)
    if isinstance(known, Failure):
        return PlannedActions(failures=[known])
    directory_id = context.options.directory_id or _observed(context).get(voter_id)
    if voter_id in known and directory_id in (None, known[voter_id].directory_id):
        return PlannedActions()
    if voter_id in known or directory_id is None:
        text = (
            "it votes with another directory" if voter_id in known else "no observer has this id: give --directory-id"
        )
        return PlannedActions(failures=[own_failure(ADD_RAFT_VOTER, _scope(voter_id), "UNKNOWN_VOTER", text)])
    return PlannedActions(actions=[add_voter(voter_id, directory_id, context.options.listener)])


def _observed(context: ClusterContext) -> Mapping[int, str]:
    """Return the directories of observers: controllers that follow the metadata log without a vote."""
    quorum = describe_quorum(context.cluster, context.deadline)
    if isinstance(quorum, Failure):
        return {}
    observers = (one for partition in quorum_partitions(quorum) for one in partition.observers)
    return {one.replica_id: text for one in observers if (text := uuid_text(one.replica_directory_id))}


def _scope(voter_id: int) -> Scope:
    return Scope.config(f"voter {voter_id}")


def _declare_removal(parser: ArgumentParser) -> None:
    parser.add_argument(
        "voter", type=number_from(0, MOST_INT32), metavar="ID", help="node.id of a controller that is a voter"
    )
    _add_directory(parser, "default: the directory that it votes with")


def _plan_removal(context: ClusterContext) -> PlannedActions:
    voter_id, known = context.options.voter, voters(context.cluster, context.deadline)
    if isinstance(known, Failure):
        return PlannedActions(failures=[known])
    directory_id = known[voter_id].directory_id if voter_id in known else None
    if directory_id is None or context.options.directory_id not in (None, directory_id):
        text = f"it votes with directory {directory_id}" if directory_id else "it has no vote"
        return PlannedActions(failures=[own_failure(REMOVE_RAFT_VOTER, _scope(voter_id), "UNKNOWN_VOTER", text)])
    return PlannedActions(actions=[remove_voter(voter_id, directory_id)])


def _declare_broker(parser: ArgumentParser) -> None:
    parser.add_argument(
        "brokers",
        nargs="+",
        type=number_from(0, MOST_INT32),
        metavar="ID",
        help="ids of brokers that are stopped and will not be started again",
    )


def _plan_unregistering(context: ClusterContext) -> PlannedActions:
    known = registered_brokers(context.cluster, context.deadline)
    if isinstance(known, Failure):
        return PlannedActions(failures=[known])
    running = set(context.cluster.brokers) if known is None else {one for one, fenced in known.items() if not fenced}
    wanted = dict.fromkeys(context.options.brokers)
    refused = {one: _RUNNING for one in wanted if one in running}
    refused |= {one: "it is not registered" for one in wanted if known is not None and one not in known}
    failures = [
        own_failure(
            UNREGISTER_BROKER, Scope.broker(one), "BROKER_IS_RUNNING" if one in running else "UNKNOWN_BROKER", text
        )
        for one, text in refused.items()
    ]
    actions = [
        unregister_broker(one, fenced=None if known is None else known[one]) for one in wanted if one not in refused
    ]
    return PlannedActions(actions=actions, failures=failures, notes=_still_assigned(context, wanted))


def _still_assigned(context: ClusterContext, brokers: Container[int]) -> Sequence[str]:
    """Return a note if the brokers still have replicas: Kafka does not move them by itself."""
    topics = agreed_metadata(context.cluster, None, context.deadline).topics
    replicas = (replica for topic in topics for partition in topic.partitions for replica in partition.replica_nodes)
    count = sum(replica in brokers for replica in replicas)
    return [f"{count} replicas are still assigned there: `lagoon admin reassign` moves them"] if count else ()


def _declare_feature(parser: ArgumentParser) -> None:
    parser.add_argument(
        "features",
        nargs="+",
        type=_level,
        metavar="FEATURE=LEVEL",
        help="e.g. group.version=1; level 0 disables the feature",
    )
    parser.add_argument(
        "--unsafe", action="store_true", help="allow a downgrade that may lose metadata; needs --allow-deletions, too"
    )


def _level(text: str) -> tuple[str, int]:
    match = _LEVEL.fullmatch(text)
    if match is None:
        raise ArgumentTypeError(f"{text!r} is not FEATURE=LEVEL, and a level is a number")
    if int(match[2]) > MOST_INT16:
        raise ArgumentTypeError(f"{text!r} has a level above {MOST_INT16}")
    return match[1], int(match[2])


def _check_feature(options: Namespace) -> list[str]:
    named = Counter(name for name, _ in options.features)
    return [f"{name}: named twice" for name, count in named.items() if count > 1]


def _plan_feature(context: ClusterContext) -> PlannedActions:
    known = feature_levels(context.cluster, context.deadline)
    if isinstance(known, Failure):
        return PlannedActions(failures=[known])
    actions, failures = [], []
    for name, level in context.options.features:
        if name in known:
            action = update_feature(name, known[name].level, level, unsafe=context.options.unsafe)
            actions += [action] if action else []
        else:
            text = f"no feature of this cluster: {', '.join(known) or 'brokers have none'}"
            failures.append(own_failure(UPDATE_FEATURES, Scope.config(f"feature {name}"), "UNKNOWN_FEATURE", text))
    return PlannedActions(actions=actions, failures=failures)


ADD_VOTER = Command(
    kind=altering(),
    summary="Gives a controller a vote in the metadata quorum.",
    examples=("lagoon admin add-voter 3 -b kafka-1:9092 --listener CONTROLLER://kafka-3:9093",),
    declare=_declare_adding,
    answer=_plan_adding,
    requires={"": ALTERS_CLUSTER},
)
REMOVE_VOTER = Command(
    kind=altering(Guard.DELETIONS),
    summary="Removes a controller's vote in the metadata quorum.",
    examples=("lagoon admin remove-voter 3 -b kafka-1:9092 --allow-deletions",),
    declare=_declare_removal,
    answer=_plan_removal,
    requires={"": ALTERS_CLUSTER},
)
UNREGISTER = Command(
    kind=altering(Guard.DELETIONS),
    summary="Removes the registrations of brokers that are stopped and will not be started again.",
    examples=("lagoon admin unregister-broker 4 -b kafka-1:9092 --allow-deletions",),
    declare=_declare_broker,
    answer=_plan_unregistering,
    requires={"": ALTERS_CLUSTER},
)
UPDATE_FEATURE = Command(
    kind=altering(Guard.DELETIONS),
    summary="Changes the finalized level of features in the whole cluster.",
    examples=("lagoon admin update-feature group.version=1 -b kafka-1:9092 --dry-run",),
    declare=_declare_feature,
    check=_check_feature,
    answer=_plan_feature,
    requires={"": ALTERS_CLUSTER},
)
