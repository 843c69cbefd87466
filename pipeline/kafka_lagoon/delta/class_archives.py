"""Makes the archives of classes from which the JVMs of this machine start: for Kernel and for Spark (jars/class_archives.py).

When a JVM ends, it archives the classes that it has loaded. So each of the two does what runs do: it creates the tables of a
warehouse, which is thrown away, and appends to one of them. The driver of Spark also runs a task. A query would make its
archive twice as large and twice as slow to make (46 instead of 25 processor seconds), and jobs would start no sooner.
"""

import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path

from kafka_lagoon.clock import SYSTEM_CLOCK
from kafka_lagoon.delta.kernel import Fence
from kafka_lagoon.delta.open_warehouse import open_alone, open_warehouse
from kafka_lagoon.delta.plain_jvm import archiving_kernel
from kafka_lagoon.delta.session import session
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.errors import JarsUnavailable
from kafka_lagoon.jars.class_archives import (
    KERNEL,
    SPARK,
    SPARK_CLASS_PATH,
    archive,
    keep,
    making_options,
    spark_class_paths,
    write_whole,
)
from kafka_lagoon.jars.ivy import spark_jars_folder
from kafka_lagoon.settings import Settings
from kafka_lagoon.settings_sources import load
from kafka_lagoon.tables.schema import SNAPSHOT_DATE, STATE_TABLES, TABLES

_CONF = Path(__file__).resolve().parent.parent / "conf"
_TIMEOUT_S = 300


def make_archives() -> Path:
    """Make the archives again and replace existing ones; returns their folder. JarsUnavailable or TableError if that fails."""
    folder = archive(KERNEL).parent
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as scratch, ThreadPoolExecutor(1) as threads:
            spark = threads.submit(_make_spark, Path(scratch))  # a process of its own, which takes longer
            _make_kernel(Path(scratch))
            spark.result()
    except OSError as error:
        raise JarsUnavailable(f"{error.filename or folder}: {error.strerror}") from error
    return folder


def _make_kernel(scratch: Path) -> None:
    settings = _settings(f"{scratch}/tables")
    with archiving_kernel(scratch / KERNEL) as kernel:
        for _ in range(2):  # the first run creates tables, the second finds them
            _use(open_alone(kernel, settings, TABLES, SYSTEM_CLOCK))
    keep(scratch / KERNEL)


def _make_spark(scratch: Path) -> None:
    first, rest = spark_class_paths(spark_jars_folder().glob("*.jar"))
    _submit(scratch, first)
    archive(SPARK_CLASS_PATH).unlink(missing_ok=True)  # until the new archive exists, no JVM uses one of other jars
    keep(scratch / SPARK)
    write_whole(archive(SPARK_CLASS_PATH), f"{first}\n{rest}\n", scratch)


def _submit(scratch: Path, jars: str) -> None:
    """Run `work_with_spark` by spark-submit, as jobs run, with the class path that conf/spark-env.sh prints."""
    script, spark_home = scratch / "work.py", spark_jars_folder().parent
    script.write_text(f"from {__name__} import work_with_spark\nwork_with_spark({str(scratch / 'spark')!r})\n")
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    environ |= {
        "SPARK_HOME": str(spark_home),
        "SPARK_CONF_DIR": str(_CONF),
        "SPARK_ENV_LOADED": "1",  # spark-env.sh is not sourced
        "SPARK_SUBMIT_OPTS": f'-cp "{jars}:{_CONF}/" {" ".join(making_options(scratch / SPARK))}',
        "PYSPARK_PYTHON": sys.executable,
    }
    command = [str(spark_home / "bin" / "spark-submit"), "--master", "local[1]", str(script)]
    try:
        run = subprocess.run(  # noqa: S603  our own command line
            command, env=environ, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise JarsUnavailable(f"Spark has not ended within {_TIMEOUT_S} s") from error
    if run.returncode:
        raise JarsUnavailable(f"Spark did not run: {(run.stdout + run.stderr).strip()[-500:]}")


def work_with_spark(folder: str) -> None:
    """Do what each job does first, with a session of Spark."""
    spark = session("lagoon path classes")
    _use(open_warehouse(spark, _settings(folder), SYSTEM_CLOCK))
    spark.sparkContext.parallelize([0, 1], 2).map(abs).collect()


def _settings(warehouse: str) -> Settings:
    return load(None, {}, [f"warehouse={warehouse}", "create=true"], cluster_needed=False)


def _use(warehouse: Warehouse) -> None:
    """Write rows to a table with the Kernel, and read them."""
    day, table, kernel = date(2026, 1, 1), STATE_TABLES[-1], warehouse.kernel
    state = warehouse.state(table.name)
    fence = Fence("archive", (kernel.last_transaction(state, "archive") or 0) + 1)
    url = f"{state.location}/{SNAPSHOT_DATE}={day}/{fence.version}.parquet"
    file = kernel.storage.write_rows(url, table.file_schema().empty_table())
    kernel.append(state, [file], (SNAPSHOT_DATE, day), fence=fence)
    kernel.files(warehouse.state(table.name), {SNAPSHOT_DATE: day, "cluster": "archive"})
    kernel.checkpoint(state.location)
