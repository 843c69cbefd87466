"""Finds archived records that are not part of a log's history any more, from the rows of record_ranges of one partition.

A truncation takes records back, and version 0.1.0 could archive a topic again after a broker had denied it for a while. View
`superseded_ranges` has the same rule in SQL.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from kafka_lagoon.fetch.ranges import TOPIC_DELETED, TOPIC_RECREATED
from kafka_lagoon.frozen import frozen

TRUNCATED, COPY = "TRUNCATED", "COPY"


@frozen
class SupersededRange:
    """Offsets from `from_offset` to `to_offset` (not included) whose records, archived by one run, do not count."""

    ingest_id: str
    from_offset: int
    to_offset: int
    reason: str = TRUNCATED


def in_order_of_runs(rows: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Rows of record_ranges in the order in which they were written.

    Runs have a number since version 0.2.0. Runs without a number came before; their ids, which are times, order them.
    Within a run, a truncation comes before the records that were read after it.
    """
    return sorted(rows, key=_place)


def _place(row: Mapping[str, Any]) -> tuple[int, str, bool, int]:
    sequence = row["sequence"]
    return (
        -1 if sequence is None else sequence,
        row["ingest_id"],
        row["to_offset"] > row["from_offset"],
        row["from_offset"],
    )


def superseded(rows: Iterable[Mapping[str, Any]]) -> list[SupersededRange]:
    """The superseded ranges of one partition under one topic id."""
    ordered = in_order_of_runs(rows)
    return [one for life in _lives(ordered) for one in (*_truncated(life), *_copies(life))]


def _lives(ordered: Sequence[Mapping[str, Any]]) -> Iterator[Sequence[Mapping[str, Any]]]:
    """The ranges of each topic: without ids, only the end of a topic separates it from a later topic of the same name."""
    life: list[Mapping[str, Any]] = []
    for row in ordered:
        life.append(row)
        if row["topic_id"] is None and row["problem"] in (TOPIC_DELETED, TOPIC_RECREATED):
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
