"""Archived topics are chosen by a pattern for the whole name."""

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
