"""Judges alterations: the states that rows of admin_actions allow, beside the state that Kafka has.

An action that is done has changed its topic, one that failed has not, and one that is unknown may have, or may do so later: a
broker that was frozen can pass on a request that nobody waits for any more.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.proof.evidence import Alteration, Evidence, Run, TopicState
from tests.proof.verdict import Finding

CONFIG = "max.message.bytes"
_UNRECORDED = "outcomes are missing in table admin_actions"
State = TopicState | None  # None: the topic does not exist


def judge_alterations(evidence: Evidence) -> Iterator[Finding]:
    """Compare rows with Kafka and with exit codes."""
    of_topics: dict[str, list[Alteration]] = defaultdict(list)
    for row in sorted(evidence.alterations, key=lambda row: (row.at_ms, row.run_id)):
        of_topics[row.topic].append(row)
    for topic in sorted({*of_topics, *evidence.applied}):
        yield from _topic(topic, of_topics[topic], evidence.applied.get(topic))
    yield from _runs(evidence)
    for topic in sorted({*evidence.applied, *(evidence.wanted or {})} if evidence.wanted is not None else ()):
        has, wanted = evidence.applied.get(topic), (evidence.wanted or {}).get(topic)
        if has != wanted:
            yield Finding("altered", 1, f"{topic} is {has} after exit 0 of a run whose file has {wanted}")


def _topic(topic: str, alterations: Collection[Alteration], has: State) -> Iterator[Finding]:
    possible = _Possible()
    for row in alterations:
        if row.outcome == "done" and row.kind == "create_topic" and None not in possible.now():
            yield Finding("doubled", 1, f"{topic} was created again, and no row has deleted it: {row}")
        possible.follow(row)
    if has not in possible.now():
        allowed = ", ".join(map(str, possible.now()))
        yield Finding("altered", 1, f"{topic} is {has} in Kafka, and its rows allow {allowed}")


@dataclass(slots=True)
class _Possible:
    """States that a topic may have by its rows; `late` are the actions that may still be carried out."""

    states: set[State] = field(default_factory=lambda: {None})
    late: list[Alteration] = field(default_factory=list)

    def now(self) -> set[State]:
        """Return the states with and without each of the late actions."""
        states, before = set(self.states), set[State]()
        while states != before:
            before = set(states)
            states |= {_after(row, state) for row in self.late for state in before}
        return states

    def follow(self, row: Alteration) -> None:
        match row.outcome:
            case "done":
                self.states = {_after(row, state) for state in self.now()}
            case "unknown":
                self.late.append(row)


def _after(row: Alteration, state: State) -> State:
    """Return the state after an action, or the same one where a broker refuses it."""
    after: Mapping[str, Any] = row.after or {}
    if row.kind == "create_topic":
        return state or TopicState(after["partitions"], (after.get("configs") or {}).get(CONFIG))
    if state is None or row.kind == "delete_topic":
        return None
    if row.kind == "create_partitions":
        return state._replace(partitions=max(state.partitions, after["partitions"]))
    return state._replace(max_message_bytes=after[CONFIG])


def _runs(evidence: Evidence) -> Iterator[Finding]:
    """Compare exit codes with rows."""
    by_run: dict[str, list[Alteration]] = defaultdict(list)
    for row in evidence.alterations:
        by_run[row.run_id].append(row)
    for run in evidence.runs:
        if run.job == "apply" and run.event:
            rows = by_run[str(run.event.get("run_id"))]
            yield from _run(run, rows)


def _run(run: Run, rows: Collection[Alteration]) -> Iterator[Finding]:
    done = sum(row.outcome == "done" for row in rows)
    if run.exit_code == 0 and not done == len(rows) == run.event.get("actions"):
        yield Finding("silent", 1, f"exit 0 of {run.event.get('actions')} actions; {len(rows)} rows, {done} done")
    elif run.event.get("done") not in (None, done) and _UNRECORDED not in run.output:
        yield Finding("silent", 1, f"a run has said {run.event.get('done')} done, and its rows {done}")
