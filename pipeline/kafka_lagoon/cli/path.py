"""`lagoon path NAME`: paths of an installation that spark-submit needs."""

from argparse import ArgumentParser
from importlib.util import find_spec
from pathlib import Path

from kafka_lagoon.cli.command import PLAIN, Command, Invocation
from kafka_lagoon.cli.terminal import COMPLETE, say
from kafka_lagoon.errors import ConfigError, JarsUnavailable
from kafka_lagoon.jars.locked_jars import DELTA, jar_paths

_PACKAGE = Path(__file__).resolve().parent.parent
_NAMES = {
    "jobs": "folder of the job scripts, for spark-submit",
    "conf": "folder with spark-defaults.conf and log4j2.properties, for SPARK_CONF_DIR",
    "jars": "Delta's jars, separated by commas, for spark-submit --jars; downloaded if they are missing",
    "classes": "folder of archived classes, with which JVMs on this machine start faster; writes it, which takes half a minute",
    "kernels": "folder of the compiled decoder of this environment, for archives and images; compiled if it is missing",
}


def _declare(parser: ArgumentParser) -> None:
    parser.add_argument(
        "name", choices=tuple(_NAMES), help="; ".join(f"{name}: {meaning}" for name, meaning in _NAMES.items())
    )


def _print(call: Invocation) -> int:
    """Print a path; JarsUnavailable, TableError or ConfigError if its files cannot be made."""
    say(_path(call.options.name))
    return COMPLETE


def _path(name: str) -> str:
    match name:
        case "jobs":
            return str((_PACKAGE / "jobs").resolve())
        case "conf":
            return str((_PACKAGE / "conf").resolve())
        case "classes":
            from kafka_lagoon.delta.class_archives import make_archives  # noqa: PLC0415  Spark

            return str(make_archives())
        case "kernels":
            return str(_kernels())
        case _:
            return ",".join(map(str, _jars()))


def _jars() -> list[Path]:
    try:
        return jar_paths(DELTA)
    except JarsUnavailable:
        if find_spec("pyspark") is None:  # a package that is missing ends every command alike: see extras.py
            raise ModuleNotFoundError(name="pyspark") from None
        raise


def _kernels() -> Path:
    from kafka_lagoon.records.kernel_cache import compile_for_environment  # noqa: PLC0415  the other paths need no extra

    try:
        return compile_for_environment()
    except OSError as error:
        raise ConfigError([f"the environment cannot be written: {error}"]) from error


COMMAND = Command(
    kind=PLAIN,
    summary="Prints a path of this installation that spark-submit needs.",
    examples=('spark-submit --jars "$(lagoon path jars)" "$(lagoon path jobs)/snapshot.py" --conf lagoon.toml',),
    declare=_declare,
    answer=_print,
)
