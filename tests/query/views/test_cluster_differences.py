"""View cluster_differences compares the latest snapshots of clusters; three_clusters.txt has an example of each difference."""

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from kafka_lagoon.query.duckdb_engine import columns_of
from tests.query.views.engines import Engines, Rows, by_duckdb
from tests.query.views.test_examples import _lines, _shown, _wanted
from tests.query.views.worked_examples import _add, read_examples, tables_of

_FILE = Path(__file__).with_name("three_clusters.txt")
EXAMPLES = read_examples(_FILE)
VIEW = "cluster_differences"
_STATIC = "STATIC_BROKER_CONFIG"
_PLAIN = ["entity_type", "entity", "attribute", "source", "topic", "group_id", "is_proven"]
_TURNED = {"only_here": "only_there", "only_there": "only_here"}


@pytest.fixture(scope="module")
def rows() -> Rows:
    """Returns all rows of the view."""
    return by_duckdb(dict(tables_of(EXAMPLES)), VIEW).to_pylist()


def test_differences_are_those_of_the_example(rows: Rows) -> None:
    """Every difference of prod is in the example, with the reason of each that is unknown."""
    prod = EXAMPLES[0]
    (expected,) = prod.expected
    shown = _shown([row for row in rows if row["cluster"] == "prod"], expected.columns, prod)
    assert _lines(shown) == _lines(_wanted(expected))
    left = set(columns_of(VIEW).names) - {*expected.columns, "cluster", "snapshot_id", "snapshot_date"}
    assert left == {"captured_at", "other_snapshot_id", "other_captured_at"}


def test_each_pair_is_shown_from_both_sides(rows: Rows) -> None:
    """The rows of the other side have the same difference, with its sides exchanged."""
    here = ["cluster", "value", "problem", "other_cluster", "other_value", "other_problem"]
    there = [*here[3:], *here[:3]]
    shown = sorted(([row[name] for name in here + _PLAIN], row["difference"]) for row in map(_without_nulls, rows))
    turned = sorted(
        ([row[name] for name in there + _PLAIN], _TURNED.get(row["difference"], row["difference"]))
        for row in map(_without_nulls, rows)
    )
    assert shown == turned
    assert len(rows) > 40


def _without_nulls(row: dict[str, Any]) -> dict[str, str]:
    return {name: str(value) for name, value in row.items()}


def test_the_latest_snapshots_are_compared(rows: Rows) -> None:
    """An earlier snapshot of prod had another topic."""
    prod, spare, _ = EXAMPLES
    chosen = {(row["snapshot_id"], row["captured_at"]) for row in rows if row["cluster"] == "prod"}
    assert chosen == {(prod.snapshot_id("2"), prod.captured_at["2"])}
    others = {(row["other_snapshot_id"], row["other_captured_at"]) for row in rows if row["other_cluster"] == "spare"}
    assert others == {(spare.snapshot_id("1"), spare.captured_at["1"])}


def test_configs_of_brokers_are_known_if_all_of_them_answered() -> None:
    """A broker that runs, or may run, and did not describe its configs may set them differently; one that is fenced cannot answer."""
    for fenced, problems in (("false", {"NOT_DESCRIBED"}), ("-", {"NOT_DESCRIBED"}), ("true", {None})):
        (prod, *others) = read_examples(_FILE)
        _add(
            prod, [["brokers", "broker_id", "is_fenced"], ["2", "1", "false"], ["2", "2", "false"], ["2", "3", fenced]]
        )
        rows = by_duckdb(dict(tables_of([prod, *others])), VIEW).to_pylist()
        of_brokers = [row for row in rows if (row["cluster"], row["entity"]) == ("prod", "brokers")]
        assert len(of_brokers) == 3
        assert {row["problem"] for row in of_brokers} == problems
        assert {row["is_proven"] for row in of_brokers} == {fenced == "true"}


def test_configs_that_differ_by_nature_are_not_compared(rows: Rows) -> None:
    """The ids, addresses, racks, folders and key stores of a cluster are its own."""
    prod, spare, blind = read_examples(_FILE)
    names = (
        *("broker.id", "process.roles", "early.start.listeners", "host.name", "port", "log.dir", "metadata.log.dir"),
        *("cordoned.log.dirs", "controller.quorum.voters", "controller.quorum.bootstrap.servers", "zookeeper.connect"),
        *("ssl.keystore.location", "listener.name.a.ssl.keystore.location", "advertised.host.name"),
    )
    columns = ["configs", "resource_type", "resource_name", "name", "value", "source", "synonyms"]
    _add(spare, [columns, *(["1", "broker", "1", name, "x", _STATIC, _synonym(name)] for name in names)])
    with_own = by_duckdb(dict(tables_of([prod, spare, blind])), VIEW).to_pylist()
    assert sorted(map(str, with_own)) == sorted(map(str, rows))
    _add(spare, [columns, ["1", "broker", "1", "num.network.threads", "x", _STATIC, _synonym("num.network.threads")]])
    assert len(by_duckdb(dict(tables_of([prod, spare, blind])), VIEW)) == len(rows) + 2


def _synonym(name: str) -> str:
    return json.dumps([{"name": name, "value": "x", "source": _STATIC}])


@pytest.mark.spark
@pytest.mark.proof
def test_spark_says_the_same(spark: SparkSession) -> None:
    """Spark's rows are those of DuckDB."""
    assert len(Engines(spark, dict(tables_of(EXAMPLES)), (VIEW,)).rows(VIEW)) > 40
