"""Races for commits on the store of a warehouse."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from py4j.protocol import Py4JError

from kafka_lagoon.delta.warehouse import Warehouse
from tests.delta.s3_racer import one_ingest, one_snapshot

WRITERS = 4
VERSIONS = 20


def assert_one_of_several_writers_wins(warehouse: Warehouse) -> None:
    """Check that the Kernel's log store makes a commit once, and that other writers get an error that it exists."""
    jvm, conf = warehouse.kernel.storage.jvm, warehouse.kernel.storage.conf
    provider = warehouse.kernel.classes.defaults.internal.logstore.LogStoreProvider
    store = provider.getLogStore(conf, warehouse.name.partition("://")[0])

    def write(version: int, writer: int) -> Any:
        path = jvm.org.apache.hadoop.fs.Path(f"{warehouse.name}/{version:020}.json")
        try:
            store.write(path, jvm.java.util.List.of(f"writer {writer}").iterator(), False, conf)
        except Py4JError as error:
            return None if "FileAlreadyExistsException" in str(error) else str(error)
        return writer, warehouse.kernel.storage.read(path.toString())

    folder = jvm.org.apache.hadoop.fs.Path(warehouse.name)
    folder.getFileSystem(conf).mkdirs(folder)
    with ThreadPoolExecutor(WRITERS) as threads:
        for version in range(VERSIONS):
            won = list(filter(None, threads.map(partial(write, version), range(WRITERS))))
            assert won in [[(writer, b"writer %d\n" % writer)] for writer in range(WRITERS)]


def race(warehouse: Warehouse, racers: Mapping[str, range], count: int) -> None:
    """Run all racers at once in threads: each makes this many snapshots or ingests."""

    def run(racer: tuple[str, int]) -> None:
        role, number = racer
        for round_number in range(1, count + 1):
            (one_snapshot if role == "snapshot" else one_ingest)(warehouse, number, round_number)

    with ThreadPoolExecutor(WRITERS) as threads:
        list(threads.map(run, [(role, number) for role, several in racers.items() for number in several]))
