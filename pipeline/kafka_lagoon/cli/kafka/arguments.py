"""Reads a verb's options, and the settings of the cluster that it asks.

`--bootstrap-servers` alone is enough; where the settings have several clusters, `--cluster` must name one.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kafka_lagoon.cli.arguments import Parser, add_settings_options
from kafka_lagoon.cli.kafka.verb import Verb
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.kafka_settings import DEFAULT_CLUSTER, KafkaSettings, is_setting

if TYPE_CHECKING:
    from kafka_lagoon.settings import Settings


class _VerbParser(Parser):
    """Adds the required permissions to the help of a verb."""

    def __init__(self, verb: Verb, name: str) -> None:
        self._summary, self._command = verb.summary, f"kafka {name}"
        super().__init__(self._command, self._summary)

    def format_help(self) -> str:
        """Called by argparse for --help."""
        from kafka_lagoon.cli.permissions import permissions_line  # noqa: PLC0415  0.2 s: they are made of all tables

        self.description = f"{self._summary} Required permissions: {permissions_line(self._command)}."
        return super().format_help()


def parse(verb: Verb, name: str, argv: Sequence[str]) -> argparse.Namespace:
    """The options of this verb and those that all verbs have; ConfigError lists what the verb refuses."""
    parser = _VerbParser(verb, name)
    verb.declare(parser)
    add_cluster_options(parser)
    parser.add_argument("--json", action="store_true", help="one JSON object a row and line, numbers exact")
    parser.add_argument("--wide", action="store_true", help="more columns, and no name is cut to fit the terminal")
    options = parser.parse_intermixed_args(argv)
    if getattr(options, "topics", None):
        options.topic = [*options.topics, *(options.topic or [])]
    if problems := verb.check(options):
        raise ConfigError(problems)
    return options


def add_cluster_options(parser: argparse.ArgumentParser) -> None:
    """Which cluster is meant, where its settings come from, and how long the command may take."""
    parser.add_argument(
        "-b",
        "--bootstrap-servers",
        "--bootstrap-server",
        metavar="HOST:PORT,...",
        help="some brokers; short for --set kafka.bootstrap_servers=",
    )
    parser.add_argument("--cluster", metavar="NAME", help="which of [clusters.NAME] in the settings")
    add_settings_options(parser)
    parser.add_argument("--timeout", type=_seconds, metavar="SECONDS", help="longest time for the whole command")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenCluster:
    """The cluster that a command is about; `settings` is None where a bootstrap server is all that was given."""

    name: str
    kafka: KafkaSettings
    settings: "Settings | None"


def cluster_settings(options: argparse.Namespace, environ: Mapping[str, str]) -> KafkaSettings:
    """Settings of the selected cluster; ConfigError lists every fault."""
    return chosen_cluster(options, environ).kafka


def chosen_cluster(options: argparse.Namespace, environ: Mapping[str, str]) -> ChosenCluster:
    """The selected cluster with all settings; ConfigError lists every fault."""
    if options.bootstrap_servers and not _has_other_settings(options, environ):
        return ChosenCluster(name=DEFAULT_CLUSTER, kafka=_plain_settings(options.bootstrap_servers), settings=None)
    from kafka_lagoon.cli.file_modes import loaded  # noqa: PLC0415  pydantic; see kafka_settings.checked

    section = f"clusters.{options.cluster}" if options.cluster else "kafka"
    assigned = [f"{section}.bootstrap_servers={options.bootstrap_servers}"] if options.bootstrap_servers else []
    settings = loaded(options.conf, environ, [*options.set, *assigned], options.kafka_properties, tables_needed=False)
    known = settings.named_clusters()
    if options.cluster is None and len(known) > 1:
        raise ConfigError([f"several clusters: choose one by --cluster ({', '.join(known)})"])
    name = options.cluster or next(iter(known))
    if name not in known:
        raise ConfigError([f"--cluster {name}: no such cluster in the settings ({', '.join(known)})"])
    return ChosenCluster(name=name, kafka=known[name], settings=settings)


def _has_other_settings(options: argparse.Namespace, environ: Mapping[str, str]) -> bool:
    given = options.conf or options.kafka_properties or options.set or options.cluster
    return bool(given) or any(map(is_setting, environ))


def _plain_settings(bootstrap_servers: str) -> KafkaSettings:
    """All other settings have their defaults, which need no check."""
    try:
        return KafkaSettings(bootstrap_servers=bootstrap_servers)
    except ValueError as error:
        raise ConfigError([f"kafka.bootstrap_servers: {error}"]) from None


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0")
    return seconds
