"""Runs `lagoon COMMAND ...`: finds the command, parses its arguments, and turns errors into lines and exit codes."""

import os
import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kafka_lagoon.cli.extras import with_extra
from kafka_lagoon.cli.kafka_tool_hints import not_here
from kafka_lagoon.cli.pipes import open_missing_streams, piped
from kafka_lagoon.cli.registry import ALIASES, COMMANDS, INSTALLATION, JOBS, aliases_of, names_of, usage
from kafka_lagoon.cli.terminal import reported, say_version
from kafka_lagoon.garbage import gc_paused
from kafka_lagoon.owned_files import PRIVATE

if TYPE_CHECKING:  # help is printed without these packages
    from kafka_lagoon.cli.command import Command
    from kafka_lagoon.clock import Clock

SPARK_SETTINGS = Path(__file__).resolve().parent.parent / "conf"

# Options of every verb that take a value and may stand before the verb.
_WITH_VALUE = frozenset(
    [
        "-b",
        "--bootstrap-servers",
        "--bootstrap-server",
        "--cluster",
        "--conf",
        "--kafka-properties",
        "--set",
        "--timeout",
        "--warehouse",  # of `lagoon admin`
    ]
)
_OF_LAGOON = frozenset(["-h", "--help", "--version"])


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command that the arguments name, as the only one of its process; return the exit code."""
    open_missing_streams()
    words = sys.argv[1:] if argv is None else argv
    listed = COMMANDS.get(words[0]) if words else None
    if listed:
        _find_spark_settings()
        if listed.heading != JOBS:
            os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy starts a thread per core, for matrices
        if listed.heading != INSTALLATION:  # files of an installation must be readable for other users
            os.umask(PRIVATE)  # until the settings are read, see cli/file_modes.py
    from kafka_lagoon import clock  # noqa: PLC0415  help needs none

    return run(words, os.environ, clock.SYSTEM_CLOCK)


def _find_spark_settings() -> None:
    """Make Spark read conf/ of this package, unless SPARK_CONF_DIR names a folder or SPARK_HOME has settings of its own."""
    spark = os.environ.get("SPARK_HOME")
    with suppress(OSError):  # the folder of another user: what starts Spark says so, and most commands start none
        if spark and (Path(spark) / "conf" / "spark-defaults.conf").exists():
            return
    os.environ.setdefault("SPARK_CONF_DIR", str(SPARK_SETTINGS))


def run(words: Sequence[str], environ: Mapping[str, str], clock: "Clock") -> int:
    """Run the command that the words name; return the exit code."""
    return piped(lambda: _run(words, environ, clock))


def _run(words: Sequence[str], environ: Mapping[str, str], clock: "Clock") -> int:
    family, name, argv = _split(words)
    if name == "--version":
        return say_version()
    command = f"{family} {name}".strip()
    if command in ALIASES:
        return _run([*ALIASES[command].split(), *argv], environ, clock)
    if command not in COMMANDS or command == family:
        return not_here(f"lagoon {family}".strip(), name, [*names_of(family), *aliases_of(family)], usage(family))
    extra = COMMANDS[family or command].extra
    return with_extra(extra, lambda: reported(lambda: _executed(command, argv, environ, clock)))


def _split(words: Sequence[str]) -> tuple[str, str, Sequence[str]]:
    """Split into family (or empty), name and arguments. Options that all verbs of a family have may stand before the verb."""
    first, *others = words or [""]
    if not (first in COMMANDS and not COMMANDS[first].place):
        return "", first, others
    place = 0
    while place < len(others) and others[place].startswith("-") and others[place] not in _OF_LAGOON:
        place += 2 if others[place] in _WITH_VALUE else 1
    name = others[place] if place < len(others) else ""
    return first, name, [*others[:place], *others[place + 1 :]]


def declaration(name: str) -> "Command[Any]":
    """Import the command of this name from its module."""
    listed = COMMANDS[name]
    with gc_paused():
        command: Command[Any] = getattr(import_module(listed.module), listed.attribute)
    return command


def options_of(name: str, argv: Sequence[str]) -> Namespace:
    """Parse the arguments of a command; ConfigError lists the faults that the command finds."""
    from kafka_lagoon.cli.arguments import parse  # noqa: PLC0415  help needs none

    return parse(declaration(name), name, argv)


def _executed(name: str, argv: Sequence[str], environ: Mapping[str, str], clock: "Clock") -> int:
    from kafka_lagoon.cli.command import Invocation  # noqa: PLC0415  help needs none

    options = options_of(name, argv)
    command = declaration(name)
    return command.kind.run(Invocation(name=name, options=options, environ=environ, clock=clock), command.answer)
