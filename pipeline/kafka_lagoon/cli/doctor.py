"""Runs `lagoon doctor`: prints what works, what does not, and what to do about it, one line each."""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import chain
from typing import TYPE_CHECKING

from kafka_lagoon.cli.arguments import Parser, names, overrides
from kafka_lagoon.cli.kafka.arguments import add_cluster_options
from kafka_lagoon.cli.terminal import COMPLETE, FAILED, INCOMPLETE, say, say_exactly
from kafka_lagoon.clock import Clock
from kafka_lagoon.doctor import checks, results
from kafka_lagoon.doctor.results import Check, Result
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.text import did_you_mean, printable

if TYPE_CHECKING:  # what does not load is observed, and does not end the doctor
    from kafka_lagoon.doctor.permissions import Needs
    from kafka_lagoon.kafka_settings import KafkaSettings
    from kafka_lagoon.settings import Settings

_TIMEOUT_S = 30
_EPILOG = """\
Nothing is altered: probe files are written into the warehouse and removed. Secrets are never printed.
Exit codes: 0 no check failed, 1 one failed, 2 bad arguments, 3 none failed, but there are warnings. What was not checked
says why, and changes no exit code.
"""
_COLOURS = {results.FAILED: "31", results.WARNING: "33", results.OK: "32", results.NOT_CHECKED: "2"}


def run(argv: Sequence[str], environ: Mapping[str, str], clock: Clock) -> int:
    """The exit code of all checks."""
    args = parser().parse_args(argv)
    counts: Counter[str] = Counter()
    for result in chain(checks.machine(), _of_settings(args, environ, clock)):
        counts[result.status] += 1
        say_exactly(json.dumps(asdict(result)) if args.json else _line(result))
    if not args.json:
        say(", ".join(f"{counts[status]} {status.replace('_', ' ')}" for status in results.STATUSES))
    return FAILED if counts[results.FAILED] else INCOMPLETE if counts[results.WARNING] else COMPLETE


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    made = Parser(
        "doctor", "Whether this installation, its settings, clusters and warehouse work, and what to do if not."
    )
    made.formatter_class = argparse.RawDescriptionHelpFormatter
    made.epilog = _EPILOG
    add_cluster_options(made)
    made.set_defaults(timeout=_TIMEOUT_S)
    made.add_argument("--warehouse", metavar="PLACE", help="short for --set warehouse=PLACE")
    made.add_argument(
        "--for",
        dest="commands",
        type=names,
        metavar="COMMAND,...",
        help="whose permissions are checked; default: snapshot, and ingest if the settings name topics for it",
    )
    made.add_argument(
        "--executors",
        action="store_true",
        help="start Spark, and check its executors and the warehouse through it, too",
    )
    made.add_argument("--master", metavar="URL", help="Spark's master, for --executors; default: as spark-submit")
    made.add_argument("--json", action="store_true", help="one JSON object a line")
    return made


def _of_settings(args: argparse.Namespace, environ: Mapping[str, str], clock: Clock) -> Iterator[Result]:
    """The faults of the settings, then what they name as far as they can be used."""
    check = Check("settings", str(args.conf or "options and environment"))
    loaded: list[Settings] = []
    yield from results.run_alone(check, lambda: _loaded(check, args, environ, loaded))
    settings = loaded[0] if loaded else None
    yield from checks.examine(
        checks.Examination(
            settings=settings,
            clusters=_chosen(args.cluster, settings),
            needs=_needs(args.commands, settings) if settings else (),
            clock=clock,
            timeout_ms=round(args.timeout * 1000),
            conf=args.conf,
            with_spark=args.executors,
            master=args.master,
        )
    )


def _loaded(
    check: Check, args: argparse.Namespace, environ: Mapping[str, str], into: "list[Settings]"
) -> Iterator[Result]:
    from kafka_lagoon.cli import file_modes  # noqa: PLC0415  pydantic may be missing

    section = f"clusters.{args.cluster}" if args.cluster else "kafka"
    assigned = [f"{section}.bootstrap_servers={args.bootstrap_servers}"] if args.bootstrap_servers else []
    settings = file_modes.loaded(
        args.conf,
        environ,
        [*overrides(args), *assigned],
        args.kafka_properties,
        cluster_needed=False,
        tables_needed=False,
    )
    into.append(settings)
    yield check.ok(f"no faults; clusters: {', '.join(settings.named_clusters()) or 'none'}")


def _chosen(name: str | None, settings: "Settings | None") -> "dict[str, KafkaSettings]":
    """The clusters that are checked; ConfigError if the one that is named is not in the settings."""
    known = settings.named_clusters() if settings else {}
    if settings and name and name not in known:
        raise ConfigError([f"--cluster {name}: no such cluster in the settings ({', '.join(known)})"])
    return {name: known[name]} if name and settings else known


def _needs(commands: Sequence[str] | None, settings: "Settings") -> "Sequence[Needs]":
    """What the commands need that are named, or that the settings are for; ConfigError for an unknown one."""
    from kafka_lagoon.cli.permissions import REQUIRED_PERMISSIONS  # noqa: PLC0415  0.2 s: they are made of all tables
    from kafka_lagoon.doctor.permissions import Needs  # noqa: PLC0415
    from kafka_lagoon.snapshot.chosen_names import Names  # noqa: PLC0415

    snapshot, ingest = settings.snapshot, settings.ingest
    wanted = commands or ["snapshot", *(["ingest"] if ingest.topics or ingest.pattern else ())]
    unknown = [name for name in wanted if name not in REQUIRED_PERMISSIONS]
    if unknown:
        hints = (f"--for {name}: no such command{did_you_mean(name, REQUIRED_PERMISSIONS)}" for name in unknown)
        raise ConfigError(list(hints))
    chosen = {name: Needs(command=name, permissions=REQUIRED_PERMISSIONS[name].permissions) for name in wanted}
    chosen["snapshot"] = Needs(
        command="snapshot",
        permissions=REQUIRED_PERMISSIONS["snapshot"].permissions,
        chosen_topics=Names.of(snapshot.topics, snapshot.exclude_topics),
        chosen_groups=Names.of(snapshot.groups, snapshot.exclude_groups),
        goes_without=True,
    )
    chosen["ingest"] = Needs(
        command="ingest",
        permissions=REQUIRED_PERMISSIONS["ingest"].permissions,
        chosen_topics=Names.of(ingest.pattern, None),
        topics=names(ingest.topics or ""),
    )
    return [chosen[name] for name in wanted]


def _line(result: Result) -> str:
    status = f"{result.status.replace('_', ' '):<11}"
    if sys.stdout.isatty():
        status = f"\x1b[{_COLOURS[result.status]}m{status}\x1b[0m"
    to_do = f" -> {result.to_do}" if result.to_do else ""
    return f"{status}  {result.check:<13}  {printable(f'{result.subject}: {result.observed}{to_do}')}"
