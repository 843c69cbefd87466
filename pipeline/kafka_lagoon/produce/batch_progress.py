"""Keeps how far a series of numbered batches is written, as committed offsets of a group, where transactions can hold it too.

The offset is the number of the next batch. Its metadata names the series, so that another one under the same group does not
take the first's batches for its own, and the transactions that belong to a batch whose commits may not all have been sent.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kafka_lagoon.admin.committed_offsets import committed_offsets
from kafka_lagoon.admin.group_offsets import Commit, GroupPartition, alter_offsets
from kafka_lagoon.client.cluster import Cluster, TopicPartition
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import BrokerError
from kafka_lagoon.produce.transactions import OffsetToCommit, Transaction

_PART_BYTES = 3_500  # of metadata; brokers take 4,096 by default (offset.metadata.max.bytes)
_KEYS = {"series", "open"}
_NO_CODE = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchProgress:
    """The last batch of a series that is written, or decided to be: then `open_transactions` may still have to be committed."""

    series: str
    number: int
    topic: str
    open_transactions: tuple[Transaction, ...] = ()

    def includes(self, series: str, number: int) -> bool:
        """Whether a batch is this one, or an earlier one of the series."""
        return series == self.series and number <= self.number

    def offsets(self) -> dict[TopicPartition, OffsetToCommit]:
        """What is to be committed for it, under any topic; the partitions need not exist."""
        parts = _parts([_spelled(one) for one in self.open_transactions])
        return {
            TopicPartition(self.topic, index): OffsetToCommit(
                committed_offset=self.number + 1,
                metadata=json.dumps({"series": self.series, "open": part}, separators=(",", ":")),
            )
            for index, part in enumerate(parts)
        }


def read_progress(cluster: Cluster, group_id: str, deadline: Deadline) -> list[BatchProgress]:
    """What a group has committed, of each series that it knows. Pending transactions must have ended."""
    fetched = committed_offsets(cluster, [group_id], deadline)
    for failure in fetched.failures:
        raise _error(failure)
    parts: dict[tuple[str, int, str], dict[int, dict[str, Any]]] = {}
    for topic in fetched.answers[group_id].topics:
        for partition in topic.partitions:
            if (content := _content(partition.metadata)) is not None:
                number = partition.committed_offset - 1
                key = content["series"], number, topic.name
                parts.setdefault(key, {})[partition.partition_index] = content
    last = {key[0]: key for key in sorted(parts)}
    return [_progress(*key, parts[key]) for key in last.values()]


def write_progress(cluster: Cluster, group_id: str, progress: BatchProgress, deadline: Deadline) -> None:
    """Commit it outside of a transaction, all of it or nothing."""
    commits = {
        GroupPartition(group_id, *partition): Commit(offset.committed_offset, metadata=offset.metadata or "")
        for partition, offset in progress.offsets().items()
    }
    for failure in alter_offsets(cluster, commits, deadline).failures.values():
        raise _error(failure)


def _progress(series: str, number: int, topic: str, parts: dict[int, dict[str, Any]]) -> BatchProgress:
    """Of parts that another series has overwritten since, nothing is left to be done."""
    spelled = [one for index in sorted(parts) for one in parts[index]["open"]]
    return BatchProgress(
        series=series,
        number=number,
        topic=topic,
        open_transactions=tuple(_transaction(one) for one in spelled) if 0 in parts else (),
    )


def _spelled(transaction: Transaction) -> list[object]:
    one = transaction
    return [one.transactional_id, one.producer_id, one.epoch, one.timeout_ms, int(one.is_implicit)]


def _transaction(spelled: Sequence[Any]) -> Transaction:
    name, producer_id, epoch, timeout_ms, is_implicit = spelled
    return Transaction(
        transactional_id=name,
        producer_id=producer_id,
        epoch=epoch,
        timeout_ms=timeout_ms,
        is_implicit=bool(is_implicit),
    )


def _parts(spelled: Sequence[object]) -> list[list[object]]:
    """The transactions in parts that fit into the metadata of one partition each; one part at least."""
    parts: list[list[object]] = [[]]
    size = 0
    for one in spelled:
        length = len(json.dumps(one, separators=(",", ":"))) + 1
        if size + length > _PART_BYTES and parts[-1]:
            parts.append([])
            size = 0
        parts[-1].append(one)
        size += length
    return parts


def _content(metadata: str | None) -> dict[str, Any] | None:
    """What we wrote; None for a commit of somebody else's."""
    try:
        content = json.loads(metadata or "")
    except ValueError:
        return None
    return content if isinstance(content, dict) and content.keys() == _KEYS else None


def _error(failure: Failure) -> BrokerError:
    code = _NO_CODE if failure.code is None else failure.code
    return BrokerError(code, failure.name, failure.api, str(failure.scope), failure.message)
