"""Collects the lag of a cluster with our client, and counts the requests."""

from collections import Counter
from collections.abc import Sequence

from kafka_lagoon.admin.committed_offsets import committed_offsets
from kafka_lagoon.admin.groups import list_groups
from kafka_lagoon.admin.offsets import HIGH_WATERMARK, KINDS_OF_LAG, list_offsets
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import SYSTEM_CLOCK, Deadline
from kafka_lagoon.garbage import gc_paused
from kafka_lagoon.kafka_settings import KafkaSettings
from kafka_lagoon.snapshot.collect import collect
from kafka_lagoon.snapshot.commits import commit_rows
from kafka_lagoon.snapshot.group_state import lag_of, read_groups
from kafka_lagoon.snapshot.offsets import offset_rows
from kafka_lagoon.snapshot.topology import topology_of
from kafka_lagoon.tables.group_rows import ConsumerLagRow
from kafka_lagoon.tables.snapshot_rows import Snapshot
from kafka_lagoon.topic_partition import TopicPartition
from tests.bench.lag_peers import Lag

_BUDGET_MS = 60_000


def whole(bootstrap_servers: str) -> Snapshot:
    """Collect every table of a snapshot."""
    with _connect(bootstrap_servers, RequestStats()) as cluster:
        return collect(cluster, "bench", SYSTEM_CLOCK.now_ms(), _deadline(), _tell)


@gc_paused()
def lag(bootstrap_servers: str) -> Sequence[ConsumerLagRow]:
    """Collect the inputs of `consumer_lag`: groups, members, commits with epochs, end offsets before and after them."""
    with _connect(bootstrap_servers, RequestStats()) as cluster:
        topology = topology_of(cluster.refresh(None, _deadline()))
        state = read_groups(cluster, topology, _deadline(), _tell, KINDS_OF_LAG)
        return lag_of(topology, state, offset_rows(topology, state.offsets))


@gc_paused()
def plain(bootstrap_servers: str) -> Lag:
    """Collect the same facts as kafka-python: groups, commits, end offsets."""
    with _connect(bootstrap_servers, RequestStats()) as cluster:
        topology = topology_of(cluster.refresh(None, _deadline()))
        listed = list_groups(cluster, _deadline()).groups
        commits = list(commit_rows(committed_offsets(cluster, list(listed), _deadline()), topology))
        ends = list_offsets(cluster, topology.every_partition(), [HIGH_WATERMARK], _deadline())[HIGH_WATERMARK].answers
        return {
            (one.group_id, one.topic, one.partition): ends[TopicPartition(one.topic, one.partition)].offset
            - one.committed_offset
            for one in commits
            if one.committed_offset is not None
        }


def requests(bootstrap_servers: str) -> Counter[str]:
    """Count the requests of each API in a whole snapshot."""
    request_stats = RequestStats()
    with _connect(bootstrap_servers, request_stats) as cluster:
        collect(cluster, "bench", SYSTEM_CLOCK.now_ms(), _deadline(), _tell)
    requests: Counter[str] = Counter()
    for (api, _), stats in request_stats.by_api.items():
        requests[api] += stats.requests
    return requests


def known(rows: Sequence[ConsumerLagRow]) -> Lag:
    """Return the rows of partitions with a commit, as the peers do."""
    return {(row.group_id, row.topic, row.partition): row.lag for row in rows if row.lag is not None}


def _connect(bootstrap_servers: str, request_stats: RequestStats) -> Cluster:
    return Cluster.connect(KafkaSettings(bootstrap_servers=bootstrap_servers), SYSTEM_CLOCK, request_stats, _deadline())


def _deadline() -> Deadline:
    return Deadline.after(SYSTEM_CLOCK, _BUDGET_MS)


def _tell(_step: str, _items: int) -> None:
    """Ignore progress."""
