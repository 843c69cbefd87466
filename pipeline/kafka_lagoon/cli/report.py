"""Runs `lagoon report`: writes one HTML page about clusters, from the tables."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kafka_lagoon.cli.arguments import job_parser, moment_argument, names, number_from, overrides
from kafka_lagoon.cli.engines import ENGINES, SPARK, opened
from kafka_lagoon.cli.file_modes import loaded
from kafka_lagoon.cli.out_files import out_file
from kafka_lagoon.cli.outcome import REPORT, Outcome, one_by_one, reported_job
from kafka_lagoon.cli.run_metrics import metrics_written
from kafka_lagoon.cli.terminal import COMPLETE, INCOMPLETE, log_to, warn
from kafka_lagoon.clock import SYSTEM_CLOCK, Clock
from kafka_lagoon.report.page import RELATIONS
from kafka_lagoon.runs.report import Report, ReportOptions, make_report
from kafka_lagoon.settings import Settings, local_folder, opens_without_session
from kafka_lagoon.text import printable
from kafka_lagoon.times import FORMS, Moment
from kafka_lagoon.units import byte_count

_HOURS_OF_DAY = 24


def main(argv: Sequence[str]) -> int:
    """The exit code of `lagoon report` and jobs/report.py with these arguments."""
    return reported_job(REPORT, lambda: report(report_arguments(argv, os.environ, SYSTEM_CLOCK), SYSTEM_CLOCK))


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportArguments:
    """Settings and options of one run; `engine` None means DuckDB where it can read the tables."""

    settings: Settings
    options: ReportOptions
    out: Path
    engine: str | None


def report_arguments(argv: Sequence[str], environ: Mapping[str, str], clock: Clock) -> ReportArguments:
    """Arguments of `lagoon report` and jobs/report.py; ConfigError lists every fault."""
    parser = job_parser("report", "One self-contained HTML page of what the tables say of clusters.")
    parser.add_argument(
        "--out", type=Path, required=True, metavar="FILE", help="write the page there, or leave what is there"
    )
    parser.add_argument("--cluster", type=names, metavar="A,B", help="only these clusters; default: all")
    parser.add_argument(
        "--slot",
        type=moment_argument,
        metavar="TIME",
        help=f"the snapshot of this slot, or the newest one before it ({FORMS}); default: the newest",
    )
    history = parser.add_mutually_exclusive_group()
    history.add_argument("--hours", type=number_from(1), metavar="N", help="hours of history (default: 24)")
    history.add_argument("--days", type=number_from(1), metavar="N", help="days of history")
    parser.add_argument("--title", metavar="TEXT", help="title of the page")
    parser.add_argument("--engine", choices=ENGINES, help="default: duckdb for a folder of this machine, else spark")
    args = parser.parse_args(argv)
    log_to(args.log_file)
    slot: Moment | None = args.slot
    options = ReportOptions(
        clusters=args.cluster,
        slot_ms=None if slot is None else slot.at_ms(clock.now_ms()),
        hours=args.hours or (args.days or 1) * _HOURS_OF_DAY,
        title=args.title,
    )
    settings = loaded(args.conf, environ, overrides(args), args.kafka_properties, cluster_needed=False)
    return ReportArguments(settings=settings, options=options, out=args.out, engine=args.engine)


def report(arguments: ReportArguments, clock: Clock) -> int:
    """Write the page and say what it is about; the exit code."""
    outcomes = [Outcome(job=REPORT)]
    with metrics_written(arguments.settings.metrics.folder, outcomes, clock):
        (code,) = one_by_one(outcomes, clock, lambda outcome: _report(arguments, clock, outcome))
    return code


def _report(arguments: ReportArguments, clock: Clock, outcome: Outcome) -> int:
    with opened(arguments.settings, RELATIONS, arguments.engine or _engine(arguments.settings)) as ask:
        made = make_report(ask, arguments.options, clock.now_ms())
    content = made.html.encode()
    with out_file(arguments.out) as part:
        part.write_bytes(content)
    outcome.page, outcome.page_bytes = str(arguments.out), len(content)
    outcome.lines.append(f"{_about(made)}; {printable(str(arguments.out))} ({byte_count(len(content))})")
    for problem in made.problems:
        warn(problem)
    return INCOMPLETE if made.problems else COMPLETE


def _engine(settings: Settings) -> str | None:
    """Under spark-submit a path may be of another file system: a folder that is not here is Spark's to find."""
    folder = local_folder(settings.warehouse) if settings.warehouse else None
    is_elsewhere = folder is not None and not opens_without_session(settings) and not (folder / "snapshots").is_dir()
    return SPARK if is_elsewhere else None


def _about(made: Report) -> str:
    return "; ".join(
        f"{printable(page.snapshot.cluster)}: {page.snapshot.groups:,} groups, {len(page.concerns):,} lines need attention"
        for page in made.clusters
    )
