"""Computes consumer lag: one row for each partition that a group has committed, is assigned or subscribes to.

Lag is an end offset minus the committed offset, raw: it is negative where a log was truncated, and null where one of the two is
unknown; column `problem` then says why. The end offset was read after the commit. lag_columns.py keeps the rows by column.
"""

from array import array
from collections.abc import Callable, Mapping, Sequence

from kafka_lagoon.snapshot.commits import CommitColumns
from kafka_lagoon.snapshot.lag_columns import LagPartitions, LagSpan
from kafka_lagoon.snapshot.lag_logs import PartitionLogs
from kafka_lagoon.tables.group_rows import ConsumerGroupRow, ConsumerLagRow, GroupMemberRow
from kafka_lagoon.tables.row_columns import Chosen, Column, Columns, Difference, Runs

COMMITTED, LOG_START, UNKNOWN = "committed", "log_start", "unknown"
_OF_TIME_LAG = (  # time_lag.py replaces them
    "time_lag_ms",
    "time_lag_method",
    "time_lag_problem",
    "first_unread_offset",
    "first_unread_timestamp_ms",
    "first_unread_timestamp_type",
)
_OF_SHARE_GROUPS = ("share_start_offset",)  # share_lag.py makes the rows of share groups


def _lag(rows: LagSpan) -> Difference:
    return rows.log("high_watermark") - rows.committed_offset()


def _lag_basis(rows: LagSpan) -> Column:
    """The offset that lag counts from: the commit, or the log start, where a group without a commit may begin."""
    if not rows.have_problems():
        return Runs.constant(COMMITTED, len(rows))
    starts, ends = rows.log("log_start_offset", of_changed=True), rows.log("high_watermark", of_changed=True)
    places = [
        0 if lag is not None else 1 if has_no_commit and start is not None and end is not None else 2
        for lag, has_no_commit, start, end in zip(_lag(rows), rows.have_no_commit(), starts, ends, strict=True)
    ]
    return Chosen(array("i", places), (COMMITTED, LOG_START, UNKNOWN))


_COLUMNS: Mapping[str, Callable[[LagSpan], Column]] = {
    "group_id": lambda rows: rows.group("group_id"),
    "group_type": lambda rows: rows.group("group_type"),
    "group_state": lambda rows: rows.group("state"),
    "topic": LagSpan.topic,
    "topic_id": LagSpan.topic_id,
    "partition": LagSpan.partition,
    "member_id": lambda rows: rows.owner("member_id"),
    "client_id": lambda rows: rows.owner("client_id"),
    "client_host": lambda rows: rows.owner("client_host"),
    "committed_offset": LagSpan.committed_offset,
    "log_start_offset": lambda rows: rows.log("log_start_offset", of_changed=True),
    "high_watermark": lambda rows: rows.log("high_watermark", of_changed=True),
    "last_stable_offset": lambda rows: rows.log("last_stable_offset", of_changed=True),
    "lag": _lag,
    "lag_lower_bound": lambda rows: rows.log("end_before") - rows.committed_offset(),
    "lag_read_committed": lambda rows: rows.log("last_stable_offset") - rows.committed_offset(),
    "lag_basis": _lag_basis,
    "records_lost": lambda rows: (rows.log("log_start_offset") - rows.committed_offset()).at_least(0),
    "retention_margin": lambda rows: rows.committed_offset() - rows.log("log_start_offset"),
    "problem": LagSpan.problem,
    **dict.fromkeys(_OF_TIME_LAG + _OF_SHARE_GROUPS, lambda rows: Runs.constant(None, len(rows))),
}


class LagColumns(Columns[ConsumerLagRow]):
    """Rows of consumer lag, group by group; each column is computed when it is asked for."""

    row = ConsumerLagRow

    def __init__(self, partitions: LagPartitions) -> None:
        self._partitions = partitions

    def __len__(self) -> int:
        return len(self._partitions)

    def column(self, name: str, start: int = 0, stop: int | None = None) -> Column:
        """A column of the rows from `start` to `stop`."""
        return _COLUMNS[name](self._partitions.span(start, stop))

    def committed_leader_epochs(self) -> Sequence[int | None]:
        """The leader epoch of the commit of each row."""
        return self._partitions.committed_leader_epochs()


def lag_rows(
    groups: Sequence[ConsumerGroupRow],
    members: Sequence[GroupMemberRow],
    commits: CommitColumns,
    unread: Mapping[str, str],
    logs: PartitionLogs,
) -> LagColumns:
    """One row per group and partition; `unread` names why the commits of a whole group are missing."""
    rows = LagPartitions(groups, members, commits, logs)
    numbers: dict[str, list[int]] = {}
    for number, member in enumerate(members):
        numbers.setdefault(member.group_id, []).append(number)
    slots = _slots(commits, logs)
    for place, group in enumerate(groups):
        own_members = [(number, members[number]) for number in numbers.get(group.group_id, ())]
        own = range(*commits.spans.get(group.group_id, (0, 0)))
        rows.add_group(place, slots[own.start : own.stop], own, own_members, unread.get(group.group_id))
    return LagColumns(rows)


def _slots(commits: CommitColumns, logs: PartitionLogs) -> "array[int]":
    """The slot of each commit's partition."""
    slots = array("i")
    partitions, start = commits.column("partition"), 0
    for topic, count in commits.topic_counts:
        slots.extend(map(logs.slots(topic).__getitem__, partitions[start : start + count]))
        start += count
    return slots
