"""`lagoon lag`: the lag of groups in the newest snapshot, or in an older one; the worst first.

First come partitions where a group lost records, then those with the oldest first unread record (an unknown age may be high,
so it comes before known ages), then those with the most unread records.
"""

from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from dataclasses import replace

from kafka_lagoon.cli.arguments import names, number_from
from kafka_lagoon.cli.command import Command
from kafka_lagoon.cli.output import CommandOutput, Remark
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
from kafka_lagoon.cli.tables.limits import age_lines, measured, partial_lines
from kafka_lagoon.cli.tables.owners import EXPECTED, OWNERS, has_rows, stopped_groups, without_stopped
from kafka_lagoon.cli.tables.table_gaps import Gaps, gap_lines, gap_notes, hidden_tables
from kafka_lagoon.cli.thresholds import (
    NOTHING_SELECTED,
    OF_RUNNING_GROUPS,
    Threshold,
    Unit,
    add_fail_above,
    left_out,
    lines_of,
)
from kafka_lagoon.query.group_sums import (
    GROUP_AGE,
    KNOWN_AGE,
    LAG_TABLE,
    LOST,
    MOST,
    SUMS_OF_GROUPS,
    TIME_LAG,
    UNCOMMITTED,
    UNKNOWN_LAG,
    UNKNOWN_LOSS,
    UNKNOWN_TIME,
    WORST_GROUP,
)
from kafka_lagoon.query.history import PREDECESSORS
from kafka_lagoon.query.statements import tuples
from kafka_lagoon.tables.state_tables import CONSUMER_GROUPS
from kafka_lagoon.tables.state_tables import TOPICS as TOPICS_TABLE

_PLACE = "concat(group_id, ' ', topic, '-', CAST(partition AS STRING))"
_ORDER = "group_id, topic, partition"

# Every dash has its reason beside it: that of the lag, else that of the time.
_REASON = f"coalesce(problem, time_lag_problem, CASE WHEN {UNCOMMITTED} THEN 'no commit' END)"
_UNKNOWN_TIMES = "unknown_time_partitions"

_NEEDED = (CONSUMER_GROUPS.name, TOPICS_TABLE.name)  # without one of these lists there are no rows of lag

_AGE = f"CASE WHEN {UNKNOWN_TIME} THEN NULL ELSE coalesce({TIME_LAG}, -1) END DESC NULLS FIRST"
_BY_NAME = "cluster, group_id, topic, partition"
_SORTS = {
    "worst": f"{LOST}, {_AGE}, {MOST}, {_BY_NAME}",
    "lag": f"{MOST}, {_BY_NAME}",
    "time": f"{_AGE}, {MOST}, {_BY_NAME}",
    "lost": f"{LOST}, {MOST}, {_BY_NAME}",
    "group": _BY_NAME,
}
_GROUP_SORTS = {
    "worst": WORST_GROUP,
    "lag": f"{MOST}, cluster, group_id",
    "time": f"{GROUP_AGE}, {MOST}, cluster, group_id",
    "lost": f"{LOST}, {MOST}, cluster, group_id",
    "group": "cluster, group_id",
}
LIMITS = {
    "lag": (Unit.COUNT, "unread records of a partition for a group"),
    "total": (Unit.COUNT, "unread records of all partitions of a group"),
    "time": (Unit.DURATION, "age of a group's first unread record in a partition"),
    "lost": (Unit.COUNT, "records of a partition that were deleted before the group read them"),
    "age": (Unit.DURATION, "age of the snapshot"),
}


def _declare(parser: ArgumentParser) -> None:
    parser.add_argument("name", nargs="*", metavar="GROUP", help="ids of groups; default: all")
    parser.add_argument("--group", type=names, metavar="A,B", help="ids of groups, separated by commas")
    parser.add_argument(
        "--min-lag", type=number_from(0), metavar="N", help="only partitions with at least N unread records"
    )
    parser.add_argument("--sort", choices=_SORTS, default="worst", help="order of the rows (default: worst)")
    add_fail_above(parser, LIMITS)


def _answer(context: TablesContext) -> CommandOutput:
    options, groups = context.options, _selected_groups(context)
    rows = groups.among("topic", options.topic)  # limits apply to all partitions that options choose
    shown = rows if options.min_lag is None else rows.also("lag >= ?", options.min_lag)
    hidden = hidden_tables(context)
    notes = list(gap_notes(hidden, _NEEDED))
    return CommandOutput(
        rows=[_groups(context, groups, rows), _partitions(context, shown), *([Remark(lines=notes)] if notes else [])],
        complaints=_complaints(context, groups, rows, hidden),
        notes=_notes(context, groups),
    )


def _wanted(context: TablesContext) -> list[str] | None:
    return [*context.options.name, *(context.options.group or ())] or None


def _selected_groups(context: TablesContext) -> Condition:
    rows = of_snapshots(context.snapshots).among("group_id", _wanted(context))
    return rows.among_many("group_id", matching_names(context, "group_id", GROUPS, rows))


def _groups(context: TablesContext, groups: Condition, rows: Condition) -> QueriedRows:
    """Make one row per group, also for groups without partitions, unless a condition is about partitions.

    Sums include all partitions that names choose: --min-lag leaves out whole groups, not partitions of a sum.
    """
    options, of = context.options, of_snapshots(context.snapshots)
    least = Condition() if options.min_lag is None else Condition().also("highest_lag >= ?", options.min_lag)
    kind = "LEFT" if options.topic is None else "INNER"
    statement = f"""
        SELECT * FROM (
          SELECT groups.cluster, groups.snapshot_id, groups.captured_at, groups.group_id, groups.group_type, groups.state,
            groups.members, coalesce(sums.partitions, 0) AS partitions,
            coalesce(sums.known_partitions, 0) AS known_partitions, sums.lag, sums.highest_lag, {KNOWN_AGE} AS time_lag_ms,
            sums.records_lost, coalesce(sums.unknown_time_partitions, 0) AS unknown_time_partitions, groups.problem,
            owners.owner, expected.should_run
          FROM (SELECT * FROM {GROUPS} WHERE {groups}) AS groups
          {kind} JOIN ({SUMS_OF_GROUPS} {rows} GROUP BY cluster, snapshot_id, group_id) AS sums
            ON groups.cluster = sums.cluster AND groups.snapshot_id = sums.snapshot_id
            AND groups.group_id = sums.group_id
          LEFT JOIN (SELECT * FROM {OWNERS} WHERE {of} AND entity_type = 'group') AS owners
            ON groups.cluster = owners.cluster AND groups.group_id = owners.name
          LEFT JOIN (SELECT * FROM {EXPECTED} WHERE {of}) AS expected
            ON groups.cluster = expected.cluster AND groups.group_id = expected.group_id
        ) AS behind WHERE {least} ORDER BY {_GROUP_SORTS[options.sort]}"""  # noqa: S608  names of ours
    sums = ("partitions", "known_partitions", "lag", "time_lag_ms", _UNKNOWN_TIMES, "records_lost")
    columns = ("group_id", "state", "members", *sums)
    known = [name for name, table in (("owner", OWNERS), ("should_run", EXPECTED)) if has_rows(context, table)]
    shown = context.rows(
        "group",
        statement,
        [*groups.values, *rows.values, *of.values, *of.values, *least.values],
        (*columns, *known),
        ("group_id", "group_type", *columns[1:6], "highest_lag", *columns[6:], *known, "problem"),
    )
    return replace(shown, if_any=(_UNKNOWN_TIMES,))


def _partitions(context: TablesContext, shown: Condition) -> QueriedRows:
    order = f"ORDER BY {_SORTS[context.options.sort]}"
    columns = ("group_id", "topic", "partition", "lag", "time_lag_ms", "records_lost", "problem")
    positions = ("committed_offset", "log_start_offset", "last_stable_offset", "high_watermark")
    times = ("time_lag_method", "time_lag_problem")
    rows = context.rows(
        "lag",
        f"SELECT * FROM {LAG_TABLE} WHERE {shown} {order}",  # noqa: S608  names of ours
        shown.values,
        columns,
        (*columns[:3], *positions, *columns[3:6], *times, "client_id", "client_host", "problem"),
    )
    brief = f"SELECT {', '.join(rows.columns[:-1])}, {_REASON} AS problem FROM {LAG_TABLE} WHERE {shown} {order}"  # noqa: S608
    return replace(rows, brief=brief)


def _complaints(context: TablesContext, groups: Condition, rows: Condition, hidden: Gaps) -> Iterator[str]:
    """Make the lines that cause exit code 3: missing groups and topics, and limits that are passed or may be."""
    yield from _missing(context)
    limits: list[Threshold] = context.options.fail_above
    if _needs_groups(context, limits) and not _has_groups(context, groups, rows):
        yield NOTHING_SELECTED
    for limit in limits:
        yield from _limit_lines(context, rows, limit)
        if limit.name != "age":
            yield from gap_lines(context, hidden, limit, _NEEDED)
    if limits:
        yield from partial_lines(context.snapshots)


def _missing(context: TablesContext) -> Iterator[str]:
    """Name missing groups and topics. A deleted topic is not missing if a group still has commits in it."""
    of = of_snapshots(context.snapshots)
    yield from missing_names(context, "group_id", _wanted(context), {GROUPS: of})
    yield from missing_names(context, "topic", context.options.topic, {TOPICS: of, LAG_TABLE: of})


def _needs_groups(context: TablesContext, limits: Sequence[Threshold]) -> bool:
    """Return True if options choose groups and set limits: without any group no limit could be passed."""
    is_chosen = _wanted(context) is not None or context.options.pattern is not None
    return is_chosen and any(limit.name != "age" for limit in limits)


def _has_groups(context: TablesContext, groups: Condition, rows: Condition) -> bool:
    """Return True if options select a group; with --topic a group that has a partition of these topics."""
    relation, of = (GROUPS, groups) if context.options.topic is None else (LAG_TABLE, rows)
    return bool(tuples(context.ask(f"SELECT 1 FROM {relation} WHERE {of} LIMIT 1", *of.values)))  # noqa: S608  names of ours


def _notes(context: TablesContext, groups: Condition) -> Sequence[str]:
    """Name the groups that limits leave out."""
    limits: list[Threshold] = context.options.fail_above
    return left_out(stopped_groups(context, groups), limits) if limits else ()


def _limit_lines(context: TablesContext, every: Condition, limit: Threshold) -> Iterator[str]:
    """Make the lines of a limit; a group that is stopped on purpose may lag, but not lose records."""
    rows = without_stopped(every, LAG_TABLE) if limit.name in OF_RUNNING_GROUPS else every
    source = f"SELECT * FROM {LAG_TABLE} WHERE {rows}"  # noqa: S608  names of ours
    match limit.name:
        case "age":
            yield from age_lines(limit, context)
        case "total":
            sums = f"{SUMS_OF_GROUPS} {rows} GROUP BY cluster, snapshot_id, group_id"
            total = measured(context, limit, sums, rows.values, "lag", "unknown_lags > 0", "group_id", "group_id")
            yield from lines_of(limit, total, "groups")
        case "time":
            oldest = measured(context, limit, source, rows.values, TIME_LAG, UNKNOWN_TIME, _PLACE, _ORDER)
            yield from lines_of(limit, oldest, "partitions")
        case "lost":
            lost = measured(context, limit, source, rows.values, "records_lost", UNKNOWN_LOSS, _PLACE, _ORDER)
            yield from lines_of(limit, lost, "partitions")
        case _:
            largest = measured(context, limit, source, rows.values, "lag", UNKNOWN_LAG, _PLACE, _ORDER)
            yield from lines_of(limit, largest, "partitions")


COMMAND = Command(
    kind=over(LAG_TABLE, GROUPS, TOPICS, OWNERS, EXPECTED, PREDECESSORS),
    summary="Shows the lag of groups in the newest published snapshot, or in an older one (--at): the worst first.",
    examples=(
        "lagoon lag billing",
        "lagoon lag --at 'yesterday' --sort time -n 20",
        "lagoon lag --fail-above lag=10000,age=15m  # exit 3 above a limit",
    ),
    declare=_declare,
    answer=_answer,
)
