"""Writes archived records back into a cluster: connect, lock, plan, create topics, write, read back, commit offsets of groups.

Every step may be cut off at any point. A run with the same request finds the plan and how far it is, and goes on. If the
restore has finished and is still in the target, nothing is written again; a run that is to commit offsets checks it once more
and commits them, because groups that had members may have none now.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kafka_lagoon.apply.action import Action
from kafka_lagoon.apply.execution import execute, make_plan
from kafka_lagoon.apply.outcomes import ActionResult, Outcome
from kafka_lagoon.apply.recording import Run
from kafka_lagoon.client.cluster import Cluster, TopicPartition
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import Deadline
from kafka_lagoon.delta.admin_actions import recording
from kafka_lagoon.delta.files import DescribedFile
from kafka_lagoon.delta.s3_access import s3_access
from kafka_lagoon.errors import ConfigError, TableError
from kafka_lagoon.job_settings import RestoreSettings
from kafka_lagoon.produce.sequences import init_producer_id
from kafka_lagoon.query.statements import Ask
from kafka_lagoon.records.compressing import CODECS
from kafka_lagoon.restore.archived import ArchivedTopic, files_of, find_archived, source_files
from kafka_lagoon.restore.execution import packed, run_tasks
from kafka_lagoon.restore.finished import FinishedRestore, earlier_restores, topics_of
from kafka_lagoon.restore.group_offsets import RestoredPartition
from kafka_lagoon.restore.offset_map import PartitionMap
from kafka_lagoon.restore.plan import PartitionKey, PlannedPartition, RestorePlan
from kafka_lagoon.restore.progress import Progress, ProgressStore
from kafka_lagoon.restore.receipts import OTHER_RECORDS
from kafka_lagoon.restore.request import RestoreRequest
from kafka_lagoon.restore.saved_state import (
    Alterations,
    acl_creations,
    choose_snapshot,
    commits,
    creations,
    opened,
)
from kafka_lagoon.restore.survey import SurveyItem, Times, logged_times, survey_partitions, times_by_topic
from kafka_lagoon.restore.target import TargetTopic, default_configs, describe_target, verdict
from kafka_lagoon.restore.topic_names import matching_topics
from kafka_lagoon.restore.writing import Writing, memory_bytes, parallelism
from kafka_lagoon.runs.context import Progress as Steps
from kafka_lagoon.runs.context import RunContext
from kafka_lagoon.tables.record_tables import RECORDS
from kafka_lagoon.tables.write_rows import RestoreReceiptRow
from kafka_lagoon.uuid7 import new_id

STEPS = ("plan", "survey", "topics", "write", "check", "offsets")
_SEVERAL_CODECS = "zstd"


@dataclass(slots=True, kw_only=True)
class RestoreResult:
    """What a run did, or with a dry run would do; filled in step by step.

    `targets` are the names of the topics in the target. `plan` is None where none was made. `to_write` counts the records of a
    dry run. `actions` are those that a dry run would carry out, `altered` those of another run with how each ended. `failures`
    are partitions that are not restored, with the reason. `went_on` says whether an earlier run had begun, and `finished_at`
    when one had finished. `is_declined` if nobody confirmed it.
    """

    cluster: str
    cluster_id: str
    is_dry_run: bool
    topics: Sequence[ArchivedTopic] = ()
    targets: Mapping[str, str] = field(default_factory=dict)
    plan: RestorePlan | None = None
    progress: Progress | None = None
    actions: Sequence[Action] = ()
    altered: list[ActionResult] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    receipts: Sequence[RestoreReceiptRow] = ()
    failures: Mapping[PartitionKey, str] = field(default_factory=dict)
    written: int = 0
    to_write: int | None = None
    went_on: bool = False
    finished_at: str | None = None
    is_declined: bool = False
    offsets_left: int = 0
    seconds: float = 0.0

    @property
    def is_complete(self) -> bool:
        """Whether everything is in the target, and was read back as it is in the archive."""
        failed = any(one.outcome is not Outcome.DONE for one in self.altered)
        return not (
            self.is_declined
            or self.failures
            or failed
            or self.offsets_left
            or any(row.problem for row in self.receipts)
        )


def restore(
    context: RunContext,
    request: RestoreRequest,
    request_stats: RequestStats,
    steps: Steps,
    confirm: Callable[[RestoreResult], bool] = lambda _: True,
) -> RestoreResult:
    """Restore what is asked for, or go on with it.

    `confirm` is asked before anything is sent, unless an earlier run has begun. ConfigError for what is not archived and for
    clashes in the target: then nothing was written. LockHeld if another run restores into the same cluster.
    """
    clock, limits = context.clock, context.settings.restore
    started = clock.monotonic()
    kafka = context.settings.named_clusters()[request.to_cluster]
    with Cluster.connect(kafka, clock, request_stats, Deadline.after(clock, limits.timeout_ms)) as cluster:
        cluster_id = cluster.cluster_id or request.to_cluster
        steps.connected(cluster_id)
        with context.warehouse.exclusively(f"restore-{cluster_id}", clock, limits.lock_wait_ms):
            run = _Restore(context, request, cluster, cluster_id, steps, confirm)
            run.run()
    run.result.seconds = clock.monotonic() - started
    return run.result


class _Restore:
    """One run, under the lock."""

    def __init__(
        self,
        context: RunContext,
        request: RestoreRequest,
        cluster: Cluster,
        cluster_id: str,
        steps: Steps,
        confirm: Callable[[RestoreResult], bool],
    ) -> None:
        self._request, self._cluster, self._steps, self._confirm = request, cluster, steps, confirm
        self._clock, self._limits, self._warehouse = context.clock, context.settings.restore, context.warehouse
        self._store = ProgressStore(
            warehouse=context.warehouse,
            clock=context.clock,
            target_cluster_id=cluster_id,
            request=request.identity(),
        )
        self.result = RestoreResult(cluster=request.to_cluster, cluster_id=cluster_id, is_dry_run=request.is_dry_run)
        self._files: dict[str, Sequence[DescribedFile]] = {}

    def run(self) -> None:
        """Plan or go on; write; check; commit offsets."""
        self._steps.step("plan", len(self._request.topics))
        last = None if self._request.is_new else self._store.last()
        finished = self._finished(last[0]) if last and last[1].is_finished else None
        if finished:
            self.result.notes += finished.not_restored(self.result.topics)
            self.result.finished_at = finished.finished_at
        if finished and not self._request.with_offsets:
            self.result.plan, self.result.receipts = finished.plan, finished.receipts
            return
        goes_on = last if finished or (last and not last[1].is_finished) else None
        if not finished:
            ids = {one.source.topic: one.source.topic_id for one in goes_on[0].partitions} if goes_on else {}
            self.result.topics = self._archived(
                {topic: name for topic, name in ids.items() if name},
                topics_of(goes_on[0]) if goes_on else self._topics(),
            )
        if goes_on:
            self.result.went_on = True
            self.result.plan, self.result.progress = goes_on
        elif not self._prepare():
            return
        if not self._request.is_dry_run and self.result.plan and self.result.progress:
            self._carry_out(self.result.plan, self.result.progress)

    def _finished(self, plan: RestorePlan) -> FinishedRestore | None:
        """The restore of this plan, which has finished; None if its records are not all in the target any more."""
        self.result.topics = self._archived({}, topics_of(plan))
        finished = FinishedRestore(plan=plan, receipts=self._store.receipts(plan.restore_id))
        if not finished.is_of(self.result.topics):
            return None
        return finished if finished.is_in(self._described(self._target_names())) else None

    def _target_names(self) -> Sequence[str]:
        return [self._request.target_of(topic.topic) for topic in self.result.topics]

    def _carry_out(self, plan: RestorePlan, progress: Progress) -> None:
        writing = Writing(
            warehouse=self._warehouse,
            cluster=self._cluster,
            clock=self._clock,
            limits=self._limits,
            plan=plan,
            files=self._files,
            store=self._store,
        )
        result, before = self.result, _written(progress)
        progress, result.failures = writing.write(progress, self._steps.step)
        result.progress, result.written = progress, _written(progress) - before
        if result.failures:
            return
        self._steps.step("check", _written(progress))
        maps = writing.maps()
        result.receipts = writing.check(progress, maps)
        self._store.add_receipts(result.receipts)
        if self._request.with_offsets:
            self._commit_offsets(plan, maps)
        if not progress.is_finished:
            result.progress = self._store.commit(replace(progress, is_finished=True), [])

    def _topics(self) -> Sequence[str]:
        """The topics that are asked for by name and by pattern."""
        request = self._request
        if request.pattern is None:
            return request.topics
        matched = matching_topics(self._warehouse, request.from_cluster, request.pattern)
        return list(dict.fromkeys([*request.topics, *matched]))

    def _archived(self, topic_ids: Mapping[str, str], topics: Sequence[str]) -> Sequence[ArchivedTopic]:
        """What is archived of the wanted topics and partitions."""
        request = self._request
        chosen, faults = list[ArchivedTopic](), list[str]()
        for topic in find_archived(self._warehouse, request.from_cluster, topics, topic_ids or request.topic_ids):
            wanted = request.partitions.get(topic.topic, tuple(topic.partitions))
            faults += [
                f"--partitions: nothing is archived of partition {number} of topic {topic.topic}"
                for number in wanted
                if number not in topic.partitions
            ]
            chosen.append(topic.only(wanted, request.condition))
            self._files[topic.topic] = files_of(self._warehouse, topic)
        if faults:
            raise ConfigError(faults)
        return chosen

    def _prepare(self) -> bool:
        """Find clashes, create what is missing, and store the plan; False after a dry run."""
        with opened(self._warehouse) as ask:
            snapshot_id = self._snapshot(ask)
            results = self._described(self._target_names())
            made = self._creations(ask, snapshot_id, results)
        targets = self._targets(results, made)
        pairs = [(topic, targets[topic.topic]) for topic in self.result.topics]
        full = {one.name: one.topic_id for one in targets.values() if one.full}
        earlier = earlier_restores(self._warehouse, self.result.cluster_id, full)
        said = verdict(self._request, pairs, self._clock.now_ms(), self._times(), earlier)
        if said.faults:
            raise ConfigError(said.faults)
        self.result.notes += [*made.notes, *said.notes]
        self.result.actions = made.actions
        self.result.targets = {topic.topic: targets[topic.topic].name for topic in self.result.topics}
        if self._request.is_dry_run:
            return False
        self.result.is_declined = not self._confirm(self.result)
        if self.result.is_declined:
            return False
        self._steps.step("topics", len(made.actions))
        # What comes into the target from here on is of others, also while topics are created or somebody is asked.
        ends = {
            PartitionKey(one.name, number): log.high_watermark
            for one in targets.values()
            for number, log in one.logs.items()
        }
        if self._alter(made.actions):
            targets = self._when_led(targets)
        plan = self._plan(targets, ends, snapshot_id)
        self.result.plan, self.result.progress = plan, self._store.begin(plan)
        return True

    def _snapshot(self, ask: Ask) -> str | None:
        request, cluster_id = self._request, self.result.topics[0].cluster_id
        snapshot_id = choose_snapshot(ask, cluster_id, request.at_ms)
        if snapshot_id is None and (request.with_configs or request.with_acls or request.with_offsets):
            when = "" if request.at_ms is None else " from before --at"
            raise ConfigError([f"--from-cluster: no snapshot of cluster {cluster_id} is published{when}"])
        return snapshot_id

    def _described(self, names: Sequence[str]) -> Mapping[str, TargetTopic | None]:
        results, failures = describe_target(self._cluster, names, self._deadline())
        if failures:
            raise TableError("; ".join(f"{failure.scope}: {failure.name}" for failure in failures))
        return results

    def _creations(self, ask: Ask, snapshot_id: str | None, results: Mapping[str, TargetTopic | None]) -> Alterations:
        """Actions for topics and ACLs that the target lacks."""
        request = self._request
        names = {topic.topic: request.target_of(topic.topic) for topic in self.result.topics}
        missing = [topic for topic in self.result.topics if results[names[topic.topic]] is None]
        made = creations(ask, snapshot_id, request, missing, len(self._cluster.brokers))
        if not request.with_acls or snapshot_id is None:
            return made
        acls = acl_creations(ask, snapshot_id, request, self._cluster, self._deadline())
        return Alterations(actions=[*made.actions, *acls.actions], notes=[*made.notes, *acls.notes])

    def _targets(self, results: Mapping[str, TargetTopic | None], made: Alterations) -> Mapping[str, TargetTopic]:
        """The target of each source topic, as it is or as it will be created."""
        defaults = {} if all(results.values()) else default_configs(self._cluster, self._deadline())
        shapes = {one.resource.name: one.after or {} for one in made.actions if one.kind == "create_topic"}
        targets: dict[str, TargetTopic] = {}
        for topic in self.result.topics:
            name = self._request.target_of(topic.topic)
            shape = shapes.get(name, {})
            targets[topic.topic] = results[name] or TargetTopic(
                name=name,
                topic_id=None,
                partitions=shape["partitions"],
                logs={},
                configs={**defaults, **shape.get("configs", {})},
                exists=False,
            )
        return targets

    def _times(self) -> Mapping[str, Times]:
        """Bounds of the times of each topic's records, by the log or else by reading them; a dry run reads all."""
        known = {} if self._request.is_dry_run else logged_times(self._files)
        access = s3_access(self._warehouse.kernel.storage, self._warehouse.locations[RECORDS.name])
        items = [
            SurveyItem(source, source_files(self._files[topic.topic], source, access))
            for topic in self.result.topics
            if topic.topic not in known
            for source in topic.partitions.values()
        ]
        self._steps.step("survey", len(items))
        tasks = packed(items, _offsets, parallelism(self._warehouse))
        results = run_tasks(self._warehouse, survey_partitions, memory_bytes(self._limits), tasks)
        surveyed = dict(zip((item.source.key for task in tasks for item in task), results, strict=True))
        if self._request.is_dry_run:
            self.result.to_write = sum(one.records for one in surveyed.values())
        return {**known, **times_by_topic(surveyed)}

    def _alter(self, actions: Sequence[Action]) -> bool:
        """Carry out actions and keep how they ended; whether there were any. TableError if one was not done."""
        if not actions:
            return False
        results = self._execute(actions)
        self.result.altered += results
        failed = [one for one in results if one.outcome is not Outcome.DONE]
        if failed:
            raise TableError("; ".join(f"{one.action.resource}: {one.message}" for one in failed))
        return True

    def _execute(self, actions: Sequence[Action]) -> Sequence[ActionResult]:
        plan = make_plan(self._request.to_cluster, self.result.cluster_id, actions)
        run = Run.new("restore", self._cluster.settings, self._clock.now_ms())
        with recording(self._warehouse, self.result.cluster_id, self._clock) as store:
            return execute(self._cluster, plan, (), run, store, self._deadline()).results

    def _when_led(self, targets: Mapping[str, TargetTopic]) -> Mapping[str, TargetTopic]:
        """The targets once all partitions have leaders, which takes a moment after they were created."""
        names, deadline = [one.name for one in targets.values()], self._deadline()
        while True:
            results, failures = describe_target(self._cluster, names, deadline)
            described = {source: results[one.name] for source, one in targets.items()}
            ready = {source: one for source, one in described.items() if one and len(one.logs) == one.partitions > 0}
            if len(ready) == len(targets):
                return ready
            if not deadline.pause(0.2):
                what = "; ".join(f"{failure.scope}: {failure.name}" for failure in failures)
                raise TableError(what or "topics that were created are not known to the brokers")

    def _plan(
        self, targets: Mapping[str, TargetTopic], ends: Mapping[PartitionKey, int], snapshot_id: str | None
    ) -> RestorePlan:
        partitions = [
            PlannedPartition(
                source=source,
                target=PartitionKey(target.name, number),
                target_topic_id=target.topic_id,
                base_offset=ends.get(PartitionKey(target.name, number), 0),
                keeps_time=target.keeps_time,
            )
            for topic in self.result.topics
            for number, source in topic.partitions.items()
            if (target := targets[topic.topic])
        ]
        producer = init_producer_id(self._cluster, self._deadline()).producer
        now_ms = self._clock.now_ms()
        return RestorePlan(
            restore_id=new_id(now_ms),
            request=self._request.identity(),
            source_cluster=self._request.from_cluster,
            source_cluster_id=self.result.topics[0].cluster_id,
            target_cluster=self._request.to_cluster,
            target_cluster_id=self.result.cluster_id,
            snapshot_id=snapshot_id,
            codec=CODECS[_codec(self._limits, self.result.topics)],
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            planned_at_ms=now_ms,
            partitions=partitions,
            is_transactional=self._request.is_transactional,
        )

    def _commit_offsets(self, plan: RestorePlan, maps: Mapping[PartitionKey, PartitionMap]) -> None:
        """Commit the groups' offsets of all partitions that were read back as they are archived.

        Whoever adds to topics that have records expects those of others among them.
        """
        if plan.snapshot_id is None:
            raise ConfigError(
                ["--with-offsets: this restore was begun when no snapshot was published: start it with --new"]
            )
        accepted = (None, OTHER_RECORDS) if self._request.into_existing else (None,)
        whole = {(row.target_topic, row.target_partition) for row in self.result.receipts if row.problem in accepted}
        partitions = {
            TopicPartition(one.source.topic, one.source.partition): RestoredPartition(
                topic_id=one.source.topic_id, target=TopicPartition(*one.target), offset_map=maps[one.target]
            )
            for one in plan.partitions
            if one.target in whole
        }
        with opened(self._warehouse) as ask:
            made = commits(ask, plan.snapshot_id, self._request, partitions, self._cluster, self._deadline())
        self._steps.step("offsets", len(made.actions))
        self.result.notes += made.notes
        self.result.offsets_left = len(made.notes)
        if made.actions:
            self.result.altered += self._execute(made.actions)

    def _deadline(self) -> Deadline:
        return Deadline.after(self._clock, self._limits.timeout_ms)


def _written(progress: Progress) -> int:
    return sum(one.written for one in progress.positions.values())


def _offsets(item: SurveyItem) -> int:
    return item.source.to_offset - item.source.from_offset


def _codec(limits: RestoreSettings, topics: Sequence[ArchivedTopic]) -> str:
    """The codec of the batches: as the settings say, or as the archived batches had it."""
    if limits.compression != "as-archived":
        return limits.compression
    names = {name for topic in topics for name in topic.codecs if name in CODECS}
    return names.pop() if len(names) == 1 else _SEVERAL_CODECS if names else "none"
