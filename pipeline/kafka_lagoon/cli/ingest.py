"""Runs `lagoon ingest`: archives and reports the new records of each cluster, one commit per cluster.

Clusters do not depend on each other: if one fails, the others are archived.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence

from kafka_lagoon.cli.arguments import add_create, add_flags, names, not_empty, parsed_time
from kafka_lagoon.cli.command import Command
from kafka_lagoon.cli.file_modes import check_creation, loaded
from kafka_lagoon.cli.jobs import JOB
from kafka_lagoon.cli.outcome import INGEST, PARTIAL, RunOutcome, one_by_one
from kafka_lagoon.cli.permissions import READ_TOPIC
from kafka_lagoon.cli.progress import MeasuredProgress
from kafka_lagoon.cli.run_metrics import metrics_written, write_refused
from kafka_lagoon.cli.terminal import COMPLETE, INCOMPLETE, say, warn, worst_of_clusters
from kafka_lagoon.clock import Clock
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.fetch.offset_specs import (
    EARLIEST,
    LATEST,
    SPELLINGS,
    AtTime,
    OffsetSpecs,
    order_problems,
    parse_offset_specs,
)
from kafka_lagoon.fetch.plan import Plan
from kafka_lagoon.fetch.read_spec import ReadSpec
from kafka_lagoon.frozen import frozen
from kafka_lagoon.ingest.pending_files import missing_in_words
from kafka_lagoon.job_settings import IngestSettings
from kafka_lagoon.runs.context import RunContext
from kafka_lagoon.runs.ingest import STEPS, IngestResult, ingest
from kafka_lagoon.settings import Settings
from kafka_lagoon.tables.record_tables import RECORD_TABLES
from kafka_lagoon.text import did_you_mean
from kafka_lagoon.times import FORMS

_DENIED = "TOPIC_AUTHORIZATION_FAILED"
_SHOWN_TOPICS = 3


@frozen
class IngestArguments:
    """Settings and options of a run; `after_restore` is repeat, keep, or None if the user has not chosen.

    `has_start` is true if the start of the spec is from the command line.
    """

    settings: Settings
    spec: ReadSpec
    has_start: bool
    after_restore: str | None


def _declare(parser: ArgumentParser) -> None:
    parser.add_argument("--topics", type=names, metavar="A,B", help="names of topics")
    parser.add_argument(
        "--pattern",
        type=not_empty,
        metavar="REGEX",
        help="regular expression of whole names of topics, e.g. 'orders-.*'",
    )
    parser.add_argument(
        "--from",
        dest="start",
        metavar="WHERE",
        help=f"start of topics that were never archived (default: earliest): {SPELLINGS}",
    )
    parser.add_argument("--until", metavar="TIME", help=f"end before the first record at or after this time ({FORMS})")
    add_create(parser)
    add_flags(
        parser,
        {
            "--accept-loss": "exit 0 even if records were lost",
            "--accept-incomplete": "exit 0 even if records are left for the next run",
        },
    )
    parser.add_argument(
        "--after-restore",
        choices=("repeat", "keep"),
        help="after a table was restored or removed: read again the records that it lost (repeat), or continue without (keep)",
    )


def ingest_arguments(options: Namespace, environ: Mapping[str, str], clock: Clock) -> IngestArguments:
    """Check options and settings; ConfigError lists every fault."""
    topics = ",".join(options.topics) if options.topics else None
    short = {"topics": topics, "pattern": options.pattern, "start": options.start}
    assigned = [f"ingest.{name}={value}" for name, value in short.items() if value is not None]
    for name in ("accept_loss", "accept_incomplete"):
        assigned += [f"ingest.{name}=true"] if getattr(options, name) else []
    settings = loaded(options, environ, assigned)
    try:
        spec = _read_spec(settings.ingest, options.until, clock)
        check_creation(settings)
    except ConfigError as error:
        write_refused(INGEST, settings, error, clock)
        raise
    has_start = options.start is not None
    return IngestArguments(settings=settings, spec=spec, has_start=has_start, after_restore=options.after_restore)


def _read_spec(limits: IngestSettings, until: str | None, clock: Clock) -> ReadSpec:
    """Return the topics and offsets that settings and `--until` choose; ConfigError lists every fault."""
    problems: list[str] = []
    topics = tuple(name.strip() for name in (limits.topics or "").split(",") if name.strip())
    if not topics and not limits.pattern:
        problems.append("no topics: give --topics or --pattern, or set ingest.topics or ingest.pattern")
    now_ms = clock.now_ms()
    start = OffsetSpecs(name="ingest.start", default=EARLIEST)
    try:
        start = parse_offset_specs("ingest.start", limits.start, now_ms)
    except ValueError as error:
        problems.append(f"ingest.start: {error}")
    until_ms = parsed_time("--until", until, now_ms, problems)
    specs = (start, OffsetSpecs(name="--until", default=LATEST if until_ms is None else AtTime(until_ms)))
    problems += [f"{spec.name}: this time is in the future" for spec in specs if max(spec.times(), default=0) > now_ms]
    problems += order_problems(*specs)
    spec = ReadSpec(
        topics=topics,
        pattern=limits.pattern,
        start=specs[0],
        end=specs[1],
        isolation_level=limits.isolation_level,
        max_offsets=limits.max_offsets_per_run,
    )
    named = {topic for topic, _ in start.by_partition}
    problems += [
        f"ingest.start: {topic} is not among the topics to read{did_you_mean(topic, topics)}"
        for topic in sorted(named.difference(spec.select(named)))
    ]
    if problems:
        raise ConfigError(problems)
    return spec


def ingest_all(arguments: IngestArguments, clock: Clock) -> int:
    """Archive every cluster of the settings; return the exit code of all."""
    settings = arguments.settings
    needs_session = (
        settings.ingest.local_max_bytes == 0 or settings.staging() is not None or arguments.after_restore is not None
    )
    outcomes = [RunOutcome(job=INGEST, cluster=name) for name in settings.named_clusters()]
    written = metrics_written(settings, outcomes, clock)
    with written, RunContext(INGEST, settings, clock, RECORD_TABLES, needs_session=needs_session) as context:
        codes = one_by_one(outcomes, clock, lambda outcome: _ingest_one(context, arguments, outcome))
    return worst_of_clusters(codes)


def _ingest_one(context: RunContext, arguments: IngestArguments, outcome: RunOutcome) -> int:
    """Archive the records of one cluster, print the result and describe it in `outcome`; return the exit code."""
    name, limits = str(outcome.cluster), context.settings.ingest
    exit_code = COMPLETE
    with MeasuredProgress(outcome, STEPS, context.clock) as progress:

        def report(result: IngestResult) -> None:
            nonlocal exit_code
            progress.stop()
            _print(result, context.settings.place())
            if arguments.has_start and (ignored := _ignored_start(result.archived.plan, arguments.spec.start)):
                warn(f"{name}: --from: {ignored}")
            _describe(outcome, result)
            exit_code = _exit_code(limits, result)

        note = ingest(context, name, arguments.spec, arguments.after_restore, outcome.request_stats, progress, report)
    if note:
        say(f"{name}: {note}")
    return exit_code


def _print(result: IngestResult, place: str) -> None:
    say(ingest_line(result, place))
    for report in result.reports:
        say(f"{result.cluster}: ingest {report.ingest_id} died before it could report that it {report.text}")
    for failure in result.archived.plan.failures:
        reason = f" ({failure.message})" if failure.message else ""
        say(f"{result.cluster}: {failure.scope}: {failure.name}{reason}")
    if denied := denied_topics(result):
        say(
            f"{result.cluster}: {READ_TOPIC} is missing on {_some(denied)}: `lagoon permissions --for ingest "
            "--principal User:NAME` prints the ACL"
        )


def _some(topics: Sequence[str]) -> str:
    more = f" and {len(topics) - _SHOWN_TOPICS:,} more" if len(topics) > _SHOWN_TOPICS else ""
    return ", ".join(topics[:_SHOWN_TOPICS]) + more


def _ignored_start(plan: Plan, start: OffsetSpecs) -> str | None:
    """Make a line if --from has no effect, because all topics that it applies to were archived before."""
    topics = sorted({topic for topic, _ in start.by_partition} or plan.topic_ids)
    if not topics or not plan.archived.keys() >= set(topics):
        return None
    are = "is archived already, and continues" if len(topics) == 1 else "are archived already, and continue"
    return f"{_some(topics)} {are} where the last run ended"


def denied_topics(result: IngestResult) -> list[str]:
    """Return the topics that brokers refuse to let us read, or even to describe, by their names."""
    ranges, failures = result.archived.reconciled.ranges, result.archived.plan.failures
    refused = {row.topic for row in ranges if row.problem == _DENIED}
    return sorted(
        refused | {failure.scope.topic for failure in failures if failure.name == _DENIED and failure.scope.topic}
    )


def _describe(outcome: RunOutcome, result: IngestResult) -> None:
    archived, counts = result.archived, result.archived.counts()
    outcome.ingest_id = archived.ingest_id
    outcome.topics, outcome.partitions = len(archived.plan.topic_ids), counts["partitions"]
    outcome.failures, outcome.unread = archived.failures, archived.reconciled.unread
    outcome.records, outcome.bytes_fetched = counts["records"], counts["bytes_fetched"]
    outcome.lost, outcome.corrupt = counts["lost"], counts["corrupt"]
    outcome.status = PARTIAL if result.has_loss or not result.is_complete else None


def _exit_code(limits: IngestSettings, result: IngestResult) -> int:
    is_incomplete = not (result.is_complete or limits.accept_incomplete)
    is_lossy = result.has_loss and not limits.accept_loss
    return INCOMPLETE if is_incomplete or is_lossy else COMPLETE


def ingest_line(result: IngestResult, place: str) -> str:
    """Make the line of an ingest: cluster, archived records, missing records with reasons, and the place of the tables."""
    archived, counts = result.archived, result.archived.counts()
    parts = [
        f"{len(archived.plan.topic_ids):,} topics",
        f"{counts['records']:,} records of {counts['partitions']:,} partitions",
        f"{counts['bytes_fetched'] / 1e6:,.1f} MB fetched",
    ]
    parts += missing_in_words(archived.reconciled.ranges)
    if archived.reconciled.unread:
        parts.append(f"{archived.reconciled.unread:,} offsets left to the next run")
    where = f"{result.cluster} ({result.cluster_id})"
    return f"{where}: {', '.join(parts)}; tables in {place} ({result.seconds:.1f} s)"


COMMAND = Command(
    kind=JOB,
    summary="Archives new records of topics in table records: those since the last run, or since --from for a new topic.",
    examples=(
        "lagoon ingest --conf lagoon.toml --topics orders,payments",
        "lagoon ingest --conf lagoon.toml --pattern 'orders-.*' --from 2026-07-01",
    ),
    declare=_declare,
    answer=lambda call: ingest_all(ingest_arguments(call.options, call.environ, call.clock), call.clock),
)
