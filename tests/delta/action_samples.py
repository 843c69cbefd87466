"""Rows of admin_actions: three actions of one run, which are done, refused, and unfinished because the run died."""

from kafka_lagoon.apply.action import Action, Guard, Plan, Resource
from kafka_lagoon.apply.outcomes import ActionResult, Outcome, not_sent
from kafka_lagoon.apply.recording import Run
from kafka_lagoon.tables.write_rows import AdminActionRow

RUN = Run(run_id="run", job="apply", principal=None, user="alice", host="here")
CREATE = Action(kind="create_topic", resource=Resource("topic", "new"), before=None, after={"partitions": 3})
DELETE = Action(
    kind="delete_topic",
    resource=Resource("topic", "old"),
    before={"partitions": 1},
    after=None,
    guards=frozenset({Guard.DELETIONS}),
    source="state.toml:7",
)
ALTER = Action(kind="alter_configs", resource=Resource("topic", "t"), before={"a": "1"}, after={"a": None})
PLAN = Plan(cluster="default", cluster_id="id", actions=(CREATE, ALTER, DELETE))


def started(at_ms: int) -> list[AdminActionRow]:
    """Make the first row of each action."""
    return [RUN.started(PLAN, action, f"of {action.kind}", at_ms) for action in PLAN.actions]


def finished(at_ms: int) -> list[AdminActionRow]:
    """Make the second row of the finished actions."""
    done = ActionResult(action_id="of create_topic", action=CREATE, outcome=Outcome.DONE)
    why = not_sent(DELETE, "something failed")
    failed = ActionResult(action_id="of delete_topic", action=DELETE, outcome=Outcome.FAILED, failure=why)
    return [RUN.finished(PLAN, result, at_ms) for result in (done, failed)]
