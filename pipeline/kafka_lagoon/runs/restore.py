"""Writes archived records back into a cluster: connect, lock, plan, create topics, write, read back, commit offsets of groups.

A run may die in any step. A later run with the same request finds the plan and its progress, and continues. If the restore has
finished and its records are still in the target, nothing is written again. It is then read back once more if a partition could
not be read back before, or if offsets of groups are to be committed, because groups that had members may have none now.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace

from kafka_lagoon.apply.action import Action
from kafka_lagoon.apply.outcomes import ActionResult, Outcome
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import LockHeld, PlanOutdated
from kafka_lagoon.frozen import frozen
from kafka_lagoon.restore.archived import NO_ID, ArchivedTopic
from kafka_lagoon.restore.finished import FinishedRestore, topics_of
from kafka_lagoon.restore.group_offsets import RestoredPartition
from kafka_lagoon.restore.offset_map import PartitionMap
from kafka_lagoon.restore.pending_ingest import commit_pending_of, refuse_pending
from kafka_lagoon.restore.plan import RestorePlan
from kafka_lagoon.restore.planned_records import refuse_removed
from kafka_lagoon.restore.progress import Progress, ProgressStore
from kafka_lagoon.restore.receipts import OTHER_RECORDS
from kafka_lagoon.restore.request import RestoreRequest
from kafka_lagoon.restore.saved_state import Alterations, commits, opened
from kafka_lagoon.restore.snapshot_choice import check_snapshot
from kafka_lagoon.restore.topic_names import matching_topics
from kafka_lagoon.restore.writing import Writing, memory_bytes
from kafka_lagoon.runs.context import Progress as Steps
from kafka_lagoon.runs.context import RunContext
from kafka_lagoon.runs.restore_preparation import (
    RestoreSource,
    added,
    create_targets,
    find_source,
    prepare,
    requested_topics,
)
from kafka_lagoon.runs.restore_run import NOT_PLANNED, RestoreRun
from kafka_lagoon.tables.write_rows import RestoreReceiptRow
from kafka_lagoon.topic_partition import TopicPartition

STEPS = ("plan", "survey", "topics", "write", "check", "offsets")


@frozen
class RestoreResult:
    """The result of a run, or the expected result of a dry run.

    `targets` are the names of the topics in the target. `plan` is None if no plan was made. `to_write` counts the records of a
    dry run. `actions` are those that a dry run would carry out, `altered` the results of those that were carried out.
    `failures` are partitions that are not restored, with the reason. `is_continued` is true if an earlier run began the
    restore, and `finished_at` is when an earlier run had finished it. `is_declined` is true if the user did not confirm.
    `offsets_left` counts commits of groups that have no action; notes name them.
    """

    cluster: str
    cluster_id: str
    is_dry_run: bool
    topics: Sequence[ArchivedTopic] = ()
    targets: Mapping[str, str] = field(default_factory=dict)
    plan: RestorePlan | None = None
    progress: Progress | None = None
    actions: Sequence[Action] = ()
    altered: Sequence[ActionResult] = ()
    notes: Sequence[str] = ()
    receipts: Sequence[RestoreReceiptRow] = ()
    failures: Mapping[TopicPartition, str] = field(default_factory=dict)
    written: int = 0
    to_write: int | None = None
    is_continued: bool = False
    finished_at: str | None = None
    is_declined: bool = False
    offsets_left: int = 0
    seconds: float = 0.0

    @property
    def not_done(self) -> Sequence[ActionResult]:
        """Results of actions that failed or may have failed. Other actions than commits of offsets end the run instead."""
        return [result for result in self.altered if result.outcome is not Outcome.DONE]

    @property
    def is_complete(self) -> bool:
        """True if everything is in the target, and was read back as it is in the archive."""
        return not (
            self.is_declined
            or self.failures
            or self.not_done
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
    """Restore archived topics, or continue a restore that an earlier run began.

    `confirm` is asked before anything is sent, unless an earlier run has begun. ConfigError for topics that are not archived
    and for clashes in the target: then nothing was written. LockHeld if another run restores into the same cluster.
    """
    clock, limits = context.clock, context.settings.restore
    started = clock.monotonic()
    kafka = context.settings.named_clusters()[request.to_cluster]
    with Cluster.connect(kafka, clock, request_stats, Deadline.after(clock, limits.timeout_ms)) as cluster:
        cluster.waits = True  # a broker that restarts from now on is waited for
        cluster_id = cluster.cluster_id or request.to_cluster
        steps.connected(cluster_id)

        def locked() -> RestoreResult:
            warehouse = context.warehouse
            store = ProgressStore(
                warehouse=warehouse, clock=clock, target_cluster_id=cluster_id, request=request.identity()
            )
            run = RestoreRun(
                request=request,
                cluster=cluster,
                cluster_id=cluster_id,
                warehouse=warehouse,
                clock=clock,
                limits=limits,
                store=store,
                steps=steps,
            )
            with warehouse.exclusively(f"restore-{cluster_id}", clock, limits.lock_wait_ms):
                return _begin_or_continue(run, confirm)

        result = context.with_or_without_session(locked)
    return replace(result, seconds=clock.monotonic() - started)


def _begin_or_continue(run: RestoreRun, confirm: Callable[[RestoreResult], bool]) -> RestoreResult:
    run.steps.step("plan", len(run.request.topics))
    if run.request.is_dry_run:  # writes nothing
        refuse_pending(run.warehouse, run.request.from_cluster)
    else:
        commit_pending_of(run.warehouse, run.request.from_cluster, run.clock)
    commits = run.store.commits()
    last = None if run.request.is_new else run.store.last()
    if last is None:
        return _begin(run, confirm, commits)
    plan, progress = last
    if progress.is_finished:
        return _after_finished(run, plan, progress, commits) or _begin(run, confirm, commits)
    run.steps.begun(plan.restore_id)
    topic_ids = {one.source.topic: one.source.topic_id or NO_ID for one in plan.partitions}
    source = find_source(run, topics_of(plan), topic_ids, plan.source_cluster_id)
    size = memory_bytes(run.limits)
    if not run.request.is_dry_run:
        run.store.refuse_unwritable()
    notes = refuse_removed(run.warehouse, plan, progress, source.topics, source.files, size)
    result = replace(_result(run, source), plan=plan, progress=progress, is_continued=True, notes=notes)
    return _carry_out(run, source, _with_later_options(run, source, plan, result, commits))


def _with_later_options(
    run: RestoreRun, source: RestoreSource, plan: RestorePlan, result: RestoreResult, commits: int
) -> RestoreResult:
    """Carry out options that the earlier run may not have had: create ACLs, and note the options that come too late.

    ConfigError if the snapshot of the plan is not the one that `--at` chooses, or lacks what the options need; TableError if
    an ACL was not created; LockHeld if another run has altered the target meanwhile.
    """
    request, notes, acls = run.request, list(_not_of_plan(run, plan)), Alterations()
    start = run.start(commits) if request.with_acls else NOT_PLANNED
    if request.at_ms is not None or request.with_acls or request.with_offsets or request.with_configs:
        described = run.described(source.topics) if request.with_configs else {}
        with opened(run.warehouse) as ask:
            names = [topic.topic for topic in source.topics]
            notes += check_snapshot(ask, plan.source_cluster_id, plan.snapshot_id, request, names)
            if plan.snapshot_id is not None:
                acls = added(run, ask, plan.snapshot_id, source, described)
    result = replace(result, notes=[*result.notes, *notes, *acls.notes], actions=acls.actions)
    return result if request.is_dry_run else replace(result, altered=run.execute_all(acls.actions, start))


def _not_of_plan(run: RestoreRun, plan: RestorePlan) -> Iterator[str]:
    """Notes about topics that match the pattern now, and did not when the restore began."""
    if run.request.pattern is None:
        return
    planned = {*topics_of(plan), *run.request.topics}
    for topic in matching_topics(run.warehouse, plan.source_cluster_id, run.request.pattern):
        if topic not in planned:
            yield (
                f"topic {topic} matches --pattern now, and is not part of restore {plan.restore_id}: --topics {topic} "
                "restores it"
            )


def _after_finished(run: RestoreRun, plan: RestorePlan, progress: Progress, commits: int) -> RestoreResult | None:
    """The result of a restore that has finished; None if its records are not all in the target any more."""
    source = find_source(run, topics_of(plan), {})
    receipts = run.store.receipts(plan.restore_id)
    finished = FinishedRestore(plan=plan, receipts=receipts, positions=progress.positions)
    if not (finished.is_of(source.topics) and finished.is_in(run.described(source.topics))):
        return None
    notes = list(finished.not_restored(source.topics))
    result = replace(_result(run, source), notes=notes, finished_at=finished.finished_at, plan=plan)
    result = _with_later_options(run, source, plan, result, commits)
    reads_again = finished.is_unread and not run.request.is_dry_run
    if not (run.request.with_offsets or reads_again):
        return replace(result, receipts=finished.receipts)
    return _carry_out(run, source, replace(result, progress=progress, is_continued=True))


def _begin(run: RestoreRun, confirm: Callable[[RestoreResult], bool], commits: int) -> RestoreResult:
    """Begin a restore, unless another run has begun it: `commits` counts those of restores with this request until now."""
    start = run.start(commits)
    with run.alone_since(start):
        source = find_source(run, requested_topics(run), {})
        prepared = prepare(run, source)
    result = replace(
        _result(run, source),
        notes=prepared.notes,
        actions=prepared.actions,
        targets={topic: target.name for topic, target in prepared.targets.items()},
        to_write=prepared.records,
    )
    whole = [topic for topic in source.topics if not source.is_filtered(topic)]
    if run.request.is_dry_run:
        is_whole = prepared.records is not None and len(whole) == len(source.topics)
        return _with_missing_rows(result, whole, prepared.records or 0) if is_whole else result
    run.store.refuse_unwritable()
    if not confirm(result):
        return replace(result, is_declined=True)
    run.steps.step("topics", len(prepared.actions))
    plan, altered = create_targets(run, prepared, start)
    progress = run.store.begin(plan, start.commits)
    run.steps.begun(plan.restore_id)
    result = _carry_out(run, source, replace(result, plan=plan, progress=progress, altered=altered))
    if result.progress is None or result.failures:
        return result
    written = Counter[str]()
    for planned in plan.partitions:
        written[planned.source.topic] += result.progress.positions[planned.target].written
    for topic in whole:
        result = _with_missing_rows(result, [topic], written[topic.topic])
    return result


def _with_missing_rows(result: RestoreResult, topics: Sequence[ArchivedTopic], records: int) -> RestoreResult:
    """The result with a note if table `records` has fewer records of these topics than their ranges."""
    archived = sum(topic.archived for topic in topics)
    if records >= archived:
        return result
    names = ", ".join(topic.topic for topic in topics)
    note = f"{names}: table records has {records:,} of the {archived:,} records that were archived: rows were removed"
    return replace(result, notes=[*result.notes, note])


def _carry_out(run: RestoreRun, source: RestoreSource, result: RestoreResult) -> RestoreResult:
    """Write the records that are left, read them back and commit offsets of groups; a dry run does none of it."""
    plan, progress = result.plan, result.progress
    if run.request.is_dry_run or plan is None or progress is None:
        return result
    writing = Writing(
        warehouse=run.warehouse,
        cluster=run.cluster,
        clock=run.clock,
        limits=run.limits,
        plan=plan,
        files=source.files,
        store=run.store,
    )
    before = _written(progress)
    progress, failures = writing.write(progress, run.steps.step)
    result = replace(result, progress=progress, failures=failures, written=_written(progress) - before)
    if failures:
        return result
    run.steps.step("check", _written(progress))
    maps, failures = writing.maps()
    receipts = writing.check(progress, maps)
    run.store.add_receipts(receipts)
    result = replace(result, receipts=receipts, failures=failures)
    if run.request.with_offsets:
        result = _with_offsets(run, result, _offset_commits(run, plan, receipts, maps))
    if progress.is_finished or failures:
        return result
    return replace(result, progress=run.store.commit(replace(progress, is_finished=True), []))


def _with_offsets(run: RestoreRun, result: RestoreResult, made: Alterations) -> RestoreResult:
    """Commit offsets of groups. The records are written: what another run has altered meanwhile only leaves offsets out."""
    run.steps.step("offsets", len(made.actions))
    altered, notes = list(result.altered), list(made.notes)
    left = len(made.notes)
    try:
        altered += run.execute(made.actions)
    except (LockHeld, PlanOutdated) as error:
        reason = "; ".join(error.changes) if isinstance(error, PlanOutdated) else error.holder
        notes.append(f"offsets of groups were not committed, because another run alters the cluster: {reason}")
        left += len(made.actions)
    return replace(result, notes=[*result.notes, *notes], offsets_left=left, altered=altered)


def _offset_commits(
    run: RestoreRun,
    plan: RestorePlan,
    receipts: Sequence[RestoreReceiptRow],
    maps: Mapping[TopicPartition, PartitionMap],
) -> Alterations:
    """Actions that commit the groups' offsets of all partitions that were read back as they are archived.

    Partitions that had records before the restore are read back with those, which is no fault there.
    """
    accepted = (None, OTHER_RECORDS) if run.request.into_existing else (None,)
    whole = {(row.target_topic, row.target_partition) for row in receipts if row.problem in accepted}
    partitions = {
        TopicPartition(planned.source.topic, planned.source.partition): RestoredPartition(
            topic_id=planned.source.topic_id, target=planned.target, offset_map=maps[planned.target]
        )
        for planned in plan.partitions
        if planned.target in whole
    }
    if plan.snapshot_id is None:  # refused before
        return Alterations()
    with opened(run.warehouse) as ask:
        return commits(ask, plan.snapshot_id, run.request, topics_of(plan), partitions, run.cluster, run.deadline())


def _result(run: RestoreRun, source: RestoreSource) -> RestoreResult:
    return RestoreResult(
        cluster=run.request.to_cluster,
        cluster_id=run.cluster_id,
        is_dry_run=run.request.is_dry_run,
        topics=source.topics,
    )


def _written(progress: Progress) -> int:
    return sum(position.written for position in progress.positions.values())
