"""Times short commands from start to end, each in a new process: one statement of SQL, and a snapshot of a small cluster.

`lagoon kafka metadata` is in verbs.py. The tables of the snapshots are there already.
"""

import sys
import tempfile
from pathlib import Path

from kafka_lagoon.sandbox.kafka import LocalKafka
from tests.bench.job import environment, fill, spark_submit
from tests.bench.measure import Comparison, Findings, alternate, process

_PROJECT = Path(__file__).resolve().parents[2]
_LAGOON = (sys.executable, "-m", "kafka_lagoon")
_PEER = "import duckdb; duckdb.sql('SELECT 1').show()"
_STATEMENTS, _SNAPSHOTS = 8, 3


def run() -> Findings:
    """Compare a statement with DuckDB alone, and a snapshot with a job of Spark that appends one row."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder, LocalKafka(Path(folder, "kafka")) as kafka:
        fill(kafka.bootstrap_servers)
        environ = environment(kafka.bootstrap_servers, Path(folder, "warehouse"))
        empty = str(_PROJECT / "tests/bench/empty_job.py")
        snapshots = alternate(
            {
                "ours": process(*_LAGOON, "snapshot", printed="1 broker", environ=environ),
                "spark": spark_submit(environ, folder, empty, str(Path(folder, "empty"))),
            },
            rounds=_SNAPSHOTS,
        )
        statements = alternate(
            {
                "ours": process(*_LAGOON, "sql", "SELECT 1", printed="1", environ=environ),
                "duckdb": process(sys.executable, "-c", _PEER, printed="1"),
            },
            rounds=_STATEMENTS,
        )
    duckdb, spark = "DuckDB in a new interpreter", "spark-submit of a job that appends one Delta row"
    return Findings(
        comparisons=[
            Comparison(
                what="`lagoon sql 'SELECT 1'`",
                ours=statements["ours"],
                peer=duckdb,
                theirs=statements["duckdb"],
                measure="cpu_s",
            ),
            Comparison(what="the same", ours=statements["ours"], peer=duckdb, theirs=statements["duckdb"]),
            Comparison(
                what="`lagoon snapshot`, one small broker",
                ours=snapshots["ours"],
                peer=spark,
                theirs=snapshots["spark"],
            ),
        ]
    )
