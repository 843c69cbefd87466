"""Odd responses of brokers cause no traceback, no duplicate row, and no partition or broker below 0 in a snapshot.

Each list of a response is doubled, shortened, emptied, contradicts itself or has unrequested items, and each value is set to
values that Kafka never sends. tests/wire tests how bytes are decoded.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import PipelineError
from kafka_lagoon.snapshot.collect import collect
from kafka_lagoon.snapshot.collectors import (
    COLLECTORS,
    COMMITTED_OFFSETS,
    CONSUMER_GROUPS,
    CONSUMER_LAG,
    PARTITION_OFFSETS,
    PARTITIONS,
    TOPICS,
)
from kafka_lagoon.snapshot.configs import CONFIGS
from kafka_lagoon.snapshot.log_dirs import LOG_DIRS
from kafka_lagoon.tables.snapshot_rows import CollectionFailureRow, Snapshot
from tests.fake import quorum, resources, security
from tests.fake.answers import SPOKEN
from tests.fake.cluster import FakeCluster
from tests.fake.direct import answered_directly, unaltered
from tests.fake.odd_answers import outcomes
from tests.snapshot.test_collectors import everything

# Keys of tables that are made from checked responses. The other tables declare theirs (StateTable.key).
_KEYS = {
    TOPICS: ("topic",),
    PARTITIONS: ("topic", "partition"),
    PARTITION_OFFSETS: ("topic", "partition"),
    CONSUMER_GROUPS: ("group_id",),
    COMMITTED_OFFSETS: ("group_id", "topic", "partition"),
    CONSUMER_LAG: ("group_id", "topic", "partition"),
    CONFIGS: ("resource_type", "resource_name", "name"),
    LOG_DIRS: ("broker_id", "log_dir", "topic", "partition", "is_future"),
}
_TABLES = {table: table.table.key or _KEYS[table] for table in COLLECTORS if table.table.key or table in _KEYS}
_SHORT = 32  # `make test` tries one of this many mutations, `make proof` all of them


@pytest.fixture
def state(monkeypatch: pytest.MonkeyPatch) -> FakeCluster:
    """A cluster that fills every table."""
    for api, answer in (*security.ANSWERS, *quorum.ANSWERS, *resources.ANSWERS):
        monkeypatch.setitem(SPOKEN, api.key, (api, answer))
    cluster = everything()
    cluster.faults.clear()
    return cluster


def taken(cluster: Cluster, deadline: Deadline) -> Snapshot:
    return collect(cluster, "test", 0, deadline, lambda _step, _items: None)


def faults(outcome: Snapshot | PipelineError) -> Iterator[str]:
    """Return duplicate rows, and rows of impossible partitions or brokers."""
    if isinstance(outcome, PipelineError):
        return
    for table, key in _TABLES.items():
        rows: list[Any] = list(outcome.of(table.row))
        keys = [tuple(getattr(row, name) for name in key) for row in rows]
        yield from (f"{table.name} twice: {one}" for one, count in Counter(keys).items() if count > 1)
        yield from (
            f"{table.name} below 0: {one}" for one in keys if any(isinstance(part, int) and part < 0 for part in one)
        )


def test_every_table_is_looked_at() -> None:
    """All tables are checked, except those about requests, and the row of the snapshot."""
    others = {"coverage", "collection_failures", "snapshots"}
    assert {table.name for table in _TABLES} == {table.name for table in COLLECTORS} - others


@pytest.mark.long
def test_odd_answers(state: FakeCluster) -> None:
    """This holds for a sample of the mutations."""
    seen = {name: list(faults(outcome)) for name, outcome in outcomes(state, taken, _SHORT)}
    assert len(seen) > 40
    assert {name: lines for name, lines in seen.items() if lines} == {}


@pytest.mark.proof
@pytest.mark.timeout(1200)
def test_every_odd_answer(state: FakeCluster) -> None:
    """This holds for all mutations, most of which still give a snapshot."""
    seen = [(name, outcome, list(faults(outcome))) for name, outcome in outcomes(state, taken)]
    assert len(seen) > 1_500
    assert {name: lines for name, _, lines in seen if lines} == {}
    assert sum(isinstance(outcome, Snapshot) for _, outcome, _ in seen) > len(seen) * 0.9


# A contradiction is a failure. For OffsetForLeaderEpoch and other APIs that a snapshot does not send, see tests/fetch.
_CONTRADICTIONS = (
    *("ListOffsets topics.partitions", "OffsetFetch groups", "OffsetFetch groups.topics"),
    *("OffsetFetch groups.topics.partitions", "DescribeGroups groups", "DescribeGroups groups.members"),
    *("Metadata topics.partitions", "Metadata topics", "DescribeLogDirs results", "DescribeConfigs results.configs"),
    "DescribeDelegationToken tokens",
    *("ConsumerGroupDescribe groups.members", "DescribeProducers topics.partitions"),
)


def failed(outcome: Any) -> set[tuple[str, str]]:
    return {(row.api, row.error_name) for row in outcome.of(CollectionFailureRow)}


def test_contradictions_are_failures(state: FakeCluster) -> None:
    """Two items with one name and different values add a failure to those of the same cluster with consistent responses."""
    with answered_directly(state, unaltered) as (cluster, deadline):
        healthy = failed(taken(cluster, deadline))
    several = dict(
        outcomes(state, taken, wanted={f"{one} contradicting itself" for one in _CONTRADICTIONS}.__contains__)
    )
    assert len(several) == len(_CONTRADICTIONS)
    assert [name for name, outcome in several.items() if failed(outcome) == healthy] == []
