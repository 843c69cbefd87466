"""Finds the archived records of the topics to be restored: ranges of offsets, and the data files that hold them.

The history of each topic is in `record_ranges`: its last id, truncations of its log, and missing offsets.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kafka_lagoon.delta.arrow import read_table
from kafka_lagoon.delta.files import DescribedFile
from kafka_lagoon.delta.kernel import State
from kafka_lagoon.delta.s3_access import S3Access
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.fetch.range_history import (
    Incarnation,
    SupersededRange,
    archived_range,
    by_partition,
    incarnations,
    superseded,
    unnamed_ids,
)
from kafka_lagoon.frozen import frozen
from kafka_lagoon.records.columns import HEADER_KEY_NOT_UTF8
from kafka_lagoon.restore.archive_reader import ArchivedPartition
from kafka_lagoon.restore.open_files import SourceFile
from kafka_lagoon.tables.record_tables import RECORD_PROBLEMS, RECORD_RANGES, RECORDS
from kafka_lagoon.tables.table import Table
from kafka_lagoon.text import did_you_mean

_Row = Mapping[str, Any]
_RANGE = [
    "ingest_id",
    "cluster",
    "cluster_id",
    "topic",
    "topic_id",
    "partition",
    "from_offset",
    "to_offset",
    "records",
    "bytes_fetched",
    "lost",
    "corrupt",
    "codec",
    "problem",
    "sequence",
]
_PROBLEM = ["ingest_id", "cluster_id", "topic", "topic_id", "partition", "base_offset", "last_offset", "reason"]

NO_ID = "none"  # stands for the id of a topic without one, in options and messages


@frozen
class ArchivedTopic:
    """The archived records of a topic; `other_ids` are the ids of other topics of its name.

    `missing` counts offsets that were lost or corrupt. `sizes` are bytes of the partitions as the brokers stored them, without
    partitions whose ranges do not have the number. `began_without_id` is true if the first records have no topic id, because
    the brokers gave none then.
    """

    cluster_id: str
    topic: str
    topic_id: str | None
    other_ids: Sequence[str | None]
    partitions: Mapping[int, ArchivedPartition]
    records: Mapping[int, int]
    codecs: frozenset[str]
    missing: Counter[str] = field(default_factory=Counter)
    sizes: Mapping[int, int] = field(default_factory=dict)
    began_without_id: bool = False

    def only(self, numbers: Iterable[int], condition: str | None) -> "ArchivedTopic":
        """Select partitions, and records that meet a condition."""
        wanted = {number: self.partitions[number] for number in numbers if number in self.partitions}
        return replace(self, partitions={number: replace(one, condition=condition) for number, one in wanted.items()})

    @property
    def archived(self) -> int:
        """The number of records of the partitions, according to their ranges."""
        return sum(self.records[number] for number in self.partitions)

    @property
    def identity(self) -> Mapping[str, str]:
        """The columns by which files of table `records` are found."""
        known = {"cluster_id": self.cluster_id, "topic": self.topic}
        return known if self.topic_id is None or self.began_without_id else {**known, "topic_id": self.topic_id}


def find_archived(
    warehouse: Warehouse,
    cluster: str,
    topics: Sequence[str],
    topic_ids: Mapping[str, str],
    check: Callable[[Sequence[str]], None] = lambda _: None,
) -> list[ArchivedTopic]:
    """Find the archived records of topics of a cluster; `cluster` is its name, or its id in Kafka.

    Of a re-created topic the newest is found, unless `topic_ids` has the id of an earlier one ("none" for one without an id).
    ConfigError lists every topic that is not archived, and the ids if several clusters had the name. `check` is called with the
    cluster's ids between reading ranges and problems, and raises an error if commits of an ingest are pending.
    """
    faults, results = list[str](), list[ArchivedTopic]()
    by_topic = _by_topic(topics, _rows(warehouse, RECORD_RANGES, {"topic": topics}, _RANGE))
    named = [row for rows in by_topic.values() for row in rows if cluster in (row["cluster"], row["cluster_id"])]
    cluster_ids = sorted({row["cluster_id"] for row in named})
    if len(cluster_ids) > 1:
        raise ConfigError(
            [
                f"--from-cluster: {cluster} was the name of several clusters: give one of their ids, {', '.join(cluster_ids)}"
            ]
        )
    check(cluster_ids)
    wanted = {"topic": topics, "cluster_id": cluster_ids, "reason": [HEADER_KEY_NOT_UTF8]}
    problems = _by_topic(topics, _rows(warehouse, RECORD_PROBLEMS, wanted, _PROBLEM) if cluster_ids else ())
    for topic, rows in by_topic.items():
        of_cluster = [row for row in rows if row["cluster_id"] in cluster_ids]
        known = incarnations(of_cluster)
        by_id = {one.topic_id or NO_ID: one for one in known}
        for incarnation in known:
            if incarnation.began_without_id:
                by_id.setdefault(NO_ID, incarnation)
        chosen = topic_ids.get(topic, known[0].topic_id or NO_ID if known else NO_ID)
        if not of_cluster:
            faults.append(f"--topics: nothing is archived of topic {topic} of cluster {cluster}{unnamed_ids(rows)}")
        elif chosen not in by_id:
            faults.append(
                f"--topics: nothing is archived of topic {topic} with id {chosen}{did_you_mean(chosen, by_id)}"
            )
        else:
            others = [one.topic_id for one in known if one is not by_id[chosen]]
            results.append(_topic(topic, by_id[chosen], others, problems[topic]))
    if faults:
        raise ConfigError(faults)
    return results


def _by_topic(topics: Iterable[str], rows: Iterable[_Row]) -> dict[str, list[_Row]]:
    by_topic: dict[str, list[_Row]] = {topic: [] for topic in topics}
    for row in rows:
        by_topic[row["topic"]].append(row)
    return by_topic


def _topic(topic: str, of: Incarnation, other_ids: Sequence[str | None], problems: Iterable[_Row]) -> ArchivedTopic:
    """The archived records of one topic, from its ranges and problems."""
    ranges, topic_id = of.rows, of.topic_id
    cluster_id: str = ranges[0]["cluster_id"]
    escaped = _escaped(problems, of)
    partitions: dict[int, ArchivedPartition] = {}
    for number, of_one in by_partition(ranges).items():
        first, end = archived_range(of_one)
        not_of_log = (*superseded(of_one), *of.earlier_ranges(number))
        partitions[number] = ArchivedPartition(
            cluster_id=cluster_id,
            topic=topic,
            topic_id=topic_id,
            partition=number,
            from_offset=first,
            to_offset=end,
            superseded=not_of_log,
            escaped=tuple(
                (row["base_offset"], row["last_offset"])
                for row in escaped.get(number, ())
                if not any(_covers(one, row) for one in not_of_log)
            ),
            began_without_id=of.began_without_id,
        )
    records, sizes, missing = Counter[int](), Counter[int](), Counter[str]()
    for row in ranges:
        sizes[row["partition"]] += row["bytes_fetched"]
        records[row["partition"]] += row["records"]
        missing.update(lost=row["lost"], corrupt=row["corrupt"])
    # Ranges that were rebuilt from records do not have their bytes.
    unsized = {row["partition"] for row in ranges if row["records"] and not row["bytes_fetched"]}
    codecs = {name for row in ranges for name in (row["codec"] or "").split(",") if name}
    return ArchivedTopic(
        cluster_id=cluster_id,
        topic=topic,
        topic_id=topic_id,
        other_ids=other_ids,
        partitions=partitions,
        records=records,
        codecs=frozenset(codecs),
        missing=missing,
        sizes={number: sizes[number] for number in sizes if number not in unsized},
        began_without_id=of.began_without_id,
    )


def _escaped(problems: Iterable[_Row], of: Incarnation) -> Mapping[int, list[_Row]]:
    """The problems of records whose header keys are not UTF-8, by partition; also those of superseded records."""
    results: dict[int, list[_Row]] = {}
    for row in problems:
        if row["topic_id"] == of.topic_id or (of.began_without_id and row["topic_id"] is None):
            results.setdefault(row["partition"], []).append(row)
    return results


def _covers(superseded_range: SupersededRange, row: _Row) -> bool:
    """True if a problem is about a superseded record; the record that replaced it may have other header keys."""
    offset: int = row["base_offset"]
    is_within = superseded_range.from_offset <= offset < superseded_range.to_offset
    return is_within and superseded_range.ingest_id == row["ingest_id"]


def _rows(
    warehouse: Warehouse, table: Table, wanted: Mapping[str, Sequence[str]], columns: Sequence[str]
) -> list[_Row]:
    """Rows of a table with one of the values of each column in `wanted`; each file that may have some is read once."""
    rows: list[_Row] = []
    of_one_value = {name: values[0] for name, values in wanted.items() if len(values) == 1}
    in_order = {name: sorted(values) for name, values in wanted.items()}
    for file in warehouse.kernel.described_files(warehouse.state_to_read(table), of_one_value):
        if not all(may_have_one(file, name, values) for name, values in in_order.items()):
            continue
        arrow: pa.Table = read_table(warehouse.kernel.storage, file.url)
        for name, values in in_order.items():
            arrow = arrow.filter(pc.is_in(arrow[name], value_set=pa.array(values, pa.string())))
        present = [name for name in columns if name in arrow.column_names]
        rows += [{**dict.fromkeys(columns), **row} for row in arrow.select(present).to_pylist()]
    return rows


def may_have_one(file: DescribedFile, column: str, values: Sequence[str]) -> bool:
    """True if a file may have a row with one of these values, which are in order."""
    bounds = file.bounds(column, str)
    if bounds is None:
        return True
    first = bisect_left(values, bounds[0])
    return first < len(values) and values[first] <= bounds[1]


def files_of(
    warehouse: Warehouse, topics: Iterable[ArchivedTopic], state: State | None = None
) -> dict[str, Sequence[DescribedFile]]:
    """The data files of table `records` that may have records of each topic, in its latest version or the one given.

    The log is read once for all topics, because that takes a quarter of a millisecond for each file.
    """
    state = state or warehouse.state_to_read(RECORDS)
    in_order = sorted(topics, key=lambda topic: topic.topic)
    if not in_order:
        return {}
    names = [topic.topic for topic in in_order]
    results: dict[str, list[DescribedFile]] = {name: [] for name in names}
    of_all = dict(set.intersection(*(set(topic.identity.items()) for topic in in_order)))
    for file in warehouse.kernel.described_files(state, of_all):
        least, greatest = file.bounds("topic", str) or (names[0], names[-1])
        first, stop = bisect_left(names, least), bisect_right(names, greatest)
        for topic in in_order[first:stop]:
            if all(_may_have(file, column, value, value) for column, value in topic.identity.items()):
                results[topic.topic].append(file)
    return dict(results)


def source_files(
    files: Sequence[DescribedFile], partition: ArchivedPartition, access: S3Access | None = None
) -> list[SourceFile]:
    """The files of a topic that may have records of a partition, by the log's bounds."""
    bounds = {"partition": (partition.partition, partition.partition)}
    bounds["offset"] = partition.from_offset, partition.to_offset - 1
    return [
        SourceFile(file.url, _is_one_topic(file, partition), access)
        for file in files
        if all(_may_have(file, name, *pair) for name, pair in bounds.items())
    ]


def _may_have(file: DescribedFile, column: str, low: Any, high: Any) -> bool:
    bounds = file.bounds(column, type(low))
    return bounds is None or (bounds[0] <= high and bounds[1] >= low)


def _is_one_topic(file: DescribedFile, partition: ArchivedPartition) -> bool:
    """True if all rows of a file have the partition's cluster id and topic id, by the bounds and nulls in the log.

    The log cuts long bounds, but ids are too short for that.
    """
    ids = {"cluster_id": partition.cluster_id, "topic_id": partition.topic_id}
    return all(
        value is not None and file.least.get(name) == file.greatest.get(name) == value and file.nulls.get(name) == 0
        for name, value in ids.items()
    )
