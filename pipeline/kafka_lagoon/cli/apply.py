"""Runs `lagoon apply FILE`: brings a cluster into the desired state of a file, once the plan was shown and confirmed.

The file is checked before any request to the cluster. The state that the plan was made from is compared with the cluster's
before anything is altered.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping
from typing import TypeVar

from kafka_lagoon.apply.desired.state import DesiredState
from kafka_lagoon.apply.outcomes import Outcome as ActionOutcome
from kafka_lagoon.apply.plan import PlanResult
from kafka_lagoon.cli.alterations import AlterationResult, alter, warn_of
from kafka_lagoon.cli.arguments import add_create, add_warehouse, not_empty
from kafka_lagoon.cli.clusters import ChosenCluster, add_cluster_options, budget_ms, chosen_cluster
from kafka_lagoon.cli.command import Command, Kind
from kafka_lagoon.cli.desired_files import HELP, desired_of
from kafka_lagoon.cli.jobs import add_log_file, run_job
from kafka_lagoon.cli.outcome import APPLY, RunOutcome, one_by_one
from kafka_lagoon.cli.permissions import OF_THE_FILE, Requirement
from kafka_lagoon.cli.planned_actions import PlannedActions, add_alteration_options, confirmation_problems
from kafka_lagoon.cli.recorder import OpeningRecorder
from kafka_lagoon.cli.run_metrics import metrics_written
from kafka_lagoon.cli.terminal import COMPLETE, FAILED, INCOMPLETE, worst
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.clock import Clock, Deadline
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.frozen import frozen
from kafka_lagoon.runs.apply import apply_state

T = TypeVar("T")


@frozen
class ApplyArguments:
    """Options of one run, the cluster that they choose, and its desired state."""

    options: Namespace
    chosen: ChosenCluster
    desired: DesiredState


def _declare(parser: ArgumentParser) -> None:
    add_cluster_options(parser)
    add_warehouse(parser)
    add_create(parser)
    add_log_file(parser)
    add_alteration_options(parser)
    parser.add_argument("file", type=not_empty, metavar="FILE", help=HELP)
    parser.add_argument(
        "--plan",
        metavar="ID",
        help="id of a plan that `lagoon plan` has shown; nothing is altered if the plan is another one now",
    )


def apply_arguments(options: Namespace, environ: Mapping[str, str], clock: Clock) -> ApplyArguments:
    """Check options, settings and the file; ConfigError lists every fault."""
    problems = confirmation_problems(options)
    chosen = _checked(lambda: chosen_cluster(options, environ), problems)
    desired = _checked(lambda: desired_of(options.file, clock.now_ms()), problems)
    if problems or chosen is None or desired is None:
        raise ConfigError(problems)
    return ApplyArguments(options=options, chosen=chosen, desired=desired)


def _checked(read: Callable[[], T], problems: list[str]) -> T | None:
    try:
        return read()
    except ConfigError as error:
        problems += error.problems
        return None


def apply_file(arguments: ApplyArguments, clock: Clock) -> int:
    """Bring the cluster into the desired state of the file; return the exit code."""
    outcome = RunOutcome(job=APPLY, cluster=arguments.chosen.name, dry_run=arguments.options.dry_run)
    settings = arguments.chosen.settings
    with metrics_written(settings, [outcome], clock):
        codes = one_by_one([outcome], clock, lambda outcome: _apply(arguments, outcome, clock))
    return worst(codes)


def _apply(arguments: ApplyArguments, outcome: RunOutcome, clock: Clock) -> int:
    options, chosen = arguments.options, arguments.chosen
    deadline = Deadline.after(clock, budget_ms(chosen.kafka, options))

    def carry_out(cluster: Cluster, planned: PlanResult) -> int:
        outcome.cluster_id, outcome.plan_id = cluster.cluster_id, planned.plan_id
        outcome.actions = len(planned.actions)
        if planned.failures:  # state that could not be read may differ from the file
            warn_of(planned.failures)
            return FAILED
        with OpeningRecorder(APPLY, chosen.settings, clock) as recorder:
            if not options.dry_run:
                recorder.check()
            altered = alter(
                cluster,
                chosen,
                PlannedActions(actions=planned.actions, undone=planned.undone, notes=planned.notes),
                recorder,
                options,
            )
        _describe(outcome, altered)
        return worst([altered.exit_code, COMPLETE if planned.is_complete else INCOMPLETE])

    return apply_state(chosen.kafka, arguments.desired, deadline, outcome.request_stats, carry_out)


def _describe(outcome: RunOutcome, altered: AlterationResult) -> None:
    execution = altered.execution
    if execution:
        outcome.run_id, outcome.done = execution.run_id, execution.count(ActionOutcome.DONE)
        outcome.failures = execution.count(ActionOutcome.FAILED)
        outcome.unknown = execution.count(ActionOutcome.UNKNOWN)


COMMAND = Command(
    kind=Kind(declare=_declare, run=run_job),
    summary="Brings a cluster into the desired state of a file, after showing the plan.",
    examples=(
        "lagoon apply state.toml --conf lagoon.toml --dry-run",
        "lagoon apply state.toml --conf lagoon.toml --allow-deletions",
    ),
    answer=lambda call: apply_file(apply_arguments(call.options, call.environ, call.clock), call.clock),
    requires={
        "": Requirement(
            remark="Those of `plan`, and those of the verbs of `lagoon admin` that make the same changes.",
            otherwise=OF_THE_FILE,
        )
    },
)
