"""Compares the records that a restore had to write to a partition with those that are read back, and makes receipts.

The offsets of the restore's own map are compared. All other records from the offset where the restore began to the last one
that it wrote were written by others meanwhile, and are counted.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.clock import Deadline
from kafka_lagoon.compare.reading import MOST_READS, Chunk, HashedReader, unread
from kafka_lagoon.fetch.ranges import LogBounds
from kafka_lagoon.fetch.split import ReadOptions, Split
from kafka_lagoon.frozen import frozen
from kafka_lagoon.records.digests import Hashes, SequenceDigest
from kafka_lagoon.restore.asked_together import AskedTogether
from kafka_lagoon.restore.offset_map import OffsetRange, PartitionMap
from kafka_lagoon.restore.plan import PlannedPartition
from kafka_lagoon.tables.write_rows import RestoreReceiptRow
from kafka_lagoon.topic_partition import TopicPartition

RECORDS_DIFFER, RECORDS_MISSING, RECORDS_DOUBLED = "RECORDS_DIFFER", "RECORDS_MISSING", "RECORDS_DOUBLED"
ORDER_DIFFERS, OTHER_RECORDS = "ORDER_DIFFERS", "OTHER_RECORDS"
OPEN_TRANSACTION = "OPEN_TRANSACTION"  # transactions of others: their records may be there, or be committed later
_Bounds = tuple[NDArray[np.int64], NDArray[np.int64]]  # offsets at which ranges begin, and end
_MARKERS_MS, _PAUSE_S = 10_000, 0.2
_MOST_RANGES = 20  # ranges of offsets in a receipt


@dataclass(slots=True)
class OtherRecords:
    """Records of others: their number, and the first ranges of their offsets."""

    records: int = 0
    ranges: list[tuple[int, int]] = field(default_factory=list)  # first and last offset
    further: int = 0  # ranges that are not kept

    def add(self, offsets: NDArray[np.int64]) -> None:
        """Add offsets in ascending order."""
        self.records += len(offsets)
        cuts = [0, *(np.flatnonzero(np.diff(offsets) != 1) + 1).tolist(), len(offsets)]
        for start, end in pairwise(cuts) if len(offsets) else ():
            first, last = int(offsets[start]), int(offsets[end - 1])
            if self.ranges and first == self.ranges[-1][1] + 1:
                self.ranges[-1] = (self.ranges[-1][0], last)
            elif len(self.ranges) < _MOST_RANGES:
                self.ranges.append((first, last))
            else:
                self.further += 1

    def __str__(self) -> str:
        """The ranges as in a receipt."""
        named = [str(first) if first == last else f"{first}-{last}" for first, last in self.ranges]
        return ", ".join(named) + (f" and {self.further} more ranges" if self.further else "")


@frozen
class ReadBack:
    """The digest of a partition that was read back, or why it could not be read; and records of others."""

    digest: SequenceDigest | None
    problem: str | None
    others: OtherRecords = field(default_factory=OtherRecords)


@frozen
class Restored:
    """A restored partition: the records that had to be written, and their offsets in the target."""

    planned: PlannedPartition
    digest: SequenceDigest
    offset_map: PartitionMap


def read_back(
    cluster: Cluster,
    restored: Restored,
    logs: AskedTogether[LogBounds],
    options: ReadOptions,
    deadline: Deadline,
) -> ReadBack:
    """Read a partition from where the restore began to its last record, as readers of committed records see it.

    `logs` knows the bounds of its log. `cluster` must know the leader (`refresh`) and serves one reader at a time.
    """
    partition, fields = restored.planned.target, restored.planned.digested
    log = _stable_log(logs, partition, restored.offset_map.target_end, deadline)
    if isinstance(log, str):
        return ReadBack(digest=None, problem=log)
    ranges = restored.offset_map.ranges
    end = min(restored.offset_map.target_end, log.end)
    if not ranges or end <= ranges[0].target_offset:
        return ReadBack(digest=SequenceDigest(), problem=None)
    # Records of others before our first may be deleted by now; of our own records none may be.
    bounds = _bounds(ranges)
    first = min(max(restored.offset_map.target_start, log.log_start_offset), ranges[0].target_offset)
    split = Split(
        topic=partition.topic,
        topic_id=restored.planned.target_topic_id,
        partition=partition.partition,
        from_offset=first,
        to_offset=end,
        stable_end=log.last_stable_offset,
    )
    for _ in range(MOST_READS):
        reader, digest, others = HashedReader(cluster, split, options, fields), SequenceDigest(), OtherRecords()
        for chunk in reader.chunks():
            digest = digest.then(_within(chunk, bounds, others))
        if reader.is_in_order:
            break
    problem = unread(reader.outcome)
    return ReadBack(digest=None if problem else digest, problem=problem, others=others)


def _stable_log(
    logs: AskedTogether[LogBounds], partition: TopicPartition, target_end: int, deadline: Deadline
) -> LogBounds | str:
    """The bounds of the log once no transaction holds back our records, or why they are unknown.

    The markers of our own last transaction may come a moment after its commit was answered.
    """
    waiting = deadline.within(_MARKERS_MS)
    while True:
        log = logs.of(partition, deadline)
        if isinstance(log, Failure):
            return log.name
        if not log.end < target_end <= log.high_watermark:
            return log
        if not waiting.pause(_PAUSE_S):
            return OPEN_TRANSACTION


def _bounds(ranges: Sequence[OffsetRange]) -> _Bounds:
    starts = np.array([one.target_offset for one in ranges], np.int64)
    ends = np.array([one.target_end for one in ranges], np.int64)
    return starts, ends


def _within(chunk: Chunk, bounds: _Bounds, others: OtherRecords) -> Hashes:
    """The hashes of the records whose offsets the map has; the offsets of all other records are added to `others`."""
    starts, ends = bounds
    index = np.searchsorted(starts, chunk.offsets, "right") - 1
    is_restored = (index >= 0) & (chunk.offsets < ends[index])
    if is_restored.all():
        return chunk.hashes
    others.add(chunk.offsets[~is_restored])
    return chunk.hashes[is_restored]


def receipt(
    restored: Restored,
    read: ReadBack,
    *,
    restore_id: str,
    source_cluster_id: str,
    target_cluster_id: str,
    checked_at_ms: int,
) -> RestoreReceiptRow:
    """The row that says whether the target has the records that had to be written."""
    ranges, source, target = restored.offset_map.ranges, restored.planned.source, restored.planned.target
    return RestoreReceiptRow(
        restore_id=restore_id,
        source_cluster_id=source_cluster_id,
        source_topic=source.topic,
        source_topic_id=source.topic_id,
        source_partition=source.partition,
        target_cluster_id=target_cluster_id,
        target_topic=target.topic,
        target_partition=target.partition,
        target_from_offset=ranges[0].target_offset if ranges else restored.offset_map.target_start,
        target_to_offset=restored.offset_map.target_end,
        records=restored.digest.records,
        records_read_back=read.digest.records if read.digest else None,
        digest=str(restored.digest),
        digest_read_back=str(read.digest) if read.digest else None,
        problem=read.problem or _difference(restored.digest, read),
        checked_at_ms=checked_at_ms,
        other_records=read.others.records if read.digest else None,
        other_offsets=str(read.others) or None,
    )


def _difference(written: SequenceDigest, read_back: ReadBack) -> str | None:
    read = read_back.digest
    if read is None or written == read:
        return OTHER_RECORDS if read_back.others.records else None
    if written.has_same_records(read):
        return ORDER_DIFFERS
    if written.records == read.records:
        return RECORDS_DIFFER
    return RECORDS_MISSING if read.records < written.records else RECORDS_DOUBLED
