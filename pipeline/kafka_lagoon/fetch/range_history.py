"""Finds archived records that are not part of a log's history any more, from the rows of record_ranges of one partition.

A truncation takes records back, and version 0.1.0 could archive a topic again after a broker had denied it for a while. View
`superseded_ranges` has the same rule in SQL.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from kafka_lagoon.fetch.ranges import TOPIC_DELETED, TOPIC_RECREATED
from kafka_lagoon.frozen import frozen

TRUNCATED, COPY, EARLIER_TOPIC = "TRUNCATED", "COPY", "EARLIER_TOPIC"
_ENDS = (TOPIC_DELETED, TOPIC_RECREATED)


@frozen
class SupersededRange:
    """Offsets from `from_offset` to `to_offset` (not included) whose records, archived by one run, do not count."""

    ingest_id: str
    from_offset: int
    to_offset: int
    reason: str = TRUNCATED


def in_order_of_runs(rows: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Rows of record_ranges in the order in which they were written.

    Runs have a number since version 0.2.0. Runs without a number are earlier, in the order of their ids, which are times.
    Rows of one run are in this order: TOPIC_RECREATED, the begin of the next topic of that name, a truncation, the records that
    were read after it, and TOPIC_DELETED, because only a later run finds the next topic of the name.
    """
    return sorted(rows, key=_place)


def _place(row: Mapping[str, Any]) -> tuple[int, str, int, int]:
    sequence = row["sequence"]
    return (-1 if sequence is None else sequence, row["ingest_id"], _step(row), row["from_offset"])


def _step(row: Mapping[str, Any]) -> int:
    """The place of a row within its run."""
    if _is_end(row):
        return 4 if row["problem"] == TOPIC_DELETED else 0
    if row["from_offset"] == row["to_offset"]:
        return 1
    return 2 if row["to_offset"] < row["from_offset"] else 3


def _is_end(row: Mapping[str, Any]) -> bool:
    """True for an event that ends a topic; a range with records may have ended for that reason, too."""
    return row["from_offset"] == row["to_offset"] and row["problem"] in _ENDS


@frozen
class Incarnation:
    """One of the topics that have had the same name, with its rows of record_ranges in the order of the runs.

    Brokers before Kafka 2.8 give no ids. `began_without_id` is true if the first rows have none, because the brokers were
    upgraded later. `earlier` are rows without an id, by partition, of topics that had the name before.
    """

    topic_id: str | None
    rows: Sequence[Mapping[str, Any]]
    began_without_id: bool = False
    earlier: Mapping[int, Sequence[Mapping[str, Any]]] = field(default_factory=dict)

    def earlier_ranges(self, partition: int) -> list[SupersededRange]:
        """The records of a partition without a topic id that belong to earlier topics."""
        return [
            SupersededRange(
                ingest_id=row["ingest_id"],
                from_offset=row["from_offset"],
                to_offset=row["to_offset"],
                reason=EARLIER_TOPIC,
            )
            for row in self.earlier.get(partition, ())
            if row["from_offset"] < row["to_offset"]
        ]


def incarnations(rows: Iterable[Mapping[str, Any]]) -> list[Incarnation]:
    """The topics that have had one name in a cluster, the newest first. Topics that never had an id are returned as one.

    A topic without an id continues under the next id in the ranges, unless an event says that it ended before
    (fetch/topic_selection.py).
    """
    ordered = in_order_of_runs(rows)
    # Rows about the end of a topic do not count: the next topic of the name may begin in the same run.
    newest = [row["topic_id"] for row in reversed(ordered) if not _is_end(row)]
    by_id: dict[str | None, list[Mapping[str, Any]]] = {topic_id: [] for topic_id in newest}
    for row in ordered:
        by_id.setdefault(row["topic_id"], []).append(row)
    without = by_id.get(None, [])
    ended = max((number for number, row in enumerate(without, 1) if row["problem"] in _ENDS), default=0)
    heir = _next_id(ordered) if without[ended:] else None
    if heir is None:
        return [Incarnation(topic_id=topic_id, rows=some) for topic_id, some in by_id.items()]
    return [
        Incarnation(
            topic_id=topic_id,
            rows=[*without[ended:], *some] if topic_id == heir else without[:ended] if topic_id is None else some,
            began_without_id=topic_id == heir,
            earlier=by_partition(without[:ended]) if topic_id == heir else {},
        )
        for topic_id, some in by_id.items()
        if topic_id is not None or ended
    ]


def _next_id(ordered: Sequence[Mapping[str, Any]]) -> str | None:
    """The id of the first range after the last one without an id; None if there is none, or if earlier ranges have the id."""
    last = max(place for place, row in enumerate(ordered) if row["topic_id"] is None)
    known = {row["topic_id"] for row in ordered[:last]}
    following = [row["topic_id"] for row in ordered[last + 1 :]]
    return following[0] if following and following[0] not in known else None


def by_partition(rows: Iterable[Mapping[str, Any]]) -> dict[int, list[Mapping[str, Any]]]:
    """The rows of each partition, in the given order. The partitions are sorted."""
    results: dict[int, list[Mapping[str, Any]]] = {}
    for row in rows:
        results.setdefault(row["partition"], []).append(row)
    return dict(sorted(results.items()))


def archived_range(rows: Iterable[Mapping[str, Any]]) -> tuple[int, int]:
    """The first archived offset of one partition of a topic, and the end offset, which a truncation lowers."""
    lives = [life for life in _lives(in_order_of_runs(rows)) if life]
    end = max(_archived_end(life) for life in lives)
    return min(end, *(row["from_offset"] for life in lives for row in life)), end


def _archived_end(ordered: Sequence[Mapping[str, Any]]) -> int:
    """The end offset of a topic. Only a truncation lowers it; copies of earlier ranges do not."""
    end: int = ordered[0]["to_offset"]
    for row in ordered:
        is_truncation = row["to_offset"] < row["from_offset"]
        end = row["to_offset"] if is_truncation else max(end, row["to_offset"])
    return end


def superseded(rows: Iterable[Mapping[str, Any]]) -> list[SupersededRange]:
    """The superseded ranges of one partition under one topic id."""
    ordered = in_order_of_runs(rows)
    return [one for life in _lives(ordered) for one in (*_truncated(life), *_copies(life))]


def _lives(ordered: Sequence[Mapping[str, Any]]) -> Iterator[Sequence[Mapping[str, Any]]]:
    """The ranges of each topic: without ids, only the end of a topic separates it from a later topic of the same name."""
    life: list[Mapping[str, Any]] = []
    for row in ordered:
        life.append(row)
        if row["topic_id"] is None and row["problem"] in _ENDS:
            yield life
            life = []
    yield life


def _truncated(ordered: Sequence[Mapping[str, Any]]) -> Iterator[SupersededRange]:
    """Offsets from a truncation on that earlier ranges have."""
    for place, truncation in enumerate(ordered):
        if truncation["to_offset"] >= truncation["from_offset"]:
            continue
        for row in ordered[:place]:
            first = max(row["from_offset"], truncation["to_offset"])
            if first < row["to_offset"]:
                yield SupersededRange(ingest_id=row["ingest_id"], from_offset=first, to_offset=row["to_offset"])


def _copies(ordered: Sequence[Mapping[str, Any]]) -> Iterator[SupersededRange]:
    """Offsets of ranges that were archived before, and not truncated since."""
    archived_to: int | None = None
    for row in ordered:
        first, end = row["from_offset"], row["to_offset"]
        if end < first or archived_to is None:
            archived_to = end
            continue
        if first < min(end, archived_to):
            yield SupersededRange(
                ingest_id=row["ingest_id"], from_offset=first, to_offset=min(end, archived_to), reason=COPY
            )
        archived_to = max(archived_to, end)


def unnamed_ids(rows: Iterable[Mapping[str, Any]]) -> str:
    """The end of a line that no range has a cluster's name: ids of clusters without names, as in ranges of version 0.1.0."""
    names: dict[str, set[str | None]] = {}
    for row in rows:
        names.setdefault(row["cluster_id"], set()).add(row["cluster"])
    ids = sorted(cluster_id for cluster_id, known in names.items() if known == {None})
    return f"; without a cluster's name, as by version 0.1.0, it is of id {', '.join(ids)}: give the id" if ids else ""
