"""View superseded_ranges and the functions that restores use agree about runs that write several rows of a partition."""

from datetime import UTC, datetime
from random import Random
from typing import Any

import pyarrow as pa

from kafka_lagoon.fetch.range_history import by_partition, incarnations, superseded
from kafka_lagoon.tables.record_tables import RECORD_RANGES
from tests.query.views.engines import by_duckdb

_SCHEMA = RECORD_RANGES.file_schema()
_NULLS = {**dict.fromkeys(_SCHEMA.names), "cluster_id": "c", "planned_at": datetime(2026, 11, 28, tzinfo=UTC)}
_EMPTY = _NULLS | {one.name: 0 for one in _SCHEMA if pa.types.is_integer(one.type)}


class History:
    """Ranges of a topic's two partitions, in any order, and for each offset of its last log the run with its record."""

    def __init__(self, random: Random, topic: str) -> None:
        self.random, self.topic, self.rows = random, topic, list[dict[str, Any]]()
        self.topic_id: str | None = random.choice(["0", None])
        self.logs: dict[int, list[str]] = {0: [], 1: []}
        for number in range(1, random.randint(3, 7)):
            self.number, self.run = number, f"{random.randint(10, 99)}-{number}"
            self._begin()
            problem = random.choice([None] * 5 + ["TOPIC_DELETED"])
            for partition in self.logs:
                self._read(partition, problem if self.topic_id else None)
        random.shuffle(self.rows)

    def _begin(self) -> None:
        """Begin a run: the topic may have been re-created since the last one, or have got an id."""
        step = self.random.choice(["go on", "go on", "re-create", "upgrade"])
        if step == "re-create" and self.topic_id:
            for partition, log in self.logs.items():
                self._add(partition, len(log), len(log), "TOPIC_RECREATED")
            self.topic_id, self.logs = str(self.number), {0: [], 1: []}
        elif step == "upgrade" and not self.topic_id:
            self.topic_id = str(self.number)
            for partition, log in self.logs.items():
                self._add(partition, len(log), len(log), None)

    def _read(self, partition: int, problem: str | None) -> None:
        """Read a partition, whose log may have been truncated."""
        log = self.logs[partition]
        if log and self.random.random() < 0.3:
            end = self.random.randrange(len(log))
            self._add(partition, len(log), end, "LOG_TRUNCATED")
            del log[end:]
        records = self.random.randint(1, 5)
        self._add(partition, len(log), len(log) + records, problem)
        log += [self.run] * records

    def _add(self, partition: int, from_offset: int, to_offset: int, problem: str | None) -> None:
        names = {"topic": self.topic, "topic_id": self.topic_id, "partition": partition}
        run = {"ingest_id": self.run, "sequence": self.number, "problem": problem}
        self.rows.append({**_EMPTY, **names, **run, "from_offset": from_offset, "to_offset": to_offset})

    def superseded(self) -> set[tuple[Any, ...]]:
        """The rows of the view, by the functions of restores."""
        return {
            (self.topic, number, one.ingest_id, one.from_offset, one.to_offset, one.reason)
            for incarnation in incarnations(self.rows)
            for number, rows in by_partition(incarnation.rows).items()
            for one in superseded(rows)
        }

    def left(self, partition: int) -> list[tuple[int, str]]:
        """The offsets of the newest topic that are not superseded, and their runs."""
        newest = incarnations(self.rows)[0]
        rows = by_partition(newest.rows)[partition]
        ranges = superseded(rows)
        return sorted(
            (offset, row["ingest_id"])
            for row in rows
            for offset in range(row["from_offset"], row["to_offset"])
            if not any(
                one.ingest_id == row["ingest_id"] and one.from_offset <= offset < one.to_offset for one in ranges
            )
        )


def test_each_offset_counts_once_by_both() -> None:
    """Of each offset that was not truncated the record that was read last is valid, wherever a run wrote its rows."""
    histories = [History(Random(number), f"t{number}") for number in range(400)]
    for history in histories:
        for partition, log in history.logs.items():
            assert history.left(partition) == list(enumerate(log))
    ranges = pa.Table.from_pylist([row for history in histories for row in history.rows], _SCHEMA)
    shown = by_duckdb({RECORD_RANGES.name: ranges}, "superseded_ranges")
    wanted = set().union(*(history.superseded() for history in histories))
    columns = ("topic", "partition", "ingest_id", "from_offset", "to_offset", "reason")
    assert set(zip(*(shown[name].to_pylist() for name in columns), strict=True)) == wanted
    assert {one[-1] for one in wanted} == {"TRUNCATED"}


def test_topics_without_ids_that_were_deleted_and_truncated() -> None:
    """The end is the last of its run, by both: a truncation that the run saw is of the topic that ended."""
    rows = []
    for run, start, end, problem in (
        (1, 0, 9, None),
        (2, 9, 4, "LOG_TRUNCATED"),
        (2, 4, 4, "TOPIC_DELETED"),
        (3, 0, 5, None),
        (4, 5, 7, "NOT_LEADER_OR_FOLLOWER"),
        (4, 7, 7, "TOPIC_DELETED"),
        (5, 0, 8, None),
    ):
        names = {"topic": "t", "partition": 0, "ingest_id": str(run), "sequence": run, "problem": problem}
        rows.append({**_EMPTY, **names, "from_offset": start, "to_offset": end})
    shown = by_duckdb({RECORD_RANGES.name: pa.Table.from_pylist(rows, _SCHEMA)}, "superseded_ranges")
    columns = ("ingest_id", "from_offset", "to_offset", "reason")
    assert list(zip(*(shown[name].to_pylist() for name in columns), strict=True)) == [("1", 4, 9, "TRUNCATED")]
    assert [(one.ingest_id, one.from_offset, one.to_offset, one.reason) for one in superseded(rows)] == [
        ("1", 4, 9, "TRUNCATED")
    ]
