"""Carries out plans: checks them against the live cluster, records each action before it is sent, and reports how each ended.

Nothing is sent unless every guard was allowed and everything is as it was when the plan was made. Actions do not depend on
each other, so one that fails stops no other, with one exception: what destroys something is sent last, and only if everything
before it was done.
"""

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import groupby

from kafka_lagoon.apply.action import (
    Action,
    ActionKind,
    Answered,
    Guard,
    Plan,
    Resource,
    State,
    same_state,
    sending_order,
)
from kafka_lagoon.apply.guards import require_guards, unresolved
from kafka_lagoon.apply.kinds.registry import KINDS
from kafka_lagoon.apply.outcomes import ActionResult, Outcome, decided, is_unsure, not_answered, not_read, not_sent
from kafka_lagoon.apply.recording import Recorder, Run
from kafka_lagoon.apply.topic_ids import other_topics
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import ConfigError, PipelineError, PlanOutdated
from kafka_lagoon.frozen import frozen
from kafka_lagoon.uuid7 import new_id

Kinds = Mapping[str, ActionKind]
Refused = Mapping[tuple[str, Resource], Failure]
_WITHHELD = "something before it was not done, and it cannot be undone"
_UNRECORDED = "the outcome of what was sent before it could not be recorded"


@frozen
class Execution:
    """The result of each action, in the order of the plan.

    `unrecorded` says why outcomes are missing in admin_actions; None if none is missing.
    """

    run_id: str
    plan: Plan
    results: Sequence[ActionResult]
    unrecorded: str | None = None

    def count(self, outcome: Outcome) -> int:
        """The number of actions with this outcome."""
        return sum(result.outcome is outcome for result in self.results)


def make_plan(
    cluster_name: str, cluster_id: str, actions: Sequence[Action], kinds: Kinds = KINDS, *, is_whole: bool = True
) -> Plan:
    """Make a plan of actions, those with guards last, in the order of their kinds; within a kind their own order is kept.

    ConfigError if two actions of one kind are about the same resource.
    """
    ordered = tuple(sorted(actions, key=sending_order(kinds)))
    twice = [one for one, times in Counter(map(_key, ordered)).items() if times > 1]
    if twice:
        raise ConfigError([f"{kinds[name].about(resource)}: asked for twice" for name, resource in twice])
    return Plan(cluster=cluster_name, cluster_id=cluster_id, actions=ordered, is_whole=is_whole)


def check(cluster: Cluster, plan: Plan, deadline: Deadline, kinds: Kinds = KINDS) -> Refused:
    """Find the actions of a plan that cannot be carried out: their state is unreadable, or brokers refuse them.

    ConfigError for secrets that are not there; PlanOutdated if the state or the topic of any is not that of the plan.
    """
    if problems := list(unresolved(plan.actions, kinds)):
        raise ConfigError(problems)
    refused: dict[tuple[str, Resource], Failure] = {}
    changes: list[str] = []
    for kind, actions in _by_kind(plan.actions, kinds):
        live = kind.read(cluster, actions, deadline)
        for action in actions:
            state = live.get(action.resource, not_read(action))
            if isinstance(state, Failure):
                refused[_key(action)] = state
            elif not same_state(state, action.before):
                changes.append(f"{action.resource} was {_shown(action.before)} and is {_shown(state)}")
    for topic, failure in other_topics(cluster, plan.actions, deadline, kinds).items():
        if failure:
            refused |= {_key(one): failure for one in plan.actions if kinds[one.kind].topic_of(one.resource) == topic}
        else:
            changes.append(f"topic {topic} was deleted and created again")
    if changes:
        raise PlanOutdated(changes)
    return {**refused, **_invalid(cluster, plan, refused, deadline, kinds)}


def execute(
    cluster: Cluster,
    plan: Plan,
    allowed: Collection[Guard],
    run: Run,
    recorder: Recorder,
    deadline: Deadline,
    kinds: Kinds = KINDS,
) -> Execution:
    """Carry out a plan, and record it. Actions with guards are not sent unless everything before them was done.

    Nothing is sent if this raises: ConfigError for guards that were not allowed, PlanOutdated if the cluster changed,
    TableError if the recorder cannot write.
    """
    require_guards(plan.actions, allowed, kinds)
    refused = check(cluster, plan, deadline, kinds)
    ids = {_key(action): new_id(cluster.clock.now_ms()) for action in plan.actions}
    now_ms = cluster.clock.now_ms()
    recorder.write([run.started(plan, action, ids[_key(action)], now_ms) for action in plan.actions])
    return _Executing(cluster, plan, run, recorder, deadline, kinds, refused, ids).execution()


class _Executing:
    """The state of a plan that is being carried out, kind by kind."""

    def __init__(
        self,
        cluster: Cluster,
        plan: Plan,
        run: Run,
        recorder: Recorder,
        deadline: Deadline,
        kinds: Kinds,
        refused: Refused,
        ids: Mapping[tuple[str, Resource], str],
    ) -> None:
        self._cluster, self._plan, self._run, self._recorder = cluster, plan, run, recorder
        self._deadline, self._kinds, self._refused, self._ids = deadline, kinds, refused, ids
        self._all_done = plan.is_whole and not refused
        self._unrecorded: str | None = None

    def execution(self) -> Execution:
        """Send all actions, one kind after the other, and record the outcomes of each kind."""
        results: list[ActionResult] = []
        kinds = list(_by_kind(self._plan.actions, self._kinds))
        for place, (kind, actions) in enumerate(kinds, 1):
            try:
                ended = self._results(kind, actions)
            except BaseException:
                self._record([self._unsent(action) for _, later in kinds[place:] for action in later])
                raise
            self._all_done = self._all_done and all(result.outcome is Outcome.DONE for result in ended)
            self._record(ended)
            results += ended
        return Execution(run_id=self._run.run_id, plan=self._plan, results=results, unrecorded=self._unrecorded)

    def _unsent(self, action: Action) -> ActionResult:
        """The result of an action that was not sent because the run was interrupted."""
        return self._result(action, Outcome.FAILED, not_sent(action, "the run was interrupted before it"))

    def _record(self, results: Sequence[ActionResult]) -> None:
        """Write the outcomes of one kind; if that fails, nothing else is sent."""
        if self._unrecorded or not results:
            return
        now_ms = self._cluster.clock.now_ms()
        try:
            self._recorder.write([self._run.finished(self._plan, result, now_ms) for result in results])
        except PipelineError as error:
            self._unrecorded = str(error)

    def _results(self, kind: ActionKind, actions: Sequence[Action]) -> list[ActionResult]:
        """The results of the actions of one kind, in their order."""
        held = {action.resource: failure for action in actions if (failure := self._hindrance(action))}
        sent = [action for action in actions if action.resource not in held]
        answers = self._sent(kind, sent) if sent else {}
        ended = {resource: (Outcome.FAILED, failure) for resource, failure in held.items()}
        ended |= self._failed(kind, sent, answers)
        results = []
        for action in actions:
            outcome, failure = ended.get(action.resource, (Outcome.DONE, None))
            results.append(self._result(action, outcome, failure, answers.get(action.resource)))
        return results

    def _sent(self, kind: ActionKind, actions: Sequence[Action]) -> Mapping[Resource, Failure | Answered]:
        """The cluster's answers to actions; an error between them leaves open which of them were done."""
        try:
            return kind.send(self._cluster, actions, False, self._deadline)
        except PipelineError as error:
            return {action.resource: not_answered(action, error) for action in actions}

    def _failed(
        self, kind: ActionKind, actions: Sequence[Action], answers: Mapping[Resource, Failure | Answered]
    ) -> dict[Resource, tuple[Outcome, Failure]]:
        """The results of actions that failed."""
        failures = [
            (action, answer) for action in actions if isinstance(answer := answers.get(action.resource), Failure)
        ]
        unsure = [
            (action, failure) for action, failure in failures if is_unsure(failure) or failure.code in kind.already
        ]
        decisions = decided(self._cluster, kind, unsure) if unsure else []
        ended = {action.resource: (Outcome.FAILED, failure) for action, failure in failures}
        return ended | {action.resource: one for (action, _), one in zip(unsure, decisions, strict=True)}

    def _result(
        self, action: Action, outcome: Outcome, failure: Failure | None, answer: Failure | Answered | None = None
    ) -> ActionResult:
        values = answer.values if isinstance(answer, Answered) else None
        return ActionResult(
            action_id=self._ids[_key(action)], action=action, outcome=outcome, failure=failure, values=values
        )

    def _hindrance(self, action: Action) -> Failure | None:
        """The reason why an action is not sent; None if it is."""
        if failure := self._refused.get(_key(action)):
            return failure
        if self._unrecorded:
            return not_sent(action, _UNRECORDED)
        if action.guards and not self._all_done:
            return not_sent(action, _WITHHELD)
        return not_sent(action, "no time was left") if self._deadline.passed() else None


def _by_kind(actions: Sequence[Action], kinds: Kinds) -> Iterator[tuple[ActionKind, list[Action]]]:
    """The actions of each kind, those with guards apart, in the order of the plan."""
    for (_, name), same in groupby(actions, key=lambda action: (bool(action.guards), action.kind)):
        yield kinds[name], list(same)


def _invalid(cluster: Cluster, plan: Plan, refused: Refused, deadline: Deadline, kinds: Kinds) -> Refused:
    """Faults that brokers find when they check actions without carrying them out."""
    invalid: dict[tuple[str, Resource], Failure] = {}
    for kind, actions in _by_kind(plan.actions, kinds):
        readable = [action for action in actions if _key(action) not in refused]
        if kind.can_validate and readable:
            answers = kind.send(cluster, readable, True, deadline)
            invalid |= {(kind.name, resource): one for resource, one in answers.items() if isinstance(one, Failure)}
    return invalid


def _key(action: Action) -> tuple[str, Resource]:
    return action.kind, action.resource


def _shown(state: State) -> str:
    return "absent" if state is None else json.dumps(state, sort_keys=True)
