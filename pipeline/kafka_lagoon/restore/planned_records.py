"""Checks, when an unfinished restore continues, that table `records` still has the records that are left to write.

Rows may have been deleted since the restore was planned, or replaced after a truncation of the log. If data files were replaced
since then, the rows of the old and of the new files are counted; otherwise nothing is read.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise

from kafka_lagoon.delta.executors import parallelism
from kafka_lagoon.delta.files import DescribedFile
from kafka_lagoon.delta.hadoop_s3 import s3_access
from kafka_lagoon.delta.kernel import State
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.errors import NeedsSession, TableError
from kafka_lagoon.fetch.range_history import TRUNCATED
from kafka_lagoon.restore.archive_reader import ArchivedPartition
from kafka_lagoon.restore.archived import ArchivedTopic, files_of, source_files
from kafka_lagoon.restore.execution import packed, run_tasks
from kafka_lagoon.restore.plan import RestorePlan
from kafka_lagoon.restore.progress import Progress
from kafka_lagoon.restore.survey import SurveyItem, survey_partitions
from kafka_lagoon.tables.record_tables import RECORDS

_NOT_IN_LOG = "the log of table records does not have version {} any more, which the restore was planned from"


def refuse_removed(
    warehouse: Warehouse,
    plan: RestorePlan,
    progress: Progress,
    topics: Sequence[ArchivedTopic],
    files: Mapping[str, Sequence[DescribedFile]],
    limit_bytes: int,
) -> list[str]:
    """TableError if rows that the restore still has to write were removed or replaced; a note if that is not known any more.

    `files` are the present data files of the topics. Plans of earlier releases have no version: removals are not known then.
    """
    left = [one for one in plan.partitions if not progress.positions[one.target].is_done]
    present = {one.key: one for topic in topics for one in topic.partitions.values()}
    for partition in left:
        source, first = partition.source, progress.positions[partition.target].next_offset
        if source.key in present and _are_replaced(source, present[source.key], first):
            raise TableError(
                f"the log of partition {source.partition} of topic {source.topic} was truncated since restore "
                f"{plan.restore_id} was planned, and other records were archived at offsets that it still has to write; start "
                "another restore with --new"
            )
    if plan.records_version is None or not left:
        return []
    planned = _version(warehouse, plan.records_version)
    if planned is None:
        return [f"{_NOT_IN_LOG.format(plan.records_version)}: rows that were removed since then are not restored"]
    before = files_of(warehouse, topics, planned)
    access = s3_access(warehouse.kernel.storage, warehouse.locations[RECORDS.name])
    old_items, new_items = list[SurveyItem](), list[SurveyItem]()
    for partition in left:
        source = replace(partition.source, from_offset=progress.positions[partition.target].next_offset)
        old, new = (SurveyItem(source, source_files(some[source.topic], source, access)) for some in (before, files))
        if {file.url for file in old.files} - {file.url for file in new.files}:
            old_items.append(old)
            new_items.append(new)
    had = _counted(warehouse, old_items, limit_bytes)
    has = _counted(warehouse, new_items, limit_bytes)
    if lacking := [key for key, records in had.items() if has[key] < records]:
        topic, number = lacking[0]
        others = f" and {len(lacking) - 1} more partitions" if len(lacking) > 1 else ""
        raise TableError(
            f"table records has {has[topic, number]:,} of the {had[topic, number]:,} records of partition {number} of "
            f"topic {topic}{others} that restore {plan.restore_id} still has to write: rows were removed since it was planned; "
            "start another restore with --new"
        )
    return []


def _are_replaced(planned: ArchivedPartition, present: ArchivedPartition, first: int) -> bool:
    """True if later runs have archived records at planned offsets from `first` on, after truncations of the log."""
    truncated = dict[str, tuple[int, int]]()  # the offsets of each run that were truncated since then
    for offsets in present.superseded:
        start, end = max(offsets.from_offset, first), min(offsets.to_offset, planned.to_offset)
        # Each truncation supersedes all ranges before it, also what the plan leaves out already.
        for left_out in planned.superseded:
            if left_out.ingest_id == offsets.ingest_id and left_out.from_offset <= start < left_out.to_offset:
                start = left_out.to_offset
            elif left_out.ingest_id == offsets.ingest_id and left_out.from_offset < end <= left_out.to_offset:
                end = left_out.from_offset
        if offsets.reason == TRUNCATED and start < end:
            low, high = truncated.get(offsets.ingest_id, (start, end))
            truncated[offsets.ingest_id] = min(low, start), max(high, end)
    in_order = sorted(truncated.values())
    # Of planned runs only one has records at an offset, so the other one is a later run.
    has_two = any(before[1] > after[0] for before, after in pairwise(in_order))
    return has_two or any(start < present.to_offset for start, _ in in_order[:1])


def _version(warehouse: Warehouse, version: int) -> State | None:
    """A version of table `records`, None if its log does not have it any more; TableError if the table was re-created."""
    if warehouse.state(RECORDS.name).version < version:
        raise TableError(
            f"table records does not have version {version}, which the restore was planned from: it was removed and created "
            "again; start another restore with --new"
        )
    with suppress(TableError):
        return warehouse.kernel.load(warehouse.locations[RECORDS.name], version)
    return None


def _counted(warehouse: Warehouse, items: Sequence[SurveyItem], limit_bytes: int) -> Mapping[tuple[str, int], int]:
    """The number of records of each partition; TableError if a data file is gone."""
    tasks = packed(items, lambda item: item.offsets, parallelism(warehouse))
    try:
        results = run_tasks(warehouse, survey_partitions, limit_bytes, tasks)
    except NeedsSession:
        raise
    except TableError as error:
        raise TableError(
            f"data files of table records were replaced since the restore was planned, and whether rows were removed cannot be "
            f"known: {error}; start another restore with --new"
        ) from error
    keys = [item.source.key for task in tasks for item in task]
    return {key: result.records for key, result in zip(keys, results, strict=True)}
