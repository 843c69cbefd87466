"""One of several processes that commit to one lake on S3 at once, each with a JVM of its own.

    python -m tests.delta.s3_racer FOLDER LOCATION ROLE NUMBER COUNT

FOLDER is that of the server, LOCATION the lake. ROLE is `snapshot` (COUNT snapshots of a cluster NUMBER, each in five tables),
`ingest` (COUNT runs of a cluster NUMBER, ten records each), or `maintain` (every table, until FOLDER/stop exists, COUNT times at
least). It prints `ready`, waits for a line on stdin, and prints how often it has done it.
"""

import os
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pyspark.java_gateway import launch_gateway

from kafka_lagoon.delta import kernel, log_store
from kafka_lagoon.delta.hadoop_s3 import s3_access
from kafka_lagoon.delta.maintain import MaintainOptions, maintain
from kafka_lagoon.delta.open_warehouse import at_path
from kafka_lagoon.delta.publish import publish, snapshot_lock
from kafka_lagoon.delta.record_files import RecordFiles
from kafka_lagoon.delta.session import session
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.fetch.accounting import Reconciled
from kafka_lagoon.fetch.archived import Archived
from kafka_lagoon.fetch.ranges import Position
from kafka_lagoon.ingest.archive_lock import ArchiveLock, archive_lock
from kafka_lagoon.ingest.commit import RunOutput, commit
from kafka_lagoon.tables.schema import TABLES
from tests.clock import CLOCK
from tests.delta import other_run, test_record_files
from tests.delta.record_samples import range_row
from tests.delta.samples import HOUR_MS, NOON_MS, snapshot
from tests.object_store import ObjectStore, hadoop_aws

DAY = datetime.fromtimestamp(NOON_MS / 1000, UTC).date()
A_RUN = 10  # records
_MEMORY = "--driver-memory 512m --conf spark.ui.enabled=false"


def kernel_alone(store: ObjectStore, location: str) -> Warehouse:
    """Open the lake in a JVM without a session."""
    jvm = launch_gateway().jvm
    conf = jvm.org.apache.hadoop.conf.Configuration()
    for name, value in store.hadoop().items():
        conf.set(name, value)
    delta = kernel.in_jvm(jvm, conf)
    log_store.use_ours(delta.storage, "s3a", "warehouse")
    locations = {table.name: f"{location}/{table.name}" for table in TABLES}
    return Warehouse(session=None, kernel=delta, name=location, in_catalog=False, identifiers={}, locations=locations)


def with_spark(store: ObjectStore, location: str) -> Warehouse:
    """Open the lake in a session, which OPTIMIZE needs."""
    spark = session("racer")
    spark.sparkContext.setLogLevel("OFF")
    for name, value in store.hadoop().items():
        spark.sparkContext._jsc.hadoopConfiguration().set(name, value)
    return at_path(spark, location)


def one_snapshot(warehouse: Warehouse, number: int, round_number: int) -> None:
    """Publish a snapshot of the racer's own cluster."""
    cluster = f"cluster-{number}"
    with snapshot_lock(warehouse, cluster, CLOCK) as lock:
        slot = NOON_MS + round_number * HOUR_MS // 60
        publish(lock, snapshot(round_number, *other_run.facts(), cluster=cluster, slot_ms=slot, status="complete"))


def one_ingest(warehouse: Warehouse, number: int, round_number: int) -> None:
    """Archive the next ten records of the racer's own cluster."""
    with archive_lock(warehouse, f"id-{number}", CLOCK) as lock:
        commit(lock, _run(lock, f"run-{number}-{round_number:04d}"))


def _run(lock: ArchiveLock, ingest_id: str) -> RunOutput:
    start = lock.topics["t"].partitions[0].next_offset if lock.topics else 0
    files = RecordFiles(
        folder_url=lock.folder(DAY),
        ingest_id=ingest_id,
        cluster="name",
        cluster_id=lock.cluster_id,
        target_bytes=1,
        compression="zstd-fast",
        access=s3_access(lock.warehouse.kernel.storage, lock.root),
    )
    records = [test_record_files.record(start + index) for index in range(A_RUN)]
    files.write("t", "id", 0, test_record_files.batch_of(*records))
    reconciled = Reconciled(
        ranges=[replace(range_row(ingest_id, "t", start, start + A_RUN), cluster_id=lock.cluster_id)],
        problems=[],
        topics={"t": Archived(topic_id="id", partitions={0: Position(next_offset=start + A_RUN)})},
        kept=frozenset({0}),
    )
    return RunOutput(ingest_id=ingest_id, ingest_date=DAY, reconciled=reconciled, files=files.close())


def main(folder: Path, location: str, role: str, number: int, count: int) -> None:
    """Run as the module's docstring describes."""
    os.environ["PYSPARK_SUBMIT_ARGS"] = f"--jars {','.join(hadoop_aws())} {_MEMORY} pyspark-shell"
    store = ObjectStore(folder, int((folder / "port").read_text()))
    warehouse = (with_spark if role == "maintain" else kernel_alone)(store, location)
    print("ready", flush=True)
    sys.stdin.readline()
    done = 0
    while done < count or (role == "maintain" and not (folder / "stop").exists()):
        done += 1
        if role == "maintain":
            maintain(warehouse, MaintainOptions(tables=_all()), CLOCK)
        else:
            roles: Any = {"snapshot": one_snapshot, "ingest": one_ingest}
            roles[role](warehouse, number, done)
    print(done, flush=True)


def _all() -> tuple[str, ...]:
    return tuple(table.name for table in TABLES)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
