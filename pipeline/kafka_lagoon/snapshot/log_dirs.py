"""Makes rows of log directories and of the replicas in them."""

from array import array
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import repeat
from typing import Any

from kafka_lagoon.admin.log_dirs import describe_log_dirs
from kafka_lagoon.admin.permissions import Permission
from kafka_lagoon.protocol.acls import CLUSTER, DESCRIBE
from kafka_lagoon.protocol.error_codes import error_code
from kafka_lagoon.protocol.messages.describe_log_dirs import (
    DESCRIBE_LOG_DIRS,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from kafka_lagoon.snapshot.chosen_names import Names
from kafka_lagoon.snapshot.collection import Collected, Collection, Collector, Phase
from kafka_lagoon.tables import state_tables
from kafka_lagoon.tables.cluster_rows import StoredReplicaRow
from kafka_lagoon.tables.row_classes import ALWAYS, Int32, Int64, before, column, known, row
from kafka_lagoon.tables.row_columns import Chosen, Column, Columns, Joined, Runs, Stored, choose
from kafka_lagoon.wire.columns import by_column

_WITH_CORDONS = 5  # version of DescribeLogDirs
_NO_PARTITION = -1  # value of offset_lag: Kafka's INVALID_OFFSET_LAG, for example for the files of a deleted topic


@row
class LogDirRow:
    """Log directories, one row per broker and directory."""

    broker_id: Int32 = column("node.id of the broker.")
    log_dir: str = column("Path of the directory on the broker.")
    total_bytes: Int64 | None = column(
        "Size of its volume; null if the broker does not return it (KIP-827).", null_if=before("DescribeLogDirs", 4)
    )
    usable_bytes: Int64 | None = column(
        "Free bytes of its volume; null if the broker does not return them.", null_if=before("DescribeLogDirs", 4)
    )
    replicas: Int32 | None = column("Replicas in it; null if problem is set.")
    size_bytes: Int64 | None = column("Bytes of these replicas; null if problem is set.")
    is_cordoned: bool | None = column("Whether it takes no new replicas (KIP-1066); null if problem is set.")
    problem: str | None = column("Kafka's name of the directory's error; null if there is none.")


@row
class ReplicaRow:
    """Replicas on disk, one row per broker, directory and partition."""

    broker_id: Int32 = column("node.id of the broker.")
    log_dir: str = column("Path of the directory on the broker.")
    topic: str = column("Name of the topic.")
    partition: Int32 = column("Partition number.")
    size_bytes: Int64 = column("Bytes of this replica on disk.")
    offset_lag: Int64 | None = column(
        "Offsets from its end to the high watermark, or to the end of the replica that it will replace; null if the broker "
        "has its files, and no such partition.",
        null_if=ALWAYS,
    )
    is_future: bool = column("Whether it will replace the replica in another directory of the broker.")


def log_dir_rows(answers: Mapping[int, DescribeLogDirsResponse]) -> Iterator[LogDirRow]:
    """One row per log directory, ordered by broker and path; `answers` are by broker."""
    for broker_id, log_dir in _log_dirs(answers):
        yield _log_dir_row(broker_id, log_dir)


def _log_dir_row(broker_id: int, log_dir: DescribeLogDirsResult) -> LogDirRow:
    sizes = [replica.partition_size for topic in log_dir.topics for replica in topic.partitions]
    return LogDirRow(
        broker_id=broker_id,
        log_dir=log_dir.log_dir,
        total_bytes=known(log_dir.total_bytes),
        usable_bytes=known(log_dir.usable_bytes),
        replicas=None if log_dir.error_code else len(sizes),
        size_bytes=None if log_dir.error_code else sum(sizes),
        is_cordoned=None if log_dir.error_code else log_dir.is_cordoned,
        problem=error_code(log_dir.error_code).name if log_dir.error_code else None,
    )


def replica_rows(answers: Mapping[int, DescribeLogDirsResponse]) -> Iterator[ReplicaRow]:
    """One row per replica, ordered by broker, directory, topic and partition; `answers` are by broker."""
    for broker_id, log_dir in _log_dirs(answers):
        for topic in sorted(log_dir.topics, key=lambda some: some.name):
            for replica in sorted(topic.partitions, key=lambda some: some.partition_index):
                yield ReplicaRow(
                    broker_id=broker_id,
                    log_dir=log_dir.log_dir,
                    topic=topic.name,
                    partition=replica.partition_index,
                    size_bytes=replica.partition_size,
                    offset_lag=_lag(replica.offset_lag, is_future=replica.is_future_key),
                    is_future=replica.is_future_key,
                )


def _log_dirs(answers: Mapping[int, DescribeLogDirsResponse]) -> Iterator[tuple[int, DescribeLogDirsResult]]:
    for broker_id, response in sorted(answers.items()):
        for log_dir in sorted(response.results, key=lambda result: result.log_dir):
            yield broker_id, log_dir


def stored_replica_rows(
    answers: Mapping[int, DescribeLogDirsResponse], topic_ids: Mapping[str, str | None], cordons: Container[int]
) -> Columns[StoredReplicaRow]:
    """One row per replica, then one per directory without replicas, by broker and directory.

    Replicas keep the brokers' order. `answers` are by broker; `cordons` are the brokers whose answers say whether a directory
    is cordoned.
    """
    replicas, without = _Replicas(topic_ids), []
    for broker_id, log_dir in _log_dirs(answers):
        if any(topic.partitions for topic in log_dir.topics):
            replicas.add(broker_id, log_dir, is_cordoned=_cordoned(broker_id, log_dir, cordons))
        else:
            without.append(_without_replicas(broker_id, log_dir, is_cordoned=_cordoned(broker_id, log_dir, cordons)))
    return Joined(StoredReplicaRow, replicas.rows(), without)


def _cordoned(broker_id: int, log_dir: DescribeLogDirsResult, cordons: Container[int]) -> bool | None:
    return log_dir.is_cordoned if broker_id in cordons and not log_dir.error_code else None


def _without_replicas(broker_id: int, log_dir: DescribeLogDirsResult, *, is_cordoned: bool | None) -> StoredReplicaRow:
    return StoredReplicaRow(
        broker_id=broker_id,
        log_dir=log_dir.log_dir,
        topic=None,
        topic_id=None,
        partition=None,
        size_bytes=None,
        offset_lag=None,
        is_future=None,
        total_bytes=known(log_dir.total_bytes),
        usable_bytes=known(log_dir.usable_bytes),
        is_cordoned=is_cordoned,
        problem=error_code(log_dir.error_code).name if log_dir.error_code else None,
    )


class _Replicas:
    """Collects replicas by column: a cluster of 100,000 partitions has 300,000."""

    def __init__(self, topic_ids: Mapping[str, str | None]) -> None:
        self._topic_ids = topic_ids
        self._directories: list[tuple[int, DescribeLogDirsResult, bool | None]] = []
        self._counts: list[int] = []  # number of replicas by directory
        self._names: dict[str, int] = {}
        self._topics, self._partitions = array("i"), array("i")
        self._sizes, self._lags = array("q"), array("q")
        self._is_future: list[bool] = []

    def add(self, broker_id: int, log_dir: DescribeLogDirsResult, *, is_cordoned: bool | None) -> None:
        """Add the replicas of a directory."""
        topics = by_column(log_dir.topics, DescribeLogDirsTopic)
        lists = topics.lists("partitions")
        for name, count in zip(topics.column("name"), lists.counts, strict=True):
            self._topics.extend(repeat(self._names.setdefault(name, len(self._names)), count))
        self._partitions.extend(lists.items.column("partition_index"))
        self._sizes.extend(lists.items.column("partition_size"))
        self._lags.extend(lists.items.column("offset_lag"))
        self._is_future.extend(lists.items.column("is_future_key"))
        self._directories.append((broker_id, log_dir, is_cordoned))
        self._counts.append(len(lists.items))

    def rows(self) -> Stored[StoredReplicaRow]:
        """The rows of all replicas."""

        def of_directory(values: Iterable[Any]) -> Runs:
            return Runs(self._counts, list(values))

        topic_ids = choose(map(self._topic_ids.get, self._names))
        return Stored(
            StoredReplicaRow,
            {
                "broker_id": of_directory(broker_id for broker_id, _, _ in self._directories),
                "log_dir": of_directory(log_dir.log_dir for _, log_dir, _ in self._directories),
                "topic": Chosen(self._topics, list(self._names)),
                "topic_id": Chosen(array("i", map(topic_ids.places.__getitem__, self._topics)), topic_ids.values),
                "partition": self._partitions,
                "size_bytes": self._sizes,
                "offset_lag": self._known_lags(),
                "is_future": self._is_future,
                "total_bytes": of_directory(known(log_dir.total_bytes) for _, log_dir, _ in self._directories),
                "usable_bytes": of_directory(known(log_dir.usable_bytes) for _, log_dir, _ in self._directories),
                "is_cordoned": of_directory(is_cordoned for _, _, is_cordoned in self._directories),
                "problem": Runs.constant(None, len(self._partitions)),
            },
        )

    def _known_lags(self) -> Column:
        if not self._lags or min(self._lags) > _NO_PARTITION:
            return self._lags
        return [_lag(lag, is_future=is_future) for lag, is_future in zip(self._lags, self._is_future, strict=True)]


def _lag(lag: int, *, is_future: bool) -> int | None:
    """The lag of a replica; a future one may be ahead of the replica that it will replace."""
    return None if lag == _NO_PARTITION and not is_future else lag


def _collect(collection: Collection) -> Collected:
    topology = collection.topology
    log_dirs = describe_log_dirs(collection.cluster, topology.broker_ids(), collection.deadline)
    answers = log_dirs.answers
    if not topology.chosen.are_all:
        answers = {broker_id: _chosen(answer, topology.chosen) for broker_id, answer in answers.items()}
    return Collected(stored_replica_rows(answers, topology.lasting_ids(), _with_cordons(collection)), log_dirs.failures)


def _chosen(answer: DescribeLogDirsResponse, chosen: Names) -> DescribeLogDirsResponse:
    """The answer without the replicas of topics that are left out. Their directories stay in it."""
    results = (replace(one, topics=[topic for topic in one.topics if topic.name in chosen]) for one in answer.results)
    return replace(answer, results=tuple(results))


def _with_cordons(collection: Collection) -> frozenset[int]:
    stats = collection.cluster.request_stats.by_api
    return frozenset(
        broker_id
        for (api, broker_id), asked in stats.items()
        if api == DESCRIBE_LOG_DIRS.name and broker_id is not None and (asked.api_version or 0) >= _WITH_CORDONS
    )


LOG_DIRS = Collector(
    table=state_tables.LOG_DIRS,
    phase=Phase.DETAILS,
    collect=_collect,
    apis=(DESCRIBE_LOG_DIRS,),
    permissions=(Permission(DESCRIBE, CLUSTER, "the log directories are refused"),),
    required=False,
    may_be_skipped=True,
)
