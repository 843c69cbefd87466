"""Jobs as users start them: commands in processes of their own, and a reader of their tables that is not Spark."""

import io
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from unittest.mock import patch

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder

from kafka_lagoon.cli.main import main

ROOT = Path(__file__).resolve().parent.parent.parent
BIN = Path(sys.executable).parent
TIMEOUT_S = 240
SETTINGS = {"LAGOON_CONF": "", "LAGOON_CREATE": "true"}


def environment(**more: str) -> dict[str, str]:
    """Return the environment of cron: our interpreter's folder first on PATH, Spark's settings by SPARK_CONF_DIR.

    Settings files of the current folder are not read, and warehouses are created unless a test says otherwise.
    """
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith(("LAGOON_", "SPARK_", "PYSPARK_"))},
        "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
        "SPARK_CONF_DIR": str(ROOT / "conf"),
        **SETTINGS,
        **more,
    }


def run(command: Sequence[str], **environ: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return subprocess.run(
        command, env=environment(**environ), capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )


def submit(job: str, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run `spark-submit jobs/<job>.py` with these arguments. Spark merges Python's stderr into stdout."""
    return run(["spark-submit", str(ROOT / "jobs" / f"{job}.py"), *arguments], **environ)


def lagoon(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run `lagoon` with these arguments."""
    return run(["lagoon", *arguments], **environ)


def here(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `lagoon` with these arguments in this process, in the test's Spark session, which starts at once."""
    out, complaints = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(complaints), patch.dict(os.environ, SETTINGS):
        code = main(arguments)
    return subprocess.CompletedProcess(arguments, code, out.getvalue(), complaints.getvalue())


def rows(warehouse: Path, table: str, *columns: str) -> list[dict[str, object]]:
    """Read all rows of a table, or some columns, without threads that call Python: those may abort a short process."""
    selected = ", ".join(f'"{column}"' for column in columns) or "*"
    query = QueryBuilder().register("delta", DeltaTable(str(warehouse / table)))
    read: list[dict[str, object]] = pa.table(query.execute(f"SELECT {selected} FROM delta").read_all()).to_pylist()
    return read
