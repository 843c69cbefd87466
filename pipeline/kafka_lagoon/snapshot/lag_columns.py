"""Keeps the rows of consumer lag by column: the partition, commit, owner and problem of each row.

Two million rows are five arrays of numbers, which point to groups, members, commits and partitions that are kept once. The
columns of the table are made of these in lag.py.
"""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from kafka_lagoon.frozen import frozen
from kafka_lagoon.snapshot.commits import NO_COMMIT
from kafka_lagoon.snapshot.lag_logs import OffsetsBySlot, PartitionLogs
from kafka_lagoon.tables.group_rows import CommittedOffsetRow, ConsumerGroupRow, GroupMemberRow
from kafka_lagoon.tables.row_columns import Chosen, Column, Runs, column_of

_NONE = -1
_FROM_0 = (0).__le__
_NO_PROBLEM, _WITHOUT_COMMIT = 0, 1  # places in the list of problems


class LagPartitions:
    """The partitions of groups, by column; all numbers are places in the sequences that the constructor takes."""

    def __init__(
        self,
        groups: Sequence[ConsumerGroupRow],
        members: Sequence[GroupMemberRow],
        commits: Sequence[CommittedOffsetRow],
        logs: PartitionLogs,
    ) -> None:
        self.groups, self.members, self.commits, self.logs = groups, members, commits, logs
        self._numbers = array("i", range(len(commits)))
        self.group_of, self.slots = array("i"), array("i")
        self.commit_of, self.owner_of = array("i"), array("i")  # -1: none
        self.problem_of = array("i")
        self.problems: dict[str | None, int] = {None: _NO_PROBLEM, NO_COMMIT: _WITHOUT_COMMIT}
        self._commit_problems = dict(_odd(column_of(commits, "problem")))
        offsets = column_of(commits, "committed_offset")
        self.unknown = (
            set[int]() if isinstance(offsets, array) else {row for row, offset in enumerate(offsets) if offset is None}
        )
        self.committed = (
            offsets
            if isinstance(offsets, array)
            else array("q", [_NONE if offset is None else offset for offset in offsets])
        )
        self._kept: dict[str, Column] = {}

    def __len__(self) -> int:
        return len(self.slots)

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
        if not members and self.logs.are_in_order(slots):
            is_committed, rows = True, self._numbers[own.start : own.stop]
            self.owner_of += array("i", (_NONE,)) * len(slots)
        else:
            committed = dict(zip(slots, own, strict=True))  # if a partition was committed twice, the last commit counts
            owners = _owners(members, self.logs) if members else {}
            expected = _expected(committed, owners, members, self.logs)
            slots = array("i", expected)
            is_committed = len(expected) == len(committed)
            rows = array("i", [committed.get(slot, _NONE) for slot in expected])
            self.owner_of += array("i", [owners.get(slot, _NONE) for slot in expected])
        self.group_of += array("i", (group,)) * len(slots)
        self.slots += slots
        self.commit_of += rows
        described = self.groups[group].problem
        if is_committed and not (unread or described or self._has_problems()):
            self.problem_of += array("i", (_NO_PROBLEM,)) * len(slots)
        else:
            self.problem_of += self._problem_places(described, slots, rows, unread)

    def _has_problems(self) -> bool:
        """True if any row may have a problem. A partition that does not exist is a problem, and may be added with a group."""
        return bool(self._commit_problems or self.unknown or self.logs.problems)

    def _problem_places(
        self, described: str | None, slots: Sequence[int], rows: Sequence[int], unread: str | None
    ) -> "array[int]":
        logs, commits = self.logs.problems, self._commit_problems
        is_usual = not (
            unread
            or described
            or (logs and any(slot in logs for slot in slots))
            or (commits and any(row in commits for row in rows))
            or (self.unknown and any(row in self.unknown for row in rows))
        )
        if is_usual:  # a commit that is missing is the only problem
            return array("i", [row < 0 for row in rows])
        problems = (
            self._problem(unread or _first_reason(commits.get(row), logs.get(slot)), row) or described
            for slot, row in zip(slots, rows, strict=True)
        )
        return array("i", [self.problems.setdefault(problem, len(self.problems)) for problem in problems])

    def _problem(self, problem: str | None, row: int) -> str | None:
        return NO_COMMIT if problem is None and (row < 0 or row in self.unknown) else problem

    def span(self, start: int, stop: int | None) -> "LagSpan":
        """The rows from `start` to `stop`."""
        return LagSpan(self, slice(start, stop))

    def committed_leader_epochs(self) -> Sequence[int | None]:
        """The leader epoch of the commit of each row."""
        return Chosen(self.commit_of, column_of(self.commits, "committed_leader_epoch"))

    def column_once(self, name: str, rows: Sequence[Any]) -> Column:
        """A column of the groups or members, made once."""
        if name not in self._kept:
            self._kept[name] = list(column_of(rows, name))
        return self._kept[name]


@frozen(kw_only=False)
class LagSpan:
    """A range of rows; the columns of table consumer_lag are made of it."""

    _of: LagPartitions
    _span: slice

    def __len__(self) -> int:
        return len(self._of.slots[self._span])

    def group(self, name: str) -> Chosen:
        """A column of the group."""
        return Chosen(self._of.group_of[self._span], self._of.column_once(name, self._of.groups))

    def owner(self, name: str) -> Chosen:
        """A column of the member that owns the partition; null if none does."""
        return Chosen(self._of.owner_of[self._span], self._of.column_once(name, self._of.members))

    def topic(self) -> Chosen:
        """Name of the topic."""
        return Chosen(self._topic_places(), self._of.logs.topics)

    def topic_id(self) -> Chosen:
        """Id of the topic."""
        return Chosen(self._topic_places(), self._of.logs.topic_ids)

    def _topic_places(self) -> "array[int]":
        return array("i", map(self._of.logs.topic_of.__getitem__, self._of.slots[self._span]))

    def partition(self) -> Chosen:
        """Number of the partition."""
        return Chosen(self._of.slots[self._span], self._of.logs.partition)

    def log(self, name: str, *, of_changed: bool = False) -> Chosen:
        """An offset of the partition's log. Null where the topic was deleted or re-created meanwhile, unless `of_changed`.

        A commit and an end offset of two incarnations of a topic must not be compared.
        """
        offsets: OffsetsBySlot = getattr(self._of.logs, name)
        slots, changed = self._of.slots[self._span], set() if of_changed else self._of.logs.changed
        if offsets.unknown or changed:
            unknown = offsets.unknown
            slots = array("i", [_NONE if slot in unknown or slot in changed else slot for slot in slots])
        return Chosen(slots, offsets.values)

    def committed_offset(self) -> Chosen:
        """The committed offset; null if it is unknown, or nothing was committed."""
        rows, unknown = self._of.commit_of[self._span], self._of.unknown
        if unknown:
            rows = array("i", [_NONE if row in unknown else row for row in rows])
        return Chosen(rows, self._of.committed)

    def problem(self) -> Chosen:
        """The reason why lag, or one of its inputs, is unknown."""
        return Chosen(self._of.problem_of[self._span], list(self._of.problems))

    def have_problems(self) -> bool:
        """True if a row has a problem."""
        return any(self._of.problem_of[self._span])

    def have_no_commit(self) -> Iterator[bool]:
        """For each row, true if its only problem is that the group has not committed."""
        return (problem == _WITHOUT_COMMIT for problem in self._of.problem_of[self._span])


def _expected(
    committed: Iterable[int], owners: Iterable[int], members: Sequence[tuple[int, GroupMemberRow]], logs: PartitionLogs
) -> Sequence[int]:
    """The partitions that a group has committed, owns or subscribes to, in their order."""
    subscribed = {topic for _, member in members for topic in member.subscribed_topics or ()}
    if len(subscribed) == 1:  # most groups read one topic
        (topic,) = subscribed
        existing = logs.existing(topic)
        if existing.issuperset(committed) and existing.issuperset(owners):
            return logs.existing_in_order(topic)
    return logs.order(set(committed).union(owners, *map(logs.existing, subscribed)))


def _owners(members: Iterable[tuple[int, GroupMemberRow]], logs: PartitionLogs) -> dict[int, int]:
    """The numbers of the members by the slots that they own."""
    owners: dict[int, int] = {}
    for number, member in members:
        for assigned in member.assignment or ():
            if assigned.topic is not None:
                numbered = filter(_FROM_0, assigned.partitions)  # members can store any number
                slots = map(logs.slots(assigned.topic).__getitem__, numbered)
                owners |= dict.fromkeys(slots, number)
    return owners


def _first_reason(of_commit: str | None, of_log: str | None) -> str | None:
    """The reason of the commit; that of the log goes before NO_COMMIT, whether -1 is stored or nothing."""
    return of_log or of_commit if of_commit == NO_COMMIT else of_commit or of_log


def _odd(problems: Column) -> Iterator[tuple[int, str]]:
    """The rows that have a problem."""
    if not (isinstance(problems, Chosen | Runs) and set(problems.values) == {None}):
        yield from ((row, problem) for row, problem in enumerate(problems) if problem)
