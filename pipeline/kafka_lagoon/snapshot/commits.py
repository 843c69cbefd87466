"""Makes rows of committed offsets. A commit that cannot be read, or that a transaction will replace, has a row that says so."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kafka_lagoon.admin.committed_offsets import CommittedOffsets
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.protocol.error_codes import UNSTABLE_OFFSET_COMMIT, error_code
from kafka_lagoon.protocol.messages.offset_fetch import OffsetFetchResponseGroup, OffsetFetchResponsePartition
from kafka_lagoon.snapshot.state_rows import CommittedOffsetRow
from kafka_lagoon.snapshot.topology import Topology

NO_COMMIT = "NO_COMMIT"


@dataclass(frozen=True, slots=True, kw_only=True)
class Commits:
    """Rows of all commits, and the groups and partitions whose commits could not be read."""

    rows: Sequence[CommittedOffsetRow]
    failures: Sequence[Failure]


def commits_of(committed: CommittedOffsets, topology: Topology) -> Commits:
    """Rows and failures of all commits."""
    return Commits(rows=list(commit_rows(committed, topology)), failures=committed.failures)


def commit_rows(committed: CommittedOffsets, topology: Topology) -> Iterator[CommittedOffsetRow]:
    """One row per group and partition, in the order of the answers."""
    for group_id, group in committed.answers.items():
        read_at_ms = committed.sources[group_id].read_at_ms
        yield from _group_rows(group, committed.replaced.get(group_id), topology, read_at_ms)


def _group_rows(
    group: OffsetFetchResponseGroup, replaced: OffsetFetchResponseGroup | None, topology: Topology, read_at_ms: int
) -> Iterator[CommittedOffsetRow]:
    current = {(t.name, one.partition_index): one for t in replaced.topics for one in t.partitions} if replaced else {}
    for answers in group.topics:
        topic, topic_id, absence = answers.name, topology.topic_ids.get(answers.name), topology.absence(answers.name)
        for answer in answers.partitions:
            commit, partition, problem = answer, answer.partition_index, _problem(answer) or absence
            if answer.error_code == UNSTABLE_OFFSET_COMMIT:
                # A transaction is about to commit another offset. What is committed now is still a fact.
                commit = current.get((topic, partition), answer)
            is_committed = commit.committed_offset >= 0
            committed_offset = commit.committed_offset if is_committed else None
            committed_leader_epoch = commit.committed_leader_epoch if commit.committed_leader_epoch >= 0 else None
            metadata = commit.metadata if is_committed else None
            yield CommittedOffsetRow(
                group.group_id,
                topic,
                topic_id,
                partition,
                committed_offset,
                committed_leader_epoch,
                metadata,
                read_at_ms,
                problem,
            )


def _problem(partition: OffsetFetchResponsePartition) -> str | None:
    if partition.error_code:
        return error_code(partition.error_code).name
    return None if partition.committed_offset >= 0 else NO_COMMIT
