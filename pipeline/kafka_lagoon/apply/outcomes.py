"""Says how an action ended, and decides by the live state where no answer says it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Any

from kafka_lagoon.apply.action import Action, ActionKind, Resource, State
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure, Scope, own_failure, refusal_name
from kafka_lagoon.clock import Deadline, backoff
from kafka_lagoon.errors import PipelineError
from kafka_lagoon.frozen import frozen
from kafka_lagoon.protocol.error_codes import REQUEST_TIMED_OUT, UNKNOWN_SERVER_ERROR

NOT_SENT, NOT_READ = "NOT_SENT", "NOT_READ"

# How long the live state is looked at for a change whose answer is missing. A frozen broker has the request until it goes on.
DECIDE_MS = 10_000
_PAUSE_MS, _LONGEST_PAUSE_MS = 100, 1_000
_UNSURE_CODES = frozenset({REQUEST_TIMED_OUT, UNKNOWN_SERVER_ERROR})
_UNSURE_NAMES = frozenset({"CONNECTION_LOST", "DEADLINE_PASSED", "PROTOCOL_ERROR"})


class Outcome(StrEnum):
    """The outcome of an action."""

    DONE = "done"
    FAILED = "failed"  # refused, or not sent
    UNKNOWN = "unknown"  # sent, and neither an answer nor the live state tells


@frozen
class ActionResult:
    """The result of one action. A done action has a failure if only the live state proves it, and no answer does."""

    action_id: str
    action: Action
    outcome: Outcome
    failure: Failure | None = None
    values: Mapping[str, Any] | None = None  # what the cluster said of it, which may be secret

    @property
    def message(self) -> str | None:
        """The message of the broker, or ours; None if there is none."""
        return self.failure.message if self.failure else None


def not_sent(action: Action, why: str) -> Failure:
    """The failure of an action that no request was sent about."""
    return _about(action, NOT_SENT, why)


def not_read(action: Action) -> Failure:
    """The failure of an action whose live state an answer leaves out."""
    return _about(action, NOT_READ, "the cluster's answer leaves it out")


def not_answered(action: Action, error: PipelineError) -> Failure:
    """The failure of an action that an error left without an answer, after it may have been sent."""
    return replace(_about(action, refusal_name(error), str(error)), may_be_done=True)


def _about(action: Action, name: str, message: str) -> Failure:
    return own_failure(action.kind, Scope.list(str(action.resource)), name, message)


def is_unsure(failure: Failure) -> bool:
    """Return true if an action may have been carried out although its answer failed. A timeout is no failure."""
    return failure.may_be_done or failure.code in _UNSURE_CODES or failure.name in _UNSURE_NAMES


def decided(
    cluster: Cluster, kind: ActionKind, unsure: Sequence[tuple[Action, Failure]]
) -> list[tuple[Outcome, Failure]]:
    """Decide actions without answers: their live state is read until it shows them done, for `DECIDE_MS`.

    An action that the state does not show by then may still be carried out: a broker or a controller that was frozen goes on
    with the requests that it has received. An answer that there is nothing to do any more stands, unless the state shows that
    the action was carried out. The run's own deadline may have passed already, so this has its own.
    """
    deadline = Deadline.after(cluster.clock, DECIDE_MS)
    pauses = backoff(_PAUSE_MS, _LONGEST_PAUSE_MS)
    live: dict[Resource, State | Failure] = {}
    open_ = [action for action, _ in unsure]
    while open_:
        live.update(_read(cluster, kind, open_, deadline))
        open_ = [action for action in open_ if not _shows_done(kind, action, live)]
        if not deadline.pause(next(pauses)):
            break
    return [_decision(kind, action, failure, live) for action, failure in unsure]


def _read(
    cluster: Cluster, kind: ActionKind, actions: Sequence[Action], deadline: Deadline
) -> Mapping[Resource, State | Failure]:
    """The live state; an error leaves it unknown, because the actions were sent and their outcomes are to be reported.

    The first broker that is asked may be the frozen one, so half of the time is left for others.
    """
    try:
        return kind.read(cluster, actions, deadline.within(DECIDE_MS // 2))
    except PipelineError as error:
        return {action.resource: _about(action, refusal_name(error), str(error)) for action in actions}


def _shows_done(kind: ActionKind, action: Action, live: Mapping[Resource, State | Failure]) -> bool:
    state = live.get(action.resource, not_read(action))
    return not isinstance(state, Failure) and kind.is_done(action, state)


def _decision(
    kind: ActionKind, action: Action, failure: Failure, live: Mapping[Resource, State | Failure]
) -> tuple[Outcome, Failure]:
    state = live.get(action.resource, not_read(action))
    if isinstance(state, Failure) and not is_unsure(failure):
        return Outcome.FAILED, failure
    if isinstance(state, Failure):
        return Outcome.UNKNOWN, _remarked(failure, f"and its state cannot be read ({state.name})")
    if kind.is_done(action, state):
        return Outcome.DONE, _remarked(failure, "but its state shows that it was carried out")
    if not is_unsure(failure):
        return Outcome.FAILED, failure
    remark = f"and {DECIDE_MS // 1000} s later its state does not show that it was carried out: it may still be"
    return Outcome.UNKNOWN, _remarked(failure, remark)


def _remarked(failure: Failure, remark: str) -> Failure:
    return replace(failure, message=f"{failure.message or failure.name}, {remark}")
