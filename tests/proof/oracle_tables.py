"""Reads what our tables say at the end of a history, by DuckDB and by another reader of Delta: never by our own writer."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
from confluent_kafka import (
    IsolationLevel,
)
from deltalake import DeltaTable

from kafka_lagoon.notebooks import register_duckdb
from tests.proof.evidence import (
    Alteration,
    LagRow,
    Partition,
    PublishedSnapshot,
    QuietRow,
    Range,
    Row,
    digest,
)
from tests.proof.load import LiveTopic
from tests.proof.oracle import Kafka, topic_id


class ReadTables:
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
                key,
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
