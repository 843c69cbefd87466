"""Recognizes a restore that has finished and is still in the target, and topics whose records an earlier restore wrote.

Restores from other warehouses cannot be recognized: their records are like those of any producer.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

from kafka_lagoon.delta.arrow import read_table
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.fetch.range_history import TRUNCATED
from kafka_lagoon.frozen import frozen
from kafka_lagoon.restore.archive_reader import ArchivedPartition
from kafka_lagoon.restore.archived import ArchivedTopic, may_have_one
from kafka_lagoon.restore.plan import PlannedPartition, RestorePlan
from kafka_lagoon.restore.progress import Position
from kafka_lagoon.restore.target import TargetTopic
from kafka_lagoon.tables.schema import RESTORE_MAP
from kafka_lagoon.tables.write_rows import RestoreReceiptRow
from kafka_lagoon.topic_partition import TopicPartition

_WRITTEN = ["restore_id", "target_cluster_id", "target_topic", "target_topic_id"]


@frozen
class FinishedRestore:
    """A finished restore: all records are written, and read back where that was possible.

    Each partition has a receipt, unless a user has deleted it: then it counts as not read back. The stored positions show as
    well what was written.
    """

    plan: RestorePlan
    receipts: Sequence[RestoreReceiptRow]
    positions: Mapping[TopicPartition, Position]

    @property
    def is_unread(self) -> bool:
        """True if a partition could not be read back, for example because its leader did not answer."""
        read = {_key(row) for row in self.receipts if row.digest_read_back is not None}
        return any(one.target not in read for one in self.plan.partitions)

    @property
    def finished_at_ms(self) -> int:
        """The time at which the last partition was read back."""
        return max((row.checked_at_ms for row in self.receipts), default=self.plan.planned_at_ms)

    @property
    def finished_at(self) -> str:
        """The time at which the last partition was read back, as text."""
        return datetime.fromtimestamp(self.finished_at_ms / 1000, tz=UTC).isoformat(timespec="seconds")

    def is_of(self, topics: Sequence[ArchivedTopic]) -> bool:
        """True if it restored these topics, and not earlier topics with their names."""
        of_plan = {one.source.topic: one.source.topic_id for one in self.plan.partitions}
        archived = {topic.topic: topic for topic in topics if topic.partitions}
        return of_plan.keys() == archived.keys() and all(_is_same(archived[name], of_plan[name]) for name in of_plan)

    def is_in(self, targets: Mapping[str, TargetTopic | None]) -> bool:
        """True if the topics still exist and no written offset has been deleted since."""
        receipts = {_key(row): row for row in self.receipts}
        return all(
            _has(targets.get(one.target.topic), one, receipts.get(one.target), self.positions[one.target])
            for one in self.plan.partitions
        )

    def not_restored(self, topics: Sequence[ArchivedTopic]) -> Iterator[str]:
        """A note about each partition with records that were archived since."""
        planned = {one.source.key: one.source for one in self.plan.partitions}
        for topic in topics:
            more = sum(
                max(0, source.to_offset - _restored_to(source, planned.get(source.key)))
                for source in topic.partitions.values()
            )
            if more:
                yield (
                    f"topic {topic.topic}: {more:,} offsets were archived after the restore was planned, and are not restored: "
                    "choose them by --from TIME or --where, with --into-existing"
                )


def _is_same(topic: ArchivedTopic, planned_id: str | None) -> bool:
    """True if a topic had this id when the restore was planned: none, if its brokers were upgraded to Kafka 2.8 since then.

    An earlier topic of the name that had no id either may be the one that was restored.
    """
    was_given_id = planned_id is None and topic.began_without_id and None not in topic.other_ids
    return topic.topic_id == planned_id or was_given_id


def _restored_to(source: ArchivedPartition, planned: ArchivedPartition | None) -> int:
    """The end of the restored offsets of a partition; a truncation since then lowers it."""
    if planned is None:
        return source.from_offset
    truncations = (
        one.from_offset for one in source.superseded if one.reason == TRUNCATED and one not in planned.superseded
    )
    return min([planned.to_offset, *truncations])


def _key(row: RestoreReceiptRow) -> TopicPartition:
    return TopicPartition(row.target_topic, row.target_partition)


def _has(
    target: TargetTopic | None, planned: PlannedPartition, row: RestoreReceiptRow | None, position: Position
) -> bool:
    """True if the target still has the offsets of the receipt, or of the stored position."""
    if target is None or planned.target.partition not in target.logs:
        return False
    if None not in (target.topic_id, planned.target_topic_id) and target.topic_id != planned.target_topic_id:
        return False
    log = target.logs[planned.target.partition]
    first = row.target_from_offset if row else planned.base_offset
    end, records = (row.target_to_offset, row.records) if row else (position.target_offset, position.written)
    return not records or (log.log_start_offset <= first and log.high_watermark >= end)


def topics_of(plan: RestorePlan) -> Sequence[str]:
    """The names of the topics that a restore restores."""
    return list(dict.fromkeys(one.source.topic for one in plan.partitions))


def earlier_restores(
    warehouse: Warehouse, target_cluster_id: str, topics: Mapping[str, str | None]
) -> Mapping[str, str]:
    """The last restore that wrote into each of these topics, which are given with their ids."""
    last: dict[str, str] = {}
    kernel, state = warehouse.kernel, warehouse.state(RESTORE_MAP.name)
    names = sorted(topics)
    for file in kernel.described_files(state, {"target_cluster_id": target_cluster_id}):
        if not may_have_one(file, "target_topic", names):
            continue
        for row in read_table(kernel.storage, file.url, _WRITTEN).to_pylist():
            name, topic_id = row["target_topic"], row["target_topic_id"]
            is_same = name in topics and (None in (topics[name], topic_id) or topics[name] == topic_id)
            if is_same and row["target_cluster_id"] == target_cluster_id:
                last[name] = max(last.get(name, ""), row["restore_id"])
    return last
