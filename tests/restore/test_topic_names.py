"""Archived topics are chosen by a pattern for the whole name."""

import io
from types import SimpleNamespace
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.restore.topic_names import matching_topics
from tests.restore.test_archived import a_range, store


@pytest.mark.spark
def test_whole_names_of_one_cluster(warehouse: Warehouse) -> None:
    """The cluster is given by name or id; parts of names, topics of other clusters and internal topics do not match."""
    names = ("orders", "orders-eu", "__consumer_offsets", "payments")
    store(warehouse, *(a_range("0192-0001", 0, 9, topic=name, cluster="prod", cluster_id="id-1") for name in names))
    store(warehouse, a_range("0192-0002", 0, 9, topic="orders-test", cluster="test", cluster_id="id-2"))
    assert matching_topics(warehouse, "prod", "orders.*") == ["orders", "orders-eu"]
    assert matching_topics(warehouse, "id-1", "orders") == ["orders"]
    assert matching_topics(warehouse, "prod", ".*") == ["orders", "orders-eu", "payments"]
    with pytest.raises(ConfigError, match="no topic of cluster test that is archived matches pay"):
        matching_topics(warehouse, "test", "pay")


def test_topics_that_only_version_0_1_0_archived() -> None:
    """Its files have no name of the cluster: a topic without later ranges is of the cluster whose id has the name."""
    rows: list[list[dict[str, str]]] = [
        [{"cluster_id": "id-1", "topic": "gone"}, {"cluster_id": "id-2", "topic": "another"}],
        [{"cluster": "prod", "cluster_id": "id-1", "topic": "orders"}],
    ]
    files = dict[str, bytes]()
    for number, of_file in enumerate(rows):
        pq.write_table(pa.Table.from_pylist(of_file), written := io.BytesIO())
        files[str(number)] = written.getvalue()
    kernel = SimpleNamespace(
        described_files=lambda *_: [SimpleNamespace(url=url) for url in files], storage=SimpleNamespace(read=files.get)
    )
    warehouse = cast("Any", SimpleNamespace(kernel=kernel, state_to_read=lambda _: None))
    assert matching_topics(warehouse, "prod", ".*") == ["gone", "orders"]
    with pytest.raises(ConfigError, match=r"matches ord; without a cluster's name, .* of id id-2: give the id"):
        matching_topics(warehouse, "spare", "ord")
