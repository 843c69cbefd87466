"""A cluster's address in; the rows of its lag, and what was asked for them, out."""

from collections import Counter
from collections.abc import Sequence

from jobs.snapshot import SYSTEM_CLOCK
from pipeline.client.cluster import Cluster, TopicPartition
from pipeline.client.deadline import Deadline
from pipeline.client.journal import Journal
from pipeline.client.routing import Gathered
from pipeline.settings import KafkaSettings
from pipeline.snapshot.collect import collect
from pipeline.snapshot.commits import committed_offsets
from pipeline.snapshot.groups import describe_groups, list_groups
from pipeline.snapshot.lag import Ends, lag_rows
from pipeline.snapshot.offsets import (
    ALL_KINDS,
    HIGH_WATERMARK,
    LAST_STABLE,
    LOG_START,
    Offsets,
    list_offsets,
    offset_rows,
)
from pipeline.snapshot.rows import ConsumerLagRow, Snapshot
from pipeline.snapshot.topology import topology_of
from tests.bench.lag_peers import Lag

_BUDGET_MS = 60_000
_KINDS_OF_LAG = (HIGH_WATERMARK, LAST_STABLE, LOG_START)


def whole(bootstrap_servers: str) -> Snapshot:
    """Every table of a snapshot."""
    with _connect(bootstrap_servers, Journal()) as cluster:
        return collect(cluster, "bench", SYSTEM_CLOCK.now_ms(), _deadline(), _tell)


def lag(bootstrap_servers: str) -> Sequence[ConsumerLagRow]:
    """What `consumer_lag` holds: groups, members, commits with epochs, the ends before them, and after them both ends."""
    with _connect(bootstrap_servers, Journal()) as cluster:
        topology = topology_of(cluster.refresh(None, _deadline()))
        everywhere = topology.every_partition()
        before = list_offsets(cluster, everywhere, [HIGH_WATERMARK], _deadline())[HIGH_WATERMARK]
        listed, _ = list_groups(cluster, _deadline())
        groups = describe_groups(cluster, listed, _deadline())
        commits = committed_offsets(cluster, list(listed), topology.topic_ids, _deadline())
        after = list_offsets(cluster, everywhere, _KINDS_OF_LAG, _deadline())
    unasked: Offsets = Gathered({}, {}, {})
    ends = Ends(
        before={at: one.offset for at, one in before.answers.items()},
        after={
            TopicPartition(one.topic, one.partition): one
            for one in offset_rows(topology, {**dict.fromkeys(ALL_KINDS, unasked), **after})
        },
    )
    return list(lag_rows(groups.groups, groups.members, commits.rows, {}, ends, topology))


def plain(bootstrap_servers: str) -> Lag:
    """What kafka-python tells, and no more: groups, commits, ends."""
    with _connect(bootstrap_servers, Journal()) as cluster:
        topology = topology_of(cluster.refresh(None, _deadline()))
        listed, _ = list_groups(cluster, _deadline())
        commits = committed_offsets(cluster, list(listed), topology.topic_ids, _deadline()).rows
        ends = list_offsets(cluster, topology.every_partition(), [HIGH_WATERMARK], _deadline())[HIGH_WATERMARK].answers
        return {
            (one.group_id, one.topic, one.partition): ends[TopicPartition(one.topic, one.partition)].offset
            - one.committed_offset
            for one in commits
            if one.committed_offset is not None
        }


def requests(bootstrap_servers: str) -> Counter[str]:
    """How many requests of each API one whole snapshot sends."""
    journal = Journal()
    with _connect(bootstrap_servers, journal) as cluster:
        collect(cluster, "bench", SYSTEM_CLOCK.now_ms(), _deadline(), _tell)
    return Counter(sent.api for sent in journal.sent)


def known(rows: Sequence[ConsumerLagRow]) -> Lag:
    """The rows as the peers give theirs: of partitions with a commit."""
    return {(row.group_id, row.topic, row.partition): row.lag for row in rows if row.lag is not None}


def _connect(bootstrap_servers: str, journal: Journal) -> Cluster:
    return Cluster.connect(KafkaSettings(bootstrap_servers=bootstrap_servers), SYSTEM_CLOCK, journal, _deadline())


def _deadline() -> Deadline:
    return Deadline.after(SYSTEM_CLOCK, _BUDGET_MS)


def _tell(_step: str, _items: int) -> None:
    """Nobody is told."""
