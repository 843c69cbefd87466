"""Views show the latest published snapshot of each cluster, and nothing of any other attempt."""

import re
from collections.abc import Sequence
from typing import Any

import pytest
from chispa import assert_df_equality
from pyspark.sql import SparkSession

import pipeline.tables
from pipeline.errors import TableError
from pipeline.snapshot import rows
from pipeline.tables import publish as publishing
from pipeline.tables.schema import TABLES
from pipeline.tables.views import VIEWS, make_available
from pipeline.tables.warehouse import Warehouse, open_warehouse
from tests.clock import CLOCK
from tests.tables.conftest import settings
from tests.tables.samples import lag_row, row, snapshot
from tests.tables.test_publish import publish_once


def publish_facts_only(warehouse: Warehouse, made: rows.Snapshot, monkeypatch: pytest.MonkeyPatch) -> None:
    """An attempt that wrote its facts and died before its row in `snapshots`."""
    real = publishing._write

    def dying(mine: Any, attempt: Any, table: Any, *fence: Any) -> int:
        if table.name == "snapshots":
            raise KeyboardInterrupt
        return real(mine, attempt, table, *fence)

    with monkeypatch.context() as patch:
        patch.setattr(publishing, "_write", dying)
        with pytest.raises(KeyboardInterrupt):
            publish_once(warehouse, made)


@pytest.fixture(scope="module")
def filled(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """Two clusters, two published snapshots of one, and a later attempt of each that was never published."""
    made = open_warehouse(spark, settings(f"warehouse={tmp_path_factory.mktemp('views')}"), CLOCK)
    groups = [
        row(rows.ConsumerGroupRow, group_id="busy", state="Stable", members=2),
        row(rows.ConsumerGroupRow, group_id="idle", state="Empty", members=0),
        row(rows.ConsumerGroupRow, group_id="hidden", problem="GROUP_AUTHORIZATION_FAILED"),
    ]
    lag = [
        lag_row("busy", "a", 0, lag=5, records_lost=0, retention_margin=7, member_id="m"),
        lag_row("busy", "a", 1, lag=-2, records_lost=3, retention_margin=-3),
        lag_row("busy", "b", 0, lag=None, lag_basis="log_start", member_id="m"),
        lag_row("busy", "b", 1, lag=None, problem="LEADER_NOT_AVAILABLE"),
        lag_row("idle", "a", 0, lag=None, lag_basis="log_start"),
    ]
    with pytest.MonkeyPatch.context() as patch:
        publish_once(made, snapshot(1, groups[0], lag_row("busy", "a", 0, lag=100)))
        publish_once(made, snapshot(2, *groups, *lag))
        publish_once(made, snapshot(1, groups[1], lag_row("idle", "z", 9, lag=1), cluster="other"))
        publish_facts_only(made, snapshot(3, *groups, lag_row("busy", "a", 0, lag=777)), patch)
        publish_facts_only(made, snapshot(4, *groups, lag_row("busy", "a", 0, lag=888), cluster="other"), patch)
    make_available(made)
    return made


def check(warehouse: Warehouse, statement: str, wanted: Sequence[tuple[Any, ...]]) -> None:
    """The statement yields these rows, in whatever order."""
    found = warehouse.spark.sql(statement)
    assert_df_equality(found, warehouse.spark.createDataFrame(wanted, found.schema), ignore_row_order=True)


def test_snapshots_now_is_the_latest_of_each_cluster(filled: Warehouse) -> None:
    """One row per cluster, by the time it was captured."""
    wanted = [("default", "0192-0002-default"), ("other", "0192-0001-other")]
    check(filled, "SELECT cluster, snapshot_id FROM snapshots_now", wanted)


def test_lag_now_is_the_latest_published_lag(filled: Warehouse) -> None:
    """Rows of the latest published snapshots only, as they were written: null, negative and all."""
    check(
        filled,
        "SELECT cluster, group_id, topic, partition, lag, lag_basis, problem FROM lag_now",
        [
            ("default", "busy", "a", 0, 5, "committed", None),
            ("default", "busy", "a", 1, -2, "committed", None),
            ("default", "busy", "b", 0, None, "log_start", None),
            ("default", "busy", "b", 1, None, "unknown", "LEADER_NOT_AVAILABLE"),
            ("default", "idle", "a", 0, None, "log_start", None),
            ("other", "idle", "z", 9, 1, "committed", None),
        ],
    )


def test_lag_by_group_says_what_its_sums_leave_out(filled: Warehouse) -> None:
    """Every group has its row; each sum stands beside how many partitions it knows, and is null if it knows none."""
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
        [("busy", 1, 2, 2, 3, -3, 1), ("idle", 1, 1, 0, None, None, 0), ("hidden", 0, 0, 0, None, None, 0)],
    )


def test_tables_by_name_hold_every_attempt(filled: Warehouse) -> None:
    """The tables themselves, unlike the views, show what unpublished attempts left."""
    check(filled, "SELECT lag FROM consumer_lag WHERE lag > 99", [(100,), (777,), (888,)])


def test_views_are_explained(filled: Warehouse) -> None:
    """Every view and each of its columns has a comment, in the session as in its file."""
    for view in VIEWS:
        assert view.comment.endswith(".")
        described = filled.spark.sql(f"DESCRIBE {view.name}").collect()
        assert all(one["comment"] for one in described)
        if view.columns:
            assert [(one["col_name"], one["comment"]) for one in described] == list(view.columns)


def test_views_read_what_comes_before_them() -> None:
    """A view needs tables and earlier views alone, so that they can be made in order."""
    known = {table.name for table in TABLES}
    for view in VIEWS:
        assert view.needs() <= known
        assert re.match(rf"CREATE OR REPLACE VIEW {view.name}\b", view.sql)
        known.add(view.name)


def test_analysts_need_one_line(spark: SparkSession, filled: Warehouse) -> None:
    """`pipeline.tables.register(spark, folder)` is all that it takes; a place without tables is an error."""
    for view in VIEWS:
        spark.catalog.dropTempView(view.name)
    pipeline.tables.register(spark, filled.name)
    assert spark.table("lag_by_group").count() == 4
    with pytest.raises(TableError, match=r"nothing-here"):
        pipeline.tables.register(spark, f"{filled.name}/nothing-here")
