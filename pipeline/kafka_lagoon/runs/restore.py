"""Writes archived records back into a cluster: connect, lock, plan, create topics, write, read back, commit offsets of groups.

Every step may be cut off at any point. A run with the same request finds the plan and how far it is, and goes on.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from kafka_lagoon.apply.action import Action
from kafka_lagoon.apply.execution import execute, make_plan
from kafka_lagoon.apply.kinds.topics import create_topic
from kafka_lagoon.apply.outcomes import Outcome
from kafka_lagoon.apply.recording import Journal as ActionJournal
from kafka_lagoon.apply.recording import NoJournal, Run
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import Deadline
from kafka_lagoon.delta.files import DescribedFile
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.errors import ConfigError, TableError
from kafka_lagoon.fetch.split import ReadOptions
from kafka_lagoon.produce.restore_rows import RestoreMapRow, RestoreReceiptRow
from kafka_lagoon.produce.sequences import init_producer_id
from kafka_lagoon.records.compressing import CODECS
from kafka_lagoon.records.decoding import DecodeOptions
from kafka_lagoon.restore.archived import ArchivedTopic, files_of, find_archived, source_files
from kafka_lagoon.restore.execution import packed, run_tasks
from kafka_lagoon.restore.offset_map import OffsetRange, PartitionMap, joined
from kafka_lagoon.restore.plan import PartitionKey, PlannedPartition, RestorePlan
from kafka_lagoon.restore.progress import Journal, Progress
from kafka_lagoon.restore.read_back import CheckSettings, read_back_partitions
from kafka_lagoon.restore.receipts import Restored, receipt
from kafka_lagoon.restore.request import RestoreRequest
from kafka_lagoon.restore.survey import Survey, SurveyItem, Times, logged_times, survey_partitions, times_by_topic
from kafka_lagoon.restore.target import TargetTopic, default_configs, describe_target, verdict
from kafka_lagoon.restore.tasks import TaskSettings, Work, WorkResult, restore_partitions
from kafka_lagoon.runs.context import Progress as Steps
from kafka_lagoon.runs.context import RunContext
from kafka_lagoon.settings import RestoreSettings
from kafka_lagoon.uuid7 import new_id

STEPS = ("plan", "survey", "topics", "write", "check", "offsets")
_SEVERAL_CODECS = "zstd"


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreResult:
    """What a run did, or with a dry run would do. `plan` is None where it was not made.

    `to_write` counts the records of a dry run, None otherwise. `went_on` says whether an earlier run had begun it. `failures` are partitions that are not restored, with the reason.
    """

    cluster: str
    cluster_id: str
    plan: RestorePlan | None
    progress: Progress | None
    topics: Sequence[ArchivedTopic]
    created: Sequence[Action]
    notes: Sequence[str]
    receipts: Sequence[RestoreReceiptRow]
    failures: Mapping[PartitionKey, str]
    written: int
    to_write: int | None
    went_on: bool
    is_dry_run: bool
    seconds: float

    @property
    def is_complete(self) -> bool:
        """Whether everything is in the target, and was read back as it is in the archive."""
        return not self.failures and not any(row.problem for row in self.receipts)


def restore(context: RunContext, request: RestoreRequest, request_stats: RequestStats, steps: Steps) -> RestoreResult:
    """Restore what is asked for, or go on with it.

    ConfigError for what is not archived and for clashes in the target: then nothing was written. LockHeld if another run
    restores into the same cluster.
    """
    clock, limits = context.clock, context.settings.restore
    kafka = context.settings.named_clusters()[request.to_cluster]
    with Cluster.connect(kafka, clock, request_stats, Deadline.after(clock, limits.timeout_ms)) as cluster:
        cluster_id = cluster.cluster_id or request.to_cluster
        steps.connected(cluster_id)
        with context.warehouse.exclusively(f"restore-{cluster_id}", clock, limits.lock_wait_ms):
            return _Restore(context, request, cluster, cluster_id, steps).run()


class _Restore:
    """One run, under the lock."""

    def __init__(
        self, context: RunContext, request: RestoreRequest, cluster: Cluster, cluster_id: str, steps: Steps
    ) -> None:
        self._context, self._request, self._cluster, self._cluster_id = context, request, cluster, cluster_id
        self._steps, self._clock, self._limits = steps, context.clock, context.settings.restore
        self._warehouse: Warehouse = context.warehouse
        self._journal = Journal(
            warehouse=self._warehouse,
            clock=context.clock,
            target_cluster_id=cluster_id,
            request=request.identity(),
        )
        self._started = context.clock.monotonic()
        self._notes: list[str] = []
        self._created: Sequence[Action] = ()
        self._topics: Sequence[ArchivedTopic] = ()
        self._files: dict[str, Sequence[DescribedFile]] = {}
        self._surveyed: Mapping[tuple[str, int], Survey] = {}

    def run(self) -> RestoreResult:
        """Plan or go on, write, check."""
        self._steps.step("plan", len(self._request.topics))
        last = None if self._request.starts_anew else self._journal.last()
        unfinished = last if last and not last[1].is_finished else None
        ids = {one.source.topic: one.source.topic_id for one in unfinished[0].partitions} if unfinished else {}
        self._topics = self._archived({topic: name for topic, name in ids.items() if name} or self._request.topic_ids)
        if unfinished is None:
            targets = self._targets()
            if self._request.is_dry_run:
                return self._result(None, None, 0, went_on=False)
            targets = self._create(targets)
            plan = self._plan(targets)
            progress = self._journal.begin(plan)
        else:
            plan, progress = unfinished
            if self._request.is_dry_run:
                return self._result(plan, progress, 0, went_on=True)
        return self._finish(plan, progress, went_on=unfinished is not None)

    def _finish(self, plan: RestorePlan, progress: Progress, *, went_on: bool) -> RestoreResult:
        before = sum(one.written for one in progress.positions.values())
        progress, failures = self._write(plan, progress)
        written = sum(one.written for one in progress.positions.values()) - before
        if failures:
            return self._result(plan, progress, written, failures=failures, went_on=went_on)
        receipts = self._check(plan, progress)
        self._journal.add_receipts(receipts)
        progress = self._journal.commit(replace(progress, is_finished=True), [])
        return self._result(plan, progress, written, receipts=receipts, went_on=went_on)

    def _archived(self, topic_ids: Mapping[str, str]) -> Sequence[ArchivedTopic]:
        request = self._request
        found = find_archived(self._warehouse, request.from_cluster, request.topics, topic_ids)
        chosen = []
        faults = []
        for topic in found:
            wanted = request.partitions.get(topic.topic, tuple(topic.partitions))
            faults += [
                f"--partitions: nothing is archived of partition {number} of topic {topic.topic}"
                for number in wanted
                if number not in topic.partitions
            ]
            partitions = {
                number: replace(topic.partitions[number], condition=request.condition)
                for number in wanted
                if number in topic.partitions
            }
            chosen.append(replace(topic, partitions=partitions))
            self._files[topic.topic] = files_of(self._warehouse, topic)
        if faults:
            raise ConfigError(faults)
        return chosen

    def _targets(self) -> Mapping[str, TargetTopic]:
        """The target of each source topic, as it is or as it will be created; ConfigError for what clashes."""
        names = [self._request.target_of(topic.topic) for topic in self._topics]
        found, failures = describe_target(self._cluster, names, self._deadline())
        if failures:
            raise TableError("; ".join(f"{failure.scope}: {failure.name}" for failure in failures))
        defaults = {} if all(found.values()) else default_configs(self._cluster, self._deadline())
        targets = {
            topic.topic: found[name] or _to_create(topic, name, defaults)
            for topic, name in zip(self._topics, names, strict=True)
        }
        known = self._times()
        pairs = [(topic, targets[topic.topic]) for topic in self._topics]
        said = verdict(self._request, pairs, self._clock.now_ms(), known)
        self._notes += said.notes
        self._created = [
            create_topic(one.name, partitions=one.partitions, replication_factor=self._request.replication_factor)
            for one in targets.values()
            if not one.exists
        ]
        if said.faults:
            raise ConfigError(said.faults)
        return targets

    def _times(self) -> Mapping[str, Times]:
        """Bounds of the times of each topic's records, by the log or else by reading them; a dry run reads all."""
        known = {} if self._request.is_dry_run else logged_times(self._files)
        items = [
            SurveyItem(source, source_files(self._files[topic.topic], source))
            for topic in self._topics
            if topic.topic not in known
            for source in topic.partitions.values()
        ]
        self._steps.step("survey", len(items))
        tasks = packed(items, lambda item: item.source.to_offset - item.source.from_offset, self._parallelism())
        found = run_tasks(self._warehouse, survey_partitions, self._memory_bytes(), tasks)
        surveyed = ((item.source.topic, item.source.partition) for task in tasks for item in task)
        self._surveyed = dict(zip(surveyed, found, strict=True))
        return {**known, **times_by_topic(self._surveyed)}

    def _memory_bytes(self) -> int:
        return (self._limits.task_memory_mb << 20) // 4

    def _create(self, targets: Mapping[str, TargetTopic]) -> Mapping[str, TargetTopic]:
        """Create the topics that are missing; returns all targets as they are then."""
        self._steps.step("topics", len(self._created))
        if not self._created:
            return targets
        plan = make_plan(self._request.to_cluster, self._cluster_id, self._created)
        run = Run.new("restore", self._cluster.settings, self._clock.now_ms())
        done = execute(self._cluster, plan, (), run, self._action_journal(), self._deadline())
        failed = [result for result in done.results if result.outcome is not Outcome.DONE]
        if failed:
            raise TableError("; ".join(f"{one.action.resource}: {one.message}" for one in failed))
        return self._described_when_led(targets)

    def _described_when_led(self, targets: Mapping[str, TargetTopic]) -> Mapping[str, TargetTopic]:
        """The targets once all partitions have leaders, which takes a moment after they were created."""
        names = [one.name for one in targets.values()]
        deadline = self._deadline()
        while True:
            found, failures = describe_target(self._cluster, names, deadline)
            described = {source: found[one.name] for source, one in targets.items()}
            ready = {source: one for source, one in described.items() if one and len(one.logs) == one.partitions}
            if len(ready) == len(targets):
                return ready
            if not deadline.pause(0.2):
                raise TableError(
                    "; ".join(f"{failure.scope}: {failure.name}" for failure in failures) or "topics are not created"
                )

    def _action_journal(self) -> ActionJournal:
        return NoJournal()

    def _plan(self, targets: Mapping[str, TargetTopic]) -> RestorePlan:
        partitions = [
            PlannedPartition(
                source=source,
                target=PartitionKey(target.name, number),
                target_topic_id=target.topic_id,
                base_offset=target.logs[number].high_watermark,
                keeps_time=target.keeps_time,
            )
            for topic in self._topics
            for number, source in topic.partitions.items()
            if (target := targets[topic.topic])
        ]
        producer = init_producer_id(self._cluster, self._deadline()).producer
        now_ms = self._clock.now_ms()
        return RestorePlan(
            restore_id=new_id(now_ms),
            request=self._request.identity(),
            source_cluster=self._request.from_cluster,
            source_cluster_id=self._topics[0].cluster_id,
            target_cluster=self._request.to_cluster,
            target_cluster_id=self._cluster_id,
            codec=CODECS[_codec(self._limits, self._topics)],
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            planned_at_ms=now_ms,
            partitions=partitions,
            is_transactional=self._request.is_transactional,
        )

    def _write(self, plan: RestorePlan, progress: Progress) -> tuple[Progress, Mapping[PartitionKey, str]]:
        """Write in rounds, each of which is committed, until everything is written or nothing more can be."""
        failures: dict[PartitionKey, str] = {}
        weights = self._weights(plan)
        names = sorted({one.target.topic for one in plan.partitions})
        sizes = {
            name: topic.max_batch_bytes
            for name, topic in describe_target(self._cluster, names, self._deadline())[0].items()
            if topic
        }
        while left := [
            one for one in plan.partitions if not progress.positions[one.target].is_done and one.target not in failures
        ]:
            self._steps.step(
                "write", sum(one.source.to_offset - progress.positions[one.target].next_offset for one in left)
            )
            works = [
                Work(
                    planned=one,
                    position=progress.positions[one.target],
                    files=source_files(self._files[one.source.topic], one.source),
                    max_batch_bytes=sizes.get(one.target.topic, 1 << 20),
                )
                for one in left
            ]
            settings = TaskSettings(
                kafka=self._cluster.settings,
                clock=self._clock,
                plan=plan.settings(),
                reading=_reading(self._limits),
                memory_bytes=self._memory_bytes(),
                timeout_ms=self._limits.timeout_ms,
                ends_at_ms=self._clock.now_ms() + self._limits.commit_interval_ms,
            )
            tasks = packed(works, lambda work: weights[work.planned.target], self._parallelism())
            results = run_tasks(self._warehouse, restore_partitions, settings, tasks)
            positions = {**progress.positions, **{one.target: one.position for one in results}}
            rows = _map_rows(plan, results, self._clock.now_ms())
            progress = self._journal.commit(replace(progress, positions=positions), rows)
            failures |= {one.target: one.failure for one in results if one.failure}
        return progress, failures

    def _weights(self, plan: RestorePlan) -> Mapping[PartitionKey, int]:
        return {one.target: one.source.to_offset - one.source.from_offset for one in plan.partitions}

    def _parallelism(self) -> int:
        return int(self._warehouse.spark.sparkContext.defaultParallelism)

    def _check(self, plan: RestorePlan, progress: Progress) -> list[RestoreReceiptRow]:
        """Read back every partition and compare it with what was to be written."""
        self._steps.step("check", sum(one.written for one in progress.positions.values()))
        ranges = self._journal.ranges(plan.restore_id)
        restored = [
            Restored(
                source_topic=one.source.topic,
                source_topic_id=one.source.topic_id,
                source_partition=one.source.partition,
                target_topic=one.target.topic,
                target_topic_id=one.target_topic_id,
                target_partition=one.target.partition,
                digest=progress.positions[one.target].digest,
                offset_map=PartitionMap(
                    ranges=joined(ranges.get(one.target, ())),
                    source_end=one.source.to_offset,
                    target_start=one.base_offset,
                ),
            )
            for one in plan.partitions
        ]
        fields = {one.target: one.digested for one in plan.partitions}
        settings = CheckSettings(
            kafka=self._cluster.settings,
            clock=self._clock,
            reading=_reading(self._limits),
            timeout_ms=self._limits.timeout_ms,
            fields=fields,
        )
        tasks = packed(restored, lambda one: one.digest.records, self._parallelism())
        results = run_tasks(self._warehouse, read_back_partitions, settings, tasks)
        return [
            receipt(
                one,
                read,
                restore_id=plan.restore_id,
                source_cluster_id=plan.source_cluster_id,
                target_cluster_id=plan.target_cluster_id,
                checked_at_ms=self._clock.now_ms(),
            )
            for one, read in zip((one for task in tasks for one in task), results, strict=True)
        ]

    def _deadline(self) -> Deadline:
        return Deadline.after(self._clock, self._limits.timeout_ms)

    def _result(
        self,
        plan: RestorePlan | None,
        progress: Progress | None,
        written: int,
        *,
        receipts: Sequence[RestoreReceiptRow] = (),
        failures: Mapping[PartitionKey, str] | None = None,
        went_on: bool,
    ) -> RestoreResult:
        return RestoreResult(
            cluster=self._request.to_cluster,
            cluster_id=self._cluster_id,
            plan=plan,
            progress=progress,
            topics=self._topics,
            created=self._created,
            notes=self._notes,
            receipts=receipts,
            failures=failures or {},
            written=written,
            to_write=sum(one.records for one in self._surveyed.values()) if self._request.is_dry_run else None,
            went_on=went_on,
            is_dry_run=self._request.is_dry_run,
            seconds=self._clock.monotonic() - self._started,
        )


def _to_create(topic: ArchivedTopic, name: str, configs: Mapping[str, str]) -> TargetTopic:
    partitions = max(topic.partitions, default=0) + 1
    return TargetTopic(name=name, topic_id=None, partitions=partitions, logs={}, configs=configs, exists=False)


def _codec(limits: RestoreSettings, topics: Sequence[ArchivedTopic]) -> str:
    if limits.compression != "as-archived":
        return limits.compression
    names = {name for topic in topics for name in topic.codecs}
    return names.pop() if len(names) == 1 and names <= set(CODECS) else _SEVERAL_CODECS if names else "none"


def _reading(limits: RestoreSettings) -> ReadOptions:
    part = (limits.task_memory_mb << 20) // 16
    return ReadOptions(
        fetch_bytes=min(part, 8 << 20), stall_timeout_ms=limits.timeout_ms, decoding=DecodeOptions(expanded_bytes=part)
    )


def _map_rows(plan: RestorePlan, results: Sequence[WorkResult], now_ms: int) -> list[RestoreMapRow]:
    sources = {one.target: one for one in plan.partitions}
    return [_map_row(plan, sources[result.target], one, now_ms) for result in results for one in result.ranges]


def _map_row(plan: RestorePlan, planned: PlannedPartition, one: OffsetRange, now_ms: int) -> RestoreMapRow:
    return RestoreMapRow(
        restore_id=plan.restore_id,
        source_cluster=plan.source_cluster,
        source_cluster_id=plan.source_cluster_id,
        source_topic=planned.source.topic,
        source_topic_id=planned.source.topic_id,
        source_partition=planned.source.partition,
        source_offset=one.source_offset,
        target_cluster=plan.target_cluster,
        target_cluster_id=plan.target_cluster_id,
        target_topic=planned.target.topic,
        target_topic_id=planned.target_topic_id,
        target_partition=planned.target.partition,
        target_offset=one.target_offset,
        records=one.records,
        written_at_ms=now_ms,
    )
