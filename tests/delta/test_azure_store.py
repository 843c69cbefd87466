"""Tables in Azure, on Azurite: two writers never make the same version, and no writer makes two of one commit."""

import socket
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest
from confluent_kafka.admin import NewTopic
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from kafka_lagoon.delta.java_classes import OBJECT_LOG_STORE
from kafka_lagoon.delta.maintain import MaintainOptions, maintain
from kafka_lagoon.delta.open_warehouse import at_path, open_warehouse
from kafka_lagoon.delta.storage import Storage, is_unreachable
from kafka_lagoon.errors import TableError
from kafka_lagoon.sandbox.kafka import LocalKafka
from tests.azure_store import CONTAINER, ROOT, AzureStore, azure_store, reach_azure
from tests.clock import CLOCK
from tests.delta.commit_races import assert_one_of_several_writers_wins, race
from tests.delta.s3_racer import one_snapshot
from tests.integration.state import create_topics, produce
from tests.jobs.archived import consumed, digest
from tests.jobs.commands import here
from tests.warehouses import settings

pytestmark = [pytest.mark.proof, pytest.mark.spark, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def store(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AzureStore]:
    """A container that the session can read and write."""
    with azure_store(tmp_path_factory.mktemp("azure")) as served:
        reach_azure(spark, served)
        yield served


def a_lake() -> str:
    """Return a place that no other test uses."""
    return f"{ROOT}/{uuid4().hex}"


def rows(store: AzureStore, location: str, table: str, *columns: str) -> list[tuple[object, ...]]:
    """Return the rows of a table as delta-rs reads them from the store."""
    url = f"az://{CONTAINER}/{location.rpartition('/')[2]}/{table}"
    arrow = DeltaTable(url, storage_options=store.delta_rs()).to_pyarrow_table(columns=list(columns))
    return sorted(tuple(row.values()) for row in arrow.to_pylist())


def test_one_of_several_writers_wins(spark: SparkSession, store: AzureStore) -> None:  # noqa: ARG001  serves the container
    """Our own log store is used without a setting."""
    warehouse = at_path(spark, a_lake())
    assert warehouse.kernel.storage.conf.get("io.delta.kernel.logStore.abfs.impl") == OBJECT_LOG_STORE
    assert_one_of_several_writers_wins(warehouse)


def test_a_lost_answer_is_no_conflict(spark: SparkSession, store: AzureStore) -> None:  # noqa: ARG001  as above
    """A request whose answer was lost is repeated, and refused: a commit that is there already is ours, not another's."""
    warehouse = at_path(spark, a_lake())
    storage, commit = warehouse.kernel.storage, f"{warehouse.name}/{0:020}.json"
    for _ in range(2):
        storage.write_whole(commit, "ours")
    with pytest.raises(TableError, match="FileAlreadyExistsException"):
        storage.write_whole(commit, "another's")
    assert storage.read(commit) == b"ours\n"


def test_a_silent_store_is_not_asked_again(spark: SparkSession, store: AzureStore) -> None:  # noqa: ARG001  brings the jar
    """A file that could not be written because no request had an answer is not looked for, which would take as long again."""
    conf = at_path(spark, a_lake()).kernel.storage.conf
    with socket.create_server(("127.0.0.1", 0), backlog=16) as silent:
        quick = spark._jvm.org.apache.hadoop.conf.Configuration(conf)
        for name, value in {
            "abfs.endpoint": f"127.0.0.1:{silent.getsockname()[1]}",
            "createRemoteFileSystemDuringInitialization": "false",
            "http.read.timeout": "300",
            "io.retry.max.retries": "1",
        }.items():
            quick.set(f"fs.azure.{name}", value)
        storage = Storage(jvm=spark._jvm, conf=quick)
        with pytest.raises(TableError, match=r"^abfs://silent@.* cannot be written: .*Read timed out") as raised:
            storage.write(f"{ROOT.replace(CONTAINER, 'silent', 1)}/file", b"rows")
        assert is_unreachable(raised.value.__cause__)
        silent.settimeout(0)
        requests = 0
        with suppress(BlockingIOError):
            while silent.accept():
                requests += 1
        assert requests == 1 + int(quick.get("fs.azure.io.retry.max.retries"))


def test_a_checkpoint_that_fails_beside_another(spark: SparkSession, store: AzureStore) -> None:  # noqa: ARG001  as above
    """A run whose checkpoint fails leaves the file of another run alone, which is writing the same checkpoint."""
    warehouse = open_warehouse(spark, settings(f"warehouse={a_lake()}"), CLOCK)
    one_snapshot(warehouse, 0, 1)
    kernel, location = warehouse.kernel, warehouse.locations["snapshots"]
    state = kernel.load(location)
    assert state
    checkpoint = f"{location}/_delta_log/{state.version:020}.checkpoint.parquet"
    of_kernel = kernel.classes.defaults.engine.hadoopio.HadoopOutputFile
    other_run = of_kernel(kernel.storage.conf, checkpoint).create(True)
    other_run.write(b"PAR1, and the rest")
    broken = kernel.storage.jvm.org.apache.hadoop.conf.Configuration(kernel.storage.conf)
    broken.set("parquet.compression", "none of Parquet's")
    engine = kernel.classes.defaults.engine.DefaultEngine.create(broken)
    replace(kernel, engine=engine).checkpoint(location)
    assert not kernel.storage.exists(checkpoint)
    other_run.close()  # which renames it
    assert kernel.storage.read(checkpoint) == b"PAR1, and the rest"


def test_runs_race(spark: SparkSession, store: AzureStore) -> None:
    """Snapshots into the same tables at once, beside maintenance: every row exists once."""
    location = a_lake()
    warehouse = open_warehouse(spark, settings(f"warehouse={location}"), CLOCK)
    race(warehouse, {"snapshot": range(4)}, 3)
    expected = sorted((f"0192-{made:04d}-cluster-{number}",) for number in range(4) for made in range(1, 4))
    for _ in range(2):
        assert rows(store, location, "snapshots", "snapshot_id") == expected
        assert rows(store, location, "consumer_lag", "snapshot_id") == sorted(expected * 3)
        maintain(warehouse, MaintainOptions(), CLOCK)


def test_jobs(kafka: LocalKafka, store: AzureStore, tmp_path: Path) -> None:
    """Snapshot, two ingests and a query; Spark writes the records, because Arrow does not know Hadoop's settings."""
    create_topics(kafka.bootstrap_servers, [NewTopic("in-azure", 3, 1)])
    produce(kafka.bootstrap_servers, "in-azure", 1_000)
    location = a_lake()
    of_lake = ["--warehouse", location, "--set", f"kafka.bootstrap_servers={kafka.bootstrap_servers}"]
    by_spark = ["--set", "records.writer=spark", "--set", f"records.staging={tmp_path}", "--topics", "in-azure"]
    outputs = [
        here("snapshot", *of_lake),
        here("ingest", *of_lake, *by_spark),
        here("sql", "SELECT count(*) AS offsets FROM partition_offsets", "--warehouse", location),
        here("ingest", *of_lake, *by_spark),
    ]
    for output in outputs:
        assert output.returncode == 0, output.stdout + output.stderr
    read = rows(store, location, "records", "topic", "partition", "offset", "key", "value")
    archived = {(topic, partition, offset, digest(key, value)) for topic, partition, offset, key, value in read}
    assert len(archived) == len(read)
    assert archived == consumed(kafka.bootstrap_servers, ["in-azure"]).keys()
    assert len(rows(store, location, "snapshots", "snapshot_id")) == 1
