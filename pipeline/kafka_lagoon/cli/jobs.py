"""The kind of the jobs: each run begins with an event `run_started`, which names the settings file.

It ends with an event `run_finished`, even if settings are wrong. Arguments that are wrong are lines only (see `with_event`).
"""

import sys
from argparse import ArgumentParser
from collections.abc import Callable

from kafka_lagoon import log
from kafka_lagoon.cli.arguments import add_settings_options, add_warehouse, file_path
from kafka_lagoon.cli.command import Invocation, Kind
from kafka_lagoon.cli.conf_file import conf_file
from kafka_lagoon.cli.outcome import with_event
from kafka_lagoon.cli.terminal import log_to, warn

STARTED = "run_started"


def _declare(parser: ArgumentParser) -> None:
    add_settings_options(parser)
    add_warehouse(parser)
    add_log_file(parser)


def add_log_file(parser: ArgumentParser) -> None:
    """Declare `--log-file`."""
    parser.add_argument(
        "--log-file",
        type=file_path,
        metavar="FILE",
        help="append the log (JSON lines) to this file instead of standard error",
    )


def run_job(invocation: Invocation, answer: Callable[[Invocation], int]) -> int:
    """Run a job, and report an error that is not about a single cluster or table."""
    log_to(invocation.options.log_file)
    return with_event(invocation.name, lambda: _begun(invocation, answer))


def _begun(invocation: Invocation, answer: Callable[[Invocation], int]) -> int:
    """Say which settings file is read, first of all: whoever reads a log must not guess it."""
    conf = conf_file(invocation.options, invocation.environ)
    path = str(conf.whole_path) if conf.path else None
    log.info(STARTED, job=invocation.name, conf=path, conf_named_by=conf.named_by if path else None)
    if conf.is_implied and sys.stderr.isatty():
        warn(f"settings are those of {conf}")
    return answer(invocation)


JOB = Kind(declare=_declare, run=run_job)
