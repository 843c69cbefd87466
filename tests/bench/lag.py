"""Collects the lag of 300 groups on a real cluster with 2,000 partitions, against other clients and Kafka's own tool.

Wall time, connections included, in one warm process; Kafka's own tool is a process of its own, start of the JVM included,
as its users run it. All have to find the same lag.
"""

import tempfile
from pathlib import Path

from kafka_lagoon.sandbox.kafka import LocalKafka
from kafka_lagoon.tables.group_rows import ConsumerLagRow
from tests.bench import lag_ours, lag_peers
from tests.bench.lag_cluster import many_groups
from tests.bench.measure import Comparison, Findings, alternate, timed
from tests.integration.kafka_tools import group_offsets

_ROUNDS = 15
_TOOL_ROUNDS = 2


def run() -> Findings:
    """Compare our client, with few and with all facts, with the peers and Kafka's tool."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder, many_groups(Path(folder)) as kafka:
        rows = _check_equal(kafka)
        return Findings(
            comparisons=[*_against_clients(kafka, rows), *_against_tool(kafka, rows)], notes=[_requests(kafka)]
        )


def _check_equal(kafka: LocalKafka) -> int:
    """Check that all clients find the same lag; return the number of our rows."""
    servers = kafka.bootstrap_servers
    snapshot = lag_ours.whole(servers)
    assert snapshot.published.status == "complete"
    rows = lag_ours.lag(servers)
    lags = lag_ours.known(rows)
    tool = {(one.group_id, one.topic, one.partition): one.lag for one in group_offsets(kafka) if one.lag is not None}
    assert lags == tool
    assert lags == lag_ours.plain(servers) == lag_peers.confluent(servers) == lag_peers.kafka_python(servers)
    assert len(rows) == len(snapshot.rows[ConsumerLagRow])
    return len(rows)


def _against_clients(kafka: LocalKafka, rows: int) -> list[Comparison]:
    servers = kafka.bootstrap_servers
    samples = alternate(
        {
            "lag": timed(lambda: lag_ours.lag(servers)),
            "kafka-python": timed(lambda: lag_peers.kafka_python(servers)),
            "plain": timed(lambda: lag_ours.plain(servers)),
            "confluent-kafka": timed(lambda: lag_peers.confluent(servers)),
            "whole": timed(lambda: lag_ours.whole(servers)),
        },
        rounds=_ROUNDS,
    )
    pairs = (
        ("lag", f"{rows:,} lag rows with members, epochs, ends before the commits and both ends after", "kafka-python"),
        ("lag", "the same", "confluent-kafka"),
        ("plain", "groups, commits and ends only", "kafka-python"),
        ("whole", "all tables of the snapshot (7 offsets of each partition), before Spark", "kafka-python"),
        ("whole", "the same", "confluent-kafka"),
    )
    return [
        Comparison(what=what, ours=samples[ours], peer=f"{peer}'s admin client", theirs=samples[peer])
        for ours, what, peer in pairs
    ]


def _against_tool(kafka: LocalKafka, rows: int) -> list[Comparison]:
    samples = alternate(
        {
            "lag": timed(lambda: lag_ours.lag(kafka.bootstrap_servers)),
            "tool": timed(lambda: group_offsets(kafka)),
        },
        rounds=_TOOL_ROUNDS,
        warm_up=False,
    )
    peer = "`kafka-consumer-groups --describe --all-groups`"
    return [Comparison(what=f"{rows:,} lag rows", ours=samples["lag"], peer=peer, theirs=samples["tool"])]


def _requests(kafka: LocalKafka) -> str:
    counts = lag_ours.requests(kafka.bootstrap_servers)
    apis = ", ".join(f"{api} {count}" for api, count in sorted(counts.items()))
    return f"Requests of one whole snapshot of these three brokers: {counts.total()} ({apis})."
