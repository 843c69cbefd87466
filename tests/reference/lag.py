"""Computes consumer lag row by row from plain facts: no columns, no slots, nothing shared between rows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

Partition = tuple[str, int]


@dataclass(kw_only=True)
class Log:
    """The end offsets of a partition's log: an offset, -1 if there is none, or the name of an error."""

    before: int | str = 0
    start: int | str = 0
    high: int | str = 0
    stable: int | str = 0


@dataclass(kw_only=True)
class Commit:
    """A commit: an offset or -1, the name of an error, the leader epoch, and its metadata."""

    offset: int = -1
    error: str | None = None
    leader_epoch: int = -1
    metadata: str | None = ""


@dataclass(kw_only=True)
class Member:
    """A member: its partitions, and the topics that it subscribes to."""

    member_id: str
    owned: Mapping[str, Sequence[int]]
    subscribed: Sequence[str] = ()


@dataclass(kw_only=True)
class Group:
    """A group; `unread` says why its commits could not be read, `problem` why it was not described."""

    group_id: str
    commits: Mapping[Partition, Commit] = field(default_factory=dict)
    members: Sequence[Member] = ()
    unread: str | None = None
    problem: str | None = None


@dataclass(kw_only=True)
class Facts:
    """A cluster: the partitions of its topics, hidden topics with the reason, deleted or re-created topics."""

    logs: Mapping[Partition, Log]
    hidden: Mapping[str, str]
    changed: Mapping[str, str]
    groups: Sequence[Group]


def lag(facts: Facts) -> Iterator[dict[str, object]]:
    """One row per group and partition, with the computed columns."""
    for group in facts.groups:
        expected = set(group.commits)
        for member in group.members:
            expected |= {(topic, index) for topic, some in member.owned.items() for index in some}
            expected |= {(topic, index) for topic, index in facts.logs if topic in member.subscribed}
        for partition in sorted(expected):
            yield _row(facts, group, partition)


def _row(facts: Facts, group: Group, partition: Partition) -> dict[str, object]:
    topic, commit = partition[0], group.commits.get(partition)
    log = None if topic in facts.changed else facts.logs.get(partition)  # re-created: the offsets may be another log's
    start, high, stable, before = (
        (_known(log.start), _known(log.high), _known(log.stable), _known(log.before)) if log else (None,) * 4
    )
    committed = None if commit is None or commit.offset < 0 else commit.offset
    can_compare = committed is not None and topic not in facts.changed
    row: dict[str, object] = dict.fromkeys(
        ("lag", "lag_lower_bound", "lag_read_committed", "retention_margin", "records_lost")
    )
    if can_compare:
        assert committed is not None
        row["lag"] = None if high is None else high - committed
        row["lag_lower_bound"] = None if before is None else before - committed
        row["lag_read_committed"] = None if stable is None else stable - committed
        row["retention_margin"] = None if start is None else committed - start
        row["records_lost"] = None if start is None else max(0, start - committed)
    reasons = [_commit_problem(facts, topic, commit), facts.changed.get(topic), _log_problem(facts, partition)]
    if reasons[0] == "NO_COMMIT":  # whether -1 is stored or nothing
        reasons = reasons[1:]
    problem = group.unread or next(filter(None, reasons), None)
    if problem is None and committed is None:
        problem = "NO_COMMIT"
    basis = "unknown"
    if row["lag"] is not None:
        basis = "committed"
    elif problem == "NO_COMMIT" and start is not None and high is not None:
        basis = "log_start"
    owners = [one.member_id for one in group.members if partition[1] in one.owned.get(topic, ())]
    return {
        "group_id": group.group_id,
        "topic": topic,
        "partition": partition[1],
        "committed_offset": committed,
        "log_start_offset": start,
        "high_watermark": high,
        "last_stable_offset": stable,
        "lag_basis": basis,
        "member_id": owners[-1] if owners else None,
        "problem": problem or group.problem,
        **row,
    }


def _known(offset: int | str) -> int | None:
    return None if isinstance(offset, str) or offset < 0 else offset


def _commit_problem(facts: Facts, topic: str, commit: Commit | None) -> str | None:
    if commit is None:
        return None
    if commit.error:
        return commit.error
    if commit.offset < 0:
        return "NO_COMMIT" if commit.offset == -1 else "COMMIT_NEGATIVE"
    if topic in facts.hidden:
        return facts.hidden[topic]
    return None if any(name == topic for name, _ in facts.logs) else "UNKNOWN_TOPIC_OR_PARTITION"


def _log_problem(facts: Facts, partition: Partition) -> str | None:
    log = facts.logs.get(partition)
    if log is None:
        return facts.hidden.get(partition[0], "UNKNOWN_TOPIC_OR_PARTITION")
    ends = (log.start, log.high, log.stable)
    if any(_known(end) is None for end in ends):
        # Errors are looked up in the order in which the kinds of offsets are requested.
        errors = [end for end in (log.high, log.stable, log.start) if isinstance(end, str)]
        return errors[0] if errors else "OFFSET_NOT_RETURNED"
    if isinstance(log.before, str):
        return log.before
    return "OFFSET_NOT_RETURNED" if log.before < 0 else None
