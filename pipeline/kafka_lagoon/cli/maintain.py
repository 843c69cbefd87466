"""Runs `lagoon maintain`: compacts and vacuums the tables one after the other, and reports each.

Tables do not depend on each other: if one fails, the others are maintained.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kafka_lagoon.cli.arguments import job_parser, overrides
from kafka_lagoon.cli.outcome import MAINTAIN, Outcome, one_by_one
from kafka_lagoon.cli.terminal import COMPLETE, log_to, reported, say
from kafka_lagoon.clock import SYSTEM_CLOCK, Clock
from kafka_lagoon.delta.maintain import SAFE_HOURS, Files, Maintained, MaintainOptions, check_options, maintain
from kafka_lagoon.delta.session import session
from kafka_lagoon.delta.warehouse import find_warehouse
from kafka_lagoon.settings import Settings, load


def main(argv: Sequence[str]) -> int:
    """The exit code of `lagoon maintain` and jobs/maintain.py with these arguments."""
    return reported(lambda: maintain_all(maintain_arguments(argv, os.environ), SYSTEM_CLOCK))


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintainArguments:
    """What one run of the maintenance job is told."""

    settings: Settings
    options: MaintainOptions
    log_file: Path | None


def maintain_arguments(argv: Sequence[str], environ: Mapping[str, str]) -> MaintainArguments:
    """Arguments of `lagoon maintain` and jobs/maintain.py; ConfigError lists every fault."""
    parser = job_parser("maintain", "Fewer and larger files for days that are over, and away with those nobody needs.")
    parser.add_argument("--tables", metavar="NAMES", help="comma-separated; default: all")
    parser.add_argument("--keep-hours", type=int, default=SAFE_HOURS, metavar="HOURS", help="keep what versions need")
    parser.add_argument(
        "--force", action="store_true", help=f"allow fewer than {SAFE_HOURS} hours: nobody may be running"
    )
    parser.add_argument("--dry-run", action="store_true", help="only say what would be done")
    told = parser.parse_args(argv)
    options = MaintainOptions(keep_hours=told.keep_hours, force=told.force, dry_run=told.dry_run)
    if told.tables:
        options = replace(options, tables=tuple(name.strip() for name in told.tables.split(",")))
    check_options(options)
    settings = load(told.conf, environ, overrides(told), told.kafka_properties, cluster_needed=False)
    return MaintainArguments(settings=settings, options=options, log_file=told.log_file)


def maintain_all(arguments: MaintainArguments, clock: Clock) -> int:
    """Maintain the tables one after the other; the exit code of the worst."""
    log_to(arguments.log_file)
    options = arguments.options
    warehouse = find_warehouse(session("lagoon maintain"), arguments.settings)

    def one(outcome: Outcome) -> int:
        (done,) = maintain(warehouse, replace(options, tables=(str(outcome.table),)), clock)
        say(maintained_line(done, options))
        outcome.files_rewritten, outcome.files_removed = done.before.count, done.removed.count
        return COMPLETE

    outcomes = [Outcome(job=MAINTAIN, table=name, dry_run=options.dry_run) for name in options.tables]
    return one_by_one(outcomes, clock, one)


def maintained_line(done: Maintained, options: MaintainOptions) -> str:
    """What was or would be rewritten and removed."""
    would = "would be " if options.dry_run else ""
    parts = []
    if done.days:
        after = f"about {done.after.count:,} files" if options.dry_run else _spelled(done.after)
        parts.append(f"{_spelled(done.before)} of {done.days:,} days {would}rewritten into {after}")
    if done.removed.count:
        parts.append(f"{_spelled(done.removed)} {would}removed, unneeded for {options.keep_hours} hours")
    return f"{done.table}: {'; '.join(parts) or 'nothing to do'}"


def _spelled(files: Files) -> str:
    return f"{files.count:,} files ({files.size / 1e6:,.1f} MB)"
