"""Finds records that an earlier run of a restore wrote to a partition of the target, and whose commit it did not reach.

They have the producer id of the plan; others may write to the same partition.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafka_lagoon.admin.transactions import describe_producers
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import BrokerError, TargetChanged
from kafka_lagoon.fetch.ranges import LogBounds
from kafka_lagoon.fetch.reader import SplitReader
from kafka_lagoon.fetch.split import READ_COMMITTED, READ_UNCOMMITTED, ReadOptions, Split
from kafka_lagoon.frozen import frozen
from kafka_lagoon.protocol.messages.fetch import FETCH
from kafka_lagoon.topic_partition import TopicPartition


@frozen
class OwnRecords:
    """The offsets of the records of a restore in a range of its target.

    `compacted` counts offsets without a record, whoever wrote it. `others` counts records of other producers: those in
    transactions if the restore writes in transactions, else those without.
    """

    offsets: NDArray[np.int64]
    compacted: int = 0
    others: int = 0


def find_own_records(
    cluster: Cluster,
    partition: TopicPartition,
    topic_id: str | None,
    from_offset: int,
    log: LogBounds,
    producer_ids: Collection[int],
    options: ReadOptions,
    *,
    in_transactions: bool,
) -> OwnRecords:
    """The records, from `from_offset` to the end of the log, that a producer wrote, with or without transactions.

    TargetChanged if the log ends before `from_offset` or no longer has all that followed; BrokerError if it cannot be read.
    """
    end = log.last_stable_offset if in_transactions else log.high_watermark
    if log.high_watermark < from_offset:
        raise TargetChanged(*partition, f"ends at {log.high_watermark}, and records up to {from_offset} were restored")
    if end <= from_offset:
        return OwnRecords(offsets=np.empty(0, np.int64))
    split = Split(
        topic=partition.topic,
        topic_id=topic_id,
        partition=partition.partition,
        from_offset=from_offset,
        to_offset=end,
        stable_end=log.last_stable_offset,
    )
    isolation_level = READ_COMMITTED if in_transactions else READ_UNCOMMITTED
    reader = SplitReader(cluster, split, replace(options, isolation_level=isolation_level))
    results, others = [np.empty(0, np.int64)], 0
    for batch in reader.batches():
        ours, more = _offsets(batch, producer_ids, in_transactions=in_transactions)
        results.append(ours)
        others += more
    outcome = reader.outcome
    if outcome.failure:
        raise BrokerError(-1, outcome.failure, FETCH.name, f"{partition.topic}-{partition.partition}", outcome.detail)
    if outcome.counts.lost or outcome.counts.corrupt:
        raise TargetChanged(*partition, f"no longer has all records that were written since offset {from_offset}")
    # Sorted, because a batch that had to be read again comes later (fetch/reader.py).
    return OwnRecords(offsets=np.sort(np.concatenate(results)), compacted=outcome.counts.compacted, others=others)


def last_sequences(
    cluster: Cluster, partitions: Sequence[TopicPartition], producer_id: int, deadline: Deadline
) -> tuple[dict[TopicPartition, int | None], Mapping[TopicPartition, Failure]]:
    """The last sequence number that each leader has of a producer, None if it has none; and the failures of the others.

    It forgets a producer some time after its last record (producer.id.expiration.ms), and cannot be asked before Kafka 2.8.
    """
    described = describe_producers(cluster, partitions, deadline)
    return {
        partition: max(
            (one.last_sequence for one in answer.active_producers if one.producer_id == producer_id), default=None
        )
        for partition, answer in described.answers.items()
    }, described.failures


def _offsets(
    batch: pa.RecordBatch, producer_ids: Iterable[int], *, in_transactions: bool
) -> tuple[NDArray[np.int64], int]:
    """The offsets of the producers' records, and the number of records of other producers."""
    alike = batch.filter(pc.equal(batch.column("is_transactional"), in_transactions))
    is_ours = pc.is_in(alike.column("producer_id"), value_set=pa.array(sorted(producer_ids), pa.int64()))
    offsets: NDArray[np.int64] = alike.column("offset").filter(is_ours).to_numpy()
    return offsets, alike.num_rows - len(offsets)
