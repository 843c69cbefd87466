"""Chooses the cluster of a command by its options and the settings, and connects to it.

`--bootstrap-servers` alone is enough. If the settings have several clusters, `--cluster` must name one of them.
"""

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kafka_lagoon.cli.arguments import add_settings_options, not_empty
from kafka_lagoon.cli.conf_file import conf_file
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import Clock, Deadline
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.frozen import frozen
from kafka_lagoon.kafka_settings import DEFAULT_CLUSTER, LONGEST_MS, KafkaSettings, is_setting, no_such_cluster

if TYPE_CHECKING:
    from kafka_lagoon.settings import Settings

_LONGEST_SECONDS = LONGEST_MS // 1000


@frozen
class ChosenCluster:
    """The cluster of a command; `settings` is None if only bootstrap servers were given."""

    name: str
    kafka: KafkaSettings
    settings: "Settings | None"


def add_cluster_options(parser: ArgumentParser, timeout: str = "longest time for the whole command") -> None:
    """Declare the options that choose a cluster and its settings, and limit the time of the command."""
    parser.add_argument(
        "-b",
        "--bootstrap-servers",
        "--bootstrap-server",
        type=not_empty,
        metavar="HOST:PORT,...",
        help="HOST:PORT of brokers; short for --set kafka.bootstrap_servers=",
    )
    parser.add_argument(
        "--cluster", type=not_empty, metavar="NAME", help="name of the cluster, from [clusters.NAME] in the settings"
    )
    add_settings_options(parser)
    parser.add_argument("--timeout", type=_seconds, metavar="SECONDS", help=timeout)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= _LONGEST_SECONDS:
        raise ArgumentTypeError(f"{text!r} is not a number of seconds above 0, at most {_LONGEST_SECONDS}")
    return seconds


def chosen_cluster(options: Namespace, environ: Mapping[str, str]) -> ChosenCluster:
    """Find the cluster that the options choose; ConfigError lists every fault of the settings."""
    if options.bootstrap_servers and not _has_other_settings(options, environ):
        return ChosenCluster(name=DEFAULT_CLUSTER, kafka=_plain_settings(options.bootstrap_servers), settings=None)
    from kafka_lagoon.cli.file_modes import loaded  # noqa: PLC0415  pydantic; see kafka_settings.checked

    settings = loaded(options, environ, assigned_servers(options), tables_needed=False)
    known = settings.named_clusters()
    if options.cluster is None and len(known) > 1:
        raise ConfigError([f"several clusters: choose one by --cluster ({', '.join(known)})"])
    name = options.cluster or next(iter(known))
    return ChosenCluster(name=name, kafka=named_cluster(name, known), settings=settings)


def assigned_servers(options: Namespace) -> Sequence[str]:
    """Return the setting that `--bootstrap-servers` stands for, as `key=value`."""
    section = f"clusters.{options.cluster}" if options.cluster else "kafka"
    return [f"{section}.bootstrap_servers={options.bootstrap_servers}"] if options.bootstrap_servers else []


def named_cluster(name: str, known: Mapping[str, KafkaSettings]) -> KafkaSettings:
    """Return the cluster that `--cluster` names; ConfigError if the settings do not have it."""
    if name not in known:
        raise ConfigError([no_such_cluster(name, known)])
    return known[name]


def _has_other_settings(options: Namespace, environ: Mapping[str, str]) -> bool:
    given = conf_file(options, environ).path or options.kafka_properties or options.set or options.cluster
    return bool(given) or any(map(is_setting, environ))


def _plain_settings(bootstrap_servers: str) -> KafkaSettings:
    """Make settings with defaults for all but the bootstrap servers: defaults need no check."""
    try:
        return KafkaSettings(bootstrap_servers=bootstrap_servers)
    except ValueError as error:
        raise ConfigError([f"kafka.bootstrap_servers: {error}"]) from None


def budget_ms(kafka: KafkaSettings, options: Namespace) -> int:
    """Return the longest time that a command may take."""
    return round(options.timeout * 1000) if options.timeout else kafka.default_api_timeout_ms


@contextmanager
def connected(kafka: KafkaSettings, options: Namespace, clock: Clock) -> Iterator[tuple[Cluster, Deadline]]:
    """Connect to a cluster, with the deadline of the whole command."""
    deadline = Deadline.after(clock, budget_ms(kafka, options))
    with Cluster.connect(kafka, clock, RequestStats(), deadline) as cluster:
        yield cluster, deadline
