"""Makes rows of committed offsets.

A commit that cannot be read, or that an open transaction will replace, has a problem in its row.
"""

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import Any

from kafka_lagoon.admin.committed_offsets import CommittedOffsets, groups_of
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.client.intake import Source
from kafka_lagoon.frozen import frozen
from kafka_lagoon.protocol.error_codes import UNSTABLE_OFFSET_COMMIT, error_code
from kafka_lagoon.protocol.messages import offset_fetch
from kafka_lagoon.protocol.messages.offset_fetch import OffsetFetchResponseGroup, OffsetFetchResponsePartition
from kafka_lagoon.snapshot.topology import Topology
from kafka_lagoon.tables.group_rows import CommittedOffsetRow
from kafka_lagoon.tables.row_columns import Chosen, Column, Runs, Stored, choose, or_none
from kafka_lagoon.wire.columns import Structs

NO_COMMIT, COMMIT_NEGATIVE = "NO_COMMIT", "COMMIT_NEGATIVE"


@frozen
class Commits:
    """Rows of all commits, and the groups and partitions whose commits could not be read."""

    rows: "CommitColumns"
    failures: Sequence[Failure]


def commits_of(committed: CommittedOffsets, topology: Topology) -> Commits:
    """Rows and failures of all commits."""
    return Commits(rows=commit_rows(committed, topology), failures=committed.failures)


def commit_rows(committed: CommittedOffsets, topology: Topology) -> "CommitColumns":
    """One row per group and partition, in the order of the answers."""
    made = _Made()
    for groups, source in groups_of(committed.answers, committed.sources):
        _take(made, groups, source, committed, topology)
    return made.rows(topology)


@dataclass(slots=True)
class _Made:
    """Columns of the rows made so far. Topics and groups are stored with the number of neighbouring rows that they have."""

    group_ids: list[str] = field(default_factory=list)
    group_counts: list[int] = field(default_factory=list)
    topics: list[str] = field(default_factory=list)
    topic_counts: list[int] = field(default_factory=list)
    partitions: "array[int]" = field(default_factory=lambda: array("i"))
    offsets: "array[int]" = field(default_factory=lambda: array("q"))
    leader_epochs: "array[int]" = field(default_factory=lambda: array("i"))
    metadata: list[str | None] = field(default_factory=list)
    times_ms: list[int] = field(default_factory=list)
    time_counts: list[int] = field(default_factory=list)
    problems: dict[int, str] = field(default_factory=dict)  # by row number

    def rows(self, topology: Topology) -> "CommitColumns":
        """The rows."""
        known = {topic: place for place, topic in enumerate(dict.fromkeys(self.topics))}
        places = array("i")
        for topic, count in zip(self.topics, self.topic_counts, strict=True):
            places += array("i", (known[topic],)) * count
        offsets = or_none(self.offsets)
        return CommitColumns(
            CommittedOffsetRow,
            {
                "group_id": Runs(self.group_counts, self.group_ids),
                "topic": Chosen(places, list(known)),
                "topic_id": Chosen(places, [topology.topic_ids.get(topic) for topic in known]),
                "partition": self.partitions,
                "committed_offset": offsets,
                "committed_leader_epoch": or_none(self.leader_epochs),
                "metadata": _metadata(self.metadata, offsets),
                "read_at_ms": Runs(self.time_counts, self.times_ms),
                "problem": _problems(self.problems, len(self.offsets)),
            },
            dict(zip(self.group_ids, self._spans(), strict=True)),
            list(zip(self.topics, self.topic_counts, strict=True)),
        )

    def _spans(self) -> Iterator[tuple[int, int]]:
        start = 0
        for stop in accumulate(self.group_counts):
            yield start, stop
            start = stop


class CommitColumns(Stored[CommittedOffsetRow]):
    """Commits by column; `spans` holds the range of rows of each group.

    `topic_counts` holds each topic with its number of neighbouring rows, in the order of the rows.
    """

    def __init__(
        self,
        row: type[CommittedOffsetRow],
        columns: Mapping[str, Column],
        spans: Mapping[str, tuple[int, int]],
        topic_counts: Sequence[tuple[str, int]],
    ) -> None:
        super().__init__(row, columns)
        self.spans, self.topic_counts = spans, topic_counts

    def with_ids(self, given: Mapping[str, str]) -> "CommitColumns":
        """The rows with these ids of topics, which the metadata from before the commits lacked."""
        topics, ids = self._columns["topic"], self._columns["topic_id"]
        if not given or not isinstance(topics, Chosen) or not isinstance(ids, Chosen):
            return self
        values = [given.get(topic, topic_id) for topic, topic_id in zip(topics.values, ids.values, strict=True)]
        columns = {**self._columns, "topic_id": Chosen(ids.places, values)}
        return CommitColumns(self.row, columns, self.spans, self.topic_counts)


def _take(
    made: _Made,
    groups: Structs[OffsetFetchResponseGroup],
    source: Source,
    committed: CommittedOffsets,
    topology: Topology,
) -> None:
    """Add the commits of one OffsetFetch answer."""
    topics = groups.lists("topics")
    partitions = topics.items.lists("partitions")
    answers, first = partitions.items, len(made.offsets)
    ends = list(accumulate(partitions.counts, initial=0))
    topic_ends = list(accumulate(topics.counts, initial=0))
    made.group_ids += groups.column("group_id")
    made.group_counts += [ends[stop] - ends[start] for start, stop in pairwise(topic_ends)]
    made.topics += topics.items.column("name")
    made.topic_counts += partitions.counts
    made.partitions.extend(answers.column("partition_index"))
    made.offsets.extend(answers.column("committed_offset"))
    made.leader_epochs.extend(answers.column("committed_leader_epoch"))
    made.metadata += answers.column("metadata")
    made.times_ms.append(source.read_at_ms)
    made.time_counts.append(len(answers))
    _name_problems(made, first, answers, topology, ends)
    if UNSTABLE_OFFSET_COMMIT in answers.column("error_code"):
        _put_back(made, first, groups, committed, topology)


def _name_problems(
    made: _Made,
    first: int,
    answers: Structs[OffsetFetchResponsePartition],
    topology: Topology,
    ends: Sequence[int],
) -> None:
    """Set the problems of rows whose commit cannot be read, or whose topic is hidden."""
    names = made.topics[len(made.topics) - len(ends) + 1 :]
    absences = {topic: absence for topic in set(names) if (absence := topology.absence(topic))}
    for topic, start, stop in zip(names, ends, ends[1:], strict=False) if absences else ():
        if topic in absences:
            made.problems |= dict.fromkeys(range(first + start, first + stop), absences[topic])
    offsets, codes = answers.column("committed_offset"), answers.column("error_code")
    if offsets and min(offsets) < 0:
        made.problems |= {first + row: problem for row, offset in enumerate(offsets) if (problem := _negative(offset))}
    if any(codes):
        made.problems |= {first + row: error_code(code).name for row, code in enumerate(codes) if code}


def _put_back(
    made: _Made, first: int, groups: Structs[OffsetFetchResponseGroup], committed: CommittedOffsets, topology: Topology
) -> None:
    """Set the present offsets of commits that an open transaction is about to replace.

    If the transaction ended before the third answer, the stable commit of that answer is set, without a problem.
    """
    row = first
    for group in groups:
        current, ended = _current(committed.replaced.get(group.group_id)), committed.ended.get(group.group_id)
        now = _current(ended)
        for topic in group.topics:
            for answer in topic.partitions:
                key = topic.name, answer.partition_index
                if answer.error_code == UNSTABLE_OFFSET_COMMIT:
                    commit = now.get(key)
                    if ended is not None and (commit is None or not commit.error_code):
                        _set_stable(made, row, commit, topology.absence(topic.name))
                    elif key in current:
                        _set(made, row, current[key])
                row += 1


def _set(made: _Made, row: int, commit: OffsetFetchResponsePartition) -> None:
    made.offsets[row], made.leader_epochs[row] = commit.committed_offset, commit.committed_leader_epoch
    made.metadata[row] = commit.metadata


def _set_stable(made: _Made, row: int, commit: OffsetFetchResponsePartition | None, absence: str | None) -> None:
    """Set the commit after a transaction has ended; None if it was aborted and there is no older commit."""
    problem = NO_COMMIT if commit is None else _negative(commit.committed_offset) or absence
    if commit is not None:
        _set(made, row, commit)
    if problem is None:
        del made.problems[row]
    else:
        made.problems[row] = problem


def _negative(offset: int) -> str | None:
    """The problem of an offset below 0; brokers accept any number."""
    return None if offset >= 0 else NO_COMMIT if offset == offset_fetch.NO_COMMIT else COMMIT_NEGATIVE


def _current(group: OffsetFetchResponseGroup | None) -> Mapping[tuple[str, int], Any]:
    topics = group.topics if group else ()
    return {(topic.name, commit.partition_index): commit for topic in topics for commit in topic.partitions}


def _metadata(metadata: Sequence[str | None], offsets: Column) -> Column:
    """Metadata texts of the commits; None where there is no commit."""
    if metadata and isinstance(offsets, array) and metadata.count("") == len(metadata):
        return Runs.constant("", len(metadata))
    pairs = zip(metadata, offsets, strict=True)
    return choose(None if offset is None else text for text, offset in pairs)


def _problems(problems: Mapping[int, str], count: int) -> Column:
    if not problems:
        return Runs.constant(None, count)
    return choose(map(problems.get, range(count)))
