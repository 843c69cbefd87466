"""Declares the plan of a restore: which archived records go to which partition, and what the tasks need to write them once.

A plan is stored before the first record is written and never changes, so a restore that goes on writes the same records in
the same order under the same producer id.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from kafka_lagoon.delta.stored_json import MALFORMED
from kafka_lagoon.fetch.range_history import SupersededRange
from kafka_lagoon.frozen import frozen
from kafka_lagoon.records.digests import ALL_FIELDS
from kafka_lagoon.restore.archive_reader import ArchivedPartition
from kafka_lagoon.topic_partition import TopicPartition

FORMAT = 1
_WITHOUT_TIME = ALL_FIELDS - {"timestamp_ms"}


@dataclass(frozen=True, kw_only=True)
class PlannedPartition:
    """The records of `source` go to partition `target`, which ended at `base_offset` when the restore began.

    `keeps_time` is whether they keep their times there; else their digest is without them.
    """

    source: ArchivedPartition
    target: TopicPartition
    target_topic_id: str | None
    base_offset: int
    keeps_time: bool = True

    @property
    def digested(self) -> frozenset[str]:
        """The fields of records that enter the digest."""
        return ALL_FIELDS if self.keeps_time else _WITHOUT_TIME


@frozen
class RestorePlan:
    """The plan of a restore; `request` has its arguments, which are compared with those of a later run.

    Without `transactional_prefix` all partitions are written under one producer id, with sequence numbers of their own. With it
    each partition has a transactional id with this prefix, and commits its position to the group `group_id`. `records_version`
    is the version of table `records` that the plan was made from; None in plans of earlier releases.
    """

    restore_id: str
    request: Mapping[str, Any]
    source_cluster: str
    source_cluster_id: str
    target_cluster: str
    target_cluster_id: str
    codec: int
    producer_id: int
    producer_epoch: int
    planned_at_ms: int
    snapshot_id: str | None
    partitions: Sequence[PlannedPartition]
    is_transactional: bool = False
    records_version: int | None = None

    def settings(self) -> "RestorePlan":
        """The plan without its partitions, as a task needs it."""
        return replace(self, partitions=())

    @property
    def group_id(self) -> str:
        """The group whose offsets are positions of the restore; used with transactions."""
        return f"lagoon-restore-{self.restore_id}"

    def transactional_id(self, target: TopicPartition) -> str:
        """The transactional id for writing a partition."""
        return f"{self.group_id}-{target}"


def to_json(plan: RestorePlan) -> bytes:
    """The stored form of the plan."""
    return json.dumps({"format": FORMAT, **asdict(plan)}, separators=(",", ":")).encode()


def from_json(text: bytes) -> RestorePlan:
    """A stored plan; ValueError if another version wrote it, or if it is none."""
    try:
        stored = json.loads(text)
        if stored.pop("format", None) != FORMAT:
            raise ValueError("another version of this package wrote it")
        partitions = [_partition(one) for one in stored.pop("partitions")]
        return RestorePlan(**stored, partitions=partitions)
    except MALFORMED as error:
        raise ValueError(str(error)) from error


def _partition(stored: Mapping[str, Any]) -> PlannedPartition:
    source = dict(stored["source"])
    source["superseded"] = tuple(SupersededRange(**one) for one in source["superseded"])
    source["escaped"] = tuple((first, last) for first, last in source["escaped"])
    topic, partition = stored["target"]
    return PlannedPartition(
        source=ArchivedPartition(**source),
        target=TopicPartition(topic, partition),
        target_topic_id=stored["target_topic_id"],
        base_offset=stored["base_offset"],
        keeps_time=stored["keeps_time"],
    )
