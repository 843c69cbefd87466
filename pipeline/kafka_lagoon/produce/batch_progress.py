"""Keeps the progress of a series of numbered batches, as an offset that a group commits within a transaction.

The offset is the number of the next batch. Its metadata names the series, so that another series under the same group does not
take these batches for its own, and the transactions of a batch whose commits may not all have been sent. Where these are many,
the metadata of further groups have the rest.
"""

import json
import os.path
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from kafka_lagoon.admin.committed_offsets import committed_offsets
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure, Scope, failure_of
from kafka_lagoon.clock import Deadline, backoff
from kafka_lagoon.errors import BrokerError, ConfigError
from kafka_lagoon.frozen import frozen
from kafka_lagoon.produce.transactions import OffsetToCommit, Transaction, commit_offsets
from kafka_lagoon.protocol.error_codes import UNSTABLE_OFFSET_COMMIT
from kafka_lagoon.protocol.messages.offset_fetch import OFFSET_FETCH
from kafka_lagoon.topic_partition import TopicPartition

_IN_ONE_GROUP = 100  # transactions: some 25 bytes each, and brokers take 4,096 by default (offset.metadata.max.bytes)
_FORMAT = 2
_OF_FORMAT_1: dict[str, Any] = {"format": 1, "records": None}  # which had neither
_KEYS = {"format", "series", "records", "groups", "id", "timeout_ms", "implicit", "open"}
_MOST_GROUPS = 1_000  # that keep one batch: a hundred thousand transactions
_NO_CODE = -1


@frozen
class BatchProgress:
    """The last batch of a series that is written, or will be: then `open_transactions` may still have to be committed."""

    series: str
    number: int
    topic: str  # beside which the group keeps it
    records: int | None = None  # of the batch; None if an earlier release wrote it
    open_transactions: tuple[Transaction, ...] = ()

    def includes(self, series: str, number: int) -> bool:
        """True if a batch is this one, or an earlier one of the series."""
        return series == self.series and number <= self.number


def read_progress(cluster: Cluster, group_id: str, deadline: Deadline) -> list[BatchProgress]:
    """Commits of a group, of each series that it knows; waits until no transaction that commits more is pending.

    Ids of open transactions begin with the group's: a client that may only commit for the group could name those of others.
    ConfigError if a newer release wrote one of them.
    """
    known: dict[str, BatchProgress] = {}
    for progress, groups in _committed(cluster, group_id, group_id, deadline):
        rest = [
            transaction
            for number in range(1, groups)
            for part, _ in _committed(cluster, _further(group_id, number), group_id, deadline)
            if (part.series, part.number) == (progress.series, progress.number)
            for transaction in part.open_transactions
        ]
        if progress.series not in known or known[progress.series].number < progress.number:
            whole = (*progress.open_transactions, *rest)
            known[progress.series] = replace(progress, open_transactions=whole)
    return list(known.values())


def keep_progress(
    cluster: Cluster, transaction: Transaction, group_id: str, progress: BatchProgress, deadline: Deadline
) -> None:
    """Commit it with the transaction: both take effect, or neither if the producer was fenced.

    ConfigError if it has more transactions than `read_progress` accepts.
    """
    parts = _parts(progress)
    if len(parts) > _MOST_GROUPS:
        fault = f"{len(progress.open_transactions):,} tasks wrote records, at most {_IN_ONE_GROUP * _MOST_GROUPS:,} may"
        raise ConfigError([f"transactions=task: {fault}: coalesce the micro-batch to fewer"])
    for number, part in enumerate(parts):
        group = _further(group_id, number) if number else group_id
        offset = OffsetToCommit(committed_offset=progress.number + 1, metadata=_metadata(part, len(parts)))
        offsets = {TopicPartition(progress.topic, 0): offset}
        for failure in commit_offsets(cluster, transaction, group, offsets, deadline).values():
            raise _error(failure)


def _further(group_id: str, number: int) -> str:
    return f"{group_id}.part-{number}"


def _parts(progress: BatchProgress) -> list[BatchProgress]:
    """Split it into parts, each with as many transactions as a group keeps."""
    every = progress.open_transactions
    starts = range(0, max(1, len(every)), _IN_ONE_GROUP)
    return [replace(progress, open_transactions=every[start : start + _IN_ONE_GROUP]) for start in starts]


def _committed(cluster: Cluster, group_id: str, prefix: str, deadline: Deadline) -> list[tuple[BatchProgress, int]]:
    """Commits of a group, each with the number of groups that keep it; `prefix` begins the ids of their transactions."""
    pauses = backoff(cluster.settings.retry_backoff_ms, cluster.settings.retry_backoff_max_ms)
    while True:
        fetched = committed_offsets(cluster, [group_id], deadline)
        for failure in fetched.failures:
            raise _error(failure)
        if not fetched.replaced:
            break
        if not deadline.pause(next(pauses)):
            raise _error(failure_of(OFFSET_FETCH, Scope.group(group_id), UNSTABLE_OFFSET_COMMIT))
    return [
        (_progress(topic.name, partition.committed_offset - 1, content), content["groups"])
        for topic in fetched.answers[group_id].topics
        for partition in topic.partitions
        if (content := _content(partition.metadata)) is not None
        and all(f"{content['id']}{rest}".startswith(f"{prefix}.") for rest, *_ in content["open"])
    ]


def _metadata(progress: BatchProgress, groups: int) -> str:
    some = progress.open_transactions
    common = os.path.commonprefix([one.transactional_id for one in some])  # noqa: RUF071  of the ids, letter by letter
    content = {
        "format": _FORMAT,
        "series": progress.series,
        "records": progress.records,
        "groups": groups,
        "id": common,
        "timeout_ms": some[0].timeout_ms if some else 0,
        "implicit": some[0].is_implicit if some else False,
        "open": _spelled(some, len(common)),
    }
    return json.dumps(content, separators=(",", ":"))


def _spelled(transactions: Sequence[Transaction], common: int) -> list[tuple[str, int, int]]:
    return [(one.transactional_id[common:], one.producer_id, one.epoch) for one in transactions]


def _progress(topic: str, number: int, content: Mapping[str, Any]) -> BatchProgress:
    transactions = [
        Transaction(
            transactional_id=content["id"] + rest,
            producer_id=producer_id,
            epoch=epoch,
            timeout_ms=content["timeout_ms"],
            is_implicit=content["implicit"],
        )
        for rest, producer_id, epoch in content["open"]
    ]
    return BatchProgress(
        series=content["series"],
        number=number,
        topic=topic,
        records=content["records"],
        open_transactions=tuple(transactions),
    )


def _content(metadata: str | None) -> Mapping[str, Any] | None:
    """Our own content of a commit; None for a commit of another writer, whatever its metadata is.

    ConfigError for a newer format of ours.
    """
    try:
        content = json.loads(metadata or "")
    except (ValueError, RecursionError):
        return None
    match {**_OF_FORMAT_1, **content} if isinstance(content, dict) else {}:
        case {"format": int(newer), "series": str()} if newer > _FORMAT:
            raise ConfigError(
                [f"kafka.transactional.id: a newer Kafka Lagoon wrote under it (format {newer} of the sink's progress)"]
            )
        case {
            "format": 1 | 2,
            "series": str(),
            "records": int() | None,
            "groups": int(groups),
            "id": str(),
            "timeout_ms": int(),
            "implicit": bool(),
            "open": list(some),
        } as ours:
            is_ours = ours.keys() == _KEYS and 1 <= groups <= _MOST_GROUPS and all(map(_is_transaction, some))
            return ours if is_ours else None
        case _:
            return None


def _is_transaction(item: Any) -> bool:
    match item:
        case [str(), int(), int()]:
            return True
        case _:
            return False


def _error(failure: Failure) -> BrokerError:
    code = _NO_CODE if failure.code is None else failure.code
    return BrokerError(code, failure.name, failure.api, str(failure.scope), failure.message)
