"""`lagoon health`: findings in the newest snapshot, or in an older one; the worst and oldest first.

When a finding began is searched in some days of history only, so that the command costs the same however long the history is.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from kafka_lagoon.cli.arguments import moment_argument, names_among, number_from
from kafka_lagoon.cli.command import Command
from kafka_lagoon.cli.output import CommandOutput, Remark, Rows
from kafka_lagoon.cli.tables.command import (
    TOPICS,
    Condition,
    QueriedRows,
    Reach,
    TablesContext,
    chosen_alone,
    matching_names,
    missing_names,
    of_snapshots,
    over,
)
from kafka_lagoon.cli.tables.lag import LIMITS
from kafka_lagoon.cli.tables.limits import count_lines, measured
from kafka_lagoon.cli.tables.owners import EXPECTED, OWNERS, has_rows
from kafka_lagoon.cli.tables.snapshots import time_literal
from kafka_lagoon.cli.tables.table_gaps import STATES, Gaps, gap_lines, gap_notes, missing_tables, table_gaps
from kafka_lagoon.cli.thresholds import Threshold, Unit, add_fail_above, lines_of
from kafka_lagoon.frozen import frozen
from kafka_lagoon.query.history import FIRST, PREDECESSORS, Windows, last_before, windows
from kafka_lagoon.query.statements import tuples

_VIEW, _PARTITIONS = "health_findings", "partitions_published"
_FILLED_BY = {"owner": OWNERS, "is_expected": EXPECTED}
_NOT_HERE = (
    "Lag and lost records of groups, and consumers that stand still, are not looked at here: see lagoon lag and "
    "lagoon report, or views group_status and loss_ahead."
)
_MOMENT = timedelta(milliseconds=1)
_MOST_DAYS = 36_500
ALL = "findings"
SEVERITIES = ("critical", "warning", "info")


@frozen(kw_only=False)
class _Finding:
    """The meaning of a finding, the severities that it may have, and its table in view table_coverage."""

    meaning: str
    severities: Sequence[str]
    table: str


_CRITICAL, _WARNING, _INFO = ([severity] for severity in SEVERITIES)
# By name; docs/views.md describes them at length.
_FINDINGS = {
    "leaderless": _Finding("partitions without a leader", _CRITICAL, "topics"),
    "offline_replicas": _Finding("partitions with replicas on brokers or disks that are down", _WARNING, "topics"),
    "under_min_isr": _Finding("partitions that refuse writes with acks=all", _CRITICAL, "topics"),
    "under_replicated": _Finding("partitions with fewer replicas in sync than they have", _WARNING, "topics"),
    "min_isr_above_replicas": _Finding(
        "partitions with fewer replicas than min.insync.replicas: brokers before Kafka 3.7 refuse writes with acks=all",
        _WARNING,
        "topics",
    ),
    "at_min_isr": _Finding("partitions with exactly min.insync.replicas in sync", _WARNING, "topics"),
    "not_preferred_leader": _Finding("partitions that another replica than the first leads", _INFO, "topics"),
    "min_isr_unknown": _Finding("partitions whose min.insync.replicas could not be read", _INFO, "topics"),
    "rack_violation": _Finding("partitions whose replicas share racks", _WARNING, "topics"),
    "leader_skew": _Finding("brokers that lead a fifth more partitions than their share", _INFO, "topics"),
    "broker_fenced": _Finding("brokers that the controller has fenced", _WARNING, "brokers"),
    "no_controller": _Finding("clusters without a controller", _CRITICAL, "topics"),
    "offline_log_dir": _Finding("log directories that failed", _CRITICAL, "log_dirs"),
    "reassignment": _Finding("partitions that are being moved", _INFO, "reassignments"),
    "stuck_reassignment": _Finding("moves without progress", _WARNING, "reassignments"),
    "hanging_transaction": _Finding("transactions that hang", _CRITICAL, "producers"),
    "lagging_voter": _Finding("voters that are 10 s behind the leader of the quorum", _WARNING, "quorum"),
    "config_drift": _Finding("configs that differ between brokers", _WARNING, "configs"),
    "stopped_group": _Finding(
        "groups of the settings [expected] with unread records and no member", [*_WARNING, *_INFO], "consumer_groups"
    ),
}
FINDINGS = tuple(_FINDINGS)
_OF_MIN_ISR = {"under_min_isr", "min_isr_above_replicas", "at_min_isr"}
# Why it is unknown although the brokers answered. Brokers without DescribeConfigs have another reason, and do not offer it.
_NO_MIN_ISR = "MIN_INSYNC_REPLICAS_NOT_RETURNED"
_TABLES_WITH_TOPICS = {"topics", "reassignments", "producers"}
# Tables with findings.
_TABLES = ", ".join(f"'{table}'" for table in dict.fromkeys(finding.table for finding in _FINDINGS.values()))
_WORST = "CASE severity {} END".format(" ".join(f"WHEN '{name}' THEN {place}" for place, name in enumerate(SEVERITIES)))
_BY_NAME = "cluster, entity_type, entity"
# A broker, disk or controller that is down is the cause of what is wrong with partitions.
_CAUSE = (
    "CASE entity_type WHEN 'cluster' THEN 0 WHEN 'broker' THEN 1 WHEN 'log_dir' THEN 2 WHEN 'voter' THEN 3 ELSE 4 END"
)
_SORTS = {
    "worst": f"is_expected, {_WORST}, {_CAUSE}, since, finding, {_BY_NAME}",
    "since": f"since DESC, {_WORST}, finding, {_BY_NAME}",
    "name": f"{_BY_NAME}, {_WORST}, finding",
}
_NAMES = {
    ALL: (Unit.COUNT, "all findings"),
    **dict.fromkeys(SEVERITIES, (Unit.COUNT, "findings of this severity")),
    **{name: (Unit.COUNT, finding.meaning) for name, finding in _FINDINGS.items()},
    "age": (Unit.DURATION, "age of the snapshot"),
}


def _declare(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--since", type=moment_argument, metavar="TIME", help="only findings that began at or after this time"
    )
    parser.add_argument(
        "--days",
        type=number_from(1),
        default=1,
        metavar="N",
        help="look N days back for when a finding began (default: 1); if it is older, only that is shown",
    )
    parser.add_argument(
        "--only",
        type=names_among((*SEVERITIES, *FINDINGS)),
        metavar="A,B",
        help=f"only these severities and findings: {', '.join((*SEVERITIES, *FINDINGS))}",
    )
    parser.add_argument("--sort", choices=_SORTS, default="worst", help="order of the rows (default: worst)")
    add_fail_above(parser, _NAMES, dict.fromkeys(LIMITS, "lagoon lag"))


def _faults(options: Namespace) -> Iterator[str]:
    """Find limits on findings that --only leaves out, which could never be passed."""
    limits: Sequence[Threshold] = options.fail_above
    for limit in limits:
        if limit.name != "age" and not _limited_findings(limit, options.only):
            yield f"--fail-above {limit.name}: --only {','.join(options.only)} leaves it out"


def _limited_findings(limit: Threshold, only: Sequence[str] | None) -> Sequence[str]:
    """Return the findings that a limit is about, without those that --only leaves out."""
    return [
        name
        for name, finding in _FINDINGS.items()
        for severity in finding.severities
        if limit.name in {ALL, severity, name} and (only is None or severity in only or name in only)
    ]


def _limited_tables(limit: Threshold, options: Namespace) -> set[str]:
    """Return the tables that a limit depends on; with --topic those whose findings are about topics."""
    tables = {_FINDINGS[name].table for name in _limited_findings(limit, options.only)}
    return tables if options.topic is None else tables & _TABLES_WITH_TOPICS


def _answer(context: TablesContext) -> CommandOutput:
    rows, gaps = _selected(context), table_gaps(context)
    every = Threshold(name=ALL, limit=0)
    remark = Remark(lines=[*gap_notes(gaps, _limited_tables(every, context.options)), _NOT_HERE])
    parts: list[Rows] = [_counts(context, rows, missing_tables(gaps)), _findings(context, rows), remark]
    return CommandOutput(rows=parts, complaints=_complaints(context, rows, gaps))


def _selected(context: TablesContext) -> Condition:
    options = context.options
    rows = of_snapshots(context.snapshots).among("topic", options.topic)
    rows = rows.among_many("entity", matching_names(context, "entity", _VIEW, rows))
    if options.only is not None:
        severities = [name for name in options.only if name in SEVERITIES]
        either = Condition().among("severity", severities).parts[0], Condition().among("finding", options.only).parts[0]
        rows = rows.also(f"({' OR '.join(either)})", *severities, *options.only)
    if options.since is not None:
        rows = rows.also(f"NOT is_older AND since >= {time_literal(context.instant(options.since))}")
    return rows


def _searched(context: TablesContext) -> timedelta:
    """The history in which the begin of findings is searched, before each chosen snapshot."""
    days = timedelta(days=min(context.options.days, _MOST_DAYS))
    if context.options.since is None:
        return days
    start = max(context.instant(context.options.since), FIRST)
    return max(days, *(one.captured_at - start + _MOMENT for one in context.snapshots))


def _findings_of(context: TablesContext) -> str:
    """The findings; one that had begun before the searched history has its begin as `since`, and is_older.

    Engines that read all of the history answer the same as those that leave files out.
    """
    ms = _searched(context) // _MOMENT
    limit = f"unix_millis(captured_at) - {ms:d}"
    return f"""(
        SELECT cluster, cluster_id, snapshot_id, snapshot_date, captured_at, finding, severity, entity_type, entity, topic,
          topic_id, partition, broker_id, detail,
          CASE WHEN unix_millis(since) <= {limit} THEN timestamp_millis({limit}) ELSE since END AS since,
          unix_millis(since) <= {limit} AS is_older,
          CASE WHEN unix_millis(since) > {limit} THEN snapshots END AS snapshots, owner, is_expected
        FROM {_VIEW}
      ) AS findings"""  # noqa: S608  names of ours and a number


def _starts(context: TablesContext) -> list[datetime]:
    searched = _searched(context)
    return [one.captured_at - searched for one in context.snapshots]


def _windows(context: TablesContext) -> Windows:
    """The chosen snapshots, in which there may be no findings; else the searched history too, and more where it has gaps.

    The history begins with the last snapshot before it: what that has too, is older.
    """
    begins = [
        last_before(context.ask, one.cluster, start)
        for one, start in zip(context.snapshots, _starts(context), strict=True)
    ]
    *history, everything = windows(begins, [one.captured_at for one in context.snapshots])
    return [chosen_alone(context), *(history or [everything])]


def _suffices(context: TablesContext) -> bool:
    """True without findings, or if each table with findings was collected before the searched history, too."""
    of = of_snapshots(context.snapshots)
    if not tuples(context.ask(f"SELECT 1 FROM {_VIEW} WHERE {of} LIMIT 1", *of.values)):  # noqa: S608  names of ours
        return True
    statement = f"""
        SELECT cluster, table_name, min(captured_at) FROM {PREDECESSORS}
        WHERE problem IS NULL AND table_name IN ({_TABLES}) GROUP BY cluster, table_name"""  # noqa: S608  names of ours
    clusters = [one.cluster for one in context.snapshots]
    starts = dict(zip(clusters, _starts(context), strict=True))
    return all(first <= starts.get(cluster, first) for cluster, _, first in tuples(context.ask(statement)))


def _counts(context: TablesContext, rows: Condition, missing: Collection[str]) -> QueriedRows:
    """Count each finding. There are few rows, so --number does not apply."""
    statement = f"""
        SELECT * FROM (
          SELECT cluster, finding, severity, count(*) AS count, min(since) AS since, bool_or(is_older) AS is_older,
            is_expected
          FROM {_findings_of(context)} WHERE {rows} GROUP BY cluster, finding, severity, is_expected
          ORDER BY is_expected, {_WORST}, min({_CAUSE}), cluster, finding
        ) AS counts"""  # noqa: S608  names of ours
    columns = ("finding", "severity", "count", "since", "is_older", *_if_any(context, "is_expected"))
    counts = context.rows("count", statement, rows.values, columns)
    looked_for = ", ".join(_looked_for(context.options.only, missing)) or "nothing"
    return replace(counts, limit=None, empty=(f"none; looked for {looked_for}",))


def _looked_for(only: Sequence[str] | None, missing: Collection[str]) -> Sequence[str]:
    """Return the findings or severities that were searched, without findings of `missing` tables."""
    names = FINDINGS if only is None else only
    return [name for name in names if name in SEVERITIES or _FINDINGS[name].table not in missing]


def _findings(context: TablesContext, rows: Condition) -> QueriedRows:
    order, known = _SORTS[context.options.sort], _if_any(context, "owner", "is_expected")
    findings = context.rows(
        "finding",
        f"SELECT * FROM {_findings_of(context)} WHERE {rows} ORDER BY {order}",  # noqa: S608
        rows.values,
        ("severity", "finding", "entity", "since", "is_older", *known, "detail"),
        ("severity", "finding", "entity_type", "entity", "since", "is_older", "snapshots", *known, "detail"),
    )
    brief = f"SELECT * FROM ({_by_entity(context, rows)}) AS entities ORDER BY {order}"  # noqa: S608
    return replace(findings, brief=brief, reads_all=True)


def _by_entity(context: TablesContext, rows: Condition) -> str:
    """Select findings of the same entity with the same begin and detail as one row, with the worst severity.

    A broker that is down gives each of its partitions three findings.
    """
    same = "cluster, entity_type, entity, since, is_older, owner, is_expected, detail"
    return f"""
        SELECT {same}, min_by(severity, {_WORST}) AS severity, concat_ws(', ', array_sort(array_agg(finding))) AS finding
        FROM {_findings_of(context)} WHERE {rows} GROUP BY {same}"""  # noqa: S608  names of ours


def _if_any(context: TablesContext, *columns: str) -> list[str]:
    """Keep the columns that the settings [owners] and [expected] fill."""
    return [name for name in columns if has_rows(context, _FILLED_BY[name])]


def _complaints(context: TablesContext, rows: Condition, gaps: Gaps) -> Iterator[str]:
    """Make the lines of missing topics, and of limits that are passed or may be. Expected findings do not count."""

    def unknown(limit: Threshold) -> Iterator[str]:
        yield from gap_lines(context, gaps, limit, _limited_tables(limit, context.options))
        if _OF_MIN_ISR.intersection(_limited_findings(limit, context.options.only)):
            yield from _unknown_min_isr(context, limit)

    yield from missing_names(context, "topic", context.options.topic, {TOPICS: of_snapshots(context.snapshots)})
    columns = {**dict.fromkeys(SEVERITIES, "severity"), **dict.fromkeys(FINDINGS, "finding")}
    place, rows = "concat(finding, ' ', entity)", rows.also("NOT is_expected")
    findings = f"SELECT * FROM {_findings_of(context)} WHERE"  # noqa: S608  names of ours
    yield from count_lines(context, findings, rows, columns, place, ALL, unknown)


def _unknown_min_isr(context: TablesContext, limit: Threshold) -> Iterator[str]:
    """Make the line of partitions whose min.insync.replicas the brokers did not return: they may refuse writes."""
    name, order = "concat(topic, '-', partition)", "topic, partition"
    rows = of_snapshots(context.snapshots).among("topic", context.options.topic).among("problem", [_NO_MIN_ISR])
    rows = rows.among_many(name, matching_names(context, name, _PARTITIONS, rows))
    source = f"SELECT * FROM {_PARTITIONS} WHERE {rows}"  # noqa: S608  names of ours
    yield from lines_of(limit, measured(context, limit, source, rows.values, "0", "TRUE", name, order), "partitions")


COMMAND = Command(
    kind=over(
        _VIEW,
        _PARTITIONS,
        PREDECESSORS,
        STATES,
        TOPICS,
        OWNERS,
        EXPECTED,
        reach=Reach(windows=_windows, starts=_starts, suffices=_suffices),
    ),
    summary="Shows findings about brokers, partitions, disks, transactions and configs in the newest published snapshot, and "
    "since when they exist: the worst first. Lag and lost records of groups, and consumers that stand still, are not "
    "looked at: see lagoon lag and lagoon report.",
    examples=(
        "lagoon health",
        "lagoon health --only critical --since '2h ago'",
    ),
    declare=_declare,
    check=_faults,
    answer=_answer,
)
