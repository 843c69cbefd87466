"""Views show published snapshots and no rows of other attempts; Spark and DuckDB return the same rows."""

import hashlib
import re
import shutil
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import kafka_lagoon.notebooks
from kafka_lagoon.delta import publish as publishing
from kafka_lagoon.delta.admin_actions import recording
from kafka_lagoon.delta.open_warehouse import at_path, open_warehouse
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.errors import TableError
from kafka_lagoon.fetch.range_history import incarnations, superseded
from kafka_lagoon.query import duckdb_engine as sql_duckdb
from kafka_lagoon.query import spark_engine as sql_spark
from kafka_lagoon.query import views
from kafka_lagoon.query.spark_engine import make_available
from kafka_lagoon.query.statements import mentioned, tuples, type_name
from kafka_lagoon.query.views import CHANGES, HISTORY, NAMES, VIEWS
from kafka_lagoon.tables import group_rows, snapshot_rows
from kafka_lagoon.tables.record_tables import RECORD_RANGES, RECORDS
from kafka_lagoon.tables.schema import STATE_TABLES, TABLES
from kafka_lagoon.tables.table import Table
from tests.clock import CLOCK
from tests.delta import action_samples
from tests.delta.samples import lag_row, row, snapshot
from tests.delta.test_publish import publish_once
from tests.effort import first
from tests.warehouses import records_like, settings

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
# The other views have one template, or worked examples of their own (tests/query/views/).
WRITTEN = [
    view.name for view in VIEWS if not view.name.endswith("_published") and view.name not in (*HISTORY, *CHANGES)
]


def publish_facts_only(warehouse: Warehouse, made: snapshot_rows.Snapshot, monkeypatch: pytest.MonkeyPatch) -> None:
    """Publish an attempt that wrote its facts and died before its row in `snapshots`."""
    real = publishing._write

    def dying(lock: Any, attempt: Any, table: Any, *fence: Any) -> int:
        if table.name == "snapshots":
            raise KeyboardInterrupt
        return real(lock, attempt, table, *fence)

    with monkeypatch.context() as patch:
        patch.setattr(publishing, "_write", dying)
        with pytest.raises(KeyboardInterrupt):
            publish_once(warehouse, made)


@pytest.fixture(scope="module")
def filled(spark: SparkSession, new_lake: Path, tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """Two clusters, two published snapshots of one, and a later attempt of each that was never published."""
    made = at_path(spark, str(shutil.copytree(new_lake, tmp_path_factory.mktemp("views") / "lake")))
    groups = [
        row(group_rows.ConsumerGroupRow, group_id="busy", state="Stable", members=2),
        row(group_rows.ConsumerGroupRow, group_id="idle", state="Empty", members=0),
        row(group_rows.ConsumerGroupRow, group_id="hidden", problem="GROUP_AUTHORIZATION_FAILED"),
        row(group_rows.ConsumerGroupRow, group_id="tied"),
    ]
    lag = [
        lag_row("busy", "a", 0, lag=5, records_lost=0, retention_margin=7, member_id="m"),
        lag_row("busy", "a", 1, lag=-2, records_lost=3, retention_margin=-3),
        lag_row("busy", "b", 0, lag=None, lag_basis="log_start", member_id="m"),
        lag_row("busy", "b", 1, lag=None, problem="LEADER_NOT_AVAILABLE"),
        lag_row("idle", "a", 0, lag=None, lag_basis="log_start"),
        lag_row("tied", "a", 0, lag=7),
        lag_row("tied", "b", 1, lag=7),
        lag_row("tied", "b", 0, lag=7),
    ]
    with pytest.MonkeyPatch.context() as patch:
        publish_once(made, snapshot(1, groups[0], lag_row("busy", "a", 0, lag=100)))
        state = snapshot_rows.TableState(table_name="acls", outcome="complete", row_count=0, stored_in="1", digest=None)
        publish_once(made, snapshot(2, *groups, *lag, tables=(state,)))
        publish_once(made, snapshot(1, groups[1], lag_row("idle", "z", 9, lag=1), cluster="other"))
        publish_facts_only(made, snapshot(3, *groups, lag_row("busy", "a", 0, lag=777)), patch)
        publish_facts_only(made, snapshot(4, *groups, lag_row("busy", "a", 0, lag=888), cluster="other"), patch)
    with recording(made, "default", CLOCK) as recorder:
        recorder.write(action_samples.started(CLOCK.now_ms()))
        recorder.write(action_samples.finished(CLOCK.now_ms()))
    archive_a_truncation(made)
    return made


def archive_a_truncation(warehouse: Warehouse) -> None:
    """Archive two runs over a topic with an id and one without; between the runs both logs lost offsets 4 to 9."""
    ids = {"a": "AAAAAAAAAAAAAAAAAAAAAA", "b": None}
    kept = [
        of_run(run, records_like(topic, start, count, topic_id=topic_id, key=bytes([start])))
        for topic, topic_id in ids.items()
        for run, start, count in (("1", 0, 10), ("2", 4, 2))
    ]
    append(warehouse, RECORDS, pa.concat_tables(kept))
    schema = RECORD_RANGES.file_schema()
    numbers = {field.name: 0 for field in schema if not field.nullable and pa.types.is_integer(field.type)}
    ranges = [
        {**numbers, "ingest_id": run, "cluster_id": "cluster", "topic": topic, "topic_id": topic_id, **counts}
        for topic, topic_id in ids.items()
        for run, counts in (
            ("1", {"from_offset": 0, "to_offset": 10, "records": 10}),
            ("2", {"from_offset": 10, "to_offset": 4, "problem": "LOG_TRUNCATED"}),
            ("2", {"from_offset": 4, "to_offset": 6, "records": 2, "lost": 2**62}),
        )
        if not (topic == "b" and counts.get("lost"))
    ]
    filled_in = [{**{field.name: None for field in schema}, **one} for one in ranges]
    for ranged in filled_in:
        ranged["planned_at"] = ranged["planned_at"] or NOON
        ranged["codec"] = ranged["codec"] or ""
    append(warehouse, RECORD_RANGES, pa.Table.from_pylist(filled_in, schema))


def of_run(run: str, records: pa.Table) -> pa.Table:
    index = records.schema.get_field_index("ingest_id")
    return records.set_column(index, records.schema.field(index), pa.array([run] * len(records)))


def append(warehouse: Warehouse, table: Table, rows: pa.Table) -> None:
    """Add rows with Spark's own writer, which stores timestamps in another encoding than we do."""
    dated = rows.append_column(table.partition_by, pa.array([date(2026, 11, 21)] * len(rows), pa.date32()))
    frame = warehouse.spark.createDataFrame(dated)
    frame.write.format("delta").mode("append").save(warehouse.locations[table.name])


def by_both(warehouse: Warehouse, statement: str) -> pa.Table:
    """Return the sorted result; its columns, types and rows are the same with both engines."""
    folder = Path(urlsplit(warehouse.name).path)
    names = mentioned(statement)
    with sql_duckdb.opened(folder, names) as ours, sql_spark.opened(warehouse, names) as other:
        results = (ask(statement) for ask in (ours, other))
        duck, spark = (pa.Table.from_batches(list(result.batches), result.schema) for result in results)
    assert [(one.name, type_name(one.type)) for one in duck.schema] == [
        (one.name, type_name(one.type)) for one in spark.schema
    ]
    assert sorted(duck.to_pylist(), key=repr) == sorted(spark.to_pylist(), key=repr)
    return duck


def check(warehouse: Warehouse, statement: str, wanted: Sequence[tuple[Any, ...]]) -> None:
    """Check that both engines return these rows, in any order."""
    result = [tuple(one.values()) for one in by_both(warehouse, statement).to_pylist()]
    assert sorted(result, key=repr) == sorted(wanted, key=repr)


@pytest.mark.parametrize("view", first([*WRITTEN, "consumer_lag_published"]))
def test_both_engines_show_the_same(filled: Warehouse, view: str) -> None:
    """Columns, their types and all rows of each view are equal: with nulls, ties, two clusters, a truncation."""
    assert by_both(filled, f"SELECT * FROM {view}").num_rows


@pytest.mark.proof
@pytest.mark.parametrize("view", first(["records_now", "lag_by_group", "ingests"]))
def test_both_engines_show_nothing_of_tables_without_rows(warehouse: Warehouse, view: str) -> None:
    """The views of a new warehouse are empty and have all their columns."""
    assert by_both(warehouse, f"SELECT * FROM {view}").num_rows == 0


def test_published_rows_carry_their_slot(filled: Warehouse) -> None:
    """Every published snapshot is listed with its slot, and no unpublished attempt."""
    check(
        filled,
        "SELECT cluster, CAST(hour(slot) AS INT) AS hour, status, count(*) AS n, max(lag) AS lag FROM consumer_lag_published GROUP BY 1, 2, 3",
        [("default", 13, "", 1, 100), ("default", 14, "", 8, 7), ("other", 13, "", 1, 1)],
    )
    for table in STATE_TABLES[:-1]:
        result = sql_duckdb.columns_of(f"{table.name}_published")
        assert result.names == [*(column.name for column in table.columns), "slot", "status"]


@pytest.mark.proof
def test_records_now_leaves_out_what_a_truncation_took_back(filled: Warehouse) -> None:
    """Records of the first run after the truncation are left out, also for topics without known ids."""
    check(
        filled,
        "SELECT topic, ingest_id, min(records_now.offset) AS first, count(*) AS n FROM records_now GROUP BY 1, 2",
        [("a", "1", 0, 4), ("a", "2", 4, 2), ("b", "1", 0, 4), ("b", "2", 4, 2)],
    )


@pytest.mark.proof
def test_superseded_ranges_are_those_of_restores(spark: SparkSession, tmp_path: Path) -> None:
    """The view and the functions that restores use agree: about truncations, copies, deletions, upgrades, runs without numbers."""
    made = open_warehouse(spark, settings(f"warehouse={tmp_path}"), CLOCK)
    histories = {f"t{number}": random_history(Random(number), f"t{number}") for number in range(60)}
    ranges = [one for history in histories.values() for one in history]
    append(made, RECORD_RANGES, pa.Table.from_pylist(ranges, RECORD_RANGES.file_schema()))
    wanted = {
        (topic, one.ingest_id, one.from_offset, one.to_offset, one.reason)
        for topic, history in histories.items()
        for incarnation in incarnations(history)
        for one in superseded(incarnation.rows)
    }
    assert {reason for *_, reason in wanted} == {"TRUNCATED", "COPY"}
    shown = by_both(made, "SELECT topic, ingest_id, from_offset, to_offset, reason FROM superseded_ranges")
    assert {tuple(one.values()) for one in shown.to_pylist()} == wanted


def random_history(random: Random, topic: str) -> list[dict[str, Any]]:
    """Make ranges of one partition, some of runs without a number or with a slow clock, some before and after it got an id."""
    numbers = {field.name: 0 for field in RECORD_RANGES.file_schema() if pa.types.is_integer(field.type)}
    upgraded_at, position = random.choice([0, 3, 9]), 0
    history = []
    for number in range(random.randint(2, 9)):
        topic_id = None if number < upgraded_at else "id"
        run = f"{number:02d}" if number < 3 else f"{random.randint(10, 99)}-{number}"
        step = random.choice(["read", "read", "truncate", "delete", "again"])
        end = random.randrange(position + 1) if step == "truncate" else position + random.randrange(9)
        problem = {"truncate": "LOG_TRUNCATED", "delete": "TOPIC_DELETED", "again": "TOPIC_RECREATED"}.get(step)
        if step in ("delete", "again"):
            end = position
        if problem == "LOG_TRUNCATED" and end == position:
            problem = None
        history.append(
            {**dict.fromkeys(RECORD_RANGES.file_schema().names), **numbers}
            | {"ingest_id": run, "cluster_id": "c", "topic": topic, "topic_id": topic_id, "planned_at": NOON}
            | {"sequence": None if number < 3 else number, "problem": problem, "codec": ""}
            | {"from_offset": position, "to_offset": end}
        )
        position = random.choice([0, end]) if step in ("delete", "again") else end
    return history


def test_actions_without_a_second_row_are_unknown(filled: Warehouse) -> None:
    """Each action is one row with its user, and with its outcome if its run has recorded it."""
    check(
        filled,
        "SELECT kind, outcome, error_name, source, user, finished_at IS NULL AS open FROM admin_outcomes",
        [
            ("create_topic", "done", None, None, "alice", False),
            ("delete_topic", "failed", "NOT_SENT", "state.toml:7", "alice", False),
            ("alter_configs", "unknown", None, None, "alice", True),
        ],
    )


def test_ingests_sum_up_each_run(filled: Warehouse) -> None:
    """Each run has one row, with sums in 64 bits."""
    check(
        filled,
        "SELECT ingest_id, topics, partitions, records, lost, problems FROM ingests",
        [("1", 2, 2, 20, 0, 0), ("2", 2, 2, 2, 2**62, 2)],
    )


def test_snapshots_now_is_the_latest_of_each_cluster(filled: Warehouse) -> None:
    """Each cluster has one row, its latest snapshot by the time at which it was captured."""
    wanted = [("default", "0192-0002-default"), ("other", "0192-0001-other")]
    check(filled, "SELECT cluster, snapshot_id FROM snapshots_now", wanted)


def test_lag_now_is_the_latest_published_lag(filled: Warehouse) -> None:
    """Only rows of the latest published snapshots are shown, unchanged: null and negative lag included."""
    check(
        filled,
        "SELECT cluster, group_id, topic, partition, lag, lag_basis, problem FROM lag_now",
        [
            ("default", "busy", "a", 0, 5, "committed", None),
            ("default", "busy", "a", 1, -2, "committed", None),
            ("default", "busy", "b", 0, None, "log_start", None),
            ("default", "busy", "b", 1, None, "unknown", "LEADER_NOT_AVAILABLE"),
            ("default", "idle", "a", 0, None, "log_start", None),
            ("default", "tied", "a", 0, 7, "committed", None),
            ("default", "tied", "b", 1, 7, "committed", None),
            ("default", "tied", "b", 0, 7, "committed", None),
            ("other", "idle", "z", 9, 1, "committed", None),
        ],
    )


@pytest.mark.proof
def test_lag_by_group_says_what_its_sums_leave_out(filled: Warehouse) -> None:
    """Every group has its row; beside each sum is its number of known partitions, and it is null if that is 0."""
    check(
        filled,
        """
        SELECT cluster, group_id, state, members, topics, partitions, known_partitions, lag,
               worst_lag, worst_topic, worst_partition, problem
        FROM lag_by_group
        """,
        [
            ("default", "busy", "Stable", 2, 2, 4, 2, 3, 5, "a", 0, None),
            ("default", "idle", "Empty", 0, 1, 1, 0, None, None, None, None, None),
            ("default", "hidden", None, None, 0, 0, 0, None, None, None, None, "GROUP_AUTHORIZATION_FAILED"),
            ("default", "tied", None, None, 2, 3, 3, 21, 7, "a", 0, None),
            ("other", "idle", "Empty", 0, 1, 1, 1, 1, 1, "z", 9, None),
        ],
    )
    check(
        filled,
        """
        SELECT group_id, uncommitted_partitions, unowned_partitions, loss_known_partitions, records_lost,
               retention_margin, problem_partitions
        FROM lag_by_group WHERE cluster = 'default'
        """,
        [
            ("busy", 1, 2, 2, 3, -3, 1),
            ("idle", 1, 1, 0, None, None, 0),
            ("hidden", 0, 0, 0, None, None, 0),
            ("tied", 0, 3, 0, None, None, 0),
        ],
    )


def test_tables_by_name_hold_every_attempt(filled: Warehouse) -> None:
    """The tables themselves, unlike the views, have the rows of unpublished attempts."""
    check(filled, "SELECT lag FROM consumer_lag WHERE lag > 99", [(100,), (777,), (888,)])


@pytest.mark.proof
def test_views_are_explained(filled: Warehouse) -> None:
    """Every view and each of its columns has a comment, in the session as in its file."""
    make_available(filled)
    for view in VIEWS:
        assert view.comment.endswith(".")
        described = filled.spark.sql(f"DESCRIBE {view.name}").collect()
        assert all(one["comment"] for one in described)
        if view.columns:
            assert [(one["col_name"], one["comment"]) for one in described] == list(view.columns)


def test_views_read_what_comes_before_them() -> None:
    """A view uses only tables and earlier views, so that views can be created in order."""
    known = {table.name for table in TABLES}
    for view in VIEWS:
        assert set(view.needs()) <= known
        assert re.match(rf"CREATE OR REPLACE VIEW {view.name}\b", view.sql)
        known.add(view.name)


def test_spark_analyses_each_view_once(filled: Warehouse) -> None:
    """A temporary view reads tables alone: views below views were analysed again wherever they are named, for minutes."""
    with sql_spark.opened(filled, ["loss_ahead"]) as ask:
        plan = "\n".join(
            line for (text,) in tuples(ask("EXPLAIN EXTENDED SELECT * FROM loss_ahead")) for line in text.splitlines()
        )
    analysed = plan.partition("== Analyzed Logical Plan ==")[2].partition("== Optimized Logical Plan ==")[0]
    assert "View (`loss_ahead`" in analysed
    tables = {table.name for table in TABLES}
    assert set(re.findall(r"View \(`(\w+)`", analysed)) - tables == {"loss_ahead"}
    defined = re.findall(r"CTERelationDef \d+", analysed)
    assert len(defined) == len(set(defined))


@pytest.mark.parametrize(
    ("view", "version", "known"),
    [
        ("computed_changes", views.CHANGES_VERSION, (5, "7f25c03b2dc0")),
        ("topic_throughput", views.THROUGHPUT_VERSION, (2, "6c21d5b4efab")),
    ],
)
def test_stored_rows_are_of_these_views(view: str, version: int, known: tuple[int, str]) -> None:
    """If a view computes something else, its days are stored again: the number of its version must be another one then."""
    names = views.with_needs({view}) & {view.name for view in VIEWS}
    queries = "".join(view.query for view in VIEWS if view.name in names).replace(f"'{version} '", "")
    digest = hashlib.sha256(" ".join(queries.split()).encode()).hexdigest()[:12]
    assert (version, digest) == known, (
        "the SQL is another: if a row of a day may be another, raise CHANGES_VERSION or THROUGHPUT_VERSION in query/views.py; "
        f"then write its number and {digest} as `known` of this test"
    )


def test_every_file_is_a_view() -> None:
    """A file of SQL that no list of views.py names would be read by nobody."""
    files = {path.stem for path in Path(str(views.__file__)).with_suffix("").glob("*.sql")}
    templates = {"published", "published_when_changed", "columns_of_changes"}
    named = {view.file for view in VIEWS if not view.name.endswith("_published")}
    assert files - templates == named, "query/views.py: a file is not listed"


@pytest.mark.parametrize("names", first([{"lag_by_group"}, {*NAMES}]), ids=["a view", "all views"])
def test_analysts_need_one_line(
    spark: SparkSession, filled: Warehouse, names: Iterable[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`kafka_lagoon.notebooks.register(spark, folder)` is enough; a folder without tables is an error."""
    monkeypatch.setattr(sql_spark, "make_available", lambda warehouse: make_available(warehouse, names))
    for view in VIEWS:
        spark.catalog.dropTempView(view.name)
    kafka_lagoon.notebooks.register(spark, filled.name)
    assert spark.table("lag_by_group").count() == 5
    with pytest.raises(TableError, match=r"nothing-here"):
        kafka_lagoon.notebooks.register(spark, f"{filled.name}/nothing-here")
