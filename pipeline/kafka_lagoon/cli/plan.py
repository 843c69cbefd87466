"""Runs `lagoon plan`: shows what has to be done so that a cluster is as a file says, and changes nothing."""

import json
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from kafka_lagoon.apply.plan import PlanResult, plan_state
from kafka_lagoon.apply.rendering import as_json, render, summary
from kafka_lagoon.cli.asking import AskingParser, connected
from kafka_lagoon.cli.desired_files import HELP, desired_of
from kafka_lagoon.cli.kafka.arguments import chosen_cluster
from kafka_lagoon.cli.kafka.output import failure_lines
from kafka_lagoon.cli.terminal import COMPLETE, INCOMPLETE, say, warn
from kafka_lagoon.clock import Clock
from kafka_lagoon.errors import ConfigError

_SUMMARY = "Shows what has to be done so that a cluster is as a file says; changes nothing."


def run(argv: Sequence[str], environ: Mapping[str, str], clock: Clock) -> int:
    """The exit code: complete, also of an empty plan; incomplete if something could not be read."""
    options = _parse(argv)
    desired, chosen = desired_of(options.file, clock.now_ms()), chosen_cluster(options, environ)
    with connected(chosen, options, clock) as (cluster, deadline):
        plan = plan_state(cluster, desired, deadline)
    if options.out:
        _write(options.out, plan)
    for line in json_lines(plan) if options.json else plan_lines(plan):
        say(line)
    for line in [*failure_lines(plan.failures), *plan.notes]:
        warn(line)
    return INCOMPLETE if plan.failures or (options.exit_code and plan.actions) else COMPLETE


def _parse(argv: Sequence[str]) -> Namespace:
    parser = AskingParser("plan", _SUMMARY)
    parser.add_argument("file", metavar="FILE", help=HELP)
    parser.add_argument("--json", action="store_true", help="one JSON object an action and line, then one of the plan")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the plan there too, as --json prints it")
    parser.add_argument("--exit-code", action="store_true", help="exit 3 if there is something to do")
    return parser.parse_args(argv)


def plan_lines(plan: PlanResult) -> Iterator[str]:
    """A plan for people."""
    if not plan.actions:
        yield f"nothing to do: cluster {plan.cluster_id} is as the file says"
        return
    yield from render(plan.actions)
    guards = sorted({guard for action in plan.actions for guard in action.guards})
    needed = f"; needs {', '.join(f'--{guard}' for guard in guards)}" if guards else ""
    yield f"plan {plan.plan_id} for cluster {plan.cluster_id}: {summary(plan.actions)}{needed}"


def json_lines(plan: PlanResult) -> Iterator[str]:
    """A plan for scripts: a line for each action, and one of the whole plan."""
    for action in plan.actions:
        yield json.dumps({"kind": "action", "plan_id": plan.plan_id, **as_json(action)})
    whole: dict[str, Any] = {
        "kind": "plan",
        "plan_id": plan.plan_id,
        "cluster_id": plan.cluster_id,
        "actions": len(plan.actions),
        "notes": list(plan.notes),
        "is_complete": not plan.failures,
    }
    yield json.dumps(whole)


def _write(path: Path, plan: PlanResult) -> None:
    try:
        path.write_text("".join(f"{line}\n" for line in json_lines(plan)), "utf-8")
    except OSError as error:
        raise ConfigError([f"--out {path}: {error.strerror}"]) from error
