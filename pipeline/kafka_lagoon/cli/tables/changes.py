"""`lagoon changes`: changes between the newest snapshot and the one before it, or since a time; the newest first.

With --between it shows differences of two clusters instead (differences.py).

Within a snapshot, truncations and removals come before additions.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from datetime import datetime

from kafka_lagoon.cli.arguments import moment_argument, names, names_among
from kafka_lagoon.cli.command import Command, Invocation, Kind
from kafka_lagoon.cli.output import CommandOutput, Remark
from kafka_lagoon.cli.tables import differences
from kafka_lagoon.cli.tables.command import (
    GROUPS,
    TOPICS,
    Condition,
    QueriedRows,
    Reach,
    TablesContext,
    matching_names,
    missing_names,
    of_snapshots,
    over,
)
from kafka_lagoon.cli.tables.limits import count_lines
from kafka_lagoon.cli.tables.snapshots import ChosenSnapshot, time_literal
from kafka_lagoon.cli.tables.table_gaps import STATES, Gaps, gap_lines, gap_notes, gaps_of_changes
from kafka_lagoon.cli.thresholds import Threshold, Unit, add_fail_above
from kafka_lagoon.query.history import (
    PREDECESSORS,
    Windows,
    first_compared,
    first_needed,
    has_lists_alike,
    has_predecessors,
    windows,
)
from kafka_lagoon.query.statements import tuples

_VIEW = "topology_changes"
_STORED = "stored_changes"
_ENDS = "partition_offsets"
TYPES = ("truncated", "recreated", "moved_back", "removed", "changed", "added")  # worst first
_OF_BROKERS = ("cluster", "broker", "voter", "log_dir")
_OF_TOPICS = ("topic", "partition", "reassignment")
_OF_USERS = ("config", "feature", "quota", "scram_user", "delegation_token", "acl")
_OF_GROUPS = ("group", "member", "group_partition")
ENTITIES = (*_OF_BROKERS, *_OF_TOPICS, *_OF_USERS, *_OF_GROUPS)
# Tables of view table_coverage that show the changes of an entity.
_TABLES = {
    **dict.fromkeys(("cluster", "broker"), ("brokers",)),
    "voter": ("quorum",),
    "log_dir": ("log_dirs",),
    **dict.fromkeys(("topic", "partition"), ("topics",)),
    "reassignment": ("reassignments",),
    **{entity: (f"{entity}s",) for entity in _OF_USERS},
    **dict.fromkeys(("group", "member"), ("consumer_groups",)),
    "group_partition": ("consumer_groups", "committed_offsets"),
}
# Types that only some entities have; entities that have a topic or a group.
_ENTITIES_OF_TYPE = {"truncated": {"partition"}, "recreated": {"topic"}, "moved_back": {"partition", "group_partition"}}
_WITH_TOPIC, _WITH_GROUP = {*_OF_TOPICS, "config", "group_partition"}, {*_OF_GROUPS, "config"}
ALL = "changes"
_WORST = "CASE change_type {} END".format(" ".join(f"WHEN '{name}' THEN {place}" for place, name in enumerate(TYPES)))
_BY_NAME = "cluster, entity_type, entity, attribute NULLS LAST"  # without these words Spark has nulls first
_SORTS = {
    "time": f"captured_at DESC, {_WORST}, {_BY_NAME}",
    "worst": f"{_WORST}, captured_at DESC, {_BY_NAME}",
    "name": f"{_BY_NAME}, captured_at DESC",
}
_NAMES = {
    ALL: (Unit.COUNT, "all changes"),
    **dict.fromkeys(TYPES, (Unit.COUNT, "changes of this type")),
    **dict.fromkeys(ENTITIES, (Unit.COUNT, "changes of this entity")),
    differences.ALL: (Unit.COUNT, "all differences of --between"),
    "age": (Unit.DURATION, "age of the snapshot"),
}


def _declare(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--since", type=moment_argument, metavar="TIME", help="all changes since the last snapshot before this time"
    )
    parser.add_argument(
        "--between",
        type=differences.two_clusters,
        metavar="A,B",
        help="differences of two clusters in their newest snapshots instead of changes",
    )
    parser.add_argument("--group", type=names, metavar="A,B", help="only these groups")
    parser.add_argument(
        "--type",
        type=names_among(TYPES, {"--entity": ENTITIES}),
        metavar="A,B",
        help=f"only these types of changes: {', '.join(TYPES)}",
    )
    parser.add_argument(
        "--entity",
        type=names_among(ENTITIES, {"--type": TYPES}),
        metavar="A,B",
        help=f"only changes of these entities: {', '.join(ENTITIES)}",
    )
    parser.add_argument("--sort", choices=_SORTS, help="order of the rows (default: time, the newest first)")
    add_fail_above(parser, _NAMES)


def _faults(options: Namespace) -> Iterator[str]:
    """Find faults of --between, and limits on changes that --type or --entity leaves out, which could never be passed."""
    yield from differences.faults(options)
    for limit in options.fail_above:
        if limit.name in (ALL, *TYPES, *ENTITIES) and (leaving_out := _leaving_out(limit, options)):
            yield f"--fail-above {limit.name}: {leaving_out} leaves it out"


def _leaving_out(limit: Threshold, options: Namespace) -> str:
    """Spell the option that leaves out all changes of a limit, or both if neither does alone; empty if some are left."""
    types = f"--type {','.join(options.type)}" if options.type is not None else ""
    entities = f"--entity {','.join(options.entity)}" if options.entity is not None else ""
    if not _limited_entities(limit, options.type, None):
        return types
    if not _limited_entities(limit, None, options.entity):
        return entities
    return "" if _limited_entities(limit, options.type, options.entity) else f"{types} with {entities}"


def _answer(context: TablesContext) -> CommandOutput:
    if context.options.between:
        return differences.answer(context)
    rows, gaps = _selected(context), gaps_of_changes(context, _period(context))
    notes = list(gap_notes(gaps, _limited_tables(Threshold(name=ALL, limit=0), context.options)))
    remarks = [Remark(lines=notes)] if notes else []
    return CommandOutput(rows=[_changes(context, rows), *remarks], complaints=_complaints(context, rows, gaps))


def _limited_tables(limit: Threshold, options: Namespace) -> set[str]:
    """Return the tables that a limit depends on, without tables whose changes the options leave out."""
    entities = _limited_entities(limit, options.type, options.entity)
    for wanted, names_of in ((options.topic, _WITH_TOPIC), (options.group, _WITH_GROUP)):
        entities = entities if wanted is None else entities & names_of
    return {table for entity in entities for table in _TABLES[entity]}


def _limited_entities(limit: Threshold, types: Collection[str] | None, entities: Collection[str] | None) -> set[str]:
    """Return the entities that may have changes of a limit and of chosen types and entities; None chooses all."""
    return {
        entity
        for change in TYPES
        for entity in _ENTITIES_OF_TYPE.get(change, ENTITIES)
        if limit.name in {ALL, change, entity}
        and (types is None or change in types)
        and (entities is None or entity in entities)
    }


def _selected(context: TablesContext) -> Condition:
    options = context.options
    rows = _period(context).among("topic", options.topic).among("group_id", options.group)
    rows = rows.among("change_type", options.type).among("entity_type", options.entity)
    return rows.among_many("entity", matching_names(context, "entity", _VIEW, rows))


def _period(context: TablesContext) -> Condition:
    """Select all changes that the chosen snapshots show, or those since a time."""
    return _between(context) if context.options.since else of_snapshots(context.snapshots)


def _between(context: TablesContext) -> Condition:
    """Select changes in the snapshots after a time, up to the chosen snapshot of each cluster."""
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


def _changes(context: TablesContext, rows: Condition) -> QueriedRows:
    options = context.options
    columns = ("change_type", "entity_type", "entity", "attribute", "old_value", "new_value")
    times = ("captured_at",) if options.since else ()
    shown = context.rows(
        "change",
        f"SELECT * FROM {_VIEW} WHERE {rows} ORDER BY {_SORTS[options.sort or 'time']}",  # noqa: S608  names of ours
        rows.values,
        (*times, *columns),
        ("captured_at", "previous_captured_at", *columns, "source", "is_proven"),
    )
    return replace(shown, reads_all=True)


def _complaints(context: TablesContext, rows: Condition, gaps: Gaps) -> Iterator[str]:
    """Make the lines of missing topics and groups, and of limits that are passed or may be.

    A topic or group is not missing if it was removed: it has changes, though it is not in the snapshot.
    """

    def unknown(limit: Threshold) -> Iterator[str]:
        return gap_lines(context, gaps, limit, _limited_tables(limit, context.options))

    of, period = of_snapshots(context.snapshots), _period(context)
    yield from missing_names(context, "topic", context.options.topic, {TOPICS: of, _VIEW: period})
    yield from missing_names(context, "group_id", context.options.group, {GROUPS: of, _VIEW: period})
    columns = {**dict.fromkeys(TYPES, "change_type"), **dict.fromkeys(ENTITIES, "entity_type")}
    place = "concat(entity_type, ' ', entity)"
    select = f"SELECT * FROM {_VIEW} WHERE"  # noqa: S608  names of ours
    yield from count_lines(context, select, rows, columns, place, ALL, unknown)


def _starts(context: TablesContext) -> list[datetime]:
    return [context.instant(context.options.since)] if context.options.since else []


def _windows(context: TablesContext) -> Windows:
    """Windows from the last snapshot before the first requested change, then from earlier ones for tables it may lack."""
    return windows([_first(context, one) for one in context.snapshots], [one.captured_at for one in context.snapshots])


def _first(context: TablesContext, chosen: ChosenSnapshot) -> datetime | None:
    """The begin of the first snapshot of a cluster that is compared; None if there is no earlier snapshot."""
    if not context.options.since:
        return chosen.previous_at
    first = first_needed(context.ask, chosen.cluster, context.instant(context.options.since), (_STORED,))
    return None if first is None else min(first, chosen.captured_at)


def _suffices(context: TablesContext) -> bool:
    of = _period(context)
    has_all = all(has(context.ask, str(of), of.values) for has in (has_predecessors, has_lists_alike))
    return has_all and (bool(context.options.since) or _knows_ends(context))


def _earliest(context: TablesContext) -> datetime | None:
    of = _period(context)
    return first_compared(context.ask, str(of), of.values)


def _knows_ends(context: TablesContext) -> bool:
    """False if an end offset may have to be compared with a snapshot before the window, because the previous one lacks it.

    The view looks for it in the snapshots of the UTC day and in the last snapshot before the day. So the window is long enough
    if it has a predecessor of the first snapshot of the day.
    """
    of = of_snapshots(context.snapshots)
    statement = f"""
        SELECT 1 FROM (SELECT * FROM {PREDECESSORS} WHERE {of} AND table_name = 'topics') AS steps
        JOIN {PREDECESSORS} AS first_of_day
          ON steps.cluster = first_of_day.cluster AND steps.cluster_id IS NOT DISTINCT FROM first_of_day.cluster_id
          AND steps.snapshot_date = first_of_day.snapshot_date AND steps.table_name = first_of_day.table_name
          AND first_of_day.problem IS NULL AND first_of_day.previous_snapshot_id IS NULL
          AND steps.snapshot_id <> first_of_day.snapshot_id
        JOIN {_ENDS} AS ends
          ON steps.cluster = ends.cluster AND steps.snapshot_id = ends.snapshot_id
          AND steps.snapshot_date = ends.snapshot_date
          AND ends.high_watermark IS NOT NULL AND ends.log_start_offset IS NOT NULL
        LEFT JOIN {_ENDS} AS earlier
          ON steps.cluster = earlier.cluster AND steps.previous_snapshot_id = earlier.snapshot_id
          AND steps.previous_snapshot_date = earlier.snapshot_date AND ends.topic = earlier.topic
          AND ends.topic_id IS NOT DISTINCT FROM earlier.topic_id AND ends.partition = earlier.partition
          AND earlier.high_watermark IS NOT NULL AND earlier.log_start_offset IS NOT NULL
        WHERE earlier.topic IS NULL LIMIT 1"""  # noqa: S608  names of ours
    return not tuples(context.ask(statement, *of.values))


_REACH = Reach(
    windows=_windows,
    starts=_starts,
    suffices=_suffices,
    earliest=_earliest,
    read_first=frozenset({"snapshots", _STORED}),
)
_CHANGES = over(_VIEW, PREDECESSORS, _ENDS, STATES, TOPICS, GROUPS, reach=_REACH)


def _run(invocation: Invocation, answer: Callable[[TablesContext], CommandOutput]) -> int:
    kind = differences.KIND if invocation.options.between else _CHANGES
    return kind.run(invocation, answer)


COMMAND = Command(
    kind=Kind(declare=_CHANGES.declare, run=_run),
    summary="Shows changes between the newest published snapshot and the one before it, since a time, or between clusters.",
    examples=(
        "lagoon changes",
        "lagoon changes --between prod,spare --fail-above differences  # exit 3 where they differ",
        "lagoon changes --since yesterday --entity topic,config --json",
    ),
    declare=_declare,
    check=_faults,
    answer=_answer,
)
