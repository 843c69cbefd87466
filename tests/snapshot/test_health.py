"""Findings about partitions depend on their rows alone."""

from dataclasses import replace

import pytest

from kafka_lagoon.snapshot.health import (
    AT_MIN_ISR,
    FINDINGS,
    GRAVE,
    LEADERLESS,
    MIN_ISR_ABOVE_REPLICAS,
    MIN_ISR_UNKNOWN,
    NOT_PREFERRED,
    OFFLINE_REPLICAS,
    UNDER_MIN_ISR,
    UNDER_REPLICATED,
    finding_counts,
    findings,
    unhealthy_rows,
)
from kafka_lagoon.tables.cluster_rows import PartitionRow

HEALTHY = PartitionRow(
    topic="orders",
    topic_id=None,
    partition=0,
    leader_id=1,
    leader_epoch=0,
    replicas=(1, 2, 3),
    isr=(1, 2, 3),
    offline_replicas=(),
    eligible_leader_replicas=None,
    last_known_elr=None,
    is_leaderless=False,
    is_under_replicated=False,
    is_under_min_isr=False,
    is_at_min_isr=False,
    is_preferred_leader=True,
    rack_count=None,
    problem=None,
)


def test_a_healthy_partition_has_no_finding() -> None:
    """No finding is made up."""
    assert list(findings(HEALTHY)) == []


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        ({"is_leaderless": True}, LEADERLESS),
        ({"offline_replicas": (3,)}, OFFLINE_REPLICAS),
        ({"is_under_min_isr": True, "isr": (1, 2)}, UNDER_MIN_ISR),
        ({"is_under_min_isr": True, "isr": None}, UNDER_MIN_ISR),
        ({"is_under_min_isr": True}, MIN_ISR_ABOVE_REPLICAS),
        ({"is_under_replicated": True}, UNDER_REPLICATED),
        ({"is_at_min_isr": True}, AT_MIN_ISR),
        ({"is_preferred_leader": False}, NOT_PREFERRED),
        ({"is_under_min_isr": None, "is_at_min_isr": None}, MIN_ISR_UNKNOWN),
    ],
)
def test_each_finding_has_its_column(change: dict[str, object], finding: str) -> None:
    """Each change has one finding, and together the changes have every kind."""
    assert list(findings(replace(HEALTHY, **change))) == [finding]
    assert finding in FINDINGS


def test_what_is_not_known_is_not_a_finding_of_another_kind() -> None:
    """Offline replicas that are not returned, and an unknown preferred leader, are not findings."""
    unknown = replace(HEALTHY, offline_replicas=None, is_preferred_leader=None)
    assert list(findings(unknown)) == []


def test_rows_have_all_findings_of_a_partition_that_has_a_wanted_one() -> None:
    """The worst finding comes first; partitions without a requested finding are left out."""
    bad = replace(HEALTHY, partition=1, is_under_replicated=True, offline_replicas=(3,), isr=(1, 2), problem="X")
    moved = replace(HEALTHY, partition=2, is_preferred_leader=False)
    [row] = unhealthy_rows([HEALTHY, bad, moved], GRAVE)
    assert (row.partition, row.findings) == (1, (OFFLINE_REPLICAS, UNDER_REPLICATED))
    assert (row.leader_id, row.replicas, row.isr, row.offline_replicas) == (1, (1, 2, 3), (1, 2), (3,))
    assert row.problem == "X"
    assert [row.partition for row in unhealthy_rows([HEALTHY, bad, moved], [NOT_PREFERRED])] == [2]


def test_every_kind_is_counted() -> None:
    """Kinds that no partition has are counted, too, beside the number of partitions."""
    counts = {
        row.finding: (row.partitions, row.of)
        for row in finding_counts([HEALTHY, replace(HEALTHY, offline_replicas=(1,))])
    }
    assert counts == {**dict.fromkeys(FINDINGS, (0, 2)), OFFLINE_REPLICAS: (1, 2)}
