"""Measures what ingests, restores and snapshots use: processor seconds, requests and bytes, in a folder and in an S3 (moto).

Every run is a whole command. Clients reach the broker by a proxy that counts, and the store lists its requests. Processor seconds
are those of all processes of a command, without those of brokers, proxy and store. BENCH_COST_GB, BENCH_COST_PARTITIONS,
BENCH_COST_ROUNDS and BENCH_COST_SNAPSHOTS change the sizes.
"""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from kafka_lagoon.sandbox.kafka import LocalKafka
from tests.bench import cost_records, cost_snapshots
from tests.bench.cost_usage import Meter, Place, Usage
from tests.bench.counted_network import LISTENER, CountedNetwork
from tests.bench.measure import Findings
from tests.object_store import BUCKET, ObjectStore, object_store

_MB = 1e6
_COLUMNS = {
    "GET": ("gets", 1),
    "HEAD": ("heads", 1),
    "LIST": ("lists", 1),
    "PUT": ("puts", 1),
    "DELETE": ("deletes", 1),
    "MB up": ("uploaded", _MB),
    "MB down": ("downloaded", _MB),
}
_OF_KAFKA = {
    "requests to Kafka": ("kafka_requests", 1),
    "MB from Kafka": ("kafka_received", _MB),
    "MB to Kafka": ("kafka_sent", _MB),
}


def run() -> Findings:
    """Return one table of all costs, and notes."""
    measured = cost_snapshots.Measured()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-")))
        records = _records(folder / "records")
        _snapshots(folder / "snapshots", measured)
    lines = [*cost_records.rows(records), *cost_snapshots.rows(measured)]
    stored = (f"{schedule}: {size / _MB:.2f} MB" for schedule, size in measured.day_bytes.items())
    notes = [f"State tables of a day after maintain, by schedule of snapshots: {', '.join(stored)}."]
    return Findings(comparisons=[], notes=notes, tables=["\n".join(_table(lines))])


@contextmanager
def _cluster(folder: Path) -> Iterator[tuple[Meter, LocalKafka, ObjectStore]]:
    (folder / "store").mkdir(parents=True)
    with CountedNetwork() as network, object_store(folder / "store") as store:
        listeners = [network.listener()]
        with LocalKafka(folder / "kafka", heap_mb=1024, listeners=listeners) as kafka:
            yield Meter(network, folder), kafka, store


def _records(folder: Path) -> cost_records.Samples:
    with _cluster(folder) as (meter, kafka, store):
        records = cost_records.Records(meter, kafka.bootstrap_servers, kafka.bootstrap(LISTENER))
        records.fill()
        records.measure(*_places(folder, store))
        return records.samples


def _snapshots(folder: Path, measured: cost_snapshots.Measured) -> None:
    with _cluster(folder) as (meter, kafka, store):
        snapshots = cost_snapshots.Snapshots(meter, kafka.bootstrap_servers, kafka.bootstrap(LISTENER))
        places = _places(folder, store)
        snapshots.measure(places, measured)
        cost_snapshots.measure_maintenance(meter, folder, places[1], measured)


def _places(folder: Path, store: ObjectStore) -> tuple[Place, Place]:
    in_bucket = Place("S3", f"s3a://{BUCKET}/lake", store, store.spark_conf(folder / "conf"))
    return Place("folder", str(folder / "lake")), in_bucket


def _table(lines: list[tuple[str, Mapping[tuple[str, str], Usage]]]) -> Iterator[str]:
    """Yield the lines of a Markdown table; a cell has our number, and the connector's after a slash."""
    heads = ["what", "CPU s, folder", "CPU s, S3", *_OF_KAFKA, *_COLUMNS]
    yield f"| {' | '.join(heads)} |"
    yield "|---" * len(heads) + "|"
    for what, usages in lines:
        cells = [_cell(usages, "folder", "cpu_s"), _cell(usages, "S3", "cpu_s")]
        cells += [_cell(usages, "folder", *column) for column in _OF_KAFKA.values()]
        cells += [_cell(usages, "S3", *column) for column in _COLUMNS.values()]
        yield f"| {' | '.join([what, *cells])} |"


def _cell(usages: Mapping[tuple[str, str], Usage], place: str, name: str, unit: float = 1) -> str:
    sides = (usages.get((place, side)) for side in ("ours", "connector"))
    return " / ".join(_rounded(getattr(usage, name) / unit) for usage in sides if usage is not None)


def _rounded(number: float) -> str:
    """Three digits at most, and no more than two after the point: what is below is noise, and is 0."""
    if abs(number) < 0.005:
        return "0"
    return f"{number:,.0f}" if abs(number) >= 100 else f"{number:.3g}" if abs(number) >= 1 else f"{number:.2f}"
