"""Measures the cost of the time lag of 100,000 positions: `python -m tests.bench.time_lag [POSITIONS]`.

Fake leaders in another process answer with batches of real producers' sizes. Prints CPU seconds, requests and bytes by size of a batch.
"""

import resource
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import Pipe, Process
from multiprocessing.connection import Connection

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import SYSTEM_CLOCK, Deadline
from kafka_lagoon.fetch.first_unread import first_unread
from kafka_lagoon.fetch.unread_positions import FirstUnreadOutcome, Position
from kafka_lagoon.garbage import gc_paused
from kafka_lagoon.kafka_settings import checked
from tests.fake.broker import fake_cluster
from tests.fake.cluster import FakeBatch, FakeCluster
from tests.records.examples import LZ4, NONE, Batch, Record

_BROKERS, _PARTITIONS = 12, 50
# Records per batch, bytes per record, and codec: a trickle, a small application, Java's default batch, librdkafka under load.
_SHAPES = {
    "1 x 200": (1, 200, NONE),
    "10 x 200": (10, 200, NONE),
    "160 x 100 lz4": (160, 100, LZ4),
    "300 x 200": (300, 200, NONE),
}


def main(positions: int) -> None:
    """Measure each shape of batches."""
    print("batch           | CPU s | requests | MB | bytes a position | exact")
    for name, (count, size, codec) in _SHAPES.items():
        with _brokers(positions // _PARTITIONS, count, size, codec) as servers:
            print(f"{name:15} | {_measured(servers, positions, count // 2)}", flush=True)


@contextmanager
def _brokers(topics: int, count: int, size: int, codec: int) -> Iterator[str]:
    ours, theirs = Pipe()
    process = Process(target=_serve, args=(theirs, topics, count, size, codec), daemon=True)
    process.start()
    yield ours.recv()
    process.terminate()
    process.join()


def _serve(sender: Connection, topics: int, count: int, size: int, codec: int) -> None:
    """Serve the same log of three batches for every partition."""
    value = bytes(range(256)) * (size // 256 + 1)
    log = []
    for number in range(3):
        records = tuple(Record(delta=delta, time_delta=delta, value=value[:size]) for delta in range(count))
        batch = Batch(base_offset=number * count, records=records, codec=codec)
        log.append(FakeBatch(batch.base_offset, batch.last_offset, batch.write()))
    state = FakeCluster()
    for topic in range(topics):
        for partition in state.add_topic(f"t{topic}", _PARTITIONS, nodes=_BROKERS, end=3 * count).partitions:
            partition.log = log
    with fake_cluster(state, nodes=_BROKERS):
        sender.send(",".join(f"{host}:{port}" for host, port in state.addresses.values()))
        time.sleep(3_600)


def _measured(servers: str, count: int, offset: int) -> str:
    stats, deadline = RequestStats(), Deadline.after(SYSTEM_CLOCK, 600_000)
    settings = checked({"bootstrap_servers": servers, "default_api_timeout_ms": 300_000, "request_timeout_ms": 120_000})
    with Cluster.connect(settings, SYSTEM_CLOCK, stats, deadline) as cluster, gc_paused():
        cluster.refresh(None, deadline)
        positions = [
            Position(f"t{number // _PARTITIONS}", number % _PARTITIONS, offset, -1, False, 1) for number in range(count)
        ]
        began = time.process_time()
        unread = first_unread(cluster, positions, 4 << 30, deadline)
        seconds = time.process_time() - began
    exact = sum(one.outcome is FirstUnreadOutcome.RECORD for one in unread.first.values())
    requests = sum(one.requests for (api, _), one in stats.by_api.items() if api == "Fetch")
    megabytes = unread.bytes_fetched / 1e6
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    return f"{seconds:5.2f} | {requests} | {megabytes:.0f} | {unread.bytes_fetched // count} | {exact} | {peak} MB"


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
