"""`lagoon COMMAND ...`: the commands by name.

Guards one rule: a command imports what it needs and nothing else, so that those without Spark start at once.
"""

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from kafka_lagoon.cli.extras import with_extra
from kafka_lagoon.cli.pipes import piped
from kafka_lagoon.cli.terminal import not_a_command, reported

_EXTRA_OF = {"sql": "sql", "kafka": "records"}  # of the other commands: spark
SPARK_SETTINGS = Path(__file__).resolve().parent.parent / "conf"

_USAGE = """usage: lagoon COMMAND [OPTION ...]

  snapshot   one snapshot of one or more clusters into the state tables
  ingest     records since the last run into table records, exactly once
  maintain   small files joined and old ones removed
  sql        run one SQL statement over the tables and views
  path       where the jobs, Spark's settings and Delta's jars are, for spark-submit
  kafka      ask a cluster itself: versions, metadata, health, offsets, groups, lag and more

lagoon COMMAND --help tells a command's options."""


def main(argv: Sequence[str] | None = None) -> int:
    """The exit code of the command that the arguments name."""
    command, *rest = [*(sys.argv[1:] if argv is None else argv), ""]
    run = _COMMANDS.get(command)
    if run is None:
        return not_a_command("lagoon", command, _COMMANDS, _USAGE)
    _find_spark_settings()
    return with_extra(_EXTRA_OF.get(command, "spark"), lambda: run(rest[:-1]))


def _find_spark_settings() -> None:
    """Spark reads the conf/ of this package, unless it was told to read another folder or has settings of its own."""
    spark = os.environ.get("SPARK_HOME")
    if spark and (Path(spark) / "conf" / "spark-defaults.conf").exists():
        return
    os.environ.setdefault("SPARK_CONF_DIR", str(SPARK_SETTINGS))


def _snapshot(argv: Sequence[str]) -> int:
    from kafka_lagoon.cli.snapshot import main as snapshot  # noqa: PLC0415

    return snapshot(argv)


def _ingest(argv: Sequence[str]) -> int:
    from kafka_lagoon.cli.ingest import main as ingest  # noqa: PLC0415

    return ingest(argv)


def _maintain(argv: Sequence[str]) -> int:
    from kafka_lagoon.cli.maintain import main as maintain  # noqa: PLC0415

    return maintain(argv)


def _sql(argv: Sequence[str]) -> int:
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy starts one per core, for matrices
    from kafka_lagoon.cli.sql import run  # noqa: PLC0415
    from kafka_lagoon.cli.sql_arguments import sql_arguments  # noqa: PLC0415

    return piped(lambda: reported(lambda: run(sql_arguments(argv, os.environ))))


def _path(argv: Sequence[str]) -> int:
    from kafka_lagoon.cli.path import run  # noqa: PLC0415

    return reported(lambda: run(argv))


def _kafka(argv: Sequence[str]) -> int:
    from kafka_lagoon.cli.kafka.run import run  # noqa: PLC0415
    from kafka_lagoon.clock import SYSTEM_CLOCK  # noqa: PLC0415

    return run(argv, os.environ, SYSTEM_CLOCK)


_COMMANDS: dict[str, Callable[[Sequence[str]], int]] = {
    "snapshot": _snapshot,
    "ingest": _ingest,
    "maintain": _maintain,
    "sql": _sql,
    "path": _path,
    "kafka": _kafka,
}
