"""Reads what Kafka and the tables say at the end of a history, by librdkafka and by DuckDB: never by our own client."""

import base64
import json
import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
from confluent_kafka import (
    Consumer,
    ConsumerGroupTopicPartitions,
    IsolationLevel,
    KafkaError,
    KafkaException,
    Message,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, ConfigResource, OffsetSpec, ResourceType, TopicDescription
from deltalake import DeltaTable

from kafka_lagoon.notebooks import register_duckdb
from tests.proof.alterations import CONFIG
from tests.proof.evidence import (
    Alteration,
    LagRow,
    Partition,
    PublishedSnapshot,
    QuietRow,
    Range,
    Row,
    TopicState,
    digest,
)
from tests.proof.load import LiveTopic

_TIMEOUT_S = 60
_PAUSE_S = 0.5
# librdkafka's administration does not ask for new metadata, as its consumers do, when a leader has just changed.
# Without a leader it may return an invalid offset (-1001) and no error.
_STALE_LEADER = (
    KafkaError.FENCED_LEADER_EPOCH,
    KafkaError.UNKNOWN_LEADER_EPOCH,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError._NO_OFFSET,
)


def topic_id(description: TopicDescription) -> str:
    """Return the id of a topic as Kafka prints it."""
    uuid = description.topic_id
    mask = (1 << 64) - 1
    bits = (uuid.get_most_significant_bits() & mask) << 64 | uuid.get_least_significant_bits() & mask
    return base64.urlsafe_b64encode(bits.to_bytes(16, "big")).decode().rstrip("=")


class Kafka:
    """Reads a cluster by librdkafka."""

    def __init__(self, bootstrap_servers: str, timeout_s: int = _TIMEOUT_S) -> None:
        self._servers, self._timeout_s = bootstrap_servers, timeout_s
        self._admin = self._connected()

    def _connected(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self._servers, "log_level": 0})

    def describe(self, topics: Collection[str]) -> dict[str, TopicDescription]:
        """Describe topics that exist."""
        if not topics:
            return {}
        described = self._admin.describe_topics(TopicCollection(list(topics)), request_timeout=_TIMEOUT_S)
        return {name: future.result(_TIMEOUT_S) for name, future in described.items()}

    def offsets(self, topics: Iterable[LiveTopic], spec: OffsetSpec, isolation: IsolationLevel) -> dict[Partition, int]:
        """List an offset of each partition."""
        wanted = {TopicPartition(topic.name, number): topic for topic in topics for number in range(topic.partitions)}
        if not wanted:
            return {}
        ids = {topic.name: topic.topic_id for topic in wanted.values()}
        until = time.monotonic() + self._timeout_s
        while True:
            requested = self._admin.list_offsets(
                dict.fromkeys(wanted, spec), isolation_level=isolation, request_timeout=self._timeout_s
            )
            try:
                return {
                    Partition(ids[partition.topic], partition.partition): _valid(
                        future.result(2 * self._timeout_s).offset
                    )
                    for partition, future in requested.items()
                }
            except KafkaException as error:
                if error.args[0].code() not in _STALE_LEADER or time.monotonic() > until:
                    raise
                time.sleep(_PAUSE_S)
                self._admin = self._connected()  # with new metadata

    def starts(self, topics: Sequence[LiveTopic]) -> dict[Partition, int]:
        """List log start offsets."""
        return self.offsets(topics, OffsetSpec.earliest(), IsolationLevel.READ_UNCOMMITTED)

    def ends(self, topics: Sequence[LiveTopic], isolation: IsolationLevel) -> dict[Partition, int]:
        """List last stable offsets, or high watermarks."""
        return self.offsets(topics, OffsetSpec.latest(), isolation)

    def committed_offsets(self, group: str) -> dict[tuple[str, int], int]:
        """List the commits of a group."""
        (future,) = self._admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)]).values()
        partitions = future.result(_TIMEOUT_S).topic_partitions
        return {(one.topic, one.partition): one.offset for one in partitions}

    def applied(self, prefix: str) -> dict[str, TopicState]:
        """Describe the topics of a prefix: partitions, and max.message.bytes where it is set on the topic."""
        names = [name for name in self._admin.list_topics(timeout=_TIMEOUT_S).topics if name.startswith(prefix)]
        resources = [ConfigResource(ResourceType.TOPIC, name) for name in names]
        configs = self._admin.describe_configs(resources, request_timeout=_TIMEOUT_S) if names else {}
        limits = {one.name: future.result(_TIMEOUT_S)[CONFIG] for one, future in configs.items()}
        return {
            name: TopicState(len(one.partitions), None if limits[name].is_default else limits[name].value)
            for name, one in self.describe(names).items()
        }

    def records(self, topics: Sequence[LiveTopic]) -> dict[Partition, dict[int, str]]:
        """Read every record that a read_committed consumer is given, as digests."""
        ids = {topic.name: topic.topic_id for topic in topics}
        records: dict[Partition, dict[int, str]] = defaultdict(dict)
        for message in self._messages(topics):
            partition = Partition(ids[str(message.topic())], int(message.partition() or 0))
            offset = int(message.offset() or 0)
            assert offset not in records[partition]
            records[partition][offset] = digest(
                message.timestamp()[1], message.key(), message.value(), message.headers() or []
            )
        return dict(records)

    def values(self, topic: LiveTopic) -> Iterator[str]:
        """Read the values of a topic as text."""
        for message in self._messages([topic]):
            yield (message.value() or b"").decode()

    def _messages(self, topics: Sequence[LiveTopic]) -> Iterator[Message]:
        wanted = [TopicPartition(topic.name, number, 0) for topic in topics for number in range(topic.partitions)]
        for whole in wanted:
            whole.offset = -2  # from the log start
        consumer = Consumer(
            {
                "bootstrap.servers": self._servers,
                "group.id": "proof",
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "isolation.level": "read_committed",
                "enable.partition.eof": True,
                "check.crcs": True,
                "log_level": 0,
            }
        )
        try:
            consumer.assign(wanted)
            unfinished = {(one.topic, one.partition) for one in wanted}
            while unfinished:
                for message in consumer.consume(10_000, timeout=1):
                    if error := message.error():
                        if error.code() != KafkaError._PARTITION_EOF:
                            raise KafkaException(error)
                        unfinished.discard((message.topic(), message.partition()))
                    else:
                        yield message
        finally:
            consumer.close()


class Tables:
    """Reads a warehouse by DuckDB."""

    def __init__(self, warehouse: Path) -> None:
        self._warehouse = warehouse
        self._connection = duckdb.connect(":memory:")
        register_duckdb(self._connection, str(warehouse))

    def close(self) -> None:
        """End the connection."""
        self._connection.close()

    def _rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        return self._connection.execute(query, list(values)).fetchall()

    def rows(self) -> list[Row]:
        """Return records_now."""
        columns = 'topic_id, partition, "offset", timestamp_ms, key, value, headers, ingest_id'
        return [
            Row(
                Partition(topic, number),
                offset,
                digest(at_ms, key, value, [(h["key"], h["value"]) for h in headers]),
                ingest,
            )
            for topic, number, offset, at_ms, key, value, headers, ingest in self._rows(
                f"SELECT {columns} FROM records_now"
            )
        ]

    def archived(self) -> dict[tuple[str, Partition], int]:
        """Count the rows of records by run and partition."""
        counted = self._rows("SELECT ingest_id, topic_id, partition, count(*) FROM records GROUP BY ALL")
        return {(ingest, Partition(topic, number)): count for ingest, topic, number, count in counted}

    def ranges(self) -> list[Range]:
        """Return record_ranges."""
        columns = (
            "topic_id, partition, ingest_id, sequence, epoch_ms(planned_at), from_offset, to_offset, records, control + aborted, "
            "compacted, lost, corrupt, problem"
        )
        return [
            Range(
                partition=Partition(topic, number),
                ingest_id=ingest_id,
                sequence=sequence,
                planned_at_ms=planned_at_ms,
                from_offset=from_offset,
                to_offset=to_offset,
                records=records,
                others=others,
                compacted=compacted,
                lost=lost,
                corrupt=corrupt,
                problem=problem,
            )
            for (
                topic,
                number,
                ingest_id,
                sequence,
                planned_at_ms,
                from_offset,
                to_offset,
                records,
                others,
                compacted,
                lost,
                corrupt,
                problem,
            ) in self._rows(f"SELECT {columns} FROM record_ranges")
        ]

    def is_in_order(self) -> bool:
        """Return True if offsets ascend within each data file of records, by partition."""
        for file in DeltaTable(str(self._warehouse / "records")).file_uris():
            last: dict[tuple[str, int], int] = {}
            table = pq.read_table(file, columns=["topic_id", "partition", "offset"], use_threads=False)
            for topic, number, offset in zip(*(column.to_pylist() for column in table.columns), strict=True):
                if offset <= last.get((topic, number), -1):
                    return False
                last[topic, number] = offset
        return True

    def snapshots(self) -> list[PublishedSnapshot]:
        """Return snapshots, the last one last."""
        return [
            PublishedSnapshot(snapshot_id=snapshot_id, slot=str(slot), status=status)
            for snapshot_id, slot, status in self._rows(
                "SELECT snapshot_id, epoch_ms(slot), status FROM snapshots ORDER BY slot, snapshot_id"
            )
        ]

    def quiet_rows(self, topic: str, group: str) -> list[QuietRow]:
        """Return what every published snapshot says of a topic and a group that never change."""
        query = """
            SELECT offsets.snapshot_id, offsets.partition, offsets.log_start_offset, offsets.high_watermark,
              lag.committed_offset, lag.lag
            FROM partition_offsets_published AS offsets
            LEFT JOIN consumer_lag_published AS lag
              ON lag.snapshot_id = offsets.snapshot_id AND lag.topic = offsets.topic AND lag.partition = offsets.partition
              AND lag.group_id = ?
            WHERE offsets.topic = ?
        """
        return [
            QuietRow(
                snapshot_id=snapshot_id,
                partition=number,
                log_start_offset=start,
                high_watermark=end,
                committed_offset=committed,
                lag=lag,
            )
            for snapshot_id, number, start, end, committed, lag in self._rows(query, group, topic)
        ]

    def lag_rows(self) -> list[LagRow]:
        """Return the lag of all published snapshots."""
        columns = "snapshot_id, group_id, topic, partition, log_start_offset, high_watermark, committed_offset, lag"
        return [LagRow(*row) for row in self._rows(f"SELECT {columns} FROM consumer_lag_published")]

    def receipts(self, target: str) -> dict[int, list[int]]:
        """Return the numbers of records in the receipts of a restored topic that have no problem, by partition."""
        counts: dict[int, list[int]] = defaultdict(list)
        query = "SELECT target_partition, records FROM restore_receipts WHERE target_topic = ? AND problem IS NULL"
        for number, records in self._rows(query, target):
            counts[number].append(records)
        return counts

    def alterations(self) -> list[Alteration]:
        """Return admin_outcomes."""
        columns = "run_id, epoch_ms(started_at), kind, resource_name, after, outcome"
        if not (self._warehouse / "admin_actions").is_dir():
            return []
        return [
            Alteration(
                run_id=run_id,
                at_ms=at_ms,
                kind=kind,
                topic=topic,
                after=json.loads(after) if after else None,
                outcome=outcome,
            )
            for run_id, at_ms, kind, topic, after, outcome in self._rows(
                f"SELECT {columns} FROM admin_outcomes WHERE job = 'apply' ORDER BY action_id"
            )
        ]

    def differences(self, kafka: Kafka, topics: Sequence[LiveTopic], group: str) -> Iterator[str]:
        """Compare the last snapshot with librdkafka's admin client; nothing changes meanwhile."""
        last = self.snapshots()[-1].snapshot_id
        described = kafka.describe([topic.name for topic in topics])
        theirs = {
            (topic.name, topic_id(topic), one.id, one.leader.id, _ids(one.replicas), frozenset(_ids(one.isr)))
            for topic in described.values()
            for one in topic.partitions
        }
        partitions = "SELECT topic, topic_id, partition, leader_id, replicas, isr FROM partitions_published"
        ours = {
            (topic, id_, number, leader, tuple(replicas), frozenset(isr))
            for topic, id_, number, leader, replicas, isr in self._rows(f"{partitions} WHERE snapshot_id = ?", last)
        }
        yield from _difference("partitions", ours, theirs)
        starts, names = kafka.starts(topics), {topic.topic_id: topic.name for topic in topics}
        stable = kafka.ends(topics, IsolationLevel.READ_COMMITTED)
        high = kafka.ends(topics, IsolationLevel.READ_UNCOMMITTED)
        offsets = "SELECT topic, partition, log_start_offset, high_watermark, last_stable_offset FROM partition_offsets_published"
        listed = {(names[at.topic_id], at.partition, start, high[at], stable[at]) for at, start in starts.items()}
        yield from _difference("offsets", set(self._rows(f"{offsets} WHERE snapshot_id = ?", last)), listed)
        commits = "SELECT topic, partition, committed_offset FROM committed_offsets_published WHERE snapshot_id = ? AND group_id = ?"
        committed = {(*where, offset) for where, offset in kafka.committed_offsets(group).items()}
        yield from _difference("commits", set(self._rows(commits, last, group)), committed)


def _valid(offset: int) -> int:
    if offset < 0:
        raise KafkaException(KafkaError(KafkaError._NO_OFFSET))
    return offset


def _ids(nodes: Iterable[Any]) -> tuple[int, ...]:
    return tuple(node.id for node in nodes)


def _difference(what: str, ours: set[Any], theirs: set[Any]) -> Iterator[str]:
    if ours != theirs:
        yield f"{what}: only in the tables {sorted(map(str, ours - theirs))}, only in Kafka {sorted(map(str, theirs - ours))}"


def occurrences(folder: Path, secrets: Mapping[str, bytes]) -> Iterator[str]:
    """Return the files that have a secret."""
    for path in folder.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            for name, secret in secrets.items():
                if secret in content:
                    yield f"{name} in {path.relative_to(folder)}"
