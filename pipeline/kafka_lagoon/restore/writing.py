"""Writes the records of a plan in rounds, each committed with the positions after it, and reads everything back at the end."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.clock import Clock
from kafka_lagoon.delta.executors import parallelism
from kafka_lagoon.delta.files import DescribedFile
from kafka_lagoon.delta.hadoop_s3 import s3_access
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.fetch.split import ReadOptions
from kafka_lagoon.frozen import frozen
from kafka_lagoon.job_settings import RestoreSettings
from kafka_lagoon.records.decoding import DecodeOptions
from kafka_lagoon.restore.archived import source_files
from kafka_lagoon.restore.execution import packed, run_tasks
from kafka_lagoon.restore.offset_map import OffsetRange, PartitionMap, joined
from kafka_lagoon.restore.plan import PlannedPartition, RestorePlan
from kafka_lagoon.restore.progress import Progress, ProgressStore
from kafka_lagoon.restore.read_back import CheckSettings, read_back_partitions
from kafka_lagoon.restore.receipts import Restored, receipt
from kafka_lagoon.restore.tasks import TaskSettings, Work, WorkResult, restore_partitions
from kafka_lagoon.tables.record_tables import RECORDS
from kafka_lagoon.tables.write_rows import RestoreMapRow, RestoreReceiptRow
from kafka_lagoon.topic_partition import TopicPartition

Files = Mapping[str, Sequence[DescribedFile]]  # by source topic
Failures = Mapping[TopicPartition, str]


@frozen
class Writing:
    """Writes and checks the records of a plan."""

    warehouse: Warehouse
    cluster: Cluster
    clock: Clock
    limits: RestoreSettings
    plan: RestorePlan
    files: Files
    store: ProgressStore

    def write(self, progress: Progress, step: Callable[[str, int], None]) -> tuple[Progress, Failures]:
        """Write all records in rounds; returns the progress, and the partitions that failed, with reasons.

        If no task made progress in a round, the next round is twice as long: tasks may have waited for executors, or the clocks
        of executors may be ahead.
        """
        failures: dict[TopicPartition, str] = {}
        round_ms = self.limits.commit_interval_ms
        while left := [one for one in self._unfinished(progress) if one.target not in failures]:
            step("write", sum(one.source.to_offset - progress.positions[one.target].next_offset for one in left))
            access = s3_access(self.warehouse.kernel.storage, self.warehouse.locations[RECORDS.name])
            works = [
                Work(
                    planned=one,
                    position=progress.positions[one.target],
                    files=source_files(self.files[one.source.topic], one.source, access),
                )
                for one in left
            ]
            tasks = packed(works, _offsets_left, parallelism(self.warehouse))
            results = run_tasks(self.warehouse, restore_partitions, self._task_settings(round_ms), tasks)
            if not any(one.failure or one.position != progress.positions[one.target] for one in results):
                round_ms *= 2
            positions = {**progress.positions, **{one.target: one.position for one in results}}
            rows = map_rows(self.plan, results, self.clock.now_ms())
            progress = self.store.commit(replace(progress, positions=positions), rows)
            failures |= {one.target: one.failure for one in results if one.failure}
        return progress, failures

    def _unfinished(self, progress: Progress) -> list[PlannedPartition]:
        return [one for one in self.plan.partitions if not progress.positions[one.target].is_done]

    def _task_settings(self, round_ms: int) -> TaskSettings:
        return TaskSettings(
            kafka=self.cluster.settings,
            clock=self.clock,
            plan=self.plan.settings(),
            reading=reading(self.limits),
            memory_bytes=memory_bytes(self.limits),
            timeout_ms=self.limits.timeout_ms,
            ends_at_ms=self.clock.now_ms() + round_ms,
        )

    def maps(self) -> tuple[Mapping[TopicPartition, PartitionMap], Failures]:
        """The map of each partition, from the committed rows of all runs; a failure for partitions whose rows contradict."""
        committed = self.store.ranges(self.plan.restore_id)
        maps, failures = dict[TopicPartition, PartitionMap](), dict[TopicPartition, str]()
        for planned in self.plan.partitions:
            try:
                ranges = joined(committed.get(planned.target, ()))
            except ValueError as error:
                failures[planned.target] = (
                    f"table restore_map is wrong about it ({error}): start another restore with --new"
                )
                continue
            maps[planned.target] = PartitionMap(
                ranges=ranges, source_end=planned.source.to_offset, target_start=planned.base_offset
            )
        return maps, failures

    def check(self, progress: Progress, maps: Mapping[TopicPartition, PartitionMap]) -> list[RestoreReceiptRow]:
        """Read back every partition that has a map, and compare it with the records that had to be written."""
        restored = [
            Restored(planned=one, digest=progress.positions[one.target].digest, offset_map=maps[one.target])
            for one in self.plan.partitions
            if one.target in maps
        ]
        settings = CheckSettings(
            kafka=self.cluster.settings,
            clock=self.clock,
            reading=reading(self.limits),
            timeout_ms=self.limits.timeout_ms,
        )
        tasks = packed(restored, lambda item: item.digest.records, parallelism(self.warehouse))
        results = run_tasks(self.warehouse, read_back_partitions, settings, tasks)
        return [
            receipt(
                one,
                read,
                restore_id=self.plan.restore_id,
                source_cluster_id=self.plan.source_cluster_id,
                target_cluster_id=self.plan.target_cluster_id,
                checked_at_ms=self.clock.now_ms(),
            )
            for one, read in zip((one for task in tasks for one in task), results, strict=True)
        ]


def memory_bytes(limits: RestoreSettings) -> int:
    """Memory in bytes that a task may use for archived records."""
    return (limits.task_memory_mb << 20) // 4


def reading(limits: RestoreSettings) -> ReadOptions:
    """Options for reading the target."""
    part = (limits.task_memory_mb << 20) // 16
    return ReadOptions(
        fetch_bytes=min(part, 8 << 20), stall_timeout_ms=limits.timeout_ms, decoding=DecodeOptions(expanded_bytes=part)
    )


def _offsets_left(work: Work) -> int:
    return work.planned.source.to_offset - work.position.next_offset


def map_rows(plan: RestorePlan, results: Sequence[WorkResult], now_ms: int) -> list[RestoreMapRow]:
    """The rows of restore_map for the records that tasks have written."""
    planned = {one.target: one for one in plan.partitions}
    return [_map_row(plan, planned[result.target], one, now_ms) for result in results for one in result.ranges]


def _map_row(plan: RestorePlan, planned: PlannedPartition, offsets: OffsetRange, now_ms: int) -> RestoreMapRow:
    return RestoreMapRow(
        restore_id=plan.restore_id,
        source_cluster=plan.source_cluster,
        source_cluster_id=plan.source_cluster_id,
        source_topic=planned.source.topic,
        source_topic_id=planned.source.topic_id,
        source_partition=planned.source.partition,
        source_offset=offsets.source_offset,
        target_cluster=plan.target_cluster,
        target_cluster_id=plan.target_cluster_id,
        target_topic=planned.target.topic,
        target_topic_id=planned.target_topic_id,
        target_partition=planned.target.partition,
        target_offset=offsets.target_offset,
        records=offsets.records,
        written_at_ms=now_ms,
    )
