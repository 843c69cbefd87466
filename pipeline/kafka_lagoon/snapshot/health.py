"""Finds unhealthy partitions: pure functions of partition rows.

A partition whose min.insync.replicas is unknown is not healthy: it has a finding of its own. Brokers since Kafka 3.7
(KAFKA-15583) accept writes with acks=all while all replicas are in sync, even if min.insync.replicas is a larger number.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from kafka_lagoon.tables.cluster_rows import PartitionRow
from kafka_lagoon.tables.row_classes import Int32, before, column, row

LEADERLESS, OFFLINE_REPLICAS, UNDER_MIN_ISR = "leaderless", "offline_replicas", "under_min_isr"
UNDER_REPLICATED, AT_MIN_ISR, NOT_PREFERRED = "under_replicated", "at_min_isr", "not_preferred_leader"
MIN_ISR_ABOVE_REPLICAS, MIN_ISR_UNKNOWN = "min_isr_above_replicas", "min_isr_unknown"
FINDINGS = (
    LEADERLESS,
    OFFLINE_REPLICAS,
    UNDER_MIN_ISR,
    UNDER_REPLICATED,
    MIN_ISR_ABOVE_REPLICAS,
    AT_MIN_ISR,
    NOT_PREFERRED,
    MIN_ISR_UNKNOWN,
)  # worst first
GRAVE = (LEADERLESS, OFFLINE_REPLICAS, UNDER_MIN_ISR, UNDER_REPLICATED)


@row
class FindingCountRow:
    """Count the partitions of each finding, one row per finding."""

    finding: str = column("Kind of finding.")
    partitions: Int32 = column("Partitions that have it.")
    of: Int32 = column("Partitions that were looked at.")


@row
class UnhealthyPartitionRow:
    """Partitions with findings, one row each."""

    topic: str = column("Name of the topic.")
    partition: Int32 = column("Partition number.")
    findings: tuple[str, ...] = column("What is not as it should be, the worst first.")
    leader_id: Int32 | None = column(
        "Broker that leads the partition; null if there is no leader.", null_if="list_contains(findings, 'leaderless')"
    )
    replicas: tuple[Int32, ...] | None = column("Brokers that hold a replica, the preferred leader first.")
    isr: tuple[Int32, ...] | None = column("Brokers whose replica is in sync.")
    offline_replicas: tuple[Int32, ...] | None = column(
        "Brokers whose replica is offline; null if the brokers do not return them.", null_if=before("Metadata", 5)
    )
    problem: str | None = column("Kafka's name of an error that hides something of it; null if there is none.")


def findings(partition: PartitionRow) -> Iterator[str]:
    """The findings of a partition, the worst first."""
    if partition.is_leaderless:
        yield LEADERLESS
    if partition.offline_replicas:
        yield OFFLINE_REPLICAS
    if partition.is_under_min_isr and not _has_all_in_sync(partition):
        yield UNDER_MIN_ISR
    if partition.is_under_replicated:
        yield UNDER_REPLICATED
    if partition.is_under_min_isr and _has_all_in_sync(partition):
        yield MIN_ISR_ABOVE_REPLICAS
    if partition.is_at_min_isr:
        yield AT_MIN_ISR
    if partition.is_preferred_leader is False:
        yield NOT_PREFERRED
    if partition.is_under_min_isr is None:
        yield MIN_ISR_UNKNOWN


def _has_all_in_sync(partition: PartitionRow) -> bool:
    isr, replicas = partition.isr, partition.replicas
    return isr is not None and replicas is not None and len(isr) >= len(replicas)


def unhealthy_rows(partitions: Iterable[PartitionRow], wanted: Sequence[str]) -> Iterator[UnhealthyPartitionRow]:
    """One row per partition that has one of the wanted findings, with all of its findings."""
    for partition in partitions:
        its_findings = tuple(findings(partition))
        if any(finding in wanted for finding in its_findings):
            yield UnhealthyPartitionRow(
                topic=partition.topic,
                partition=partition.partition,
                findings=its_findings,
                leader_id=partition.leader_id,
                replicas=partition.replicas,
                isr=partition.isr,
                offline_replicas=partition.offline_replicas,
                problem=partition.problem,
            )


def finding_counts(partitions: Sequence[PartitionRow]) -> Iterator[FindingCountRow]:
    """The number of partitions with each finding, including findings that no partition has."""
    counts = Counter(finding for partition in partitions for finding in findings(partition))
    for finding in FINDINGS:
        yield FindingCountRow(finding=finding, partitions=counts[finding], of=len(partitions))
