"""A script for spark-submit that puts a canary into each place on purpose: what is searched there must find it.

    spark-submit planting.py FILE FOLDER SERVERS

FILE has the canary of each place as JSON; FOLDER is that of a run.
"""

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from confluent_kafka.admin import AdminClient
from pyspark.sql import functions

from kafka_lagoon.delta.session import session
from tests.proof.secrets.source_and_sink import show_plans

_LONG_ENOUGH_S = 0.5  # for a file that is removed


@contextlib.contextmanager
def briefly(path: Path, text: str) -> Iterator[None]:
    """Have a file for a moment."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    yield
    time.sleep(_LONG_ENOUGH_S)
    path.unlink()


def main(file: str, folder: str, servers: str) -> None:
    """Put each canary into its place."""
    plants: dict[str, str] = json.loads(Path(file).read_text())
    left = Path(folder) / "left"
    print(plants["stdout"])
    spark = session("planting")
    context = spark.sparkContext
    context._jvm.System.err.println(plants["stderr"])  # Spark writes what Python writes there to standard output
    context.setJobDescription(f"{plants['event log']} {plants['web pages']}")
    in_memory = context.broadcast(plants["memory of JVMs"] * 3)
    said = plants["executor output"]

    def task(rows: Iterator[int]) -> Iterator[int]:
        print(said, in_memory.value[:1], flush=True)
        time.sleep(4)  # until the memory is dumped
        yield from rows

    print(context.parallelize(range(2), 2).mapPartitions(task).count())
    blocks = context.parallelize([plants["blocks"]] * 100, 2).map(lambda text: (text, 1)).reduceByKey(max)
    print(blocks.count())
    rows = spark.range(10).where(functions.col("id") != -1).where(functions.lit(plants["query plans"]) != "")
    show_plans(
        spark.range(10).withColumn("literal", functions.concat(functions.lit(plants["query plans"]), "id")),
        left / "plans" / "planted",
    )
    table = rows.withColumn("value", functions.lit(plants["data files"]))
    table.write.format("delta").option("userMetadata", plants["delta log"]).save(str(left / "lake" / "planted"))
    with (
        briefly(left / "lake" / "planted" / "_lagoon" / "pending", plants["pending files"]),
        briefly(Path(folder) / "tmp" / "planted", plants["temporary files"]),
        subprocess.Popen(["sleep", "1", plants["command lines"]], stderr=subprocess.DEVNULL),
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1)", plants["command lines"]]),
    ):
        pass
    named = {
        "log file": left / "log",
        "page": left / "report.html",
        "metrics": left / "metrics" / "planted.prom",
        "caches": Path(folder) / "home" / ".planted_history",
        "crash files": Path(folder) / "cwd" / "hs_err_pid1.log",
        "desired state": left / "import.planted.toml",
        "other files": left / "planted",
    }
    for place, path in named.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(plants[place])
    AdminClient({"bootstrap.servers": servers, "client.id": plants["broker log"]}).list_topics(timeout=30)
    context.parallelize([plants["tracebacks"]], 1).map(_fail).count()


def _fail(text: Any) -> None:
    raise RuntimeError(text)


if __name__ == "__main__":
    main(*sys.argv[1:])
