"""Compares rows of snapshots with the limits of `--fail-above`, and makes a line for each limit that is passed."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kafka_lagoon.cli.tables.command import Condition, TablesContext
from kafka_lagoon.cli.tables.snapshots import ChosenSnapshot
from kafka_lagoon.cli.thresholds import Measured, Threshold, lines_of
from kafka_lagoon.query.statements import tuples


def measured(
    context: TablesContext,
    limit: Threshold,
    source: str,
    values: Sequence[Any],
    value: str,
    unknown: str,
    place: str,
) -> Measured:
    """Count the rows of `source` with a `value` above the limit, and those with an `unknown` value; `place` names a row."""
    if len(context.snapshots) > 1:
        place = f"concat(cluster, ' ', {place})"
    statement = f"""
        SELECT count(CASE WHEN {value} > ? THEN 1 END), max({value}), max_by({place}, {value}),
          count(CASE WHEN {unknown} THEN 1 END), min(CASE WHEN {unknown} THEN {place} END)
        FROM ({source}) AS rows"""  # noqa: S608  names of ours
    ((above, highest, where, unknowns, unknown_where),) = tuples(context.ask(statement, limit.limit, *values))
    return Measured(
        above=above,
        highest=highest,
        where=str(where or ""),
        unknown=unknowns,
        unknown_where=str(unknown_where or ""),
    )


def count_lines(
    context: TablesContext, select: str, rows: Condition, columns: Mapping[str, str], place: str, items: str
) -> Iterator[str]:
    """Make lines for limits on numbers of rows: rows with the limit's name in its column, or all rows without such a column."""
    limits: list[Threshold] = context.options.fail_above
    for limit in limits:
        if limit.name == "age":
            yield from age_lines(limit, context)
        else:
            of = rows.also(f"{columns[limit.name]} = ?", limit.name) if limit.name in columns else rows
            yield from lines_of(limit, _counted(context, limit, f"{select} {of}", of.values, place), items)
    if limits:
        yield from partial_lines(context.snapshots)


def _counted(context: TablesContext, limit: Threshold, source: str, values: Sequence[Any], place: str) -> Measured:
    """Count the rows, and name the first row if there are more than the limit."""
    ((number, example),) = tuples(context.ask(f"SELECT count(*), min({place}) FROM ({source}) AS rows", *values))  # noqa: S608
    return Measured(above=number, where=str(example)) if number > limit.limit else Measured()


def age_lines(limit: Threshold, context: TablesContext) -> Iterator[str]:
    """Make lines for snapshots that are older than a limit."""
    for snapshot in context.snapshots:
        age_ms = snapshot.age_ms(context.now_ms)
        if age_ms > limit.limit:
            yield from lines_of(limit, Measured(above=1, highest=age_ms, where=snapshot.cluster), "snapshots")


def partial_lines(snapshots: Sequence[ChosenSnapshot]) -> Iterator[str]:
    """Make lines for incomplete snapshots: rows that would pass a limit may be missing."""
    for snapshot in snapshots:
        if snapshot.is_partial:
            yield f"{snapshot.cluster}: the snapshot is INCOMPLETE, so no limit is known to be kept"
