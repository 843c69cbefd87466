"""Parses the command lines of the jobs that ask clusters, and loads the settings that they name.

Every fault is known before any I/O with a cluster or a table.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from kafka_lagoon.cli.arguments import job_parser, overrides
from kafka_lagoon.cli.file_modes import loaded
from kafka_lagoon.cli.terminal import log_to
from kafka_lagoon.clock import Clock
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.fetch.offset_specs import EARLIEST, LATEST, SPELLINGS, AtTime, OffsetSpecs, parse_offset_specs
from kafka_lagoon.fetch.read_spec import ReadSpec
from kafka_lagoon.job_settings import IngestSettings
from kafka_lagoon.settings import Settings
from kafka_lagoon.snapshot.collectors import skipped_tables
from kafka_lagoon.times import FORMS, parse_time_ms

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotArguments:
    """Settings and options of one run of the snapshot job; `slot_ms` is the scheduler's time in epoch milliseconds."""

    settings: Settings
    slot_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestArguments:
    """Settings and options of one run of the ingest job; `after_restore` is repeat, keep, or None to refuse."""

    settings: Settings
    wanted: ReadSpec
    after_restore: str | None


def snapshot_arguments(argv: Sequence[str], environ: Mapping[str, str], clock: Clock) -> SnapshotArguments:
    """Arguments of `lagoon snapshot` and jobs/snapshot.py; ConfigError lists every fault."""
    parser = job_parser("snapshot", "One snapshot of one or more clusters into the state tables.")
    parser.add_argument("--slot", metavar="TIME", help=f"the scheduler's time ({FORMS}), published once; default: now")
    parser.add_argument("--accept-incomplete", action="store_true", help="exit 0 although something did not answer")
    args = parser.parse_args(argv)
    log_to(args.log_file)
    problems: list[str] = []
    slot_ms = _slot_ms(args.slot, clock, problems) if args.slot else clock.now_ms()
    accepted = ["snapshot.accept_incomplete=true", "snapshot.fail_when_incomplete=false"]
    assigned = [*overrides(args), *(accepted if args.accept_incomplete else ())]
    try:
        settings = loaded(args.conf, environ, assigned, args.kafka_properties)
    except ConfigError as error:
        raise ConfigError([*problems, *error.problems]) from None
    distance_ms = abs(clock.now_ms() - slot_ms)
    if not problems and distance_ms > settings.snapshot.slot_max_age_ms:
        problems.append(
            f"--slot {args.slot} is {distance_ms // 60_000} minutes from now: the state of a cluster can only be "
            "captured as it is; see snapshot.slot_max_age_ms"
        )
    try:
        skipped_tables(settings.snapshot.skip_tables)
    except ConfigError as error:
        problems += error.problems
    if problems:
        raise ConfigError(problems)
    return SnapshotArguments(settings=settings, slot_ms=slot_ms)


def ingest_arguments(argv: Sequence[str], environ: Mapping[str, str], clock: Clock) -> IngestArguments:
    """Arguments of `lagoon ingest` and jobs/ingest.py; ConfigError lists every fault."""
    parser = job_parser("ingest", "Records since the last run, or from where they begin, into table records.")
    parser.add_argument("--topics", metavar="A,B", help="names of topics")
    parser.add_argument("--pattern", metavar="REGEX", help="whole names of topics, e.g. 'orders-.*'")
    parser.add_argument(
        "--from",
        dest="start",
        metavar="WHERE",
        help=f"where topics start that were never archived (default: earliest): {SPELLINGS}",
    )
    parser.add_argument("--until", metavar="TIME", help=f"end before the first record at or after this time ({FORMS})")
    parser.add_argument("--accept-loss", action="store_true", help="exit 0 although records were lost")
    parser.add_argument(
        "--accept-incomplete", action="store_true", help="exit 0 although something was left for the next run to read"
    )
    parser.add_argument(
        "--after-restore",
        choices=("repeat", "keep"),
        help="a table was restored or removed: read again what records has lost (repeat), or go on without it (keep)",
    )
    args = parser.parse_args(argv)
    log_to(args.log_file)
    short = {"topics": args.topics, "pattern": args.pattern, "start": args.start}
    assigned = [f"ingest.{name}={value}" for name, value in short.items() if value is not None]
    for name in ("accept_loss", "accept_incomplete"):
        assigned += [f"ingest.{name}=true"] if getattr(args, name) else []
    settings = loaded(args.conf, environ, [*overrides(args), *assigned], args.kafka_properties)
    wanted = _wanted(settings.ingest, args.until, clock)
    return IngestArguments(settings=settings, wanted=wanted, after_restore=args.after_restore)


def _wanted(limits: IngestSettings, until: str | None, clock: Clock) -> ReadSpec:
    """What settings and `--until` choose; ConfigError lists every fault."""
    problems: list[str] = []
    topics = tuple(name.strip() for name in (limits.topics or "").split(",") if name.strip())
    if not topics and not limits.pattern:
        problems.append("no topics: give --topics or --pattern, or set ingest.topics or ingest.pattern")
    try:
        re.compile(limits.pattern or "")
    except re.error as error:
        problems.append(f"ingest.pattern: {limits.pattern}: {error}")
    now_ms = clock.now_ms()
    start = _checked(lambda: parse_offset_specs("ingest.start", limits.start, now_ms), "ingest.start", problems)
    until_ms = _checked(lambda: parse_time_ms(until, now_ms), "--until", problems) if until else None
    specs = (
        start or OffsetSpecs(name="ingest.start", default=EARLIEST),
        OffsetSpecs(name="--until", default=LATEST if until_ms is None else AtTime(until_ms)),
    )
    problems += [f"{spec.name}: that time is still to come" for spec in specs if max(spec.times(), default=0) > now_ms]
    if problems:
        raise ConfigError(problems)
    return ReadSpec(
        topics=topics,
        pattern=limits.pattern,
        start=specs[0],
        end=specs[1],
        isolation_level=limits.isolation_level,
        max_offsets=limits.max_offsets_per_run,
    )


def _checked(parse: Callable[[], T], name: str, problems: list[str]) -> T | None:
    try:
        return parse()
    except ValueError as error:
        problems.append(f"{name}: {error}")
        return None


def _slot_ms(text: str, clock: Clock, problems: list[str]) -> int:
    return _checked(lambda: parse_time_ms(text, clock.now_ms()), "--slot", problems) or 0
