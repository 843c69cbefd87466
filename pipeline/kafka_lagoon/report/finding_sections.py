"""Writes the sections about data loss, health and changes."""

from collections.abc import Callable, Iterator, Sequence

from kafka_lagoon.report import coverage
from kafka_lagoon.report import findings as data
from kafka_lagoon.report.page_tables import (
    BADGE,
    COUNT,
    TIME,
    TIME_LEFT,
    Column,
    Concern,
    DeclaredSection,
    Made,
    PageTable,
    Section,
    Tile,
)
from kafka_lagoon.report.scope import Scope
from kafka_lagoon.report.values import (
    few_names,
    partition_name,
    severity_count,
    some_names,
    time_left,
    with_owner,
)
from kafka_lagoon.text import counted, duration

_LOSING, _OFFLINE, _UNDER_MIN, _UNDER = (
    "Groups about to lose data",
    "Offline partitions",
    "Under min.insync.replicas",
    "Under-replicated partitions",
)
_GROUP_COLUMNS = (
    Column(label="Group", source="loss_ahead.group_id"),
    Column(label="Time left", kind=TIME_LEFT, source="least loss_ahead.seconds_left", unknown="no estimate"),
    Column(label="Unread there", kind=COUNT, source="sum of loss_ahead.lag", unknown="unknown"),
    Column(label="Lost so far", kind=COUNT, source="sum of loss_ahead.records_lost", unknown="unknown"),
    Column(label="Partitions", kind=COUNT, source="rows of loss_ahead"),
    Column(label="First to lose", source="loss_ahead.topic and partition with the least seconds_left"),
    Column(label="Next loss (UTC)", kind=TIME, source="least loss_ahead.loss_at", unknown="no estimate"),
)
_OWNER = Column(label="Owner", source="owners.owner")
_EXPECTED = Column(label="Expected", source="health_findings.is_expected", unknown="")
_LOSS_COLUMNS = (
    Column(label="Group", source="loss_ahead.group_id"),
    Column(label="Time left", kind=TIME_LEFT, source="loss_ahead.seconds_left", unknown="no estimate"),
    Column(label="Topic", source="loss_ahead.topic"),
    Column(label="Partition", kind=COUNT, source="loss_ahead.partition"),
    Column(label="Unread", kind=COUNT, source="loss_ahead.lag", unknown="unknown"),
    Column(label="Lost so far", kind=COUNT, source="loss_ahead.records_lost", unknown="unknown"),
    Column(label="Next loss (UTC)", kind=TIME, source="loss_ahead.loss_at", unknown="no estimate"),
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
    Column(label="Property", source="topology_changes.attribute", unknown=""),
    Column(label="Before", source="topology_changes.old_value", unknown=""),
    Column(label="After", source="topology_changes.new_value", unknown=""),
    Column(label="Seen at (UTC)", kind=TIME, source="topology_changes.captured_at"),
    Column(label="Remark", source="topology_changes.is_proven"),
)
_KINDS_IN_LEAD = 8
UNPROVEN = "not proven: the list may be short"
_NUMBERED = ("broker", "voter")  # entities that are only a number
_PHRASES = {  # findings whose name alone does not say what they are about
    "leaderless": "partitions without a leader",
    "offline_replicas": "partitions with an offline replica",
    "under_min_isr": "partitions under min.insync.replicas, which refuse acks=all",
    "min_isr_above_replicas": "partitions with fewer replicas than min.insync.replicas, which refuse acks=all before Kafka 3.7",
    "under_replicated": "under-replicated partitions",
    "at_min_isr": "partitions at min.insync.replicas: one replica less, and they refuse acks=all",
    "rack_violation": "partitions whose replicas share a rack",
    "broker_fenced": "fenced brokers",
    "offline_log_dir": "offline log directories",
    "no_controller": "no controller",
    "stuck_reassignment": "reassignments without progress",
    "hanging_transaction": "hanging transactions",
    "lagging_voter": "lagging voters of the quorum",
    "config_drift": "configs that differ between brokers",
    "stopped_group": "groups that should run, have unread records and no member",
}


def loss_section(scope: Scope) -> Made:
    """Records that retention deleted before a group read them, and those that it reaches within a day."""
    losses = data.losses_of(scope)
    rows, is_owned = _by_group(losses), any(one.owner is not None for one in losses)
    names = ("group_id", "left_ms", "topic", "partition", "lag", "records_lost", "loss_ms", "evidence")
    tables = [
        PageTable(
            name="loss",
            caption="Groups, the least time left first",
            columns=[*_GROUP_COLUMNS, *([_OWNER] if is_owned else [])],
            rows=rows if is_owned else [row[:-1] for row in rows],
            empty="No group has lost records, and retention reaches none within a day, as far as that is known.",
        )
    ]
    if losses:
        by_partition = PageTable(
            name="losses",
            caption="By partition",
            columns=_LOSS_COLUMNS,
            rows=[[getattr(one, name) for name in names] for one in sorted(losses, key=_urgency)[: data.MOST]],
            empty="",
            left_out=left_out(len(losses)),
            is_folded=True,
        )
        tables.append(by_partition)
    missing = data.no_estimates_of(scope)
    notes = [
        f"No estimate for {number:,} partitions with unread records: {reason} (loss_ahead.no_estimate_because)."
        for reason, number in missing
    ]
    section = Section(
        lead=f"{counted(len(rows), 'group')}." if rows else "None.",
        is_open=bool(losses),
        tables=tables,
        notes=notes,
        source="View loss_ahead of the snapshot.",
    )
    tile = _loss_tile(losses, sum(number for _, number in missing))
    return Made(section=section, tiles=[tile], concerns=list(_loss_concerns(losses)))


def _urgency(loss: data.Loss) -> tuple[float, int, str, str, int]:
    """Order by the time left, those without an estimate last, the most lost records first among them."""
    left_ms = float("inf") if loss.left_ms is None else loss.left_ms
    return left_ms, -(loss.records_lost or 0), loss.group_id, loss.topic, loss.partition


def _by_group(losses: Sequence[data.Loss]) -> list[tuple[object, ...]]:
    """A row for each group, about its partition with the least time left and the sums of all."""
    groups: dict[str, list[data.Loss]] = {}
    for loss in sorted(losses, key=_urgency):
        groups.setdefault(loss.group_id, []).append(loss)
    return [
        (
            first.group_id,
            first.left_ms,
            _known_sum([one.lag for one in (first, *others)]),
            _known_sum([one.records_lost for one in (first, *others)]),
            1 + len(others),
            "" if first.left_ms is None else partition_name(first.topic, first.partition),
            first.loss_ms,
            first.owner,
        )
        for first, *others in groups.values()
    ]


def _known_sum(values: Sequence[int | None]) -> int | None:
    """The sum; None if a part of it is unknown."""
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _ahead(losses: Sequence[data.Loss]) -> list[data.Loss]:
    """Losses within a day, the next one first."""
    return sorted(
        (one for one in losses if one.left_ms is not None and one.left_ms < data.LOSS_WITHIN_S * 1000), key=_urgency
    )


def _loss_tile(losses: Sequence[data.Loss], unknown: int) -> Tile:
    ahead = _ahead(losses)
    source = "groups with loss_ahead.seconds_left below a day"
    if not ahead:
        note = f"no estimate for {counted(unknown, 'partition')}" if unknown else "within a day"
        return Tile(label=_LOSING, value="0", note=note, source=source, level="unknown" if unknown else "")
    names = [one.name for one in ahead]
    first_ms = ahead[0].left_ms or 0
    return Tile(
        label=_LOSING,
        value=f"{len(set(names)):,}",
        note=few_names(names),
        when=f"the first {'in ' if first_ms > 0 else ''}{time_left(first_ms)}",
        source=source,
        level="warning" if first_ms > 0 else "critical",
    )


def _deleted_records(lost: Sequence[data.Loss]) -> int:
    """Deleted records that a group had not read. Groups that lost records of the same partition lost the same last records."""
    most: dict[tuple[str, int], int] = {}
    for loss in lost:
        partition = (loss.topic, loss.partition)
        most[partition] = max(most.get(partition, 0), loss.records_lost or 0)
    return sum(most.values())


def _loss_concerns(losses: Sequence[data.Loss]) -> Iterator[Concern]:
    lost = [one for one in losses if one.records_lost and one.records_lost > 0]
    if lost:
        names = some_names([one.name for one in lost])
        yield Concern(
            level="critical", text=f"{_deleted_records(lost):,} records were deleted before {names} read them"
        )
    ahead = _ahead(losses)
    if ahead:
        first_ms = ahead[0].left_ms or 0
        when = f"in {time_left(first_ms)}" if first_ms > 0 else f"at any moment: {time_left(first_ms)}"
        text = f"retention will delete unread records of {some_names([one.name for one in ahead])}, the first {when}"
        yield Concern(level="warning" if first_ms > 0 else "critical", text=text)


def health_section(scope: Scope) -> Made:
    """The findings about the health of the cluster, and since when they hold."""
    findings, health = data.findings_of(scope), coverage.health_of(scope)
    known = list(_known_columns(findings))
    table = PageTable(
        name="health",
        caption="Findings, the worst and oldest first",
        columns=[*_FINDING_COLUMNS, *(column for column, _ in known)],
        rows=[
            (
                *(one.finding, one.severity, _finding_entity(one), one.since_ms, one.snapshots, _detail(one)),
                *(value(one) for _, value in known),
            )
            for one in findings[: data.MOST]
        ],
        empty="Nothing is wrong with brokers, partitions, disks and configs, as far as the snapshot saw them.",
        left_out=left_out(len(findings)),
    )
    severities = [one.severity for one in findings if not one.is_expected]
    parts = [severity_count(severities, one) for one in dict.fromkeys(severities)]
    expected = len(findings) - len(severities)
    parts += [f"{expected:,} expected"] if expected else []
    fencing = ["The brokers do not say whether one of them is fenced."] if health.fenced is None else []
    section = Section(
        lead=f"{', '.join(parts)}." if parts else "No finding.",
        is_open="critical" in severities or "warning" in severities,
        tables=[table],
        notes=["Since: when the first of the consecutive snapshots with the finding began.", *fencing],
        source="Views health_findings, brokers_published and partitions_published of the snapshot.",
    )
    tiles = list(_health_tiles(findings, health))
    return Made(section=section, tiles=tiles, concerns=list(_health_concerns(findings)))


def _known_columns(findings: Sequence[data.Finding]) -> Iterator[tuple[Column, Callable[[data.Finding], str | None]]]:
    """The columns that only settings fill, where they do, with their values."""
    if any(one.owner is not None for one in findings):
        yield _OWNER, lambda finding: finding.owner
    if any(one.is_expected for one in findings):
        yield _EXPECTED, lambda finding: "expected" if finding.is_expected else None


def _health_tiles(findings: Sequence[data.Finding], health: coverage.ClusterHealth) -> Iterator[Tile]:
    for label, finding, number, unknown, level in (
        (_OFFLINE, "leaderless", health.leaderless, 0, "critical"),
        (_UNDER_MIN, "under_min_isr", health.under_min_isr, health.unknown_min_isr, "critical"),
        (_UNDER, "under_replicated", health.under_replicated, 0, "warning"),
    ):
        source = f"partitions with the finding {finding} in health_findings"
        if unknown and not number:
            note = f"not known of {counted(unknown, 'partition')}"
            yield Tile(label=label, value="unknown", note=note, source=source, level="unknown")
            continue
        having = [one for one in findings if one.finding == finding]
        yield Tile(
            label=label,
            value=f"{number:,}",
            note=few_names([with_owner(one.topic, one.owner) for one in having if one.topic is not None]),
            when=_when(having),
            since_ms=min((one.since_ms for one in having), default=None),
            source=source,
            level=level if number else "",
        )


def _detail(finding: data.Finding) -> str | None:
    """Its details, and that it is older than the time beside it."""
    return "; ".join(filter(None, (finding.detail, "older" if finding.is_older else ""))) or None


def _finding_entity(finding: data.Finding) -> str:
    """The name of what has the finding; a topic and its partition are not written in one."""
    if finding.topic is not None and finding.partition is not None:
        rest = finding.entity.removeprefix(f"{finding.topic}-{finding.partition}").strip()
        return ", ".join(filter(None, (partition_name(finding.topic, finding.partition), rest)))
    return f"{finding.entity_type} {finding.entity}" if finding.entity_type in _NUMBERED else finding.entity


def _health_concerns(findings: Sequence[data.Finding]) -> Iterator[Concern]:
    for severity in ("critical", "warning"):
        chosen = [one for one in findings if one.severity == severity and not one.is_expected]
        for finding in dict.fromkeys(one.finding for one in chosen):
            having = [one for one in chosen if one.finding == finding]
            phrase = _PHRASES.get(finding, finding.replace("_", " "))
            names = some_names([with_owner(_finding_entity(one), one.owner) for one in having], "; ")
            is_older = any(one.is_older for one in having)
            since_ms = None if is_older else min(one.since_ms for one in having)
            earlier = " (since before this page's history)" if is_older else ""
            yield Concern(level=severity, text=f"{phrase}: {names}{earlier}", since_ms=since_ms)


def _when(findings: Sequence[data.Finding]) -> str:
    """The words before the time at which the first of the findings began."""
    if not findings:
        return ""
    return "since before" if any(finding.is_older for finding in findings) else "since"


def change_section(scope: Scope) -> Made:
    """The changes between the snapshots of the history."""
    changes, counts = data.changes_of(scope)
    table = PageTable(
        name="changes",
        caption="Changes, the newest first",
        columns=_CHANGE_COLUMNS,
        rows=[_change_row(one) for one in changes],
        empty="Nothing changed." if scope.axis.snapshots > 1 else "There is no earlier snapshot to compare with.",
        left_out=left_out(sum(number for *_, number in counts)),
    )
    section = Section(
        title=f"What changed in {duration(scope.axis.until_ms - scope.axis.from_ms)}",
        lead=_change_lead(counts),
        tables=[table],
        source="View topology_changes: each snapshot of the history against the one before it.",
    )
    return Made(section=section)


def _change_lead(counts: Sequence[tuple[str, str, int]]) -> str:
    kinds = [f"{counted(number, kind)} {change}".replace("_", " ") for change, kind, number in counts[:_KINDS_IN_LEAD]]
    more = " and more" if counts[_KINDS_IN_LEAD:] else ""
    return f"{', '.join(kinds)}{more}." if kinds else ""


def _change_row(change: data.Change) -> tuple[object, ...]:
    return (
        _change_entity(change),
        change.entity_type.replace("_", " "),
        change.change_type,
        change.attribute,
        change.old_value,
        change.new_value,
        change.captured_ms,
        "" if change.is_proven else UNPROVEN,
    )


def _change_entity(change: data.Change) -> str:
    """The name of what changed; groups, topics and partitions are not written in one."""
    if change.topic is not None and change.partition is not None:
        group = f"group {change.group_id}, " if change.group_id is not None else ""
        return group + partition_name(change.topic, change.partition)
    return f"{change.entity_type} {change.entity}" if change.entity_type in _NUMBERED else change.entity


def left_out(total: int) -> str:
    """The line of a table with more rows than the page takes; empty if it takes all."""
    return f"The page has the first {data.MOST:,} of {total:,} rows." if total > data.MOST else ""


LOSS = DeclaredSection(
    name="loss",
    title="Data loss",
    relations=frozenset({"loss_ahead", "owners_published"}),
    make=loss_section,
    tiles=(_LOSING,),
)
HEALTH = DeclaredSection(
    name="health",
    title="Health",
    relations=frozenset({"health_findings", "brokers_published", "partitions_published"}),
    make=health_section,
    tiles=(_OFFLINE, _UNDER_MIN, _UNDER),
)
CHANGES = DeclaredSection(
    name="changes",
    title="What changed",
    relations=frozenset({"topology_changes", "day_snapshots"}),
    make=change_section,
    needs_memory=True,
)
