"""`lagoon changes --between A,B`: differences of two clusters in their newest snapshots, from view cluster_differences."""

from argparse import ArgumentTypeError, Namespace
from collections.abc import Iterator, Sequence

from kafka_lagoon.cli.arguments import split_names
from kafka_lagoon.cli.output import CommandOutput
from kafka_lagoon.cli.tables.command import (
    GROUPS,
    TOPICS,
    Condition,
    QueriedRows,
    TablesContext,
    matching_names,
    missing_names,
    of_snapshots,
    over,
)
from kafka_lagoon.cli.tables.limits import age_lines, partial_lines
from kafka_lagoon.cli.thresholds import Measured, Threshold, lines_of
from kafka_lagoon.query.statements import tuples

_VIEW = "cluster_differences"
ENTITIES = ("topic", "config", "acl", "quota", "scram_user", "feature", "group")
ALL = "differences"
_ORDER = "CASE difference WHEN 'unknown' THEN 1 ELSE 0 END, entity_type, entity NULLS LAST, attribute NULLS LAST"
_COLUMNS = ("difference", "entity_type", "entity", "attribute", "value", "other_value", "problem", "other_problem")
# Entities without a name, all of a type, may be among those of a filter.
_OF_TOPICS, _OF_GROUPS = ("topic", "config"), ("group", "config")


def two_clusters(text: str) -> list[str]:
    """Parse the names of two clusters."""
    match split_names(text):
        case [here, there] if here != there:
            return [here, there]
        case _:
            raise ArgumentTypeError(f"{text!r} is not two names of clusters, such as prod,spare")


def faults(options: Namespace) -> Iterator[str]:
    """Find options that --between does not go with, and limits that only it has."""
    limits: Sequence[Threshold] = options.fail_above
    if not options.between:
        yield from (f"--fail-above {ALL}: give --between A,B, too" for limit in limits if limit.name == ALL)
        return
    for option in ("cluster", "since", "type", "sort"):
        if getattr(options, option):
            yield f"--{option} and --between exclude each other"
    known = (ALL, *ENTITIES, "age")
    yield from (
        f"--fail-above {limit.name}: with --between there are {', '.join(known)}"
        for limit in limits
        if limit.name not in known
    )
    if unknown := [name for name in options.entity or () if name not in ENTITIES]:
        yield f"--entity {','.join(unknown)}: with --between there are {', '.join(ENTITIES)}"


def answer(context: TablesContext) -> CommandOutput:
    """Return the differences, and the limits that they pass."""
    if context.missing:
        missing = "; ".join(cluster.line() for cluster in context.missing)
        return CommandOutput(rows=[], complaints=[f"nothing is compared: {missing}"])
    rows = _selected(context)
    return CommandOutput(rows=[_differences(context, rows)], complaints=_complaints(context, rows))


def _selected(context: TablesContext) -> Condition:
    options = context.options
    rows = _of_both(context).among("entity_type", options.entity)
    for column, types in (("topic", _OF_TOPICS), ("group_id", _OF_GROUPS)):
        wanted = getattr(options, column.removesuffix("_id"))
        if wanted is not None:
            listed = ", ".join(f"'{name}'" for name in types)
            named = Condition().among(column, wanted)
            rows = rows.also(f"({named} OR entity IS NULL AND entity_type IN ({listed}))", *named.values)
    matching = matching_names(context, "entity", _VIEW, rows)
    if matching is None:
        return rows
    named = Condition().among_many("entity", matching)
    return rows.also(f"({named} OR entity IS NULL)", *named.values)


def _of_both(context: TablesContext) -> Condition:
    here, there = context.options.between
    return Condition().also("cluster = ?", here).also("other_cluster = ?", there)


def _differences(context: TablesContext, rows: Condition) -> QueriedRows:
    here, there = context.options.between
    return QueriedRows(
        ask=context.ask,
        kind="difference",
        statement=f"SELECT * FROM {_VIEW} WHERE {rows} ORDER BY {_ORDER}",  # noqa: S608  names of ours
        values=rows.values,
        limit=context.options.number,
        columns=_COLUMNS,
        wide=(*_COLUMNS, "source", "is_proven"),
        empty=[f"no differences: {here} and {there} have the same"],
        reads_all=True,
    )


def _complaints(context: TablesContext, rows: Condition) -> Iterator[str]:
    """Make the lines of topics and groups that neither cluster has, and of limits that are passed or may be.

    A group that only has configs has differences, though it is not in the snapshots.
    """
    of = of_snapshots(context.snapshots)
    yield from missing_names(context, "topic", context.options.topic, {TOPICS: of})
    yield from missing_names(context, "group_id", context.options.group, {GROUPS: of, _VIEW: _of_both(context)})
    limits: Sequence[Threshold] = context.options.fail_above
    for limit in limits:
        if limit.name == "age":
            yield from age_lines(limit, context)
        else:
            of = rows if limit.name == ALL else rows.also("entity_type = ?", limit.name)
            yield from lines_of(limit, _measured(context, limit, of), ALL)
    if limits:
        yield from partial_lines(context.snapshots)


def _measured(context: TablesContext, limit: Threshold, rows: Condition) -> Measured:
    """Count the differences, and those that are unknown; name one of each."""
    place = "concat_ws(' ', entity_type, entity, attribute)"
    statement = f"""
        SELECT count(CASE WHEN difference <> 'unknown' THEN 1 END), min(CASE WHEN difference <> 'unknown' THEN {place} END),
          count(CASE WHEN difference = 'unknown' THEN 1 END), min(CASE WHEN difference = 'unknown' THEN {place} END)
        FROM {_VIEW} WHERE {rows}"""  # noqa: S608  names of ours
    ((number, example, unknown, unknown_example),) = tuples(context.ask(statement, *rows.values))
    return Measured(
        above=number if number > limit.limit else 0,
        where=str(example),
        unknown=unknown,
        unknown_where=str(unknown_example or ""),
    )


KIND = over(_VIEW, TOPICS, GROUPS, clusters=lambda options: options.between)
