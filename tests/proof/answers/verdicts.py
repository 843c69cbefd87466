"""Judges an altered run by the run without the alteration: `right`, `reported` or `wrong`.

A run is right if its facts are the same. It has reported if it says more than the unaltered run of what it does not know: a line of
a failure, less coverage, an exit code; or if each row that differs is null where it differs, and has the reason beside it.
Rows of a topic that is reported as re-created may have the id of either topic. Everything else is wrong: other facts, and nobody is reported.
"""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Any

from kafka_lagoon.snapshot.topology import TOPIC_RECREATED
from tests.proof.answers.outcomes import Outcome, Row, counted

_REASONS = ("problem", "status", "not_collected_because", "because", "offset_problem", "time_lag_problem")
_UNKNOWN = (None, (), "", "-", "unknown", "unreadable", "not_measured")
_NEAR = 40  # rows among which the former one of a row is looked for


class Verdict(StrEnum):
    """The verdict on an altered run."""

    RIGHT = "right"
    TOLD = "told"
    WRONG = "wrong"


def verdict(true: Outcome, altered: Outcome) -> Verdict:
    """Judge an altered run."""
    changed = list(differences(true, altered))
    if not changed:
        return Verdict.RIGHT
    if altered.reported - true.reported:
        return Verdict.TOLD
    marked = [now for table, was, now in changed if table == "topics" and now and _is_marked(was, now)]
    topics = {now["topic"] for now in marked}
    recreated = {now["topic"] for now in marked if now["problem"] == TOPIC_RECREATED}
    is_explained = all(
        _explained(was, now) or _is_of(topics, was, now) or _is_of(recreated, was, now, ("topic_id", "problem"))
        for _, was, now in changed
    )
    return Verdict.TOLD if is_explained else Verdict.WRONG


def _is_of(topics: set[str], was: Row | None, now: Row | None, known: Sequence[str] = ()) -> bool:
    """True if a row of one of these topics is not there, or has become null where it differs, but for `known` columns."""
    is_unknown = (
        was is None
        or now is None
        or all(now[name] in _UNKNOWN for name in now if now[name] != was.get(name) and name not in known)
    )
    row = was or now or {}
    topic = row.get("resource_name") if row.get("resource_type") == "topic" else row.get("topic")
    return is_unknown and topic in topics


def _is_marked(was: Row | None, now: Row) -> bool:
    """True if the row of a topic says why other rows of the topic are not known."""
    problem = now.get("problem")
    return problem is not None and (was is None or was["problem"] != problem)


def differences(true: Outcome, altered: Outcome) -> Iterator[tuple[str, Row | None, Row | None]]:
    """Rows that differ, as they should be and as they are: None for a row that is not there."""
    for table in sorted(true.facts.keys() | altered.facts.keys()):
        if true.facts.get(table) == altered.facts.get(table):
            continue
        was, now = counted(true.facts.get(table, ())), counted(altered.facts.get(table, ()))
        lost = [dict(row) for row in (was - now).elements()]
        new = [dict(row) for row in (now - was).elements()]
        for before, after in _pairs(lost, new):
            yield table, before, after


def _pairs(lost: list[dict[str, Any]], new: list[dict[str, Any]]) -> Iterator[tuple[Row | None, Row | None]]:
    """Pairs of rows about the same subject: in their order if that is the same, as nearly always."""
    if len(lost) == len(new) and all(map(_are_of_one_topic, lost, new)):
        yield from zip(lost, new, strict=True)
        return
    for row in new:
        closest = max(lost[:_NEAR], key=lambda former, row=row: _alike(former, row), default=None)
        if closest is not None and _alike(closest, row) * 2 >= len(row):
            lost.remove(closest)
            yield closest, row
        else:
            yield None, row
    yield from ((row, None) for row in lost)


def _are_of_one_topic(row: Row, other: Row) -> bool:
    return row.get("topic") == other.get("topic")


def _alike(row: Row, other: Row) -> int:
    return sum(row[name] == other[name] for name in row if name in other)


def _explained(was: Row | None, now: Row | None) -> bool:
    """True if a row has become null where it differs, and says why."""
    if was is None or now is None:
        return False
    changed = [name for name in now if now[name] != was.get(name)]
    reasons = [name for name in changed if _is_reason(name)]
    values = [name for name in changed if not _is_reason(name)]
    return any(now[name] is not None for name in reasons) and all(now[name] in _UNKNOWN for name in values)


def _is_reason(name: str) -> bool:
    return name in _REASONS or name.endswith("_problem")


def shown(changed: Sequence[tuple[str, Row | None, Row | None]], most: int = 3) -> Iterator[str]:
    """Lines about rows that differ."""
    for table, was, now in changed[:most]:
        if was is None or now is None:
            yield f"{table}: {'there is' if was is None else 'there is no'} {dict(was or now or {})}"[:400]
        else:
            names = [name for name in now if now[name] != was.get(name)]
            yield f"{table}: {', '.join(f'{name} {was.get(name)!r} -> {now[name]!r}' for name in names)}"[:400]
    if len(changed) > most:
        yield f"and {len(changed) - most} more rows"
