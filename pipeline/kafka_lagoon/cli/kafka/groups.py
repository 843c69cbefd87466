"""`lagoon kafka groups`: every group that any broker coordinates, of all types."""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping

from kafka_lagoon.admin.groups import CLASSIC, STATES, TYPES, GroupListing, list_groups
from kafka_lagoon.cli.arguments import names_among, pattern
from kafka_lagoon.cli.command import Command
from kafka_lagoon.cli.kafka.command import CLUSTER, ClusterContext
from kafka_lagoon.cli.kafka.selection import list_notes
from kafka_lagoon.cli.output import CommandOutput, RowSet
from kafka_lagoon.cli.permissions import ALL_GROUPS, Requirement
from kafka_lagoon.protocol.messages.list_groups import LIST_GROUPS
from kafka_lagoon.tables.row_classes import Int32, before, column, row
from kafka_lagoon.text import counted


@row
class ListedGroupRow:
    """Groups as their coordinators list them, one row each."""

    group_id: str = column("group.id of the group.")
    group_type: str | None = column(
        "classic, consumer (KIP-848), share or streams; null if the brokers do not return it.",
        null_if=before("ListGroups", 5),
    )
    protocol_type: str = column("consumer, connect and others; empty for groups that only store offsets.")
    state: str | None = column(
        "State of the group as Kafka spells it; null if the brokers are too old to list it.",
        null_if=before("ListGroups", 4),
    )
    coordinator_id: Int32 = column("Broker that coordinates the group.")


def _declare(parser: ArgumentParser) -> None:
    parser.add_argument("--pattern", type=pattern, metavar="REGEX", help="only groups whose whole id matches")
    parser.add_argument(
        "--type",
        type=names_among(TYPES, {"--state": STATES}),
        metavar="A,B",
        help=f"only groups of these types: {', '.join(TYPES)}",
    )
    parser.add_argument(
        "--state",
        type=names_among(STATES, {"--type": TYPES}),
        metavar="A,B",
        help=f"only groups in these states: {', '.join(STATES)}",
    )


def _answer(context: ClusterContext) -> CommandOutput:
    listings = list_groups(context.cluster, context.deadline)
    selected = [row for row in listed_rows(listings.groups) if _is_selected(row, context.options)]
    state_unknown = sum(row.state is None for row in selected) if context.options.state else 0
    return CommandOutput(
        rows=[
            RowSet(
                kind="group",
                rows=[row for row in selected if _is_among(row.state, context.options.state)],
                columns=("group_id", "group_type", "protocol_type", "state", "coordinator_id"),
            )
        ],
        failures=listings.failures,
        complaints=[
            f"--state leaves out {counted(state_unknown, 'group')} whose state brokers before Kafka 2.6 do not list"
        ]
        if state_unknown
        else (),
        notes=list_notes(context, LIST_GROUPS.name, "groups"),
    )


def listed_rows(groups: Mapping[str, GroupListing]) -> Iterator[ListedGroupRow]:
    """One row per group, ordered by id."""
    for group_id, listing in sorted(groups.items()):
        yield ListedGroupRow(
            group_id=group_id,
            group_type=listing.group_type,
            protocol_type=listing.group.protocol_type,
            state=listing.group.group_state or None,
            coordinator_id=listing.node_id,
        )


def _is_selected(row: ListedGroupRow, options: Namespace) -> bool:
    has_name = options.pattern is None or options.pattern.fullmatch(row.group_id) is not None
    # Brokers that do not list types have only classic groups.
    return has_name and _is_among(row.group_type or CLASSIC, options.type)


def _is_among(value: str | None, wanted: list[str] | None) -> bool:
    return wanted is None or (value or "").lower() in {one.lower() for one in wanted}


COMMAND = Command(
    kind=CLUSTER,
    summary="Lists groups of all types, with their states and coordinators.",
    examples=(
        "lagoon kafka groups -b kafka-1:9092",
        "lagoon kafka groups -b kafka-1:9092 --type consumer,share --state Empty",
    ),
    declare=_declare,
    answer=_answer,
    requires={
        "": Requirement(
            permissions=(ALL_GROUPS,),
            remark="With DESCRIBE on Group in its place, a line says that those may not be all.",
        )
    },
)
