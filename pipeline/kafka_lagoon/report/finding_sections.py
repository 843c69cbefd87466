"""Writes the sections about data loss, health and changes."""

from collections.abc import Iterator, Sequence

from kafka_lagoon.report import findings as data
from kafka_lagoon.report.page_tables import (
    BADGE,
    COUNT,
    DURATION,
    TIME,
    Column,
    Concern,
    DeclaredSection,
    Made,
    PageTable,
    Section,
)
from kafka_lagoon.report.scope import Scope
from kafka_lagoon.report.values import some_names
from kafka_lagoon.units import duration

_LOSS_COLUMNS = (
    Column(label="Group", source="loss_ahead.group_id"),
    Column(label="Topic", source="loss_ahead.topic"),
    Column(label="Partition", kind=COUNT, source="loss_ahead.partition"),
    Column(label="Lost", kind=COUNT, source="loss_ahead.records_lost", unknown="unknown"),
    Column(label="Lag", kind=COUNT, source="loss_ahead.lag", unknown="unknown"),
    Column(label="Next loss in", kind=DURATION, source="loss_ahead.seconds_left", unknown="no estimate"),
    Column(label="Next loss at (UTC)", kind=TIME, source="loss_ahead.loss_at", unknown="no estimate"),
    Column(label="Estimated from", source="loss_ahead.evidence", unknown=""),
)
_FINDING_COLUMNS = (
    Column(label="Finding", source="health_findings.finding"),
    Column(label="Severity", kind=BADGE, source="health_findings.severity"),
    Column(label="What has it", source="health_findings.entity"),
    Column(label="Since (UTC)", kind=TIME, source="health_findings.since"),
    Column(label="Snapshots", kind=COUNT, source="health_findings.snapshots"),
    Column(label="Detail", source="health_findings.detail", unknown=""),
)
_CHANGE_COLUMNS = (
    Column(label="What", source="topology_changes.entity"),
    Column(label="Kind", source="topology_changes.entity_type"),
    Column(label="Change", kind=BADGE, source="topology_changes.change_type"),
    Column(label="Of it", source="topology_changes.attribute", unknown=""),
    Column(label="Before", source="topology_changes.old_value", unknown=""),
    Column(label="After", source="topology_changes.new_value", unknown=""),
    Column(label="PublishedSnapshot at (UTC)", kind=TIME, source="topology_changes.captured_at"),
    Column(label="Remark", source="topology_changes.is_proven"),
)
_KINDS_IN_LEAD = 8
_UNPROVEN = "not proven: the list may be short"


def loss_section(scope: Scope) -> Made:
    """Records that retention deleted before a group read them, and those that it reaches within a day."""
    losses = data.losses_of(scope)
    names = data.Loss.__dataclass_fields__
    table = PageTable(
        name="loss",
        caption="Partitions with losses, and those that retention reaches within a day",
        columns=_LOSS_COLUMNS,
        rows=[[getattr(one, name) for name in names] for one in losses[: data.MOST]],
        empty="No group has lost records, and retention reaches none within a day, as far as that is known.",
        left_out=_left_out(len(losses)),
    )
    notes = [
        f"No estimate for {number:,} partitions with unread records: {reason} (loss_ahead.no_estimate_because)."
        for reason, number in data.no_estimates_of(scope)
    ]
    section = Section(tables=[table], notes=notes, source="View loss_ahead of the snapshot.")
    return Made(section=section, concerns=list(_loss_concerns(losses)))


def _loss_concerns(losses: Sequence[data.Loss]) -> Iterator[Concern]:
    lost = [one for one in losses if one.records_lost and one.records_lost > 0]
    if lost:
        records, names = sum(one.records_lost or 0 for one in lost), some_names([one.group_id for one in lost])
        yield Concern(level="critical", text=f"{records:,} records were deleted before {names} read them")
    ahead = [one for one in losses if one.left_ms is not None and one.left_ms < data.LOSS_WITHIN_S * 1000]
    if ahead:
        first_ms = min(one.left_ms or 0 for one in ahead)
        when = "at any moment" if first_ms <= 0 else f"in {duration(first_ms)}"
        text = f"retention deletes what {some_names([one.group_id for one in ahead])} have not read, the first {when}"
        yield Concern(level="warning", text=text)


def health_section(scope: Scope) -> Made:
    """The findings about the health of the cluster, and since when they hold."""
    findings = data.findings_of(scope)
    table = PageTable(
        name="health",
        caption="Findings, the worst and oldest first",
        columns=_FINDING_COLUMNS,
        rows=[
            (one.finding, one.severity, one.entity, one.since_ms, one.snapshots, one.detail)
            for one in findings[: data.MOST]
        ],
        empty="Nothing is wrong with brokers, partitions, disks and configs, as far as the snapshot saw them.",
        left_out=_left_out(len(findings)),
    )
    severities = [one.severity for one in findings]
    parts = [f"{severities.count(one):,} {one}" for one in dict.fromkeys(severities)]
    section = Section(
        lead=f"{', '.join(parts)}." if parts else "",
        tables=[table],
        notes=["Since: when the first snapshot of the unbroken row of snapshots with the finding began."],
        source="View health_findings of the snapshot.",
    )
    return Made(section=section, concerns=list(_health_concerns(findings)))


def _health_concerns(findings: Sequence[data.Finding]) -> Iterator[Concern]:
    for severity in ("critical", "warning"):
        chosen = [one for one in findings if one.severity == severity]
        for finding in dict.fromkeys(one.finding for one in chosen):
            names = some_names([one.entity for one in chosen if one.finding == finding])
            yield Concern(level=severity, text=f"{finding}: {names}")


def change_section(scope: Scope) -> Made:
    """The changes between the snapshots of the history."""
    changes, counts = data.changes_of(scope)
    table = PageTable(
        name="changes",
        caption="Changes, the newest first",
        columns=_CHANGE_COLUMNS,
        rows=[_change_row(one) for one in changes],
        empty="Nothing changed." if scope.axis.snapshots > 1 else "There is no earlier snapshot to compare with.",
        left_out=_left_out(sum(number for *_, number in counts)),
    )
    section = Section(
        title=f"What changed in {duration(scope.axis.until_ms - scope.axis.from_ms)}",
        lead=_change_lead(counts),
        tables=[table],
        source="View topology_changes: each snapshot of the history against the one before it.",
    )
    return Made(section=section)


def _change_lead(counts: Sequence[tuple[str, str, int]]) -> str:
    kinds = [f"{number:,} {kind} {change}".replace("_", " ") for change, kind, number in counts[:_KINDS_IN_LEAD]]
    more = " and more" if counts[_KINDS_IN_LEAD:] else ""
    return f"{', '.join(kinds)}{more}." if kinds else ""


def _change_row(change: data.Change) -> tuple[object, ...]:
    return (
        change.entity,
        change.entity_type.replace("_", " "),
        change.change_type,
        change.attribute,
        change.old_value,
        change.new_value,
        change.captured_ms,
        "" if change.is_proven else _UNPROVEN,
    )


def _left_out(total: int) -> str:
    return f"The page has the first {data.MOST:,} of {total:,} rows." if total > data.MOST else ""


LOSS = DeclaredSection(name="loss", title="Data loss", relations=frozenset({"loss_ahead"}), make=loss_section)
HEALTH = DeclaredSection(name="health", title="Health", relations=frozenset({"health_findings"}), make=health_section)
CHANGES = DeclaredSection(
    name="changes", title="What changed", relations=frozenset({"topology_changes"}), make=change_section
)
