"""Runs `lagoon report`: writes one HTML page about clusters, from the tables."""

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from kafka_lagoon.cli.arguments import SPARK, add_engine, file_path, moment_argument, names, number_from
from kafka_lagoon.cli.command import Command
from kafka_lagoon.cli.engines import connected, opened
from kafka_lagoon.cli.file_modes import loaded
from kafka_lagoon.cli.jobs import JOB
from kafka_lagoon.cli.out_files import out_file
from kafka_lagoon.cli.outcome import REPORT, RunOutcome, one_by_one
from kafka_lagoon.cli.run_metrics import metrics_written
from kafka_lagoon.cli.terminal import COMPLETE, INCOMPLETE, warn
from kafka_lagoon.clock import Clock
from kafka_lagoon.folders import is_folder
from kafka_lagoon.frozen import frozen
from kafka_lagoon.query.history import open_until
from kafka_lagoon.query.statements import Ask
from kafka_lagoon.report.page import RECENT_RELATIONS, RELATIONS
from kafka_lagoon.report.scope import CHOICE, first_predecessor, has_all_predecessors, recent_window, windows_of
from kafka_lagoon.runs.report import Report, ReportOptions, chosen_scopes, make_report
from kafka_lagoon.settings import Settings
from kafka_lagoon.text import byte_count, printable
from kafka_lagoon.times import FORMS, Moment
from kafka_lagoon.warehouse_settings import own_folder
from kafka_lagoon.warehouse_urls import local_folder

_HOURS_OF_DAY = 24


@frozen
class ReportArguments:
    """Settings and options of one run; `engine` None means DuckDB where it can read the tables."""

    settings: Settings
    options: ReportOptions
    out: Path
    engine: str | None


def _declare(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--out",
        type=file_path,
        required=True,
        metavar="FILE",
        help="file to write the page to; it stays unchanged if the report fails",
    )
    parser.add_argument("--cluster", type=names, metavar="A,B", help="only these clusters; default: all")
    parser.add_argument(
        "--slot",
        type=moment_argument,
        metavar="TIME",
        help=f"take the snapshot of this slot, or the newest one before it ({FORMS}); default: the newest",
    )
    history = parser.add_mutually_exclusive_group()
    history.add_argument("--hours", type=number_from(1), metavar="N", help="hours of history (default: 24)")
    history.add_argument("--days", type=number_from(1), metavar="N", help="days of history")
    parser.add_argument("--title", metavar="TEXT", help="title of the page")
    add_engine(parser)


def report_arguments(given: Namespace, environ: Mapping[str, str], clock: Clock) -> ReportArguments:
    """Check options and settings; ConfigError lists every fault."""
    settings = loaded(given, environ, cluster_needed=False)
    slot: Moment | None = given.slot
    options = ReportOptions(
        clusters=given.cluster,
        configured=tuple(settings.named_clusters()),
        slot_ms=None if slot is None else slot.at_ms(clock.now_ms()),
        hours=given.hours or (given.days or 1) * _HOURS_OF_DAY,
        title=given.title,
    )
    return ReportArguments(settings=settings, options=options, out=given.out, engine=given.engine)


def report(arguments: ReportArguments, clock: Clock) -> int:
    """Write the page and print a line about its snapshots; return the exit code."""
    outcomes = [RunOutcome(job=REPORT)]
    with metrics_written(arguments.settings, outcomes, clock):
        (code,) = one_by_one(outcomes, clock, lambda outcome: _report(arguments, clock, outcome))
    return code


def _report(arguments: ReportArguments, clock: Clock, outcome: RunOutcome) -> int:
    made = _made(arguments, clock)
    content = made.html.encode()
    with out_file(arguments.out) as part:
        part.write_bytes(content)
    outcome.page, outcome.page_bytes = str(arguments.out), len(content)
    outcome.lines.append(f"{_about(made)}; {printable(str(arguments.out))} ({byte_count(len(content))})")
    for problem in made.problems:
        warn(problem)
    return INCOMPLETE if made.problems else COMPLETE


def _made(arguments: ReportArguments, clock: Clock) -> Report:
    """Make the page over as much of the history as its sections need."""
    settings, options = arguments.settings, arguments.options
    engine = arguments.engine or _engine(settings)
    with connected(settings, engine) as open_tables:
        chosen = chosen_scopes(open_tables(CHOICE, None), options)

        def suffices(ask: Ask) -> bool:
            return all(has_all_predecessors(replace(scope, ask=ask)) for scope in chosen)

        def earliest(ask: Ask) -> datetime | None:
            begins = [first_predecessor(replace(scope, ask=ask)) for scope in chosen]
            return min((begin for begin in begins if begin is not None), default=None)

        windows, recent_snapshots = windows_of(chosen), recent_window(chosen)
        ask = open_until(open_tables, RELATIONS, windows, suffices, earliest)
        with opened(settings, RECENT_RELATIONS, engine, recent_snapshots) as recent:
            read = [replace(scope, ask=ask, recent=recent) for scope in chosen]
            return make_report(read, options, clock.now_ms())


def _engine(settings: Settings) -> str | None:
    """Choose Spark, under spark-submit, for a folder that does not exist here: it may be on another file system."""
    folder = local_folder(settings.warehouse) if settings.warehouse else None
    is_elsewhere = folder is not None and own_folder(settings) is None and not is_folder(folder / "snapshots")
    return SPARK if is_elsewhere else None


def _about(made: Report) -> str:
    return "; ".join(
        f"{printable(page.snapshot.cluster)}: {page.snapshot.groups:,} groups, {len(page.concerns):,} lines need attention"
        for page in made.clusters
    )


COMMAND = Command(
    kind=JOB,
    summary="Makes one self-contained HTML page about clusters, from the tables.",
    examples=(
        "lagoon report --conf lagoon.toml --out report.html",
        "lagoon report --conf lagoon.toml --out monday.html --slot 2026-07-13T18:00 --days 4",
    ),
    declare=_declare,
    answer=lambda call: report(report_arguments(call.options, call.environ, call.clock), call.clock),
)
