"""Runs `lagoon COMMAND ...`: the list of commands, and the one that the arguments name.

A command imports what it needs and nothing else, so that those without Spark start at once.
"""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from kafka_lagoon.cli.extras import with_extra
from kafka_lagoon.cli.habits import not_here
from kafka_lagoon.cli.pipes import piped
from kafka_lagoon.cli.terminal import reported, say_version
from kafka_lagoon.owned_files import PRIVATE

SPARK_SETTINGS = Path(__file__).resolve().parent.parent / "conf"


def main(argv: Sequence[str] | None = None) -> int:
    """The exit code of the command that the arguments name."""
    command, *rest = [*(sys.argv[1:] if argv is None else argv), ""]
    if command == "--version":
        return say_version()
    if command not in COMMANDS:
        return not_here("lagoon", command, COMMANDS, usage())
    _find_spark_settings()
    chosen = COMMANDS[command]
    if chosen.group != _INSTALLATION:  # which others run
        os.umask(PRIVATE)  # until the settings are read, see cli/file_modes.py
    return with_extra(chosen.extra, lambda: chosen.run(rest[:-1]))


def _find_spark_settings() -> None:
    """Spark reads conf/ of this package, unless SPARK_CONF_DIR names another folder or SPARK_HOME has settings of its own."""
    spark = os.environ.get("SPARK_HOME")
    if spark and (Path(spark) / "conf" / "spark-defaults.conf").exists():
        return
    os.environ.setdefault("SPARK_CONF_DIR", str(SPARK_SETTINGS))


_JOBS = "Jobs, for a scheduler"
_CLUSTERS = "Clusters, asked and altered"
_INSTALLATION = "This installation"


@dataclass(frozen=True, slots=True)
class Command:
    """A command: its line in `lagoon --help`, the function that runs it, the extra of the package that it needs.

    A job has a script in jobs/, too.
    """

    summary: str
    run: Callable[[Sequence[str]], int]
    extra: str = "spark"
    is_job: bool = False
    group: str = "Answers from the tables"  # its heading in `lagoon --help`


def _job(name: str, summary: str, extra: str = "spark") -> Command:
    """A job: `main` of cli/<name>.py, which jobs/<name>.py calls as well."""

    def run(argv: Sequence[str]) -> int:
        exit_code: int = import_module(f"kafka_lagoon.cli.{name}").main(argv)
        return exit_code

    return Command(summary, run, extra, is_job=True, group=_JOBS)


def _sql(argv: Sequence[str]) -> int:
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy starts one per core, for matrices
    from kafka_lagoon.cli.sql import run  # noqa: PLC0415
    from kafka_lagoon.cli.sql_arguments import sql_arguments  # noqa: PLC0415

    return piped(lambda: reported(lambda: run(sql_arguments(argv, os.environ))))


def _tables(name: str, summary: str) -> Command:
    """A command over the tables: COMMAND of cli/tables/<name>.py."""

    def run(argv: Sequence[str]) -> int:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        from kafka_lagoon.cli.tables.run import run as run_command  # noqa: PLC0415
        from kafka_lagoon.clock import SYSTEM_CLOCK  # noqa: PLC0415

        command = import_module(f"kafka_lagoon.cli.tables.{name}").COMMAND
        return piped(lambda: reported(lambda: run_command(command, argv, os.environ, SYSTEM_CLOCK)))

    return Command(summary, run, extra="sql")


def _path(argv: Sequence[str]) -> int:
    from kafka_lagoon.cli.path import run  # noqa: PLC0415

    return reported(lambda: run(argv))


def _kafka(argv: Sequence[str]) -> int:
    from kafka_lagoon.cli.kafka.run import run  # noqa: PLC0415
    from kafka_lagoon.clock import SYSTEM_CLOCK  # noqa: PLC0415

    return run(argv, os.environ, SYSTEM_CLOCK)


def _admin(argv: Sequence[str]) -> int:
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from kafka_lagoon.cli.admin.run import run  # noqa: PLC0415
    from kafka_lagoon.clock import SYSTEM_CLOCK  # noqa: PLC0415

    return run(argv, os.environ, SYSTEM_CLOCK)


def _desired(name: str) -> Callable[[Sequence[str]], int]:
    """A command about desired state that alters nothing: `run` of cli/<name>.py."""

    def run(argv: Sequence[str]) -> int:
        from kafka_lagoon.clock import SYSTEM_CLOCK  # noqa: PLC0415

        command = import_module(f"kafka_lagoon.cli.{name}").run
        return piped(lambda: reported(lambda: command(argv, os.environ, SYSTEM_CLOCK)))

    return run


def _compare(argv: Sequence[str]) -> int:
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from kafka_lagoon.cli.compare import run  # noqa: PLC0415
    from kafka_lagoon.clock import SYSTEM_CLOCK  # noqa: PLC0415

    return piped(lambda: reported(lambda: run(argv, os.environ, SYSTEM_CLOCK)))


def _doctor(argv: Sequence[str]) -> int:
    from kafka_lagoon.cli.doctor import run  # noqa: PLC0415
    from kafka_lagoon.clock import SYSTEM_CLOCK  # noqa: PLC0415

    return piped(lambda: reported(lambda: run(argv, os.environ, SYSTEM_CLOCK)))


def _metrics(argv: Sequence[str]) -> int:
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from kafka_lagoon.cli.metrics import run  # noqa: PLC0415

    return piped(lambda: reported(lambda: run(argv, os.environ)))


def _completion(argv: Sequence[str]) -> int:
    from kafka_lagoon.cli.completion import run  # noqa: PLC0415

    listed = {name: (command.summary, command.run) for name, command in COMMANDS.items()}
    return piped(lambda: reported(lambda: run(argv, listed)))


COMMANDS: Mapping[str, Command] = {
    "snapshot": _job("snapshot", "one snapshot of one or more clusters into the state tables"),
    "ingest": _job("ingest", "records since the last run into table records, exactly once"),
    "restore": _job("restore", "archived records back into a cluster, exactly once, with a receipt"),
    "maintain": _job("maintain", "small files joined and old ones removed"),
    "report": _job(
        "report", "one HTML page of how clusters are, or were at a past time, from the tables", extra="report"
    ),
    "lag": _tables("lag", "how far groups were behind in the newest snapshot, the worst first; exit 3 above limits"),
    "health": _tables("health", "what is not as it should be in the newest snapshot, and since when"),
    "changes": _tables("changes", "what changed between snapshots; exit 3 above limits, as with lag and health"),
    "sql": Command("run one SQL statement over the tables and views", _sql, extra="sql"),
    "metrics": Command("lag and state of the newest snapshots in Prometheus' text format", _metrics, extra="sql"),
    "kafka": Command(
        "ask a cluster itself: versions, metadata, health, offsets, groups, lag and more",
        _kafka,
        extra="records",
        group=_CLUSTERS,
    ),
    "compare": Command(
        "how the records of two topics differ, in one cluster or two", _compare, extra="records", group=_CLUSTERS
    ),
    "plan": Command(
        "what has to be done so that a cluster is as a file says", _desired("plan"), extra="yaml", group=_CLUSTERS
    ),
    "import": Command("a cluster as it is, as such a file", _desired("import_state"), extra="yaml", group=_CLUSTERS),
    "apply": _job("apply", "make a cluster what such a file says, after showing the plan"),
    "admin": Command(
        "alter a cluster: topics, configs, ACLs, quotas, offsets of groups and more", _admin, group=_CLUSTERS
    ),
    "doctor": Command(
        "whether this installation, its settings, clusters and warehouse work, and what to do if not",
        _doctor,
        group=_INSTALLATION,
    ),
    "path": Command(
        "where the jobs, Spark's settings and Delta's jars are, for spark-submit and clusters",
        _path,
        group=_INSTALLATION,
    ),
    "completion": Command(
        "a script that completes commands and options in your shell", _completion, group=_INSTALLATION
    ),
}


def usage() -> str:
    """What `lagoon --help` prints."""
    width = max(map(len, COMMANDS))
    groups = dict.fromkeys(command.group for command in COMMANDS.values())
    lines = [
        line
        for group in groups
        for line in (
            f"{group}:",
            *(f"  {name:{width}}  {one.summary}" for name, one in COMMANDS.items() if one.group == group),
            "",
        )
    ]
    return "\n".join(
        [
            "usage: lagoon COMMAND [OPTION ...]",
            "",
            *lines,
            "lagoon COMMAND --help lists a command's options; lagoon --version says which version this is.",
            "First steps: lagoon doctor -b HOST:PORT, lagoon kafka lag -b HOST:PORT, lagoon snapshot --conf FILE.",
        ]
    )
