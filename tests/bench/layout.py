"""Measures layouts of table `records` on disk: times of typical queries and of maintenance over generated records.

    python -m tests.bench.layout [RECORDS] [FOLDER]

Days of hourly runs over topics of very different use are written as an ingest writes them, and laid out in two ways:
partitioned by the day of the run, and clustered by topic, partition and time. Both are asked the same before and after
maintenance. 50 million records take about ten minutes and 12 GB, which are removed afterwards.
"""

import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from kafka_lagoon.delta.files import DataFile
from kafka_lagoon.delta.open_warehouse import at_path
from kafka_lagoon.delta.record_files import RecordFiles
from kafka_lagoon.delta.session import session
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.tables.record_tables import INGEST_DATE, RECORDS
from tests.bench.measure import Comparison, Findings, Sample

_DAYS, _RUNS_A_DAY, _TASKS = 5, 24, 4
_TOPICS, _PARTITIONS = 20, 4
_FIRST_DAY = date(2026, 11, 1)
_VALUES = 20_000
_ROUNDS = 3
_OPTIONS = {
    "spark.databricks.delta.optimize.maxFileSize": str(32 << 20),  # so that queries can skip files
    "spark.databricks.delta.optimize.minFileSize": str(16 << 20),
    "parquet.block.size": str(32 << 20),
    "spark.databricks.io.skipping.mdc.sortWithinFiles": "true",
    "spark.sql.parquet.compression.codec": "zstd",
    "spark.sql.shuffle.partitions": "8",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The cost of a query: seconds, and the number of files that statistics could not exclude."""

    seconds: float
    files: int
    megabytes: float


Query = Callable[[DataFrame], DataFrame]


def queries(per_partition: int) -> dict[str, Query]:
    """Make typical queries of `records`; `per_partition` is the number of records of each partition."""
    noon = datetime(2026, 11, 3, 12, tzinfo=UTC)
    day = datetime(2026, 11, 3, tzinfo=UTC)
    aggregate = ("count(*)", "sum(length(value))")
    return {
        "one topic, one hour": lambda t: t.where(
            f"topic = 'topic-07' AND timestamp >= '{noon:%F %T}' AND timestamp < '{noon + timedelta(hours=1):%F %T}'"
        ).selectExpr(*aggregate),
        "one key of a topic": lambda t: t.where(
            "topic = 'topic-07' AND key = X'6b65792d30303030303030303132'"
        ).selectExpr(*aggregate),
        "last 1,000 of a partition": lambda t: t.where(
            f"topic = 'topic-07' AND partition = 2 AND offset >= {per_partition - 1_000}"
        ).selectExpr(*aggregate),
        "count by topic of one day": lambda t: (
            t.where(f"timestamp >= '{day:%F %T}' AND timestamp < '{day + timedelta(days=1):%F %T}'")
            .groupBy("topic")
            .count()
        ),
    }


def generate(folder: Path, records: int) -> Iterator[tuple[date, list[DataFile]]]:
    """Generate the files of each run; partitions of all topics grow at the same rate, tasks have neighbouring partitions."""
    per_run = records // (_DAYS * _RUNS_A_DAY * _TOPICS * _PARTITIONS)
    keys, values = _texts()
    pairs = [(f"topic-{topic:02}", partition) for topic in range(_TOPICS) for partition in range(_PARTITIONS)]
    for run in range(_DAYS * _RUNS_A_DAY):
        began = datetime.combine(_FIRST_DAY, datetime.min.time(), UTC) + timedelta(days=1) * run / _RUNS_A_DAY
        day, files = began.date(), []
        for task in range(_TASKS):
            writer = RecordFiles(
                folder_url=f"file:{folder}/{INGEST_DATE}={day}",
                ingest_id=f"run-{run:04}",
                cluster="default",
                cluster_id="4L6g3nShT-eMCtK--X86sw",
                target_bytes=128 << 20,
                compression="zstd-fast",
            )
            share = len(pairs) // _TASKS
            for topic, partition in pairs[task * share : (task + 1) * share]:
                batch = _batch(run * per_run, per_run, began, keys, values, seed=hash((topic, partition, run)))
                writer.write(topic, f"id-of-{topic}", partition, batch)
            files += writer.close()
        yield day, files


def _texts() -> tuple[pa.Array, pa.Array]:
    random = np.random.default_rng(1)
    keys = pa.array([f"key-{number:010}".encode() for number in range(_VALUES)])
    noise = random.bytes(20 * _VALUES).hex()
    values = [
        f'{{"id":{number:06},"session":"{noise[number * 40 : number * 40 + 40]}","status":"created","amount":12.50}}'.encode()
        for number in range(_VALUES)
    ]
    return keys, pa.array(values)


def _batch(first: int, count: int, began: datetime, keys: pa.Array, values: pa.Array, seed: int) -> pa.RecordBatch:
    picked = pa.array(np.random.default_rng(abs(seed)).integers(0, _VALUES, count))
    at_ms = int(began.timestamp() * 1000) + np.arange(count) * (86_400_000 // _RUNS_A_DAY) // max(count, 1)
    nothing = pa.nulls(count)
    of_table = RECORDS.file_schema()
    columns = {
        "offset": pa.array(np.arange(first, first + count)),
        "timestamp": pa.array(at_ms * 1000).cast(of_table.field("timestamp").type),
        "timestamp_ms": pa.array(at_ms),
        "timestamp_type": pa.array(np.zeros(count, np.int32)),
        "key": keys.take(picked),
        "value": values.take(picked),
        "headers": pa.array([[]] * count, of_table.field("headers").type),
        "leader_epoch": pa.array(np.full(count, 3, np.int32)),
        "producer_id": nothing.cast(pa.int64()),
        "producer_epoch": nothing.cast(pa.int32()),
        "is_transactional": pa.array(np.zeros(count, bool)),
        "is_aborted": pa.array(np.zeros(count, bool)),
    }
    return pa.RecordBatch.from_pydict(columns)


def partitioned(spark: SparkSession, folder: Path, records: int) -> tuple[Warehouse, float, float]:
    """Make the table as an ingest does; return the seconds of writing and committing."""
    warehouse = at_path(spark, str(folder))
    location = warehouse.locations[RECORDS.name]
    warehouse.kernel.create(location, RECORDS.delta_schema(), RECORDS.partition_by, RECORDS.properties)
    written, committed, mark = 0.0, 0.0, time.perf_counter()
    for day, files in generate(folder / RECORDS.name, records):
        written, mark = written + time.perf_counter() - mark, time.perf_counter()
        warehouse.kernel.append(warehouse.state(RECORDS.name), files, (RECORDS.partition_by, day))
        committed, mark = committed + time.perf_counter() - mark, time.perf_counter()
    return warehouse, written, committed


def clustered(spark: SparkSession, folder: Path, source: Path) -> str:
    """Make a table of the same files, clustered by topic, partition and time, with one commit per run."""
    target = folder / "clustered"
    columns = ", ".join(f"{column.name} {column.sql_type()}" for column in RECORDS.stored())
    spark.sql(f"CREATE TABLE delta.`{target}` ({columns}) USING delta CLUSTER BY (topic, `partition`, `timestamp`)")
    for log in sorted((source / "_delta_log").glob("*[0-9].json"))[1:]:
        lines = []
        for line in log.read_text().splitlines():
            action = json.loads(line)
            if "add" in action:
                path = Path(unquote(action["add"]["path"]))
                shutil.copyfile(source / path, target / path.name)
                action["add"] |= {"path": path.name, "partitionValues": {}}
            lines.append(json.dumps(action))
        (target / "_delta_log" / log.name).write_text("\n".join(lines))
    return f"delta.`{target}`"


def ask(spark: SparkSession, name: str, chosen: Mapping[str, Query]) -> dict[str, Answer]:
    """Return the best of several rounds for each query."""
    answers = {}
    for what, query in chosen.items():
        seconds = []
        for _ in range(_ROUNDS):
            mark = time.perf_counter()
            frame = query(spark.table(name))
            frame.collect()
            seconds.append(time.perf_counter() - mark)
        files = [unquote(url.removeprefix("file:")).replace("//", "/") for url in frame.inputFiles()]
        answers[what] = Answer(
            seconds=min(seconds), files=len(files), megabytes=sum(Path(file).stat().st_size for file in files) / 1e6
        )
    return answers


def measure(records: int, folder: Path) -> tuple[dict[str, dict[str, Answer]], list[str]]:
    """Return the costs by layout, and other observations."""
    spark = session("layout")
    for key, value in _OPTIONS.items():
        spark.conf.set(key, value)
    warehouse, written, committed = partitioned(spark, folder, records)
    runs = _DAYS * _RUNS_A_DAY
    notes = [f"writing {records:,} records {written:.0f} s, {runs} commits {committed:.1f} s"]
    name = warehouse.identifiers[RECORDS.name]
    chosen = queries(records // (_TOPICS * _PARTITIONS))
    answers = {"by day, as ingested": ask(spark, name, chosen)}
    _tell("by day, as ingested", answers)
    by_cluster = clustered(spark, folder, folder / RECORDS.name)
    steps = (
        ("by day, OPTIMIZE", name, f"OPTIMIZE {name}"),
        ("by day, ZORDER topic, partition", name, f"OPTIMIZE {name} ZORDER BY (topic, partition)"),
        ("clustered, OPTIMIZE", by_cluster, f"OPTIMIZE {by_cluster}"),
    )
    for layout, table, statement in steps:
        mark = time.perf_counter()
        spark.sql(statement).collect()
        notes.append(f"{layout}: {time.perf_counter() - mark:.0f} s")
        answers[layout] = ask(spark, table, chosen)
        _tell(layout, answers)
        print(notes[-1], flush=True)
    return answers, notes


def _tell(layout: str, answers: Mapping[str, Mapping[str, Answer]]) -> None:
    for what, answer in answers[layout].items():
        print(
            f"{layout} | {what} | {answer.seconds:.2f} s | {answer.files} files | {answer.megabytes:.0f} MB", flush=True
        )


def run(records: int = 5_000_000, folder: str | None = None) -> Findings:
    """Compare the layout after maintenance with the clustered layout."""
    place = Path(tempfile.mkdtemp(prefix="lagoon-layout-", dir=folder))
    try:
        answers, notes = measure(records, place)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    ours, theirs = answers["by day, ZORDER topic, partition"], answers["clustered, OPTIMIZE"]
    comparisons = [
        Comparison(
            what=f"{what} of {records:,} records",
            ours=[Sample(wall_s=ours[what].seconds, cpu_s=0)],
            peer="clustering",
            theirs=[Sample(wall_s=theirs[what].seconds, cpu_s=0)],
        )
        for what in ours
    ]
    return Findings(comparisons=comparisons, notes=notes)


if __name__ == "__main__":
    for note in run(int((sys.argv[1:] or ["50000000"])[0]), *sys.argv[2:3]).notes:
        print(note)
