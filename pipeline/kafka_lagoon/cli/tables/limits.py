"""Compares rows of snapshots with the limits of `--fail-above`, and makes a line for each limit that is passed."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from kafka_lagoon.cli.tables.command import Condition, TablesContext
from kafka_lagoon.cli.tables.snapshots import ChosenSnapshot
from kafka_lagoon.cli.thresholds import Measured, Threshold, lines_of
from kafka_lagoon.frozen import frozen
from kafka_lagoon.query.history import is_ahead
from kafka_lagoon.query.statements import tuples


def measured(
    context: TablesContext,
    limit: Threshold,
    source: str,
    values: Sequence[Any],
    value: str,
    unknown: str,
    place: str,
    order: str,
) -> Measured:
    """Count the rows of `source` with a `value` above the limit, and those with an `unknown` value.

    `place` names a row: of those with the highest value, and of those with an unknown one, the first in this `order`.
    """
    place = _with_cluster(context, place)
    order = f"cluster, {order}" if len(context.snapshots) > 1 else order
    statement = f"""
        SELECT count(CASE WHEN {value} > ? THEN 1 END), max({value}),
          min_by({place}, CASE WHEN {value} IS NOT NULL THEN (-({value}), {order}) END),
          count(CASE WHEN {unknown} THEN 1 END), min_by({place}, CASE WHEN {unknown} THEN ({order}) END)
        FROM ({source}) AS rows"""  # noqa: S608  names of ours
    ((above, highest, where, unknowns, unknown_where),) = tuples(context.ask(statement, limit.limit, *values))
    return Measured(
        above=above,
        highest=highest,
        where=str(where or ""),
        unknown=unknowns,
        unknown_where=str(unknown_where or ""),
    )


def _with_cluster(context: TablesContext, place: str) -> str:
    return f"concat(cluster, ' ', {place})" if len(context.snapshots) > 1 else place


def count_lines(
    context: TablesContext,
    select: str,
    rows: Condition,
    columns: Mapping[str, str],
    place: str,
    items: str,
    unknown: Callable[[Threshold], Iterable[str]] = lambda _: (),
) -> Iterator[str]:
    """Make lines for limits on numbers of rows, which are read once for all limits.

    A limit counts the rows that have its name in its column of `columns`, or all rows if it has no column. `unknown` makes the
    lines of a limit that cannot be evaluated.
    """
    limits: list[Threshold] = context.options.fail_above
    counts = _counts(context, f"{select} {rows}", rows.values, columns, place) if limits else []
    for limit in limits:
        if limit.name == "age":
            yield from age_lines(limit, context)
        else:
            yield from lines_of(limit, _counted(counts, limit, columns.get(limit.name)), items)
            yield from unknown(limit)
    if limits:
        yield from partial_lines(context.snapshots)


@frozen
class _Count:
    """A number of rows with the same values in the columns of the limits, and the name of the first of them."""

    rows: int
    first: str
    values: Mapping[str, str]


def _counts(
    context: TablesContext, source: str, values: Sequence[Any], columns: Mapping[str, str], place: str
) -> Sequence[_Count]:
    keys = list(dict.fromkeys(columns.values()))
    statement = f"""
        SELECT count(*), min({_with_cluster(context, place)}), {", ".join(keys)}
        FROM ({source}) AS rows GROUP BY {", ".join(keys)}"""  # noqa: S608  names of ours
    return [
        _Count(rows=number, first=str(first), values=dict(zip(keys, of, strict=True)))
        for number, first, *of in tuples(context.ask(statement, *values))
    ]


def _counted(counts: Sequence[_Count], limit: Threshold, column: str | None) -> Measured:
    """Sum the rows that a limit is about, and name the first row if there are more than the limit."""
    about = [one for one in counts if column is None or one.values[column] == limit.name]
    number = sum(one.rows for one in about)
    return Measured(above=number, where=min(one.first for one in about)) if number > limit.limit else Measured()


def age_lines(limit: Threshold, context: TablesContext) -> Iterator[str]:
    """Make lines for snapshots that are older than a limit, at the time of --at if there is one.

    The age of a snapshot in the future is not known, so that a check does not succeed until its time has come.
    """
    for snapshot in context.snapshots:
        age_ms = snapshot.age_ms(context.as_of_ms)
        if is_ahead(age_ms):
            yield from lines_of(limit, Measured(unknown=1, unknown_where=snapshot.cluster), "snapshots")
        elif age_ms > limit.limit:
            yield from lines_of(limit, Measured(above=1, highest=age_ms, where=snapshot.cluster), "snapshots")


def partial_lines(snapshots: Sequence[ChosenSnapshot]) -> Iterator[str]:
    """Make lines for incomplete snapshots: rows that would pass a limit may be missing."""
    for snapshot in snapshots:
        if snapshot.is_partial:
            yield f"{snapshot.cluster}: the snapshot is INCOMPLETE, so no limit is known to be kept"
