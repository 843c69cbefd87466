"""The kind of the jobs: each run ends with an event `run_finished`, even if settings or arguments are wrong."""

from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path

from kafka_lagoon.cli.arguments import add_settings_options, add_warehouse
from kafka_lagoon.cli.command import Invocation, Kind
from kafka_lagoon.cli.outcome import with_event
from kafka_lagoon.cli.terminal import log_to


def _declare(parser: ArgumentParser) -> None:
    add_settings_options(parser)
    add_warehouse(parser)
    add_log_file(parser)


def add_log_file(parser: ArgumentParser) -> None:
    """Declare `--log-file`."""
    parser.add_argument(
        "--log-file",
        type=Path,
        metavar="FILE",
        help="append the log (JSON lines) to this file instead of standard error",
    )


def run_job(invocation: Invocation, answer: Callable[[Invocation], int]) -> int:
    """Run a job, and report an error that is not about a single cluster or table."""
    log_to(invocation.options.log_file)
    return with_event(invocation.name, lambda: answer(invocation))


JOB = Kind(declare=_declare, run=run_job)
