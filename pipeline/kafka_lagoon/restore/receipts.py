"""Compares what a restore was to write to a partition with what is read back from it, and makes receipts.

Only the offsets of the restore's own map are compared: a partition that had records before, or got others meanwhile, keeps
them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kafka_lagoon.client.cluster import Cluster, TopicPartition
from kafka_lagoon.clock import Deadline
from kafka_lagoon.compare.reading import Chunk, HashedReader, unread
from kafka_lagoon.fetch.log_bounds import ask_log_bounds
from kafka_lagoon.fetch.split import READ_COMMITTED, ReadOptions, Split
from kafka_lagoon.produce.restore_rows import RestoreReceiptRow
from kafka_lagoon.records.digests import ALL_FIELDS, Hashes, SequenceDigest
from kafka_lagoon.restore.offset_map import OffsetRange, PartitionMap

RECORDS_DIFFER, RECORDS_MISSING, RECORDS_DOUBLED = "RECORDS_DIFFER", "RECORDS_MISSING", "RECORDS_DOUBLED"
ORDER_DIFFERS = "ORDER_DIFFERS"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadBack:
    """What was read back of a partition: its digest, or why it could not be read."""

    digest: SequenceDigest | None
    problem: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """A partition that was restored: what was to be written, and where the target gave it offsets."""

    source_topic: str
    source_topic_id: str | None
    source_partition: int
    target_topic: str
    target_topic_id: str | None
    target_partition: int
    digest: SequenceDigest
    offset_map: PartitionMap


def read_back(
    cluster: Cluster,
    restored: Restored,
    options: ReadOptions,
    deadline: Deadline,
    fields: frozenset[str] = ALL_FIELDS,
) -> ReadBack:
    """Read the restored range of a partition from its leader, as readers of committed records see it.

    `cluster` must know the leader (`refresh`) and serves one reader at a time. Leave `timestamp_ms` out of `fields`, here
    and in the digest of what was to be written, where the target keeps the time of appending instead.
    """
    partition = TopicPartition(restored.target_topic, restored.target_partition)
    logs, failures = ask_log_bounds(cluster, [partition], READ_COMMITTED, deadline)
    if partition in failures:
        return ReadBack(digest=None, problem=failures[partition].name)
    log, ranges = logs[partition], restored.offset_map.ranges
    end = min(restored.offset_map.target_end, log.end)
    if not ranges or end <= ranges[0].target_offset:
        return ReadBack(digest=SequenceDigest(), problem=None)
    split = Split(
        topic=restored.target_topic,
        topic_id=restored.target_topic_id,
        partition=restored.target_partition,
        from_offset=ranges[0].target_offset,
        to_offset=end,
        stable_end=log.last_stable_offset,
    )
    reader, digest = HashedReader(cluster, split, options, fields), SequenceDigest()
    for chunk in reader.chunks():
        digest = digest.then(_within(chunk, ranges))
    problem = unread(reader.outcome)
    return ReadBack(digest=None if problem else digest, problem=problem)


def _within(chunk: Chunk, ranges: Sequence[OffsetRange]) -> Hashes:
    """The hashes of the records whose offsets the map has."""
    starts = np.array([one.target_offset for one in ranges], np.int64)
    ends = np.array([one.target_end for one in ranges], np.int64)
    index = np.searchsorted(starts, chunk.offsets, "right") - 1
    is_restored = (index >= 0) & (chunk.offsets < ends[index])
    return chunk.hashes if is_restored.all() else chunk.hashes[is_restored]


def receipt(
    restored: Restored,
    read: ReadBack,
    *,
    restore_id: str,
    source_cluster_id: str,
    target_cluster_id: str,
    checked_at_ms: int,
) -> RestoreReceiptRow:
    """The row that says whether the target has what was to be written."""
    ranges = restored.offset_map.ranges
    return RestoreReceiptRow(
        restore_id=restore_id,
        source_cluster_id=source_cluster_id,
        source_topic=restored.source_topic,
        source_topic_id=restored.source_topic_id,
        source_partition=restored.source_partition,
        target_cluster_id=target_cluster_id,
        target_topic=restored.target_topic,
        target_partition=restored.target_partition,
        target_from_offset=ranges[0].target_offset if ranges else restored.offset_map.target_start,
        target_to_offset=restored.offset_map.target_end,
        records=restored.digest.records,
        records_read_back=read.digest.records if read.digest else None,
        digest=str(restored.digest),
        digest_read_back=str(read.digest) if read.digest else None,
        problem=read.problem or (_difference(restored.digest, read.digest) if read.digest else None),
        checked_at_ms=checked_at_ms,
    )


def _difference(written: SequenceDigest, read: SequenceDigest) -> str | None:
    if written == read:
        return None
    if written.has_same_records(read):
        return ORDER_DIFFERS
    if written.records == read.records:
        return RECORDS_DIFFER
    return RECORDS_MISSING if read.records < written.records else RECORDS_DOUBLED
