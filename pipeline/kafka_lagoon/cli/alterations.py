"""Shows a plan, asks for confirmation, carries the plan out, records it, and prints the outcome of each action.

`lagoon apply` and all verbs of `lagoon admin` alter clusters through this module.
"""

import json
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kafka_lagoon.apply.action import Action, Plan
from kafka_lagoon.apply.execution import Execution, Refused, check, execute, make_plan
from kafka_lagoon.apply.guards import require_guards
from kafka_lagoon.apply.kinds.registry import KINDS
from kafka_lagoon.apply.outcomes import ActionResult, Outcome
from kafka_lagoon.apply.recording import Run
from kafka_lagoon.apply.rendering import as_json, render, summary
from kafka_lagoon.cli.clusters import ChosenCluster, budget_ms
from kafka_lagoon.cli.output import failure_lines
from kafka_lagoon.cli.planned_actions import PlannedActions, allowed_guards
from kafka_lagoon.cli.recorder import OpeningRecorder
from kafka_lagoon.cli.terminal import COMPLETE, FAILED, INCOMPLETE, is_confirmed, say, say_exactly, warn
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import PlanOutdated
from kafka_lagoon.frozen import frozen
from kafka_lagoon.secret import Secret

ADMIN = "admin"


@frozen
class AlterationResult:
    """The result of a plan; `execution` is None if nothing was sent."""

    exit_code: int
    plan: Plan
    execution: Execution | None = None


def alter(
    cluster: Cluster, chosen: ChosenCluster, planned: PlannedActions, recorder: OpeningRecorder, options: Namespace
) -> AlterationResult:
    """Show actions, ask for confirmation, carry them out and record them.

    Raises PlanOutdated if these actions are not the plan that `options.plan` names.
    """
    plan = make_plan(chosen.name, cluster.cluster_id or "", planned.actions, is_whole=not planned.undone)
    _show_plan(plan, planned, options)
    wanted = getattr(options, "plan", None)
    if wanted not in (None, plan.id):
        raise PlanOutdated([f"the plan is {plan.id} now, and not {wanted}"])
    if not plan.actions:
        return AlterationResult(exit_code=FAILED if planned.failures else COMPLETE, plan=plan)
    if options.dry_run:
        refused = check(cluster, plan, _deadline(cluster, options))
        _show_refused(refused)
        return AlterationResult(exit_code=INCOMPLETE if refused or planned.failures else COMPLETE, plan=plan)
    require_guards(plan.actions, allowed_guards(options))
    if not options.yes:
        recorder.begin()
        if not _is_confirmed(cluster, plan, options):
            return AlterationResult(exit_code=FAILED, plan=plan)
    run = Run.new(recorder.job, chosen.kafka, cluster.clock.now_ms())
    with recorder.opened(plan.cluster_id) as opened:
        execution = execute(cluster, plan, allowed_guards(options), run, opened, _deadline(cluster, options))
    return AlterationResult(
        exit_code=_show_execution(execution, planned.failures, options), plan=plan, execution=execution
    )


def exit_code(execution: Execution, failures: Sequence[Failure] = ()) -> int:
    """Return COMPLETE if every action is done and nothing else failed, FAILED if every action failed, else INCOMPLETE."""
    if execution.count(Outcome.FAILED) == len(execution.results):
        return FAILED
    is_complete = execution.count(Outcome.DONE) == len(execution.results) and not execution.unrecorded
    return COMPLETE if is_complete and not failures else INCOMPLETE


def _deadline(cluster: Cluster, options: Namespace) -> Deadline:
    """Make the deadline for carrying out a plan; it does not include the time that people need to read the plan."""
    return Deadline.after(cluster.clock, budget_ms(cluster.settings, options))


def _is_confirmed(cluster: Cluster, plan: Plan, options: Namespace) -> bool:
    """Show the actions that brokers refuse, and ask at the terminal."""
    _show_refused(check(cluster, plan, _deadline(cluster, options)))
    if is_confirmed(f"Carry this out on cluster {plan.cluster} ({plan.cluster_id})?"):
        return True
    warn("nothing was sent")
    return False


def warn_of(failures: Sequence[Failure]) -> None:
    """Warn about state that could not be read."""
    for line in failure_lines(failures):
        warn(line)


def _show_plan(plan: Plan, planned: PlannedActions, options: Namespace) -> None:
    warn_of(planned.failures)
    for line in [*planned.undone, *planned.notes]:
        warn(line)
    if options.json:
        for action in plan.actions if options.dry_run else ():
            say_exactly(json.dumps(_action_fields(plan, action)))
        return
    if plan.actions or not (planned.failures or planned.undone):
        for line in _plan_lines(plan):
            say(line)


def _plan_lines(plan: Plan) -> Iterator[str]:
    if not plan.actions:
        yield "nothing to do"
        return
    yield from render(plan.actions)
    yield f"plan {plan.id} for cluster {plan.cluster_id}: {summary(plan.actions)}"


def _show_refused(refused: Refused) -> None:
    """Print the actions that brokers refuse."""
    for (name, resource), failure in refused.items():
        warn(f"{KINDS[name].about(resource)}: {_reason(failure)}")


def _show_execution(execution: Execution, failures: Sequence[Failure], options: Namespace) -> int:
    for result in execution.results:
        if options.json:
            say_exactly(json.dumps(_result_fields(execution, result)))
        else:
            _show_result(result)
    if execution.unrecorded:
        warn(f"outcomes are missing in table admin_actions: {execution.unrecorded}")
    if not options.json:
        counts = ", ".join(f"{execution.count(outcome)} {outcome}" for outcome in Outcome if execution.count(outcome))
        say(f"{counts}; run {execution.run_id}")
    return exit_code(execution, failures)


def result_line(result: ActionResult) -> str:
    """Make the line of an action that was carried out: the action, its outcome, and the failure."""
    line = f"{KINDS[result.action.kind].about(result.action.resource)}: {result.outcome}"
    if result.failure is None:
        return line
    reason = _reason(result.failure)
    return f"{line} ({reason})" if result.outcome is Outcome.DONE else f"{line}: {reason}"


def _show_result(result: ActionResult) -> None:
    show = say if result.outcome is Outcome.DONE else warn
    show(result_line(result))
    for name, value in (result.values or {}).items():
        say(f"  {name}  {_plain(value)}")


def _reason(failure: Failure) -> str:
    broker = "" if failure.node_id is None else f" of broker {failure.node_id}"
    message = f" ({failure.message})" if failure.message else ""
    return f"{failure.api}{broker}: {failure.name}{message}"


def _action_fields(plan: Plan, action: Action) -> dict[str, Any]:
    return {"kind": "action", "plan_id": plan.id, **as_json(action)}


def _result_fields(execution: Execution, result: ActionResult) -> dict[str, Any]:
    failure = result.failure
    return {
        **_action_fields(execution.plan, result.action),
        "run_id": execution.run_id,
        "action_id": result.action_id,
        "outcome": result.outcome,
        "error_code": failure.code if failure else None,
        "error_name": failure.name if failure else None,
        "message": result.message,
        "answer": _values(result.values),
    }


def _values(values: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return None if values is None else {name: _plain(value) for name, value in values.items()}


def _plain(value: Any) -> Any:
    return value.reveal() if isinstance(value, Secret) else value
