"""Settings in, maintained tables out, one line each: `lagoon maintain`.

Guards one rule: tables do not depend on each other. What one of them refuses is said, and the others are maintained.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pipeline.cli.arguments import overrides, parser_of
from pipeline.cli.terminal import COMPLETE, one_by_one, say
from pipeline.client.deadline import Clock
from pipeline.settings import Settings, load
from pipeline.tables.maintain import SAFE_HOURS, Files, Maintained, MaintainOptions, check_options, maintain
from pipeline.tables.session import session
from pipeline.tables.warehouse import find_warehouse


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintainArguments:
    """What one run of the maintenance job is told."""

    settings: Settings
    options: MaintainOptions


def maintain_arguments(argv: Sequence[str], environ: Mapping[str, str]) -> MaintainArguments:
    """Arguments of `lagoon maintain` and jobs/maintain.py; ConfigError lists every fault."""
    parser = parser_of("maintain", "Fewer and larger files for days that are over, and away with those nobody needs.")
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
    return MaintainArguments(settings=settings, options=options)


def maintain_all(arguments: MaintainArguments, clock: Clock) -> int:
    """Maintain the tables one after the other; the exit code of the worst."""
    warehouse = find_warehouse(session("lagoon maintain"), arguments.settings)

    def one(name: str) -> int:
        (done,) = maintain(warehouse, replace(arguments.options, tables=(name,)), clock)
        say(maintained_line(done, arguments.options))
        return COMPLETE

    return one_by_one(arguments.options.tables, one)


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
