"""Jobs as their users start them: commands in processes of their own, and a reader of what they wrote that is not Spark."""

import io
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder

from kafka_lagoon.cli.main import main

ROOT = Path(__file__).resolve().parent.parent.parent
BIN = Path(sys.executable).parent
TIMEOUT_S = 240


def environment(**more: str) -> dict[str, str]:
    """As cron would give it: our interpreter's folder first on PATH, Spark's settings by SPARK_CONF_DIR."""
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith(("LAGOON_", "SPARK_", "PYSPARK_"))},
        "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
        "SPARK_CONF_DIR": str(ROOT / "conf"),
        **more,
    }


def run(command: Sequence[str], **environ: str) -> subprocess.CompletedProcess[str]:
    """A command to its end."""
    return subprocess.run(
        command, env=environment(**environ), capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )


def submit(job: str, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """`spark-submit jobs/<job>.py` with these arguments. Python's stderr is merged into stdout by Spark."""
    return run(["spark-submit", str(ROOT / "jobs" / f"{job}.py"), *arguments], **environ)


def lagoon(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """`lagoon` with these arguments."""
    return run(["lagoon", *arguments], **environ)


def here(*arguments: str) -> subprocess.CompletedProcess[str]:
    """`lagoon` with these arguments in this process, in the Spark session that the test asked for: starts at once."""
    out, complaints = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(complaints):
        code = main(arguments)
    return subprocess.CompletedProcess(arguments, code, out.getvalue(), complaints.getvalue())


def rows(warehouse: Path, table: str, *columns: str) -> list[dict[str, object]]:
    """All rows of a table, or some of their columns, read without threads that call Python: those may abort a short process."""
    selected = ", ".join(f'"{column}"' for column in columns) or "*"
    query = QueryBuilder().register("delta", DeltaTable(str(warehouse / table)))
    read: list[dict[str, object]] = pa.table(query.execute(f"SELECT {selected} FROM delta").read_all()).to_pylist()
    return read
