"""Carries out a restore's requests to its target, and raises LockHeld if another run has altered it since the plan began."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from kafka_lagoon.apply.action import Action
from kafka_lagoon.apply.execution import execute, make_plan
from kafka_lagoon.apply.kinds.registry import KINDS
from kafka_lagoon.apply.outcomes import ActionResult, Outcome
from kafka_lagoon.apply.recording import Run
from kafka_lagoon.apply.topic_ids import with_topic_ids
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.clock import Clock, Deadline
from kafka_lagoon.delta.admin_actions import fence_of_now, is_passed, recording
from kafka_lagoon.delta.kernel import Fence
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.errors import LockHeld, PipelineError, PlanOutdated, TableError
from kafka_lagoon.frozen import frozen
from kafka_lagoon.job_settings import RestoreSettings
from kafka_lagoon.restore.archived import ArchivedTopic
from kafka_lagoon.restore.progress import ProgressStore
from kafka_lagoon.restore.request import RestoreRequest
from kafka_lagoon.restore.target import TargetTopic, describe_target
from kafka_lagoon.runs.context import Progress as Steps


@frozen
class Start:
    """The state of the warehouse when a run began to plan: what must not have changed when it begins to write.

    `commits` counts those of restores with its request. `fence` is None where a lock keeps other runs away, and while another
    run alters the target; `other` is about that one.
    """

    commits: int = 0
    fence: Fence | None = None
    other: LockHeld | None = None


NOT_PLANNED = Start()


@frozen
class RestoreRun:
    """The request of a restore, and what carries it out; the caller holds the lock of the target cluster."""

    request: RestoreRequest
    cluster: Cluster
    cluster_id: str
    warehouse: Warehouse
    clock: Clock
    limits: RestoreSettings
    store: ProgressStore
    steps: Steps

    def deadline(self) -> Deadline:
        """The deadline of a request to the target."""
        return Deadline.after(self.clock, self.limits.timeout_ms)

    def described(self, topics: Sequence[ArchivedTopic]) -> Mapping[str, TargetTopic | None]:
        """The targets of topics by name, None for a topic that does not exist; TableError if brokers do not answer."""
        names = [self.request.target_of(topic.topic) for topic in topics]
        targets, failures = describe_target(self.cluster, names, self.deadline())
        if failures:
            raise TableError("; ".join(f"{failure.scope}: {failure.name}" for failure in failures))
        return targets

    def start(self, commits: int) -> Start:
        """Begin to plan. A run that alters the target is waited for, and not by a dry run.

        If it goes on, or has died a short time ago, that only matters if this run has something to alter, too.
        """
        if self.request.is_dry_run:
            return Start(commits=commits)
        try:
            fence = fence_of_now(self.warehouse, self.cluster_id, self.clock, self.limits.lock_wait_ms)
        except LockHeld as other:
            return Start(commits=commits, other=other)
        return Start(commits=commits, fence=fence)

    @contextmanager
    def alone_since(self, start: Start, errors: type[PipelineError] = PipelineError) -> Iterator[None]:
        """Raise LockHeld in place of `errors` if another run has altered the target, or begun this restore, since `start`.

        Where no lock keeps it from that, they may be about what it has done. Nothing may be sent in here.
        """
        try:
            yield
        except errors as error:
            fence = start.fence
            if start.other:
                raise start.other from error
            if fence and (is_passed(self.warehouse, fence) or self.store.commits() != start.commits):
                raise LockHeld(f"cluster {self.cluster_id}", "it began in the meantime") from error
            raise

    def execute(self, actions: Sequence[Action], start: Start = NOT_PLANNED) -> Sequence[ActionResult]:
        """Carry out actions that were planned after `start`, with a row of admin_actions for each."""
        if not actions:
            return []
        actions = with_topic_ids(self.cluster, actions, self.deadline())
        plan = make_plan(self.request.to_cluster, self.cluster_id, actions)
        run = Run.new("restore", self.cluster.settings, self.clock.now_ms())
        with (
            self.alone_since(start, PlanOutdated),
            recording(self.warehouse, self.cluster_id, self.clock, self.limits.lock_wait_ms, start.fence) as store,
        ):
            return execute(self.cluster, plan, (), run, store, self.deadline()).results

    def execute_all(self, actions: Sequence[Action], start: Start = NOT_PLANNED) -> Sequence[ActionResult]:
        """Carry out actions; TableError if one was not."""
        results = self.execute(actions, start)
        if failed := [result for result in results if result.outcome is not Outcome.DONE]:
            raise TableError("; ".join(map(_line, failed)))
        return results


def _line(result: ActionResult) -> str:
    """A line about an action that was not done: `create topic orders: TOPIC_AUTHORIZATION_FAILED (Authorization failed.)`."""
    about = KINDS[result.action.kind].about(result.action.resource)
    failure = result.failure
    reason = result.outcome if failure is None else failure.name
    return f"{about}: {reason}{f' ({result.message})' if result.message else ''}"
