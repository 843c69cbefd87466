"""Writes the section about the snapshots: which there are, and what the last one lacks."""

from collections.abc import Iterator, Sequence

from kafka_lagoon.report import coverage as data
from kafka_lagoon.report.charts import gaps, image
from kafka_lagoon.report.page_tables import (
    BADGE,
    BYTES,
    COUNT,
    DURATION,
    RATIO,
    TIME,
    Chart,
    Column,
    Concern,
    DeclaredSection,
    Figure,
    Made,
    PageTable,
    Section,
)
from kafka_lagoon.report.scope import PublishedSnapshot, Scope
from kafka_lagoon.report.values import time_text
from kafka_lagoon.text import counted, duration

_LAST_RUNS = 50
_HOUR_MS = 3_600_000

_RUN_COLUMNS = (
    Column(label="Slot (UTC)", kind=TIME, source="snapshots.slot"),
    Column(label="Status", kind=BADGE, source="snapshots.status"),
    Column(label="Failures", kind=COUNT, source="snapshots.failures"),
    Column(label="Answered", kind=RATIO, source="snapshots.completeness", unknown="nothing asked"),
    Column(label="Groups", kind=COUNT, source="snapshots.groups"),
    Column(label="Partitions", kind=COUNT, source="snapshots.partitions"),
    Column(label="Took", kind=DURATION, source="snapshots.finished_at minus captured_at"),
    Column(label="Requests", kind=COUNT, source="snapshots.requests"),
    Column(label="Received", kind=BYTES, source="snapshots.bytes_in"),
    Column(label="Throttled", kind=DURATION, source="snapshots.throttle_ms"),
)
_FAILURE_COLUMNS = (
    Column(label="API", source="collection_failures.api"),
    Column(label="Broker", kind=COUNT, source="collection_failures.broker_id", unknown="none"),
    Column(label="About", source="collection_failures.scope"),
    Column(label="Items", kind=COUNT, source="collection_failures.items", unknown="unknown"),
    Column(label="Error", source="collection_failures.error_name"),
    Column(label="Message", source="collection_failures.message", unknown=""),
)
_OUTCOMES = {
    "partial": "some of what it is made of did not answer",
    "failed": "nothing of what it is made of answered",
    "skipped": "by the setting snapshot.skip_tables",
    "not_offered": "by the brokers, or they are set up without",
    data.NOT_COLLECTED: "by version 0.1.0, which took this snapshot",
}


def run_section(scope: Scope) -> Made:
    """The snapshots of the history, and what the last one did not see."""
    failures, short = data.failures_of(scope), data.short_lists_of(scope)
    first = f"The last {_LAST_RUNS} snapshots" if scope.runs[_LAST_RUNS:] else "Snapshots"
    names = data.FailureRow.__dataclass_fields__
    tables = [
        PageTable(
            name="failures",
            caption="What the snapshot could not collect",
            columns=_FAILURE_COLUMNS,
            rows=[[getattr(one, name) for name in names] for one in failures],
            empty="Everything that was asked was answered.",
        ),
        PageTable(
            name="runs",
            caption=f"{first}, the newest first",
            columns=_RUN_COLUMNS,
            rows=[_run_row(one) for one in reversed(scope.runs[-_LAST_RUNS:])],
            empty="No snapshot.",
        ),
    ]
    section = Section(
        lead=_lead(scope),
        figures=[_strip(scope)],
        tables=tables,
        notes=[*_list_notes(short), *_table_notes(data.missing_tables_of(scope))],
        source="Tables snapshots, coverage, collection_failures; view table_states.",
    )
    return Made(section=section, concerns=list(_concerns(scope, short)))


def _lead(scope: Scope) -> str:
    axis = scope.axis
    partial = sum(one.status != "complete" for one in scope.runs)
    usual = f", usually every {duration(axis.usual_ms)}" if axis.usual_ms else ""
    missing = f" Snapshots are missing: {counted(axis.gaps, 'gap')}." if axis.gaps else ""
    return f"{axis.snapshots:,} snapshots{usual}, {partial:,} of them incomplete.{missing}"


def _run_row(run: PublishedSnapshot) -> tuple[object, ...]:
    return (
        run.slot_ms,
        run.status,
        run.failures,
        run.completeness,
        run.groups,
        run.partitions,
        run.finished_ms - run.captured_ms,
        run.requests,
        run.bytes_in,
        run.throttle_ms,
    )


def _strip(scope: Scope) -> Figure:
    """A mark for each snapshot."""
    axis, runs = scope.axis, scope.runs
    partial = sum(one.status != "complete" for one in runs)
    label = f"{axis.snapshots} snapshots, {partial} of them incomplete, {axis.gaps} gaps"
    marks = "".join(
        f'<path class="{"run" if is_whole else "run short"}" d="{_ticks(scope, is_whole=is_whole)}"/>'
        for is_whole in dict.fromkeys(one.status == "complete" for one in runs)
    )
    return Figure(
        chart=Chart(title="Snapshots", kind=COUNT, values=[], drawing=image(label, "".join(gaps(axis)) + marks)),
        now=f"{axis.snapshots:,}",
        source="snapshots.captured_at, snapshots.status",
    )


def _ticks(scope: Scope, *, is_whole: bool) -> str:
    chosen = [one for one in scope.runs if (one.status == "complete") == is_whole]
    return "".join(f"M{scope.axis.x(one.captured_ms) * 1000:.1f} 15v70" for one in chosen)


def _list_notes(short: Sequence[data.ShortList]) -> Iterator[str]:
    for listed in short:
        if listed.visibility not in (None, "complete"):
            yield f"The list of {listed.api} may be short: its visibility is {listed.visibility} (coverage.visibility)."
        if listed.left_out:
            yield f"Settings left {listed.left_out:,} names out of the list of {listed.api} (coverage.left_out)."


def _table_notes(missing: Sequence[tuple[str, str]]) -> Iterator[str]:
    for outcome, meaning in _OUTCOMES.items():
        names = [name for name, of_table in missing if of_table == outcome]
        source = "snapshots.tables is null" if outcome == data.NOT_COLLECTED else "table_states.outcome"
        if names:
            yield f"Tables {outcome.replace('_', ' ')} ({meaning}): {', '.join(names)} ({source})."


def _concerns(scope: Scope, short: Sequence[data.ShortList]) -> Iterator[Concern]:
    snapshot, axis = scope.snapshot, scope.axis
    if snapshot.status != "complete":
        text = f"the snapshot is incomplete: {counted(snapshot.failures, 'failure')}, so this page may lack something"
        yield Concern(level="warning", text=text)
    numbers = {"ListGroups": snapshot.groups, "Metadata": snapshot.topics}
    empty = [one.api for one in short if one.visibility not in (None, "complete") and numbers.get(one.api) == 0]
    if empty:
        text = f"lists are empty, or not visible, so nothing is known of what they may have: {', '.join(empty)}"
        yield Concern(level="warning", text=text)
    filtered = [one.api for one in short if one.visibility == "filtered" and one.api not in empty]
    if filtered:
        text = f"lists may be short, for permissions are missing: {', '.join(filtered)}"
        yield Concern(level="warning", text=text)
    if snapshot.is_of_first_version:
        yield Concern(
            level="warning", text="version 0.1.0 took the snapshot, and did not look at disks, configs and ACLs"
        )
    if axis.gaps:
        yield Concern(level="warning", text=f"snapshots are missing: {counted(axis.gaps, 'gap')} in the history")
    if axis.is_short:
        wanted = duration(scope.hours * _HOUR_MS)
        text = f"the history is short: it begins at {time_text(axis.from_ms)} UTC, and {wanted} were asked for"
        yield Concern(level="info", text=text)


COVERAGE = DeclaredSection(
    name="coverage",
    title="What the snapshots saw",
    relations=frozenset({"coverage", "collection_failures", "table_states"}),
    make=run_section,
)
