"""Runs `lagoon maintain`: removes old rows and joins small files, table by table, and reports each table.

Tables do not depend on each other: if one fails, the others are maintained.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from dataclasses import replace

from kafka_lagoon.cli.arguments import add_flags, names, number_from
from kafka_lagoon.cli.command import Command
from kafka_lagoon.cli.file_modes import loaded
from kafka_lagoon.cli.jobs import JOB
from kafka_lagoon.cli.outcome import MAINTAIN, STATUS, RunOutcome, one_by_one
from kafka_lagoon.cli.run_metrics import metrics_written
from kafka_lagoon.cli.terminal import COMPLETE, say, worst
from kafka_lagoon.clock import Clock
from kafka_lagoon.delta.maintain import SAFE_HOURS, Files, Maintained, MaintainOptions, check_options, in_order
from kafka_lagoon.delta.old_rows import OldRows
from kafka_lagoon.delta.open_warehouse import check_writable
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.errors import ConfigError, TableError
from kafka_lagoon.frozen import frozen
from kafka_lagoon.runs.context import RunContext
from kafka_lagoon.runs.maintain import maintain_table
from kafka_lagoon.settings import Settings
from kafka_lagoon.text import counted


@frozen
class MaintainArguments:
    """Settings and options of a run."""

    settings: Settings
    options: MaintainOptions


def _declare(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--tables", type=names, metavar="NAMES", help="names of tables, separated by commas; default: all"
    )
    parser.add_argument(
        "--keep-hours",
        type=number_from(0),
        default=SAFE_HOURS,
        metavar="HOURS",
        help=f"keep the files of all table versions of the last N hours (default: {SAFE_HOURS})",
    )
    add_flags(
        parser,
        {
            "--force": f"allow fewer than {SAFE_HOURS} hours; then no job and no query may run at the same time",
            "--dry-run": "print the work that would be done, and change nothing",
        },
    )


def maintain_arguments(given: Namespace, environ: Mapping[str, str]) -> MaintainArguments:
    """Check options and settings; ConfigError lists every fault."""
    options = MaintainOptions(keep_hours=given.keep_hours, force=given.force, dry_run=given.dry_run)
    if given.tables:
        options = replace(options, tables=in_order(given.tables))
    check_options(options)
    settings = loaded(given, environ, cluster_needed=False)
    return MaintainArguments(settings=settings, options=replace(options, retention=settings.retention))


def maintain_all(arguments: MaintainArguments, clock: Clock) -> int:
    """Maintain the tables one after the other; return the worst exit code."""
    run, started = RunOutcome(job=MAINTAIN, dry_run=arguments.options.dry_run), clock.monotonic()
    with metrics_written(arguments.settings, [run], clock):
        run.exit_code = _maintain_tables(arguments, clock)
        run.status, run.seconds = STATUS[run.exit_code], clock.monotonic() - started
    return run.exit_code


def _maintain_tables(arguments: MaintainArguments, clock: Clock) -> int:
    options = arguments.options
    context = RunContext(MAINTAIN, arguments.settings, clock)
    try:
        warehouse = context.existing_warehouse
    except TableError as error:
        if options.dry_run or not isinstance(error.__cause__, PermissionError):
            raise
        raise ConfigError([f"warehouse: {error}"]) from error  # who may not enter a folder may not write to it, either
    if arguments.settings.warehouse and not options.dry_run:
        check_writable(warehouse)
    outcomes = [RunOutcome(job=MAINTAIN, table=name, dry_run=options.dry_run) for name in options.tables]
    old_rows = OldRows(warehouse, options.retention, options.keep_hours, clock)
    idle: list[str] = []

    def maintain(outcome: RunOutcome) -> int:
        maintained = _maintain_one(warehouse, arguments, clock, outcome, old_rows)
        line = maintained_line(maintained, options)
        if line is None:
            idle.append(maintained.table)
        else:
            say(line)
        return COMPLETE

    codes = one_by_one(outcomes, clock, maintain)
    if idle:
        of = (
            idle[0]
            if len(idle) == 1
            else f"{len(idle)} tables"
            if len(idle) == len(codes)
            else f"{len(idle)} other tables"
        )
        say(f"{of}: nothing to do")
    return worst(codes)


def _maintain_one(
    warehouse: Warehouse, arguments: MaintainArguments, clock: Clock, outcome: RunOutcome, old_rows: OldRows
) -> Maintained:
    """Maintain one table and describe the result in `outcome`."""
    options, sql = arguments.options, arguments.settings.sql
    maintained = maintain_table(warehouse, str(outcome.table), options, clock, old_rows, sql)
    outcome.rows_removed = maintained.old.rows
    outcome.files_rewritten, outcome.files_removed = maintained.before.count, maintained.removed.count
    return maintained


def maintained_line(maintained: Maintained, options: MaintainOptions) -> str | None:
    """Make the line of a table: rows and files that were, or would be, rewritten and removed; None for nothing."""
    would = "would be " if options.dry_run else ""
    parts = []
    if maintained.stored_days:
        parts.append(f"{counted(maintained.stored_days, 'day')} {would}stored")
    if maintained.dropped_days:
        parts.append(f"{counted(maintained.dropped_days, 'stored day')} without snapshots {would}removed")
    if maintained.not_stored:
        parts.append(maintained.not_stored)
    if maintained.old.days:
        uncounted = maintained.old.uncounted
        more = f", without those of {counted(uncounted, 'file')} that the log does not count" if uncounted else ""
        parts.append(f"{maintained.old.rows:,} old rows of {maintained.old.days:,} days {would}removed{more}")
    if maintained.days:
        after = f"about {maintained.after.count:,} files" if options.dry_run else _spelled(maintained.after)
        parts.append(f"{_spelled(maintained.before)} of {maintained.days:,} days {would}rewritten into {after}")
    if maintained.removed.count:
        parts.append(f"{_spelled(maintained.removed)} {would}removed, unneeded for {options.keep_hours} hours")
    return f"{maintained.table}: {'; '.join(parts)}" if parts else None


def _spelled(files: Files) -> str:
    return f"{files.count:,} files ({files.size / 1e6:,.1f} MB)"


COMMAND = Command(
    kind=JOB,
    summary="Joins small files of past days, removes rows that are older than [retention] allows, and deletes unneeded files.",
    examples=(
        "lagoon maintain --conf lagoon.toml --dry-run",
        "lagoon maintain --conf lagoon.toml",
    ),
    declare=_declare,
    answer=lambda call: maintain_all(maintain_arguments(call.options, call.environ), call.clock),
)
