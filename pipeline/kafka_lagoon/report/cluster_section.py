"""Writes the section that compares a cluster with the others of the page."""

from kafka_lagoon.report import findings as data
from kafka_lagoon.report.finding_sections import UNPROVEN, left_out
from kafka_lagoon.report.page_tables import BADGE, Column, DeclaredSection, Made, PageTable, Section
from kafka_lagoon.report.scope import Scope
from kafka_lagoon.text import counted

_COLUMNS = (
    Column(label="Other cluster", source="cluster_differences.other_cluster"),
    Column(label="Difference", kind=BADGE, source="cluster_differences.difference"),
    Column(label="Kind", source="cluster_differences.entity_type"),
    Column(label="What", source="cluster_differences.entity", unknown="all of them"),
    Column(label="Property", source="cluster_differences.attribute", unknown=""),
    Column(label="Here", source="cluster_differences.value", unknown=""),
    Column(label="There", source="cluster_differences.other_value", unknown=""),
    Column(label="Remark", source="cluster_differences.problem, other_problem and is_proven"),
)


def cluster_section(scope: Scope) -> Made:
    """Differences between the cluster and each that comes after it on the page."""
    compared, not_compared = data.compared_with(scope)
    differences, total, unknown = data.differences_of(scope, compared)
    table = PageTable(
        name="differences",
        caption="Differences, those that are unknown last",
        columns=_COLUMNS,
        rows=[_row(difference) for difference in differences],
        empty="The clusters have the same topics, configs, ACLs, quotas, users, features and groups.",
        left_out=left_out(total),
    )
    known = f"{counted(total - unknown, 'difference')}{f', {unknown:,} unknown' if unknown else ''}."
    section = Section(
        lead=known if compared else "Not compared.",
        tables=[table] if compared else [],
        notes=[
            f"Not compared with {name}: only the newest snapshots can be compared, and the page shows an older one."
            for name in not_compared
        ],
        source="View cluster_differences: topics, configs that are set, ACLs, quotas, SCRAM users, features and groups.",
    )
    return Made(section=section)


def _row(row: data.Difference) -> tuple[object, ...]:
    return (
        row.other_cluster,
        row.difference.replace("_", " "),
        row.entity_type.replace("_", " "),
        row.entity,
        row.attribute,
        row.value,
        row.other_value,
        _remark(row),
    )


def _remark(row: data.Difference) -> str:
    if row.problem or row.other_problem:
        sides = (("here", row.problem), (f"in {row.other_cluster}", row.other_problem))
        return "; ".join(f"unknown {side}: {problem}" for side, problem in sides if problem)
    return "" if row.is_proven else UNPROVEN


DIFFERENCES = DeclaredSection(
    name="differences",
    title="Differences from other clusters",
    relations=frozenset({"cluster_differences", "snapshots_now"}),
    make=cluster_section,
    applies=lambda scope: bool(scope.others),
)
