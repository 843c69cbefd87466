"""Statuses of random histories follow Burrow's rules, evaluated in order, over a window of ten snapshots."""

import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from tests.query.views.engines import by_duckdb
from tests.query.views.worked_examples import Example, tables_of

_GROUPS, _SNAPSHOTS, _WINDOW = 300, 16, 10
_START = datetime(2026, 11, 20, 20, tzinfo=UTC)


@dataclass(frozen=True)
class Seen:
    """A group in one snapshot; `committed_offset` is None if it could not be read."""

    captured_at: datetime
    committed_offset: int | None
    high_watermark: int
    is_owned: bool


def expected_status(history: Sequence[Seen]) -> str | None:
    """Return the status at the last snapshot of a history, by Burrow's rules in plain Python."""
    now = history[-1]
    window = [seen for seen in history[-_WINDOW:] if seen.committed_offset is not None]
    if now.committed_offset is None or len(window) < 3:
        return None
    commits = [seen.committed_offset for seen in window if seen.committed_offset is not None]
    lags = [seen.high_watermark - commit for seen, commit in zip(window, commits, strict=True)]
    if lags[-1] <= 0:
        return "OK"
    if not now.is_owned and _has_stopped(window, commits, now) and not _had_read_all(history[-2], now):
        return "STOP"
    if commits[-1] < max(commits):
        return "REWIND"
    if min(lags) <= 0:
        return "OK"
    if len(set(commits)) == 1:
        return "STALL"
    return "OK" if any(lag < earlier for earlier, lag in itertools.pairwise(lags)) else "WARN"


def _has_stopped(window: Sequence[Seen], commits: Sequence[int], now: Seen) -> bool:
    """True if the last change of the commit is longer ago than the time from the first to the last commit of the window."""
    last = 0
    for index in range(1, len(commits)):
        if commits[index] != commits[index - 1]:
            last = index
    return now.captured_at - window[last].captured_at > window[last].captured_at - window[0].captured_at


def _had_read_all(before: Seen, now: Seen) -> bool:
    assert now.committed_offset is not None
    return before.committed_offset is not None and before.high_watermark <= now.committed_offset


def _history(chance: random.Random, times: Sequence[datetime]) -> Iterator[Seen]:
    """Make the history of a group that reads, pauses, goes back, and is sometimes unknown."""
    committed, end = chance.randrange(5, 20), chance.randrange(10, 25)
    pace, moves, is_owned = chance.randrange(4), chance.choice([0, 0.3, 1]), chance.random() < 0.5
    for captured_at in times:
        end += chance.randrange(4)
        if chance.random() < moves:
            committed = max(0, committed + chance.choice([pace, pace, 1, -chance.randrange(4)]))
        is_owned ^= chance.random() < 0.05
        yield Seen(captured_at, None if chance.random() < 0.1 else committed, end, is_owned)


def test_statuses_follow_the_rules_of_burrow() -> None:
    """This holds for random histories that cross midnight, with snapshots at irregular times."""
    chance = random.Random(11)
    times = [_START + timedelta(minutes=20 * number, seconds=chance.randrange(900)) for number in range(_SNAPSHOTS)]
    histories = {f"group {number}": list(_history(chance, times)) for number in range(_GROUPS)}
    example = Example(name="random", captured_at={str(number): captured_at for number, captured_at in enumerate(times)})
    header = {"cluster": "random", "cluster_id": None}
    for number, captured_at in enumerate(times):
        whole = {
            **header,
            "snapshot_id": example.snapshot_id(str(number)),
            "captured_at": captured_at,
            "snapshot_date": captured_at.date(),
        }
        example.rows.setdefault("snapshots", []).append(whole)
        for group, history in histories.items():
            seen = history[number]
            lag = None if seen.committed_offset is None else seen.high_watermark - seen.committed_offset
            known = {"committed_offset": seen.committed_offset, "high_watermark": seen.high_watermark, "lag": lag}
            of_group = {"group_id": group, "topic": "a", "topic_id": "A", "partition": 0, "group_state": "Stable"}
            row = {**whole, **of_group, **known, "member_id": "m" if seen.is_owned else None}
            example.rows.setdefault("consumer_lag", []).append(row)
    rows = by_duckdb(dict(tables_of([example])), "group_partition_status").to_pylist()
    answered = {(row["group_id"], row["captured_at"]): row["status"] for row in rows}
    expected = {
        (group, captured_at): expected_status(history[: index + 1])
        for group, history in histories.items()
        for index, captured_at in enumerate(times)
    }
    assert answered == expected
    assert set(expected.values()) == {None, "OK", "WARN", "STOP", "STALL", "REWIND"}
