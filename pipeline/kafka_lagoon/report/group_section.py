"""Writes the section about consumer groups: charts of the worst, a table of all, and what of it needs attention."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from kafka_lagoon.report import groups as data
from kafka_lagoon.report.figures import chart, figure
from kafka_lagoon.report.groups import Group, GroupHistory
from kafka_lagoon.report.page_tables import (
    BADGE,
    CHART,
    COUNT,
    DURATION,
    Chart,
    Column,
    Concern,
    DeclaredSection,
    Figure,
    Made,
    PageTable,
    Section,
    Tile,
)
from kafka_lagoon.report.scope import Scope
from kafka_lagoon.report.values import FIRST_MS, few_names, some_names
from kafka_lagoon.text import duration, printable

_FIGURES = 5  # groups that have a large chart
_STALLED = "Stalled groups"

_COLUMNS = (
    Column(label="Group", source="consumer_groups.group_id"),
    Column(
        label="Status", kind=BADGE, source="group_status.status, by the rules of Burrow: three snapshots must know it"
    ),
    Column(label="Lag", kind=COUNT, source="sum of consumer_lag.lag where it is known", unknown="unknown"),
    Column(
        label="Change",
        kind=COUNT,
        source="lag minus that of the first snapshot of the history, if all of both is known",
    ),
    Column(label="Time lag", kind=DURATION, source="largest consumer_lag.time_lag_ms", unknown="unknown"),
    Column(label="Lost", kind=COUNT, source="sum of consumer_lag.records_lost", unknown="unknown"),
    Column(label="History", kind=CHART, source="consumer_lag.lag at each snapshot of the history"),
    Column(label="State", source="consumer_groups.state", unknown="unknown"),
    Column(label="Members", kind=COUNT, source="consumer_groups.members", unknown="unknown"),
    Column(label="Partitions", kind=COUNT, source="rows of consumer_lag"),
    Column(label="Not known", source="consumer_lag.problem, time_lag_problem and lag_basis; consumer_groups.problem"),
    Column(label="Worst partition", source="topic and partition with the largest consumer_lag.lag"),
    Column(label="Type", source="consumer_groups.group_type", unknown="unknown"),
)
_OWNER = Column(label="Owner", source="owners.owner")
_EXPECTED = Column(label="Expected", source="expected_groups.should_run, hours and reason")
_STATUSES = (  # those that need attention
    ("STALL", "critical", "stalled groups, which have members and commit nothing"),
    ("STOP", "critical", "stopped groups, whose commits have ended"),
    ("WARN", "warning", "groups that fall behind"),
    ("REWIND", "warning", "groups that moved their commits back"),
)
_NOT_READING = ("STALL", "STOP")
_ORDER = (
    "Worst are groups that lost records, then those whose first unread record is oldest (an age that is not known may be "
    "any, so it comes before), then those with most to read: the order of `lagoon lag`."
)


def group_section(scope: Scope) -> Made:
    """The section, and its concerns."""
    groups = data.groups_of(scope)
    watched = groups[: data.WATCHED]
    histories, statuses = data.histories(scope, watched), data.statuses(scope, watched)
    section = Section(
        lead=_lead(groups),
        is_open=True,
        figures=list(_figures(scope, watched, histories)),
        tables=[_table(scope, groups, histories, statuses)],
        notes=list(_notes(scope, groups)),
        source="View consumer_lag_published, summed over the partitions of a group; status from view group_status.",
    )
    concerns = list(_concerns(scope, groups, statuses))
    return Made(section=section, tiles=[_tile(scope, watched, statuses)], concerns=concerns)


def _tile(scope: Scope, watched: Sequence[Group], statuses: Mapping[str, str | None]) -> Tile:
    """The number of groups that have records to read and commit nothing; groups that are stopped on purpose do not count."""
    running = [one for one in watched if not one.is_stopped_on_purpose]
    stalled = [one for one in running if one.is_behind and statuses.get(one.group_id) in _NOT_READING]
    untold = sum((one.is_behind or one.unknown_lags > 0) and statuses.get(one.group_id) is None for one in running)
    source = f"group_status.status STALL or STOP, of the {data.WATCHED} worst groups"
    if stalled:
        behind_since_ms = _behind_since(scope, stalled)
        return Tile(
            label=_STALLED,
            value=f"{len(stalled):,}",
            note=few_names([one.name for one in stalled]),
            when="behind since" if behind_since_ms else "",
            since_ms=behind_since_ms,
            source=source,
            level="critical",
        )
    note = f"status of {untold:,} not known" if untold else ""
    return Tile(label=_STALLED, value="0", note=note, source=source, level="unknown" if untold else "")


def _behind_since(scope: Scope, groups: Sequence[Group]) -> int | None:
    """The timestamp of the oldest record that one of the groups has not read; None if none is known or within the calendar.

    Producers may write any number as a timestamp: nanoseconds, for example, are far in the future.
    """
    ages = [one.time_lag_ms for one in groups if one.time_lag_ms is not None and one.time_lag_ms > 0]
    since_ms = scope.snapshot.captured_ms - max(ages) if ages else None
    return since_ms if since_ms is not None and since_ms >= FIRST_MS else None


def _lead(groups: Sequence[Group]) -> str:
    if not groups:
        return "The snapshot has no group."
    unknown = sum(one.unknown_lags > 0 for one in groups)
    also = f" The lag of {unknown:,} is not known, or not all of it." if unknown else ""
    stopped = sum(one.is_stopped_on_purpose for one in groups)
    also += f" {stopped:,} {'is' if stopped == 1 else 'are'} expected to be stopped." if stopped else ""
    return f"{sum(one.is_behind for one in groups):,} of {len(groups):,} groups have something to read.{also}"


def _figures(scope: Scope, watched: Sequence[Group], histories: Mapping[str, GroupHistory]) -> Iterator[Figure]:
    yield figure("Lag of all groups", COUNT, data.total_history(scope), scope.axis, "sum of consumer_lag.lag")
    for group in [one for one in watched if one.is_behind][:_FIGURES]:
        name = printable(group.group_id)
        yield figure(f"Lag of {name}", COUNT, histories[group.group_id].lag, scope.axis, "sum of consumer_lag.lag")


def _table(
    scope: Scope, groups: Sequence[Group], histories: Mapping[str, GroupHistory], statuses: Mapping[str, str | None]
) -> PageTable:
    watched, known = enumerate(groups[: data.WATCHED]), list(_known_columns(groups))
    return PageTable(
        name="groups",
        caption="Groups, the worst first",
        columns=[*_COLUMNS, *(column for column, _ in known)],
        rows=[(*_row(one, statuses.get(one.group_id)), *(value(one) for _, value in known)) for one in groups],
        empty="No group.",
        charts={number: _charts(scope, group, histories[group.group_id]) for number, group in watched},
    )


def _row(group: Group, status: str | None) -> tuple[object, ...]:
    has_lag = group.partitions > group.uncommitted  # else nothing is unknown: there is no commit
    return (
        group.group_id,
        status,
        group.lag if has_lag else "",
        group.change,
        group.time_lag_ms if has_lag and not group.is_sharing else "",
        group.records_lost if has_lag else "",
        None,
        group.state,
        group.members,
        group.partitions,
        group.remark(),
        group.worst_partition,
        group.group_type,
    )


def _known_columns(groups: Sequence[Group]) -> Iterator[tuple[Column, Callable[[Group], str | None]]]:
    """The columns that only settings fill, where they do, with their values."""
    if any(one.owner is not None for one in groups):
        yield _OWNER, lambda group: group.owner
    if any(one.should_run is not None for one in groups):
        yield _EXPECTED, Group.expectation


def _charts(scope: Scope, group: Group, history: GroupHistory) -> list[Chart]:
    name = printable(group.group_id)
    return [
        chart(f"Lag of {name}", COUNT, history.lag, scope.axis),
        chart(f"Time lag of {name}", DURATION, history.time_lag, scope.axis),
    ]


def _notes(scope: Scope, groups: Sequence[Group]) -> Iterator[str]:
    yield _ORDER
    if len(groups) > data.WATCHED:
        yield f"History and status are read for the {data.WATCHED} worst groups."
    if scope.axis.snapshots > len(scope.axis.points):
        yield "A point of a chart stands for several snapshots, and shows the largest of their values."


def _concerns(scope: Scope, groups: Sequence[Group], statuses: Mapping[str, str | None]) -> Iterator[Concern]:
    running = [one for one in groups if not one.is_stopped_on_purpose]
    for status, level, meaning in _STATUSES:
        having = [one for one in running if statuses.get(one.group_id) == status and one.is_behind]
        if having:
            text = f"{meaning}: {some_names([one.name for one in having])}"
            yield Concern(level=level, text=text, since_ms=_behind_since(scope, having))
    unknown = [group for group in groups if group.unknown_lags]
    if unknown:
        names = some_names([group.name for group in unknown])
        yield Concern(level="warning", text=f"lag is not known of {names}: {unknown[0].lag_problem}")
    oldest = max(running, key=lambda group: group.time_lag_ms or 0, default=None)
    if oldest is not None and oldest.time_lag_ms is not None and oldest.time_lag_ms > 0:
        text = (
            f"{printable(oldest.name)} is furthest behind: the next record that it will read was written "
            f"{duration(oldest.time_lag_ms)} before the snapshot"
        )
        yield Concern(level="info", text=text)


GROUPS = DeclaredSection(
    name="groups",
    title="Consumer groups",
    relations=frozenset(
        {
            *("consumer_groups_published", "consumer_lag_published", "consumer_lag", data.STATUS, "snapshots"),
            *("owners_published", "expected_groups_published", "table_states"),
        }
    ),
    make=group_section,
    tiles=(_STALLED,),
)
