"""Runs `lagoon snapshot`: reads arguments and settings, starts the JVM that writes, and imports the rest meanwhile."""

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping

from kafka_lagoon.cli.arguments import add_create, parsed_time
from kafka_lagoon.cli.command import Command, Invocation
from kafka_lagoon.cli.file_modes import check_creation, loaded
from kafka_lagoon.cli.jobs import JOB
from kafka_lagoon.cli.outcome import SNAPSHOT
from kafka_lagoon.clock import Clock
from kafka_lagoon.delta.jvm_start import starting_jvm
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.frozen import frozen
from kafka_lagoon.garbage import gc_paused
from kafka_lagoon.job_settings import SnapshotSettings
from kafka_lagoon.settings import Settings
from kafka_lagoon.times import FORMS
from kafka_lagoon.warehouse_settings import opens_without_session


@frozen
class SnapshotArguments:
    """Settings and options of a run; `slot_ms` is the scheduler's time in epoch milliseconds."""

    settings: Settings
    slot_ms: int


def _declare(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--slot",
        metavar="TIME",
        help=f"the scheduler's time ({FORMS}); only one snapshot is published for it; default: now",
    )
    add_create(parser)
    parser.add_argument("--accept-incomplete", action="store_true", help="exit 0 even if brokers did not answer")


def snapshot_arguments(options: Namespace, environ: Mapping[str, str], clock: Clock) -> SnapshotArguments:
    """Check options and settings; ConfigError lists every fault."""
    problems: list[str] = []
    settings: Settings | None = None
    slot_ms = parsed_time("--slot", options.slot, clock.now_ms(), problems)
    accepted = ["snapshot.accept_incomplete=true", "snapshot.fail_when_incomplete=false"]
    try:
        settings = loaded(options, environ, accepted if options.accept_incomplete else ())
        if slot_ms is not None:
            problems += _distance_problems(options.slot, abs(clock.now_ms() - slot_ms), settings.snapshot)
        if settings.snapshot.skip_tables:
            from kafka_lagoon.snapshot.collectors import skipped_tables  # noqa: PLC0415  all messages and tables

            skipped_tables(settings.snapshot.skip_tables)
        check_creation(settings)
    except ConfigError as error:
        problems += error.problems
    if settings is None or problems:
        refused = ConfigError(problems)
        if settings is not None:
            from kafka_lagoon.cli.run_metrics import write_refused  # noqa: PLC0415  only for a run that is refused

            write_refused(SNAPSHOT, settings, refused, clock)
        raise refused
    return SnapshotArguments(settings=settings, slot_ms=clock.now_ms() if slot_ms is None else slot_ms)


def _distance_problems(slot: str, distance_ms: int, limits: SnapshotSettings) -> list[str]:
    if distance_ms <= limits.slot_max_age_ms:
        return []
    limit = "only the current state of a cluster can be captured; see snapshot.slot_max_age_ms"
    return [f"--slot {slot} is {distance_ms // 60_000} minutes from now: {limit}"]


def _without_session(settings: Settings) -> str | None:
    """Return the warehouse if the run opens it without a session of Spark."""
    return (
        settings.warehouse if opens_without_session(settings) and settings.snapshot.time_lag != "interpolate" else None
    )


def _take(call: Invocation) -> int:
    arguments = snapshot_arguments(call.options, call.environ, call.clock)
    with starting_jvm(_without_session(arguments.settings)) as starting:
        with gc_paused():
            from kafka_lagoon.cli.snapshot_run import take_snapshots  # noqa: PLC0415  while the JVM starts

        return take_snapshots(arguments.settings, arguments.slot_ms, call.clock, starting)


COMMAND = Command(
    kind=JOB,
    summary="Takes one snapshot of one or more clusters into the state tables.",
    examples=(
        "lagoon snapshot --conf lagoon.toml",
        "lagoon snapshot --conf lagoon.toml --warehouse ./lake --create  # the first snapshot",
        "lagoon snapshot --conf lagoon.toml --slot 2026-07-14T09:05  # from a scheduler: one snapshot per slot",
    ),
    declare=_declare,
    answer=_take,
)
