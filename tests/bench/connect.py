"""Times new clients up to the first metadata of a secured broker: ours against librdkafka, in one process."""

import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from confluent_kafka.admin import AdminClient

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import Deadline
from kafka_lagoon.kafka_settings import KafkaSettings, checked
from tests.bench.measure import Comparison, Findings, alternate, timed
from tests.clock import CLOCK
from tests.integration.secured import Secured, secured_kafka

_ROUNDS = 25
_WAYS = {
    "scram-512": "SASL_PLAINTEXT, SCRAM-SHA-512",
    "scram-tls": "SASL_SSL, SCRAM-SHA-512",
    "plain-tls": "SASL_SSL, PLAIN",
    "mutual": "SSL with a client certificate",
}


def run() -> Findings:
    """Time a new client up to its first metadata, for each security mode."""
    with tempfile.TemporaryDirectory() as folder, secured_kafka(Path(folder), "4.4.0") as secured:
        return Findings(comparisons=list(_compared(secured)))


def _compared(secured: Secured) -> Iterator[Comparison]:
    open_to_all = {"bootstrap_servers": secured.kafka.bootstrap_servers}
    yield _comparison("PLAINTEXT", open_to_all, {"bootstrap.servers": secured.kafka.bootstrap_servers})
    for way, words in _WAYS.items():
        yield _comparison(words, secured.settings(way), secured.peer(way))


def _comparison(words: str, settings: Mapping[str, str], properties: Mapping[str, str]) -> Comparison:
    cases: dict[str, Callable[[], object]] = {
        "ours": lambda: _ours(checked(settings)),
        "theirs": lambda: AdminClient(dict(properties)).list_topics(timeout=30).brokers,
    }
    samples = alternate({name: timed(case) for name, case in cases.items()}, _ROUNDS)
    what = f"connect, authenticate, all metadata: {words}"
    return Comparison(what=what, ours=samples["ours"], peer="confluent-kafka", theirs=samples["theirs"])


def _ours(settings: KafkaSettings) -> object:
    deadline = Deadline.after(CLOCK, 30_000)
    with Cluster.connect(settings, CLOCK, RequestStats(), deadline) as cluster:
        return cluster.refresh(None, deadline)
