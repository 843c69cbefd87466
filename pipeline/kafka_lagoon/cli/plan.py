"""Runs `lagoon plan`: shows the actions that bring a cluster into the desired state of a file, and changes nothing."""

import json
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kafka_lagoon.apply.plan import PlanResult, plan_state
from kafka_lagoon.apply.rendering import as_json, render, summary
from kafka_lagoon.cli.arguments import file_path, not_empty
from kafka_lagoon.cli.clusters import add_cluster_options, chosen_cluster, connected
from kafka_lagoon.cli.command import PLAIN, Command, Invocation
from kafka_lagoon.cli.desired_files import HELP, desired_of
from kafka_lagoon.cli.out_files import out_file
from kafka_lagoon.cli.output import failure_lines
from kafka_lagoon.cli.permissions import OF_THE_FILE, Requirement
from kafka_lagoon.cli.terminal import COMPLETE, INCOMPLETE, say, warn


def _declare(parser: ArgumentParser) -> None:
    add_cluster_options(parser)
    parser.add_argument("file", type=not_empty, metavar="FILE", help=HELP)
    parser.add_argument(
        "--json", action="store_true", help="print JSON lines: an object for each action, then one for the plan"
    )
    parser.add_argument(
        "--out", type=file_path, metavar="FILE", help="also write the plan to this file, as --json prints it"
    )
    parser.add_argument("--exit-code", action="store_true", help="exit 3 if the plan is not empty")


def _plan(call: Invocation) -> int:
    """Show the plan; return COMPLETE, also for an empty plan, or INCOMPLETE if something is not known or has to wait."""
    options = call.options
    desired, chosen = desired_of(options.file, call.clock.now_ms()), chosen_cluster(options, call.environ)
    with connected(chosen.kafka, options, call.clock) as (cluster, deadline):
        plan = plan_state(cluster, desired, deadline)
    if options.out:
        _write(options.out, plan)
    for line in json_lines(plan) if options.json else plan_lines(plan):
        say(line)
    for line in [*failure_lines(plan.failures), *plan.undone, *plan.notes]:
        warn(line)
    return INCOMPLETE if not plan.is_complete or (options.exit_code and plan.actions) else COMPLETE


def plan_lines(plan: PlanResult) -> Iterator[str]:
    """Format a plan for people. Notes of an empty plan name differences from the file that are left as they are."""
    if not plan.actions:
        if plan.is_complete:  # otherwise parts of the cluster that could not be read may differ from the file
            is_as_written = f"nothing to do: cluster {plan.cluster_id} is as the file says"
            yield "nothing to do now" if plan.notes else is_as_written
        return
    yield from render(plan.actions)
    guards = sorted({guard for action in plan.actions for guard in action.guards})
    needed = f"; needs {', '.join(f'--{guard}' for guard in guards)}" if guards else ""
    yield f"plan {plan.plan_id} for cluster {plan.cluster_id}: {summary(plan.actions)}{needed}"


def json_lines(plan: PlanResult) -> Iterator[str]:
    """Format a plan for scripts: a line for each action, then one for the whole plan."""
    for action in plan.actions:
        yield json.dumps({"kind": "action", "plan_id": plan.plan_id, **as_json(action)})
    whole: dict[str, Any] = {
        "kind": "plan",
        "plan_id": plan.plan_id,
        "cluster_id": plan.cluster_id,
        "actions": len(plan.actions),
        "notes": [*plan.undone, *plan.notes],
        "is_complete": plan.is_complete,
    }
    yield json.dumps(whole)


def _write(path: Path, plan: PlanResult) -> None:
    with out_file(path) as part:
        part.write_text("".join(f"{line}\n" for line in json_lines(plan)), "utf-8")


COMMAND = Command(
    kind=PLAIN,
    summary="Shows the actions that bring a cluster into the desired state of a file; changes nothing.",
    examples=(
        "lagoon plan state.toml --conf lagoon.toml",
        "lagoon plan state.toml --conf lagoon.toml --exit-code  # exit 3 unless the cluster is as the file says",
    ),
    declare=_declare,
    answer=_plan,
    requires={
        "": Requirement(
            remark="Those of `import` for what the file is about; groups, offsets and transactions as for the verbs of "
            "`lagoon kafka`.",
            otherwise=OF_THE_FILE,
        )
    },
)
