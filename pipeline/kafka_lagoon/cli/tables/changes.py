"""`lagoon changes`: what changed between the newest snapshot and the one before it, or since a time; the newest first.

Of one snapshot, what was lost or taken back stands before what was added.
"""

import argparse
from collections.abc import Iterator

from kafka_lagoon.cli.arguments import moment_argument, names
from kafka_lagoon.cli.tables.command import Answer, Condition, Context, Part, TableCommand, of_snapshots, whole_match
from kafka_lagoon.cli.tables.limits import count_lines
from kafka_lagoon.cli.tables.snapshots import time_literal
from kafka_lagoon.cli.thresholds import Unit, add_fail_above

_VIEW = "topology_changes"
TYPES = ("truncated", "recreated", "moved_back", "removed", "changed", "added")  # worst first
ENTITIES = (
    *("cluster", "broker", "voter", "log_dir", "topic", "partition", "reassignment", "config", "feature", "quota"),
    *("scram_user", "delegation_token", "acl", "group", "member", "group_partition"),
)
_WORST = "CASE change_type {} END".format(" ".join(f"WHEN '{name}' THEN {place}" for place, name in enumerate(TYPES)))
_BY_NAME = "cluster, entity_type, entity, attribute"
_SORTS = {
    "time": f"captured_at DESC, {_WORST}, {_BY_NAME}",
    "worst": f"{_WORST}, captured_at DESC, {_BY_NAME}",
    "name": f"{_BY_NAME}, captured_at DESC",
}
_NAMES = {
    "changes": (Unit.COUNT, "all changes"),
    **dict.fromkeys(TYPES, (Unit.COUNT, "changes of this type")),
    **dict.fromkeys(ENTITIES, (Unit.COUNT, "changes of such")),
    "age": (Unit.DURATION, "age of the snapshot"),
}


def _declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--since", type=moment_argument, metavar="TIME", help="every change after the last snapshot before this time"
    )
    parser.add_argument("--group", type=names, metavar="A,B", help="only these groups")
    parser.add_argument("--type", type=names, metavar="A,B", help=f"only these types of changes: {', '.join(TYPES)}")
    parser.add_argument("--entity", type=names, metavar="A,B", help=f"only changes of these: {', '.join(ENTITIES)}")
    parser.add_argument("--sort", choices=_SORTS, default="time", help="what stands first (default: time, the newest)")
    add_fail_above(parser, _NAMES)


def _answer(context: Context) -> Answer:
    rows = _selected(context)
    return Answer(parts=[_changes(context, rows)], complaints=_complaints(context, rows))


def _selected(context: Context) -> Condition:
    options = context.options
    rows = _between(context) if options.since else of_snapshots(context.snapshots)
    rows = rows.among("topic", options.topic).among("group_id", options.group)
    rows = rows.among("change_type", options.type).among("entity_type", options.entity)
    return rows if options.pattern is None else rows.also(*whole_match("entity", options.pattern.pattern))


def _between(context: Context) -> Condition:
    """Changes that the snapshots after a time show, up to the chosen one of each cluster."""
    start = context.instant(context.options.since)
    until = " OR ".join(
        f"(cluster = ? AND captured_at <= {time_literal(one.captured_at)})" for one in context.snapshots
    )
    latest = max(one.snapshot_date for one in context.snapshots)
    days = f"BETWEEN DATE '{start.date()}' AND DATE '{latest}'" if start.date() < latest else f"= DATE '{latest}'"
    return (
        Condition()
        .also(f"snapshot_date {days}")
        .also(f"captured_at > {time_literal(start)}")
        .also(f"({until})", *(one.cluster for one in context.snapshots))
    )


def _changes(context: Context, rows: Condition) -> Part:
    options = context.options
    columns = ("change_type", "entity_type", "entity", "attribute", "old_value", "new_value")
    times = ("captured_at",) if options.since else ()
    return Part(
        kind="change",
        statement=f"SELECT * FROM {_VIEW} WHERE {rows} ORDER BY {_SORTS[options.sort]} {context.limit()}",  # noqa: S608  names of ours
        values=rows.values,
        columns=(*times, *columns),
        wide=("captured_at", "previous_captured_at", *columns, "source", "is_proven"),
    )


def _complaints(context: Context, rows: Condition) -> Iterator[str]:
    columns = {**dict.fromkeys(TYPES, "change_type"), **dict.fromkeys(ENTITIES, "entity_type")}
    place = "concat(entity_type, ' ', entity)"
    return count_lines(context, f"SELECT * FROM {_VIEW} WHERE", rows, columns, place, "changes")  # noqa: S608  names of ours


COMMAND = TableCommand(
    name="changes",
    summary="What changed between the newest published snapshot and the one before it, or since a time (--since).",
    relations=(_VIEW,),
    declare=_declare,
    answer=_answer,
)
