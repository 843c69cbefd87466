"""Runs `lagoon doctor`: prints a line for each check, with its result and a remedy."""

import json
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import chain
from typing import TYPE_CHECKING

from kafka_lagoon.cli.arguments import add_warehouse, names, split_names
from kafka_lagoon.cli.clusters import add_cluster_options, assigned_servers, named_cluster
from kafka_lagoon.cli.command import PLAIN, Command, Invocation
from kafka_lagoon.cli.conf_file import ConfFile, conf_file
from kafka_lagoon.cli.people import RED, YELLOW, Screen, coloured, screen
from kafka_lagoon.cli.terminal import COMPLETE, FAILED, INCOMPLETE, say, say_exactly
from kafka_lagoon.clock import Clock
from kafka_lagoon.doctor import checks, results
from kafka_lagoon.doctor.results import Check, Result
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.text import printable

if TYPE_CHECKING:  # a setting or a package that does not load is a result, and does not end the doctor
    from kafka_lagoon.doctor.permissions import Needs
    from kafka_lagoon.kafka_settings import KafkaSettings
    from kafka_lagoon.settings import Settings

_TIMEOUT_S = 30
_EPILOG = """\
Nothing is altered, except that probe files are written into the warehouse and removed again. Secrets are never printed.
Exit codes: 0 no check failed, 1 a check failed, 2 bad arguments, 3 no check failed, but there are warnings. A check that
was not made says why, and does not change the exit code.
"""
_COLOURS = {results.FAILED: RED, results.WARNING: YELLOW, results.OK: "32", results.NOT_CHECKED: "2"}


def _declare(parser: ArgumentParser) -> None:
    add_cluster_options(
        parser, timeout=f"longest time for each part of the checks of a cluster (default: {_TIMEOUT_S})"
    )
    parser.set_defaults(timeout=_TIMEOUT_S)
    add_warehouse(parser)
    parser.add_argument(
        "--for",
        dest="commands",
        type=names,
        metavar="COMMAND,...",
        help="commands whose permissions are checked; default: snapshot, and ingest if the settings name topics for it",
    )
    parser.add_argument(
        "--executors",
        action="store_true",
        help="also start Spark, and check its executors and their access to the warehouse",
    )
    parser.add_argument(
        "--master", metavar="URL", help="Spark's master, for --executors; default: the default of spark-submit"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object per line")


def _examine(call: Invocation) -> int:
    counts: Counter[str] = Counter()
    on = screen(call.environ)
    for result in chain(checks.machine(), _of_settings(call.options, call.environ, call.clock)):
        counts[result.status] += 1
        say_exactly(json.dumps(asdict(result)) if call.options.json else _line(result, on))
    if not call.options.json:
        say(", ".join(f"{counts[status]} {status.replace('_', ' ')}" for status in results.STATUSES))
    return FAILED if counts[results.FAILED] else INCOMPLETE if counts[results.WARNING] else COMPLETE


def _of_settings(args: Namespace, environ: Mapping[str, str], clock: Clock) -> Iterator[Result]:
    """Check the settings, then the clusters and the warehouse that they name."""
    try:
        conf = conf_file(args, environ)
    except ConfigError:  # `loaded` finds it again, as a result
        conf = ConfFile(None)
    check = Check("settings", str(conf))
    loaded: list[Settings] = []
    yield from results.run_alone(check, lambda: _loaded(check, args, environ, clock, loaded))
    settings = loaded[0] if loaded else None
    yield from checks.examine(
        checks.Examination(
            settings=settings,
            clusters=_chosen(args.cluster, settings),
            needs=_needs(args.commands, settings) if settings else (),
            clock=clock,
            timeout_ms=round(args.timeout * 1000),
            conf=conf.path,
            with_spark=args.executors,
            master=args.master,
        )
    )


def _loaded(
    check: Check, options: Namespace, environ: Mapping[str, str], clock: Clock, into: "list[Settings]"
) -> Iterator[Result]:
    from kafka_lagoon.cli import file_modes  # noqa: PLC0415  pydantic may be missing

    servers = assigned_servers(options)
    conf = conf_file(options, environ)  # the subject of the check names it, so faults need not
    settings = file_modes.loaded_from(conf, options, environ, servers, cluster_needed=False, tables_needed=False)
    into.append(settings)
    if faults := list(_faults_of_jobs(settings, clock)):
        raise ConfigError(faults)
    yield check.ok(f"no faults; clusters: {', '.join(settings.named_clusters()) or 'none'}")


def _faults_of_jobs(settings: "Settings", clock: Clock) -> Iterator[str]:
    """The faults of values that only the jobs read."""
    from kafka_lagoon.fetch.offset_specs import parse_offset_specs  # noqa: PLC0415  pydantic may be missing
    from kafka_lagoon.snapshot.collectors import skipped_tables  # noqa: PLC0415  all messages and tables

    try:
        parse_offset_specs("ingest.start", settings.ingest.start, clock.now_ms())
    except ValueError as error:
        yield f"ingest.start: {error}"
    try:
        skipped_tables(settings.snapshot.skip_tables)
    except ConfigError as error:
        yield from error.problems


def _chosen(name: str | None, settings: "Settings | None") -> "dict[str, KafkaSettings]":
    """Return the clusters to check; ConfigError if the settings do not have the named cluster."""
    known = settings.named_clusters() if settings else {}
    return {name: named_cluster(name, known)} if name and settings else known


def _needs(commands: Sequence[str] | None, settings: "Settings") -> "Sequence[Needs]":
    """Return the permissions of the named commands, by default of those that the settings are for; ConfigError if unknown."""
    from kafka_lagoon.cli.required_permissions import OF_JOBS, required_for  # noqa: PLC0415  0.2 s: of all tables
    from kafka_lagoon.doctor.permissions import Needs  # noqa: PLC0415
    from kafka_lagoon.snapshot.chosen_names import Names  # noqa: PLC0415

    snapshot, ingest = settings.snapshot, settings.ingest
    wanted = commands or ["snapshot", *(["ingest"] if ingest.topics or ingest.pattern else ())]
    chosen = {name: Needs(command=name, permissions=one.permissions) for name, one in required_for(wanted).items()}
    chosen["snapshot"] = Needs(
        command="snapshot",
        permissions=OF_JOBS["snapshot"].permissions,
        chosen_topics=Names.of(snapshot.topics, snapshot.exclude_topics),
        chosen_groups=Names.of(snapshot.groups, snapshot.exclude_groups),
        goes_without=True,
    )
    chosen["ingest"] = Needs(
        command="ingest",
        permissions=OF_JOBS["ingest"].permissions,
        chosen_topics=Names.of(ingest.pattern, None),
        topics=split_names(ingest.topics or ""),
    )
    return [chosen[name] for name in wanted]


def _line(result: Result, on: Screen) -> str:
    status = coloured(f"{result.status.replace('_', ' '):<11}", _COLOURS[result.status], on)
    to_do = f" -> {result.to_do}" if result.to_do else ""
    return f"{status}  {result.check:<13}  {printable(f'{result.subject}: {result.observed}{to_do}')}"


COMMAND = Command(
    kind=PLAIN,
    summary="Checks this installation, its settings, clusters and warehouse, and names a remedy for each fault.",
    epilog=_EPILOG,
    examples=(
        "lagoon doctor -b kafka-1:9092",
        "lagoon doctor --conf lagoon.toml --for snapshot,ingest",
    ),
    declare=_declare,
    answer=_examine,
)
