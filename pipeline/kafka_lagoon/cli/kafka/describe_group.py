"""`lagoon kafka describe-group`: groups of every type with their members and assignments."""

from argparse import ArgumentParser
from collections.abc import Mapping

from kafka_lagoon.admin.groups import GroupDescriptions, GroupListing, describe_groups, list_groups
from kafka_lagoon.cli.command import Command
from kafka_lagoon.cli.kafka.command import CLUSTER, ClusterContext
from kafka_lagoon.cli.kafka.selection import list_notes, not_listed
from kafka_lagoon.cli.output import CommandOutput, RowSet
from kafka_lagoon.cli.permissions import ALL_GROUPS, GROUPS, NAMED_GROUPS, TOPICS_OF_MEMBERS, Requirement
from kafka_lagoon.client.failures import Scope
from kafka_lagoon.protocol.messages.list_groups import LIST_GROUPS
from kafka_lagoon.snapshot.groups import Groups, group_rows, needs_topology
from kafka_lagoon.snapshot.topology import read_topology
from kafka_lagoon.tables.group_rows import GroupMemberRow

_GROUP = ("group_id", "group_type", "state", "protocol", "coordinator_id", "members", "problem")
_WIDE_GROUP = (*_GROUP[:-1], "group_epoch", "problem")
_MEMBER = ("group_id", "client_id", "client_host", "assignment", "problem")
_IDENTITY = ("group_id", "member_id", "group_instance_id", "client_id", "client_host", "rack_id")
_WIDE_MEMBER = (*_IDENTITY, "member_epoch", "assignment", "problem")


def _by_id(member: GroupMemberRow) -> tuple[str, str]:
    """Return the sort key of members, because coordinators return them in any order."""
    return member.group_id, member.member_id


def _declare(parser: ArgumentParser) -> None:
    parser.add_argument("group", nargs="*", metavar="GROUP", help="ids of groups; default: all")


def _answer(context: ClusterContext) -> CommandOutput:
    wanted: list[str] = context.options.group
    listings = list_groups(context.cluster, context.deadline)
    named = frozenset(wanted)
    selected = {group_id: one for group_id, one in listings.groups.items() if not named or group_id in named}
    groups = _rows(context, selected, describe_groups(context.cluster, selected, context.deadline))
    return CommandOutput(
        rows=[
            RowSet(kind="group", rows=groups.groups, columns=_GROUP, wide=_WIDE_GROUP),
            RowSet(kind="member", rows=sorted(groups.members, key=_by_id), columns=_MEMBER, wide=_WIDE_MEMBER),
        ],
        failures=[
            *listings.failures,
            *groups.failures,
            *not_listed(LIST_GROUPS.name, Scope.group, wanted, listings.groups, listings.failures),
        ],
        notes=() if wanted else list_notes(context, LIST_GROUPS.name, "groups"),
    )


def _rows(context: ClusterContext, selected: Mapping[str, GroupListing], described: GroupDescriptions) -> Groups:
    topology = None
    if needs_topology(selected, described):
        topology = read_topology(context.cluster, None, context.deadline)
    return group_rows(selected, described, topology)


COMMAND = Command(
    kind=CLUSTER,
    summary="Describes groups of every type, with their members and assignments.",
    examples=("lagoon kafka describe-group billing -b kafka-1:9092",),
    declare=_declare,
    answer=_answer,
    requires={
        "": Requirement(permissions=(ALL_GROUPS, GROUPS, TOPICS_OF_MEMBERS)),
        "GROUP": Requirement(permissions=(NAMED_GROUPS, TOPICS_OF_MEMBERS)),
    },
)
