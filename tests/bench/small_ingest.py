"""Times `lagoon ingest` of 2,000 partitions with two new records each, and with none: in the driver, and on Spark's executors.

Both are the same release and whole processes; a setting chooses between them (ingest.local_max_bytes).
"""

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.admin import NewTopic

from kafka_lagoon.sandbox.kafka import LocalKafka
from tests.bench.measure import Comparison, Findings, Sample, alternate, environment, timed
from tests.integration.state import create_topics

_TOPIC, _PARTITIONS, _RECORDS = "many", 2_000, 2
_ROUNDS = 3
_PLACES = {"driver": "ingest.local_max_bytes=268435456", "executors": "ingest.local_max_bytes=0"}
_PEER = "the same on Spark's executors"


def run() -> Findings:
    """Compare runs in the driver with runs on executors."""
    with tempfile.TemporaryDirectory(prefix="bench-") as name, LocalKafka(Path(name, "kafka"), heap_mb=1024) as kafka:
        servers = kafka.bootstrap_servers
        create_topics(servers, [NewTopic(_TOPIC, _PARTITIONS, 1)])
        new = {place: _ingest(servers, Path(name, place), setting, _RECORDS) for place, setting in _PLACES.items()}
        of_new = alternate(new, rounds=_ROUNDS)
        none = {place: _ingest(servers, Path(name, place), setting, 0) for place, setting in _PLACES.items()}
        of_none = alternate(none, rounds=_ROUNDS)
    cases = (
        (f"ingest of {_RECORDS} new records in each of {_PARTITIONS:,} partitions", of_new),
        (f"ingest of {_PARTITIONS:,} partitions without new records", of_none),
    )
    return Findings(
        comparisons=[
            Comparison(what=what, ours=samples["driver"], peer=_PEER, theirs=samples["executors"])
            for what, samples in cases
        ]
    )


def _ingest(servers: str, warehouse: Path, setting: str, records: int) -> Callable[[], Sample]:
    """Make a case that writes records to each partition, and then archives what is new."""
    program = str(Path(sys.executable).with_name("lagoon"))
    sets = (f"kafka.bootstrap_servers={servers}", f"warehouse={warehouse}", setting)
    words = [program, "ingest", "--create", "--topics", _TOPIC, *(word for one in sets for word in ("--set", one))]

    def case() -> Sample:
        if records:
            _produce(servers, records)
        return timed(lambda: subprocess.run(words, env=environment(), check=True, capture_output=True))()

    return case


def _produce(servers: str, records: int) -> None:
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 200, "log_level": 2})
    for partition in range(_PARTITIONS):
        for number in range(records):
            producer.produce(_TOPIC, b"v%099d" % number, b"k%015d" % number, partition)
        producer.poll(0)
    assert producer.flush(120) == 0
