"""The archive of a topic is found in the ranges of all runs: its last topic id, truncations, and files by the log's bounds."""

from collections import Counter
from datetime import date
from random import Random
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kafka_lagoon.delta.arrow import plain_table
from kafka_lagoon.delta.files import DescribedFile
from kafka_lagoon.delta.kernel import State
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.errors import ConfigError, SchemaChanged
from kafka_lagoon.fetch.range_history import SupersededRange
from kafka_lagoon.restore import archived
from kafka_lagoon.restore.archived import ArchivedTopic, files_of, find_archived, source_files
from kafka_lagoon.restore.open_files import SourceFile
from kafka_lagoon.restore.topic_names import matching_topics
from kafka_lagoon.tables.record_rows import RecordProblemRow, RecordRangeRow
from kafka_lagoon.tables.record_tables import RECORD_PROBLEMS, RECORD_RANGES, RECORD_TABLES
from tests.delta.record_samples import range_row
from tests.restore.lake import wanted

DAY = date(2026, 11, 21)


def store(warehouse: Warehouse, *rows: RecordRangeRow | RecordProblemRow) -> None:
    """Add rows to their table."""
    table = RECORD_RANGES if isinstance(rows[0], RecordRangeRow) else RECORD_PROBLEMS
    state = warehouse.state(table.name)
    url = f"{state.location}/{table.partition_by}={DAY}/{len(rows)}-{id(rows)}.parquet"
    file = warehouse.kernel.storage.write_rows(url, plain_table(table, rows))
    warehouse.kernel.append(state, [file], (table.partition_by, DAY))


def a_range(ingest_id: str, start: int, end: int, **more: object) -> RecordRangeRow:
    """Make a range of a run."""
    row = range_row(ingest_id, "t", start, end)
    for name, value in more.items():
        setattr(row, name, value)
    return row


def escaped(ingest_id: str, offset: int, topic_id: str | None) -> RecordProblemRow:
    """Make the problem of a record whose header keys are escaped."""
    return RecordProblemRow(
        ingest_id=ingest_id,
        cluster="c",
        cluster_id="cluster-id",
        topic="t",
        topic_id=topic_id,
        partition=0,
        base_offset=offset,
        last_offset=offset,
        reason="HEADER_KEY_NOT_UTF8",
        detail=None,
        raw=None,
    )


@pytest.mark.spark
def test_the_last_topic_of_a_name(warehouse: Warehouse) -> None:
    """Truncations become filters, escaped keys become ranges of offsets; an earlier topic is found by its id.

    Escaped keys of a record that a truncation took back say nothing of the record that replaced it (offset 16).
    """
    store(
        warehouse,
        a_range("0192-0001", 0, 9, topic_id="old"),
        a_range("0192-0002", 0, 20, topic_id="new", codec="zstd"),
        a_range("0192-0003", 20, 15, topic_id="new", problem="LOG_TRUNCATED", records=0),
        a_range("0192-0003", 15, 30, topic_id="new", codec="gzip,zstd"),
        a_range("0192-0003", 0, 4, topic_id="new", partition=1, lost=3, bytes_fetched=0),
    )
    store(warehouse, escaped("0192-0002", 16, "new"), escaped("0192-0002", 14, "new"), escaped("0192-0003", 17, "new"))
    cluster = range_row("", "t", 0, 0).cluster or "cluster-id"
    (results,) = find_archived(warehouse, cluster, ["t"], {})
    assert (results.topic_id, list(results.other_ids), results.codecs) == ("new", ["old"], {"none", "zstd", "gzip"})
    whole = results.partitions[0]
    assert (whole.from_offset, whole.to_offset, whole.escaped) == (0, 30, ((14, 14), (17, 17)))
    assert whole.superseded == (SupersededRange(ingest_id="0192-0002", from_offset=15, to_offset=20),)
    assert results.missing["lost"] == 3
    assert results.sizes == {0: 3}  # the range of partition 1 was rebuilt, and does not say it
    (earlier,) = find_archived(warehouse, "cluster-id", ["t"], {"t": "old"})
    assert earlier.partitions[0].to_offset == 9
    with pytest.raises(ConfigError) as raised:
        find_archived(warehouse, cluster, ["t", "nothing"], {"t": "ald"})
    assert [fault.partition(":")[2] for fault in raised.value.problems] == [
        " nothing is archived of topic t with id ald (did you mean old?)",
        f" nothing is archived of topic nothing of cluster {cluster}",
    ]


def file(
    url: str, partitions: tuple[int, int], offsets: tuple[int, int], topic_id: str, without_id: int = 0
) -> DescribedFile:
    """Make a file as the log describes it."""
    least = {"cluster_id": "cluster", "topic_id": topic_id, "partition": partitions[0], "offset": offsets[0]}
    greatest = {**least, "partition": partitions[1], "offset": offsets[1]}
    nulls = {"cluster_id": 0, "topic_id": without_id}
    return DescribedFile(url=url, size=1, rows=1, least=least, greatest=greatest, nulls=nulls)


def test_files_by_the_bounds_of_the_log() -> None:
    """Files without records of the range are left out by their bounds; a file without bounds may have any record."""
    partition = wanted(10, 20)
    files = [
        file("before", (0, 3), (0, 9), "x"),
        file("wanted", (0, 0), (9, 10), str(partition.topic_id)),
        file("with the last", (0, 0), (19, 30), str(partition.topic_id)),
        file("after", (0, 0), (20, 30), str(partition.topic_id)),
        file("of others", (1, 3), (0, 99), "x"),
        file("mixed", (0, 3), (0, 99), "x"),
        file("with older", (0, 0), (0, 99), str(partition.topic_id), without_id=1),
        DescribedFile(url="unknown", size=1, rows=None, least={}, greatest={}),
    ]
    assert source_files(files, partition) == [
        SourceFile("wanted", True),
        SourceFile("with the last", True),
        SourceFile("mixed", False),
        SourceFile("with older", False),
        SourceFile("unknown", False),
    ]


def with_deletion_vectors(name: str) -> Warehouse:
    """A warehouse whose table of this name needs readers that know deletion vectors, and whose other tables are empty."""
    tables = {table.name: table for table in RECORD_TABLES}

    def load(location: str) -> State:
        return State(
            location=location,
            version=3,
            reader_version=3 if location == name else 1,
            schema=tables[location].delta_schema(),
            partition_by=(tables[location].partition_by,),
            snapshot=None,
            reader_features=("deletionVectors",) if location == name else (),
        )

    kernel = SimpleNamespace(load=load, files=lambda *_: [], described_files=lambda *_: [])
    return Warehouse(
        session=None,
        kernel=cast("Any", kernel),
        name="here",
        in_catalog=False,
        identifiers={},
        locations={table: table for table in tables},
    )


def test_tables_with_deleted_rows_are_refused() -> None:
    """Rows that a deletion vector deletes are still in the files: they are not restored, and the cure is named."""
    topic = ArchivedTopic(
        cluster_id="c", topic="t", topic_id=None, other_ids=[], partitions={}, records={}, codecs=frozenset()
    )
    complaint = "it needs readers of version 3, not 1: .*DROP FEATURE deletionVectors"
    assert files_of(with_deletion_vectors("record_ranges"), [topic]) == {"t": []}
    with pytest.raises(SchemaChanged, match=f"table records .*{complaint}"):
        files_of(with_deletion_vectors("records"), [topic])
    with pytest.raises(SchemaChanged, match=f"table record_ranges .*{complaint}"):
        find_archived(with_deletion_vectors("record_ranges"), "c", ["t"], {})
    with pytest.raises(SchemaChanged, match=f"table record_ranges .*{complaint}"):
        matching_topics(with_deletion_vectors("record_ranges"), "c", ".*")


def rows_of(*rows: RecordRangeRow | RecordProblemRow) -> list[dict[str, Any]]:
    return [
        vars(row) if hasattr(row, "__dict__") else {name: getattr(row, name) for name in row.__slots__} for row in rows
    ]


def test_an_archive_of_a_truncated_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends where the log ended at last, and not at the end of the records that were taken back."""
    ranges = [
        a_range("0192-0001", 0, 100),
        a_range("0192-0002", 100, 50, problem="LOG_TRUNCATED", records=0),
        a_range("0192-0002", 50, 80),
    ]
    stored = {RECORD_RANGES.name: ranges, RECORD_PROBLEMS.name: []}
    monkeypatch.setattr(archived, "_rows", lambda _warehouse, table, *_: rows_of(*stored[table.name]))
    (topic,) = find_archived(cast("Any", None), "cluster-id", ["t"], {})
    assert (topic.partitions[0].from_offset, topic.partitions[0].to_offset) == (0, 80)


def test_escaped_keys_of_other_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """A record that replaced another one, and one of an earlier topic, may have header keys that are not escaped."""
    ranges = [
        a_range("0192-0001", 0, 100, bytes_fetched=7, lost=2, codec="gzip,zstd"),
        a_range("0192-0002", 100, 50, problem="LOG_TRUNCATED", records=0, bytes_fetched=0, codec=None),
        a_range("0192-0002", 50, 80, bytes_fetched=5, corrupt=1, codec="none"),
        a_range("0192-0002", 0, 3, partition=1, records=3, bytes_fetched=0),
    ]
    of_runs = [("0192-0001", 49), ("0192-0001", 50), ("0192-0001", 99), ("0192-0002", 50)]
    topic_id = ranges[0].topic_id
    problems = [escaped(run, offset, topic_id) for run, offset in of_runs]
    problems += [escaped("0192-0000", 10, "earlier"), escaped("0192-0000", 11, None)]
    stored = {RECORD_RANGES.name: ranges, RECORD_PROBLEMS.name: problems}
    monkeypatch.setattr(archived, "_rows", lambda _warehouse, table, *_: rows_of(*stored[table.name]))
    (topic,) = find_archived(cast("Any", None), "cluster-id", ["t"], {})
    assert topic.partitions[0].escaped == ((49, 49), (50, 50))
    assert (topic.sizes, topic.codecs) == ({0: 12}, {"gzip", "zstd", "none"})
    assert (topic.missing["lost"], topic.missing["corrupt"]) == (2, 1)


def test_topics_that_are_not_archived(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is named, and so is an id that no topic of the name had; a topic of another cluster is not meant."""
    ranges = [
        a_range("0192-0001", 0, 5, topic_id="id"),
        a_range("0192-0001", 0, 5, topic="u", cluster="another", cluster_id="another-id"),
        a_range("0192-0002", 0, 5, topic="u", cluster="another", cluster_id="later-id"),
    ]
    stored = {RECORD_RANGES.name: ranges, RECORD_PROBLEMS.name: []}
    monkeypatch.setattr(archived, "_rows", lambda _warehouse, table, *_: rows_of(*stored[table.name]))
    with pytest.raises(ConfigError) as raised:
        find_archived(cast("Any", None), "cluster-id", ["t", "u"], {"t": "other"})
    assert [fault.partition(" of topic ")[2] for fault in raised.value.problems] == [
        "t with id other",
        "u of cluster cluster-id",
    ]
    with pytest.raises(
        ConfigError, match="was the name of several clusters: give one of their ids, another-id, later-id"
    ):
        find_archived(cast("Any", None), "another", ["t", "u"], {})


def test_an_archive_without_names_of_its_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    """Version 0.1.0 stored none: the line has the id to give, unless ranges of that id have names."""
    ranges = [
        a_range("0192-0001", 0, 5, cluster=None, cluster_id="unnamed"),
        a_range("0192-0001", 0, 5, cluster=None, cluster_id="renamed"),
        a_range("0192-0002", 5, 9, cluster="another", cluster_id="renamed"),
    ]
    stored = {RECORD_RANGES.name: ranges, RECORD_PROBLEMS.name: []}
    monkeypatch.setattr(archived, "_rows", lambda _warehouse, table, *_: rows_of(*stored[table.name]))
    with pytest.raises(ConfigError) as raised:
        find_archived(cast("Any", None), "shop", ["t"], {})
    assert str(raised.value).endswith(
        "of cluster shop; without a cluster's name, as by version 0.1.0, it is of id unnamed: give the id"
    )
    (topic,) = find_archived(cast("Any", None), "unnamed", ["t"], {})
    assert topic.archived


def test_logs_and_files_are_read_once_for_many_topics(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each run adds a file with all topics: 1,000 topics of 1,000 runs would be a million files, and a thousand logs."""
    topics, runs = [f"topic-{number}" for number in range(6)], ["0192-0001", "0192-0002", "0192-0003"]
    rows = {
        run: [a_range(run, 10 * place, 10 * place + 10, topic=topic) for topic in topics]
        for place, run in enumerate(runs)
    }
    problem = escaped(runs[1], 12, rows[runs[1]][0].topic_id)
    problem.topic = topics[1]
    tables = {run: plain_table(RECORD_RANGES, rows[run]) for run in runs}
    tables |= {"others": plain_table(RECORD_RANGES, [a_range("0192-0004", 0, 5)])}
    tables |= {"problem": plain_table(RECORD_PROBLEMS, [problem]), "topic": plain_table(RECORD_PROBLEMS, [])}
    read, loaded = list[str](), list[str]()

    def described_files(state: Any, wanted: dict[str, str]) -> list[DescribedFile]:
        names = {"record_ranges": [*runs, "others"], "record_problems": ["problem"], "records": []}[state]
        bounds = {name: tables[name]["topic"].to_pylist() for name in names}
        return [
            DescribedFile(url=name, size=1, rows=1, least={"topic": min(some)}, greatest={"topic": max(some)})
            for name, some in bounds.items()
            if "topic" not in wanted or min(some) <= wanted["topic"] <= max(some)
        ]

    kernel = SimpleNamespace(
        described_files=described_files,
        files=lambda *given: [file.url for file in described_files(*given)],
        storage=None,
    )
    warehouse = SimpleNamespace(kernel=kernel, state_to_read=lambda table: loaded.append(table.name) or table.name)
    monkeypatch.setattr(archived, "read_table", lambda _, url: read.append(url) or tables[url])
    results = find_archived(cast("Any", warehouse), "cluster-id", topics, {})
    assert [(one.topic, one.partitions[0].from_offset, one.partitions[0].to_offset) for one in results] == [
        (topic, 0, 30) for topic in topics
    ]
    assert [one.partitions[0].escaped for one in results] == [(), ((12, 12),), (), (), (), ()]
    files_of(cast("Any", warehouse), results)
    assert (read, loaded) == ([*runs, "problem"], ["record_ranges", "record_problems", "records"])


def test_files_of_many_topics() -> None:
    """The log is read once for all topics; each has the files whose bounds allow its name and id, as if requests for alone."""
    random, ids = Random(5), ["x", "y"]
    topics = [
        ArchivedTopic(
            cluster_id="c",
            topic=f"t{number:02}",
            topic_id=random.choice(ids),
            other_ids=(),
            partitions={},
            records={},
            codecs=frozenset(),
        )
        for number in range(40)
    ]

    def bounds() -> tuple[dict[str, str], dict[str, str]]:
        pairs = {"topic": [f"t{random.randrange(44):02}" for _ in range(2)], "topic_id": random.choices(ids, k=2)}
        known = {name: sorted(pair) for name, pair in pairs.items() if random.random() < 0.9}
        return {name: pair[0] for name, pair in known.items()}, {name: pair[1] for name, pair in known.items()}

    files = [
        DescribedFile(url=str(number), size=1, rows=1, least=least, greatest=greatest)
        for number, (least, greatest) in enumerate(bounds() for _ in range(50))
    ]
    requests = list[dict[str, str]]()
    kernel = SimpleNamespace(described_files=lambda _, wanted: requests.append(wanted) or files)
    warehouse = cast("Any", SimpleNamespace(kernel=kernel, state_to_read=lambda _: None))
    files_by_topic = files_of(warehouse, topics)
    assert requests == [{"cluster_id": "c"}]
    for topic in topics:
        assert files_of(warehouse, [topic]) == {topic.topic: files_by_topic[topic.topic]}
        expected = [
            file
            for file in files
            if all(
                file.least.get(name, value) <= value <= file.greatest.get(name, value)
                for name, value in topic.identity.items()
            )
        ]
        assert files_by_topic[topic.topic] == expected
    assert files_of(warehouse, []) == {}


def test_a_topic_of_many_partitions(monkeypatch: pytest.MonkeyPatch) -> None:
    """The ranges are looked through a few times, and not once for each partition, which takes an hour for 10,000 of them."""
    looked_at = Counter[str]()

    class Row(dict[str, Any]):
        def __getitem__(self, name: str) -> Any:
            looked_at[name] += 1
            return super().__getitem__(name)

    partitions = 500
    ranges = rows_of(*(a_range("0192-0001", 0, 5, partition=number) for number in range(partitions)))
    stored = {RECORD_RANGES.name: [Row(row) for row in ranges], RECORD_PROBLEMS.name: []}
    monkeypatch.setattr(archived, "_rows", lambda _warehouse, table, *_: stored[table.name])
    (topic,) = find_archived(cast("Any", None), "cluster-id", ["t"], {})
    assert [one.to_offset for one in topic.partitions.values()] == [5] * partitions
    assert looked_at["partition"] < 10 * partitions


def test_a_topic_that_got_an_id_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its ranges without an id are of it, and not those of a topic that had its name before; both can be chosen."""
    ranges = [
        a_range("0192-0001", 0, 30, topic_id=None),
        a_range("0192-0002", 30, 30, topic_id=None, problem="TOPIC_RECREATED"),
        a_range("0192-0002", 0, 10, topic_id=None),
        a_range("0192-0003", 10, 10, topic_id="new"),
        a_range("0192-0003", 10, 11, topic_id="new"),
    ]
    problems = [escaped(run, offset, None) for run, offset in (("0192-0001", 20), ("0192-0002", 2))]
    stored = {RECORD_RANGES.name: ranges, RECORD_PROBLEMS.name: problems}
    monkeypatch.setattr(archived, "_rows", lambda _warehouse, table, *_: rows_of(*stored[table.name]))
    (topic,) = find_archived(cast("Any", None), "cluster-id", ["t"], {})
    assert (topic.topic_id, topic.began_without_id, list(topic.other_ids)) == ("new", True, [None])
    assert "topic_id" not in topic.identity
    whole = topic.partitions[0]
    assert (whole.from_offset, whole.to_offset, whole.began_without_id, whole.escaped) == (0, 11, True, ((2, 2),))
    assert whole.superseded == (
        SupersededRange(ingest_id="0192-0001", from_offset=0, to_offset=30, reason="EARLIER_TOPIC"),
    )
    (earlier,) = find_archived(cast("Any", None), "cluster-id", ["t"], {"t": "none"})
    assert (earlier.topic_id, earlier.partitions[0].to_offset, list(earlier.other_ids)) == (None, 30, ["new"])
    stored[RECORD_RANGES.name] = ranges[2:]
    for topic_ids in ({}, {"t": "none"}, {"t": "new"}):
        (topic,) = find_archived(cast("Any", None), "cluster-id", ["t"], topic_ids)
        assert (topic.topic_id, list(topic.other_ids), topic.partitions[0].from_offset) == ("new", [], 0)
