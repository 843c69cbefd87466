"""Makes the rows of consumer lag: a pure function of groups, members, commits and end offsets.

Lag is the end offset that was read after the commit minus the commit, raw. It is null when either side is unknown, and
`problem` says why. Every partition that is committed, assigned or subscribed has exactly one row. Kept are the partition, the
commit, the owner and the problem of each row; its other columns are made of those when they are asked for.
"""

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, repeat
from operator import attrgetter
from typing import Any

from kafka_lagoon.snapshot.commits import NO_COMMIT, CommitColumns
from kafka_lagoon.snapshot.lag_logs import Ends, Logs
from kafka_lagoon.snapshot.topology import Topology
from kafka_lagoon.tables.group_rows import CommittedOffsetRow, ConsumerGroupRow, ConsumerLagRow, GroupMemberRow
from kafka_lagoon.tables.row_columns import Chosen, Column, Columns, Difference, column_of

COMMITTED, LOG_START, UNKNOWN = "committed", "log_start", "unknown"
_NONE = -1
_FROM_0 = (0).__le__
_OF_GROUP = {"group_id": "group_id", "group_type": "group_type", "group_state": "state"}
_OF_OWNER = frozenset({"member_id", "client_id", "client_host"})
_OF_LOG = frozenset({"partition", "log_start_offset", "high_watermark", "last_stable_offset"})
_MINUS_COMMIT = {
    "lag": "high_watermark",
    "lag_lower_bound": "end_before",
    "lag_read_committed": "last_stable_offset",
}
_NO_PROBLEM, _WITHOUT_COMMIT = 0, 1  # places in the list of problems


def lag_rows(
    groups: Sequence[ConsumerGroupRow],
    members: Sequence[GroupMemberRow],
    commits: Sequence[CommittedOffsetRow],
    unread: Mapping[str, str],
    ends: Ends | Logs,
    topology: Topology,
) -> "LagColumns":
    """One row per group and partition; `unread` names why the commits of a whole group are missing."""
    logs = Logs(topology, ends) if isinstance(ends, Ends) else ends
    commits = _by_group(commits)
    rows = LagColumns(groups, members, commits, logs)
    spans = _spans(commits)
    numbers: dict[str, list[int]] = {}
    for number, member in enumerate(members):
        numbers.setdefault(member.group_id, []).append(number)
    slots = _slots(commits, logs)
    for place, group in enumerate(groups):
        own_members = [(number, members[number]) for number in numbers.get(group.group_id, ())]
        own = spans.get(group.group_id, range(0))
        rows.add_group(place, slots[own.start : own.stop], own, own_members, unread.get(group.group_id))
    return rows


def _expected(
    committed: Iterable[int], owners: Iterable[int], members: Sequence[tuple[int, GroupMemberRow]], logs: Logs
) -> Sequence[int]:
    """The partitions that a group has committed, owns or subscribes to, in their order."""
    subscribed = {topic for _, member in members for topic in member.subscribed_topics or ()}
    if len(subscribed) == 1:  # most groups read one topic
        (topic,) = subscribed
        existing = logs.existing(topic)
        if existing.issuperset(committed) and existing.issuperset(owners):
            return logs.existing_in_order(topic)
    return logs.order(set(committed).union(owners, *map(logs.existing, subscribed)))


def _by_group(commits: Sequence[CommittedOffsetRow]) -> CommitColumns | Sequence[CommittedOffsetRow]:
    """The commits with those of each group beside each other."""
    return commits if isinstance(commits, CommitColumns) else sorted(commits, key=attrgetter("group_id"))


def _spans(commits: Sequence[CommittedOffsetRow]) -> Mapping[str, range]:
    """The rows of the commits of each group."""
    if isinstance(commits, CommitColumns):
        return {group_id: range(*span) for group_id, span in commits.spans.items()}
    spans = {}
    for group_id, some in groupby(range(len(commits)), key=lambda row: commits[row].group_id):
        rows = list(some)
        spans[group_id] = range(rows[0], rows[-1] + 1)
    return spans


def _slots(commits: Sequence[CommittedOffsetRow], logs: Logs) -> "array[int]":
    """The slot of each commit's partition."""
    slots: list[int] = []
    partitions, start = column_of(commits, "partition"), 0
    for topic, count in _topic_counts(commits):
        slots += map(logs.slots(topic).__getitem__, partitions[start : start + count])
        start += count
    return array("i", slots)


def _topic_counts(commits: Sequence[CommittedOffsetRow]) -> Iterable[tuple[str, int]]:
    """Topics with how many neighbouring rows each has."""
    return commits.topic_counts if isinstance(commits, CommitColumns) else zip(column_of(commits, "topic"), repeat(1))


def _owners(members: Iterable[tuple[int, GroupMemberRow]], logs: Logs) -> dict[int, int]:
    """The numbers of the members by the slots that they own."""
    owners: dict[int, int] = {}
    for number, member in members:
        for assigned in member.assignment or ():
            if assigned.topic is not None:
                numbered = filter(_FROM_0, assigned.partitions)  # members store what they like
                slots = map(logs.slots(assigned.topic).__getitem__, numbered)
                owners |= dict.fromkeys(slots, number)
    return owners


def _odd(problems: Column) -> Iterator[tuple[int, str]]:
    """The rows that have a problem."""
    if not (isinstance(problems, Chosen) and set(problems.values) == {None}):
        yield from ((row, problem) for row, problem in enumerate(problems) if problem)


class LagColumns(Columns[ConsumerLagRow]):
    """Rows of consumer lag, group by group."""

    row = ConsumerLagRow

    def __init__(
        self,
        groups: Sequence[ConsumerGroupRow],
        members: Sequence[GroupMemberRow],
        commits: Sequence[CommittedOffsetRow],
        logs: Logs,
    ) -> None:
        self._groups, self._members, self._commits, self._logs = groups, members, commits, logs
        self._numbers = array("i", range(len(commits)))
        self._group_of, self._slots = array("i"), array("i")
        self._commit_of, self._owner_of = array("i"), array("i")  # -1: none
        self._problem_of = array("i")
        self._problems: dict[str | None, int] = {None: _NO_PROBLEM, NO_COMMIT: _WITHOUT_COMMIT}
        self._commit_problems = dict(_odd(column_of(commits, "problem")))
        offsets = column_of(commits, "committed_offset")
        self._unknown = (
            set[int]() if isinstance(offsets, array) else {row for row, offset in enumerate(offsets) if offset is None}
        )
        self._committed = (
            offsets
            if isinstance(offsets, array)
            else array("q", [_NONE if offset is None else offset for offset in offsets])
        )
        self._kept: dict[str, Column] = {}

    def __len__(self) -> int:
        return len(self._slots)

    # Hot: 50,000 groups with 40 partitions each. What all rows of a group share is copied, not iterated.
    def add_group(
        self,
        group: int,
        slots: "array[int]",
        own: range,
        members: Sequence[tuple[int, GroupMemberRow]],
        unread: str | None,
    ) -> None:
        """Add the rows of a group, given its number, the slots and rows of its commits, and its members.

        `unread` is why the commits of the whole group are missing.
        """
        if not members and self._logs.are_in_order(slots):
            is_committed, rows = True, self._numbers[own.start : own.stop]
            self._owner_of += array("i", (_NONE,)) * len(slots)
        else:
            committed = dict(zip(slots, own, strict=True))  # the last of two counts
            owners = _owners(members, self._logs) if members else {}
            expected = _expected(committed, owners, members, self._logs)
            slots = array("i", expected)
            is_committed = len(expected) == len(committed)
            rows = array("i", [committed.get(slot, _NONE) for slot in expected])
            self._owner_of += array("i", [owners.get(slot, _NONE) for slot in expected])
        self._group_of += array("i", (group,)) * len(slots)
        self._slots += slots
        self._commit_of += rows
        described = self._groups[group].problem
        if is_committed and not (unread or described or self._has_problems()):
            self._problem_of += array("i", (_NO_PROBLEM,)) * len(slots)
        else:
            self._problem_of += self._problem_places(described, slots, rows, unread)

    def _has_problems(self) -> bool:
        """Whether there is any; a partition that nobody knows is one, and may be added with a group."""
        return bool(self._commit_problems or self._unknown or self._logs.problems)

    def _problem_places(
        self, described: str | None, slots: Sequence[int], rows: Sequence[int], unread: str | None
    ) -> "array[int]":
        logs, commits = self._logs.problems, self._commit_problems
        is_plain = unread is None and described is None
        is_plain = is_plain and not (logs and any(slot in logs for slot in slots))
        is_plain = is_plain and not (commits and any(row in commits for row in rows))
        if is_plain and not (self._unknown and any(row in self._unknown for row in rows)):
            return array("i", [row < 0 for row in rows])
        problems = (
            self._problem(unread or commits.get(row) or logs.get(slot), row) or described
            for slot, row in zip(slots, rows, strict=True)
        )
        return array("i", [self._problems.setdefault(problem, len(self._problems)) for problem in problems])

    def _problem(self, problem: str | None, row: int) -> str | None:
        return NO_COMMIT if problem is None and (row < 0 or row in self._unknown) else problem

    def committed_leader_epochs(self) -> Sequence[int | None]:
        """The leader epoch of the commit of each row."""
        return Chosen(self._commit_of, column_of(self._commits, "committed_leader_epoch"))

    def column(self, name: str, start: int = 0, stop: int | None = None) -> Column:
        """A column of the rows from `start` to `stop`; one that is not made here is null."""
        span = slice(start, stop)
        if name in _OF_GROUP:
            return Chosen(self._group_of[span], self._once(_OF_GROUP[name], self._groups))
        if name in _OF_OWNER:
            return Chosen(self._owner_of[span], self._once(name, self._members))
        if name in _OF_LOG:
            return Chosen(self._slots[span], getattr(self._logs, name))
        if name in _MINUS_COMMIT:
            return self._minus_commit(_MINUS_COMMIT[name], span)
        make = self._OTHERS.get(name)
        return make(self, span) if make else Chosen.constant(None, len(self._slots[span]))

    def _once(self, name: str, rows: Sequence[Any]) -> Column:
        """A column of other rows."""
        if name not in self._kept:
            self._kept[name] = list(column_of(rows, name))
        return self._kept[name]

    def _topic_places(self, span: slice) -> "array[int]":
        return array("i", map(self._logs.topic_of.__getitem__, self._slots[span]))

    def _topic(self, span: slice) -> Column:
        return Chosen(self._topic_places(span), self._logs.topics)

    def _topic_id(self, span: slice) -> Column:
        return Chosen(self._topic_places(span), self._logs.topic_ids)

    def _problem_column(self, span: slice) -> Column:
        return Chosen(self._problem_of[span], list(self._problems))

    def _offsets(self, span: slice) -> Chosen:
        rows = self._commit_of[span]
        if self._unknown:
            rows = array("i", [_NONE if row in self._unknown else row for row in rows])
        return Chosen(rows, self._committed)

    def _lasting(self, name: str, span: slice) -> Chosen:
        """Offsets of logs, but of topics that did not last.

        A commit and an end offset of two incarnations of a topic have nothing to do with each other.
        """
        slots, changed = self._slots[span], self._logs.changed
        if changed:
            slots = array("i", [_NONE if slot in changed else slot for slot in slots])
        return Chosen(slots, getattr(self._logs, name))

    def _minus_commit(self, name: str, span: slice) -> Difference:
        return Difference(self._lasting(name, span), self._offsets(span))

    def _lost(self, span: slice) -> Column:
        return Difference(self._lasting("log_start_offset", span), self._offsets(span), least=0)

    def _margin(self, span: slice) -> Column:
        return Difference(self._offsets(span), self._lasting("log_start_offset", span))

    def _basis(self, span: slice) -> Column:
        """What lag is made of, or could be taken from instead."""
        problems = self._problem_of[span]
        if not any(problems):  # then nothing is missing
            return Chosen.constant(COMMITTED, len(problems))
        ends, starts = self._logs.high_watermark, self._logs.log_start_offset
        places = [
            0 if lag is not None else 1 if problem == _WITHOUT_COMMIT and None not in (starts[slot], ends[slot]) else 2
            for lag, problem, slot in zip(
                self._minus_commit("high_watermark", span), problems, self._slots[span], strict=True
            )
        ]
        return Chosen(array("i", places), (COMMITTED, LOG_START, UNKNOWN))

    _OTHERS: Mapping[str, Callable[["LagColumns", slice], Column]] = {
        "topic": _topic,
        "topic_id": _topic_id,
        "committed_offset": _offsets,
        "lag_basis": _basis,
        "records_lost": _lost,
        "retention_margin": _margin,
        "problem": _problem_column,
    }
