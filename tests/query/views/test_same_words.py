"""Views and code agree about partitions and tables: the same findings, and the APIs that the tables declare."""

import itertools
import re

import duckdb
import pyarrow as pa

from kafka_lagoon.delta.arrow import arrow_table
from kafka_lagoon.query import duckdb_engine
from kafka_lagoon.query.duckdb_tables import TableQuery
from kafka_lagoon.query.views import VIEWS
from kafka_lagoon.snapshot.collectors import COLLECTORS
from kafka_lagoon.snapshot.health import FINDINGS, findings
from kafka_lagoon.tables.cluster_rows import PartitionRow
from kafka_lagoon.tables.schema import SNAPSHOT_DATE, TABLES
from kafka_lagoon.tables.snapshot_rows import CoverageRow, SnapshotHeader
from tests.delta.samples import NOON_MS, row, snapshot

_PARTITION_FLAGS = ("is_leaderless", "is_under_replicated", "is_under_min_isr", "is_at_min_isr", "is_preferred_leader")


def _every_state() -> list[PartitionRow]:
    """Make partitions with all combinations of known and unknown values."""
    in_sync = [(1,), (1, 2, 3)]
    combinations = itertools.product(
        [True, False], [True, False], *[[True, False, None]] * 3, [None, (), (3,)], in_sync
    )
    return [
        row(
            PartitionRow,
            topic="a",
            partition=number,
            replicas=(1, 2, 3),
            isr=isr,
            offline_replicas=offline,
            **dict(zip(_PARTITION_FLAGS, flags, strict=True)),
        )
        for number, (*flags, offline, isr) in enumerate(combinations)
    ]


def _shown(partitions: list[PartitionRow]) -> set[tuple[int, str]]:
    made = snapshot(1, *partitions, row(CoverageRow, api="Metadata", requests=1, visibility="complete"))
    header = SnapshotHeader(snapshot_id=made.header.snapshot_id, cluster="c", cluster_id="c", captured_at_ms=NOON_MS)
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for table in TABLES:
            if table.name in {one.name for one in COLLECTORS}:
                rows = arrow_table(table, header, made.of(table.row))
            else:
                rows = table.file_schema().empty_table()
            dated = rows.append_column(SNAPSHOT_DATE, pa.array([0] * len(rows), pa.date32()))
            connection.register(f"given_{table.name}", dated)
        duckdb_engine.create(
            connection, {"health_findings"}, lambda table: TableQuery(f"SELECT * FROM given_{table.name}")
        )
        answer = connection.sql("SELECT partition, finding FROM health_findings WHERE entity_type = 'partition'")
        return set(answer.fetchall())


def test_partitions_have_the_findings_of_the_verb() -> None:
    """View and `lagoon kafka health` agree on every combination of known and unknown values."""
    partitions = _every_state()
    wanted = {(one.partition, finding) for one in partitions for finding in findings(one)}
    assert {finding for _, finding in wanted} == set(FINDINGS)
    assert _shown(partitions) == wanted


def test_lists_come_from_the_apis_that_tables_declare() -> None:
    """The source API of each table in table_coverage is one of the APIs in its declaration."""
    (view,) = (view for view in VIEWS if view.name == "table_coverage")
    sources = re.findall(r"\('(\w+)', '(\w+)', (?:TRUE|FALSE), (?:TRUE|FALSE)\)", view.sql)
    declared = {table.name: {api.name for api in table.apis} for table in COLLECTORS}
    # Tables of groups; every connection sends ApiVersions.
    listing = {"committed_offsets": {"ListGroups"}, "features": {"ApiVersions"}}
    assert sources
    for table, api in sources:
        assert api in declared[table] | listing.get(table, set())


def test_configs_of_a_single_broker_are_the_same_in_both_views() -> None:
    """Configs that may differ between brokers (config_drift) are not compared between clusters; nor are addresses of controllers."""
    drift, between = (_not_compared(name) for name in ("health_findings", "cluster_differences"))
    assert "node.id" in drift
    assert between - drift == {"controller.quorum.voters", "controller.quorum.bootstrap.servers", "zookeeper.connect"}
    assert drift - between == set()


def _not_compared(name: str) -> set[str]:
    """Return the names and patterns of configs that a view leaves out."""
    (view,) = (view for view in VIEWS if view.name == name)
    (lists,) = re.findall(r"name NOT IN \((.*?)\)|attribute NOT IN \(\s*('node.id'.*?)\)", view.sql, re.DOTALL)
    return {*re.findall(r"'(.*?)'", "".join(lists)), *re.findall(r"NOT LIKE '(.*?)'", view.sql)}
