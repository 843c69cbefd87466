"""Prepares a restore: finds the archived topics, checks the target, creates topics and ACLs that it lacks, and plans.

Nothing is sent to the target before the caller has confirmed it, and nothing is stored before the plan is whole.
"""

from collections.abc import Mapping, Sequence
from functools import partial

from kafka_lagoon.apply.action import Action
from kafka_lagoon.apply.outcomes import ActionResult
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.delta.executors import parallelism, refuse_alone
from kafka_lagoon.delta.files import DescribedFile
from kafka_lagoon.delta.hadoop_s3 import s3_access
from kafka_lagoon.errors import ConfigError, TableError
from kafka_lagoon.frozen import frozen
from kafka_lagoon.job_settings import RestoreSettings
from kafka_lagoon.produce.sequences import init_producer_id
from kafka_lagoon.query.statements import Ask
from kafka_lagoon.records.compressing import CODECS
from kafka_lagoon.restore.archived import ArchivedTopic, files_of, find_archived, source_files
from kafka_lagoon.restore.execution import packed, run_tasks
from kafka_lagoon.restore.finished import earlier_restores
from kafka_lagoon.restore.pending_ingest import refuse_pending
from kafka_lagoon.restore.plan import PlannedPartition, RestorePlan
from kafka_lagoon.restore.saved_state import Alterations, acl_creations, creations, opened, unset_configs
from kafka_lagoon.restore.snapshot_choice import ChosenSnapshot, choose_snapshot
from kafka_lagoon.restore.survey import SurveyItem, Times, logged_times, survey_partitions, times_by_topic
from kafka_lagoon.restore.target import (
    TargetTopic,
    default_configs,
    describe_target,
    is_about_times,
    removed_configs,
    verdict,
)
from kafka_lagoon.restore.topic_names import matching_topics
from kafka_lagoon.restore.writing import memory_bytes
from kafka_lagoon.runs.restore_run import RestoreRun, Start
from kafka_lagoon.tables.record_tables import RECORDS
from kafka_lagoon.topic_partition import TopicPartition
from kafka_lagoon.uuid7 import new_id

_SEVERAL_CODECS = "zstd"
_POLL_S = 0.2


@frozen
class RestoreSource:
    """Archived topics, and the data files of each; `version` is a version of table `records` with all of their records."""

    topics: Sequence[ArchivedTopic]
    files: Mapping[str, Sequence[DescribedFile]]
    version: int | None = None

    @property
    def size(self) -> int:
        """Bytes of the chosen partitions as the brokers stored them; of a topic where that is unknown, those of its files."""
        return sum(
            sum(topic.sizes[number] for number in topic.partitions)
            if topic.partitions.keys() <= topic.sizes.keys()
            else sum(file.size for file in self.files[topic.topic])
            for topic in self.topics
        )

    def is_filtered(self, topic: ArchivedTopic) -> bool:
        """True if rows of the chosen partitions may be left out: by a condition, or as superseded or aborted."""
        has_aborted = any(
            file.greatest.get("is_aborted") is not False or file.nulls.get("is_aborted") != 0
            for file in self.files[topic.topic]
        )
        return has_aborted or any(one.condition or one.superseded for one in topic.partitions.values())

    def has_all_rows(self, topic: ArchivedTopic) -> bool:
        """True if the log and the ranges show that every row of a topic's files is restored."""
        rows = sum(file.rows or 0 for file in self.files[topic.topic])
        return not self.is_filtered(topic) and rows == topic.archived


@frozen
class Preparation:
    """Checks that have passed, and the actions that the target needs before records can be written.

    `records` is the number of records to write, None unless it is a dry run, which counts them.
    """

    source: RestoreSource
    targets: Mapping[str, TargetTopic]
    actions: Sequence[Action]
    notes: Sequence[str]
    snapshot_id: str | None
    records: int | None


def requested_topics(run: RestoreRun) -> Sequence[str]:
    """The topics that are requested by name and by pattern; ConfigError if several would get one name in the target."""
    request = run.request
    if request.pattern is None:
        return request.topics
    matched = matching_topics(run.warehouse, request.from_cluster, request.pattern)
    topics = list(dict.fromkeys([*request.topics, *matched]))
    if faults := request.same_targets(topics):
        raise ConfigError(faults)
    return topics


def find_source(
    run: RestoreRun, topics: Sequence[str], topic_ids: Mapping[str, str], cluster_id: str | None = None
) -> RestoreSource:
    """Find the archived records of topics; ConfigError if a requested partition is not archived.

    A run that continues gives the `cluster_id` of its plan: another cluster may have got the requested name since.
    NeedsSession if the warehouse has no Spark session, and the records are too many for this process alone. TableError if
    commits of the source cluster's last ingest are pending.
    """
    request, faults = run.request, list[str]()
    chosen = list[ArchivedTopic]()
    cluster = cluster_id or request.from_cluster
    check = partial(refuse_pending, run.warehouse, cluster)
    for topic in find_archived(run.warehouse, cluster, topics, topic_ids or request.topic_ids, check):
        partitions = request.partitions.get(topic.topic, tuple(topic.partitions))
        faults += [
            f"--partitions: nothing is archived of partition {number} of topic {topic.topic}"
            for number in partitions
            if number not in topic.partitions
        ]
        chosen.append(topic.only(partitions, request.condition))
    version = run.warehouse.state(RECORDS.name).version  # read after the ranges, so that it has their records
    files = files_of(run.warehouse, chosen)
    if faults:
        raise ConfigError(faults)
    source = RestoreSource(topics=chosen, files=files, version=version)
    refuse_alone(run.warehouse, source.size, run.limits.local_max_bytes)
    return source


def prepare(run: RestoreRun, source: RestoreSource) -> Preparation:
    """Compare the source with the target; ConfigError lists every clash."""
    described = run.described(source.topics)
    with opened(run.warehouse) as ask:
        names = [topic.topic for topic in source.topics]
        snapshot = choose_snapshot(ask, source.topics[0].cluster_id, run.request, names)
        made = _creations(run, ask, snapshot, source, described)
    defaults = {} if all(described.values()) else default_configs(run.cluster, run.deadline())
    unknown = [f"the configs of new topics are not known: {defaults.name}"] if isinstance(defaults, Failure) else []
    targets = _targets(run, source, described, made, {} if isinstance(defaults, Failure) else defaults)
    now_ms = run.clock.now_ms()
    times, records = _times(run, source, targets, now_ms)
    pairs = [(topic, targets[topic.topic]) for topic in source.topics]
    full = {target.name: target.topic_id for target in targets.values() if target.full}
    earlier = earlier_restores(run.warehouse, run.cluster_id, full)
    said = verdict(run.request, pairs, now_ms, times, earlier)
    if said.faults:
        raise ConfigError(said.faults)
    return Preparation(
        source=source,
        targets=targets,
        actions=made.actions,
        notes=[*(snapshot.notes if snapshot else ()), *made.notes, *unknown, *said.notes],
        snapshot_id=snapshot.snapshot_id if snapshot else None,
        records=records if run.request.is_dry_run else None,
    )


def create_targets(run: RestoreRun, prepared: Preparation, start: Start) -> tuple[RestorePlan, Sequence[ActionResult]]:
    """Create what the target lacks, and plan; TableError if an action was not carried out."""
    # Records that reach the target from here on are not ours, also while topics are created.
    ends = {
        TopicPartition(target.name, number): log.high_watermark
        for target in prepared.targets.values()
        for number, log in target.logs.items()
    }
    altered = run.execute_all(prepared.actions, start)
    targets = _when_led(run, prepared.targets) if altered else prepared.targets
    return _plan(run, prepared, targets, ends), altered


def _creations(
    run: RestoreRun,
    ask: Ask,
    snapshot: ChosenSnapshot | None,
    source: RestoreSource,
    described: Mapping[str, TargetTopic | None],
) -> Alterations:
    """Actions that create topics and ACLs which the target lacks."""
    request = run.request
    missing = [topic for topic in source.topics if described[request.target_of(topic.topic)] is None]
    removed = removed_configs(run.cluster, run.deadline()) if missing and request.with_configs else ()
    made = creations(ask, snapshot, request, missing, len(run.cluster.brokers), removed)
    more = added(run, ask, snapshot.snapshot_id, source, described) if snapshot else Alterations()
    return Alterations(actions=[*made.actions, *more.actions], notes=[*made.notes, *more.notes])


def added(
    run: RestoreRun, ask: Ask, snapshot_id: str, source: RestoreSource, described: Mapping[str, TargetTopic | None]
) -> Alterations:
    """Actions that create missing ACLs in the target, and notes about configs that existing topics do not get."""
    request, topics = run.request, [topic.topic for topic in source.topics]
    acls, notes = Alterations(), list[str]()
    if request.with_acls:
        acls = acl_creations(ask, snapshot_id, request, topics, run.cluster, run.deadline())
    if request.with_configs:
        notes = unset_configs(
            ask, snapshot_id, request, {topic: described[request.target_of(topic)] for topic in topics}
        )
    return Alterations(actions=acls.actions, notes=[*acls.notes, *notes])


def _targets(
    run: RestoreRun,
    source: RestoreSource,
    described: Mapping[str, TargetTopic | None],
    made: Alterations,
    defaults: Mapping[str, str],
) -> Mapping[str, TargetTopic]:
    """The target of each source topic, as it is or as it will be created."""
    shapes = {action.resource.name: action.after or {} for action in made.actions if action.kind == "create_topic"}
    targets: dict[str, TargetTopic] = {}
    for topic in source.topics:
        name = run.request.target_of(topic.topic)
        shape = shapes.get(name, {})
        targets[topic.topic] = described[name] or TargetTopic(
            name=name,
            topic_id=None,
            partitions=shape["partitions"],
            logs={},
            configs={**defaults, **shape.get("configs", {})},
            exists=False,
        )
    return targets


def _times(
    run: RestoreRun, source: RestoreSource, targets: Mapping[str, TargetTopic], now_ms: int
) -> tuple[Mapping[str, Times], int]:
    """Bounds of the times of each topic's records, and the number of records that were read for that.

    Bounds come from the files' statistics. Records are read if a topic has none, or if these bounds would make a fault and may
    be of records that are not restored. A dry run reads all records, because it counts them.
    """
    logged = {} if run.request.is_dry_run else logged_times(source.files)
    known = {
        topic.topic: times
        for topic in source.topics
        if (times := logged.get(topic.topic))
        and (source.has_all_rows(topic) or not is_about_times(targets[topic.topic], now_ms, times))
    }
    access = s3_access(run.warehouse.kernel.storage, run.warehouse.locations[RECORDS.name])
    items = [
        SurveyItem(partition, source_files(source.files[topic.topic], partition, access))
        for topic in source.topics
        if topic.topic not in known
        for partition in topic.partitions.values()
    ]
    run.steps.step("survey", len(items))
    tasks = packed(items, lambda item: item.offsets, parallelism(run.warehouse))
    results = run_tasks(run.warehouse, survey_partitions, memory_bytes(run.limits), tasks)
    surveyed = dict(zip((item.source.key for task in tasks for item in task), results, strict=True))
    return {**known, **times_by_topic(surveyed)}, sum(result.records for result in surveyed.values())


def _when_led(run: RestoreRun, targets: Mapping[str, TargetTopic]) -> Mapping[str, TargetTopic]:
    """The targets once all partitions have leaders, which takes a moment after they were created."""
    names, deadline = [target.name for target in targets.values()], run.deadline()
    while True:
        results, failures = describe_target(run.cluster, names, deadline)
        described = {source: results[target.name] for source, target in targets.items()}
        ready = {topic: one for topic, one in described.items() if one and len(one.logs) == one.partitions > 0}
        if len(ready) == len(targets):
            return ready
        if not deadline.pause(_POLL_S):
            what = "; ".join(f"{failure.scope}: {failure.name}" for failure in failures)
            raise TableError(what or "topics that were created are not known to the brokers")


def _plan(
    run: RestoreRun, prepared: Preparation, targets: Mapping[str, TargetTopic], ends: Mapping[TopicPartition, int]
) -> RestorePlan:
    topics = prepared.source.topics
    partitions = [
        PlannedPartition(
            source=source,
            target=TopicPartition(target.name, number),
            target_topic_id=target.topic_id,
            base_offset=ends.get(TopicPartition(target.name, number), 0),
            keeps_time=target.keeps_time,
        )
        for topic in topics
        for number, source in topic.partitions.items()
        if (target := targets[topic.topic])
    ]
    producer = init_producer_id(run.cluster, run.deadline()).producer
    now_ms = run.clock.now_ms()
    return RestorePlan(
        restore_id=new_id(now_ms),
        request=run.request.identity(),
        source_cluster=run.request.from_cluster,
        source_cluster_id=topics[0].cluster_id,
        target_cluster=run.request.to_cluster,
        target_cluster_id=run.cluster_id,
        snapshot_id=prepared.snapshot_id,
        codec=CODECS[_codec(run.limits, topics)],
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        planned_at_ms=now_ms,
        partitions=partitions,
        is_transactional=run.request.is_transactional,
        records_version=prepared.source.version,
    )


def _codec(limits: RestoreSettings, topics: Sequence[ArchivedTopic]) -> str:
    """The codec of the batches: as the settings say, or as the archived batches had it."""
    if limits.compression != "as-archived":
        return limits.compression
    names = {name for topic in topics for name in topic.codecs if name in CODECS}
    return names.pop() if len(names) == 1 else _SEVERAL_CODECS if names else "none"
