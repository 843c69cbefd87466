"""Runs `lagoon maintain`: removes old rows and joins files of the tables one after the other, and reports each.

Tables do not depend on each other: if one fails, the others are maintained.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from kafka_lagoon.cli.arguments import job_parser, names, overrides
from kafka_lagoon.cli.file_modes import loaded
from kafka_lagoon.cli.outcome import MAINTAIN, STATUS, Outcome, one_by_one, reported_job
from kafka_lagoon.cli.run_metrics import metrics_written
from kafka_lagoon.cli.terminal import COMPLETE, log_to, say, worst
from kafka_lagoon.clock import SYSTEM_CLOCK, Clock
from kafka_lagoon.delta.maintain import SAFE_HOURS, Files, Maintained, MaintainOptions, check_options, in_order
from kafka_lagoon.delta.old_rows import OldRows
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.runs.context import RunContext
from kafka_lagoon.runs.maintain import maintain_table
from kafka_lagoon.settings import Settings


def main(argv: Sequence[str]) -> int:
    """The exit code of `lagoon maintain` and jobs/maintain.py with these arguments."""
    return reported_job(MAINTAIN, lambda: maintain_all(maintain_arguments(argv, os.environ), SYSTEM_CLOCK))


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintainArguments:
    """Settings and options of one run of the maintenance job."""

    settings: Settings
    options: MaintainOptions


def maintain_arguments(argv: Sequence[str], environ: Mapping[str, str]) -> MaintainArguments:
    """Arguments of `lagoon maintain` and jobs/maintain.py; ConfigError lists every fault."""
    parser = job_parser(
        "maintain",
        "Join small files of days that are over, remove rows that [retention] calls old, delete files no version needs.",
    )
    parser.add_argument("--tables", metavar="NAMES", help="comma-separated; default: all")
    parser.add_argument(
        "--keep-hours",
        type=int,
        default=SAFE_HOURS,
        metavar="HOURS",
        help="keep the files that versions of these hours need",
    )
    parser.add_argument(
        "--force", action="store_true", help=f"allow fewer than {SAFE_HOURS} hours: no job or query may run meanwhile"
    )
    parser.add_argument("--dry-run", action="store_true", help="say what would be done, and do nothing")
    args = parser.parse_args(argv)
    log_to(args.log_file)
    options = MaintainOptions(keep_hours=args.keep_hours, force=args.force, dry_run=args.dry_run)
    if args.tables:
        options = replace(options, tables=in_order(names(args.tables)))
    check_options(options)
    settings = loaded(args.conf, environ, overrides(args), args.kafka_properties, cluster_needed=False)
    return MaintainArguments(settings=settings, options=replace(options, retention=settings.retention))


def maintain_all(arguments: MaintainArguments, clock: Clock) -> int:
    """Maintain the tables one after the other; the exit code of the worst."""
    run, started = Outcome(job=MAINTAIN, dry_run=arguments.options.dry_run), clock.monotonic()
    with metrics_written(arguments.settings.metrics.folder, [run], clock):
        run.exit_code = _maintain_tables(arguments, clock)
        run.status, run.seconds = STATUS[run.exit_code], clock.monotonic() - started
    return run.exit_code


def _maintain_tables(arguments: MaintainArguments, clock: Clock) -> int:
    options = arguments.options
    context = RunContext(MAINTAIN, arguments.settings, clock)
    warehouse = context.existing_warehouse
    outcomes = [Outcome(job=MAINTAIN, table=name, dry_run=options.dry_run) for name in options.tables]
    old_rows = OldRows(warehouse, options.retention, options.keep_hours, clock)
    codes = one_by_one(outcomes, clock, lambda outcome: _maintain_one(warehouse, options, clock, outcome, old_rows))
    return worst(codes)


def _maintain_one(
    warehouse: Warehouse, options: MaintainOptions, clock: Clock, outcome: Outcome, old_rows: OldRows
) -> int:
    """Maintain, print and describe in `outcome` one table; its exit code."""
    maintained = maintain_table(warehouse, str(outcome.table), options, clock, old_rows)
    say(maintained_line(maintained, options))
    outcome.rows_removed = maintained.old.rows
    outcome.files_rewritten, outcome.files_removed = maintained.before.count, maintained.removed.count
    return COMPLETE


def maintained_line(maintained: Maintained, options: MaintainOptions) -> str:
    """What was or would be rewritten and removed."""
    would = "would be " if options.dry_run else ""
    parts = []
    if maintained.old.rows:
        parts.append(f"{maintained.old.rows:,} old rows of {maintained.old.days:,} days {would}removed")
    if maintained.days:
        after = f"about {maintained.after.count:,} files" if options.dry_run else _spelled(maintained.after)
        parts.append(f"{_spelled(maintained.before)} of {maintained.days:,} days {would}rewritten into {after}")
    if maintained.removed.count:
        parts.append(f"{_spelled(maintained.removed)} {would}removed, unneeded for {options.keep_hours} hours")
    return f"{maintained.table}: {'; '.join(parts) or 'nothing to do'}"


def _spelled(files: Files) -> str:
    return f"{files.count:,} files ({files.size / 1e6:,.1f} MB)"
