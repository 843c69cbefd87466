"""Runs a verb of `lagoon kafka`: parses its arguments, connects, shows its answer.

A verb's module is imported when that verb runs, so that each starts as fast as what it imports.
"""

import importlib
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from kafka_lagoon.cli.habits import not_here
from kafka_lagoon.cli.pipes import piped
from kafka_lagoon.cli.terminal import reported, say_version
from kafka_lagoon.clock import Clock, Deadline

if TYPE_CHECKING:  # help is printed without them
    from kafka_lagoon.cli.kafka.verb import Answer, Verb
    from kafka_lagoon.kafka_settings import KafkaSettings

T = TypeVar("T")

# Name -> summary, in the order of the help. The module of a verb has its name, with _ for -.
VERBS: Mapping[str, str] = {
    "versions": "what every broker speaks, and which release it may be",
    "metadata": "the cluster, its brokers, topics and partitions",
    "health": "partitions that are not as they should be",
    "offsets": "where logs begin and end, or what they hold of a time",
    "groups": "groups of all types, their states and coordinators",
    "describe-group": "groups with their members and assignments",
    "lag": "how far groups are behind",
    "configs": "settings of topics, brokers and others",
    "acls": "ACLs, who may do what",
    "log-dirs": "log directories of the brokers and the replicas in them",
    "quorum": "controllers under KRaft",
    "reassignments": "partitions that are being moved to other brokers",
    "transactions": "transactions, and producers of partitions",
    "fetch": "records of a topic, from where you say",
    "produce": "lines of standard input into a topic",
}


# Other names, for hands that know Kafka's own tools.
ALIASES: Mapping[str, Sequence[str]] = {"topics": ("metadata", "--only", "topic"), "consume": ("fetch",)}

# Options of every verb with a value, which may stand before the verb, and what is no option of a verb.
_WITH_VALUE = frozenset(
    {
        "-b",
        "--bootstrap-servers",
        "--bootstrap-server",
        "--cluster",
        "--conf",
        "--kafka-properties",
        "--set",
        "--timeout",
    }
)
_OF_LAGOON = frozenset({"-h", "--help", "--version"})


def run(argv: Sequence[str], environ: Mapping[str, str], clock: Clock) -> int:
    """The exit code of the verb that the arguments name."""
    name, *rest = verb_first(argv)
    if name == "--version":
        return say_version()
    if name not in VERBS:
        return not_here("lagoon kafka", name, [*VERBS, *ALIASES], _usage())
    return piped(lambda: reported(lambda: _run(name, rest, environ, clock)))


def verb_first(argv: Sequence[str], aliases: Mapping[str, Sequence[str]] = ALIASES) -> Sequence[str]:
    """The arguments with the verb first, by its own name: options of every verb may stand before it."""
    place = 0
    while place < len(argv) and argv[place].startswith("-") and argv[place] not in _OF_LAGOON:
        place += 2 if argv[place] in _WITH_VALUE else 1
    name = argv[place] if place < len(argv) else ""
    return [*aliases.get(name, (name,)), *argv[:place], *argv[place + 1 :]]


def _run(name: str, argv: Sequence[str], environ: Mapping[str, str], clock: Clock) -> int:
    from kafka_lagoon.cli.kafka.arguments import cluster_settings, parse  # noqa: PLC0415  help needs no settings
    from kafka_lagoon.cli.kafka.output import show  # noqa: PLC0415
    from kafka_lagoon.cli.kafka.watch import round_of, watch  # noqa: PLC0415

    verb: Verb = importlib.import_module(f"kafka_lagoon.cli.kafka.{name.replace('-', '_')}").VERB
    options = parse(verb, name, argv)
    kafka = cluster_settings(options, environ)
    budget_ms = round(options.timeout * 1000) if options.timeout else kafka.default_api_timeout_ms

    def ask(shown: "Callable[[Answer], T]") -> T:
        return _ask(verb, options, kafka, Deadline.after(clock, budget_ms), shown)

    if seconds := getattr(options, "watch", None):
        until = Deadline.after(clock, budget_ms) if options.timeout else None
        return watch(lambda: ask(lambda answer: round_of(answer, options)), seconds, clock, until, options)
    return ask(lambda answer: show(answer, as_json=options.json, wide=options.wide))


def _ask(
    verb: "Verb", options: Namespace, kafka: "KafkaSettings", deadline: Deadline, shown: "Callable[[Answer], T]"
) -> T:
    """What `shown` makes of the verb's answer while the cluster is connected: rows may come as they are read."""
    from dataclasses import replace  # noqa: PLC0415

    from kafka_lagoon.cli.kafka.verb import Context, Together  # noqa: PLC0415
    from kafka_lagoon.client.cluster import Cluster  # noqa: PLC0415
    from kafka_lagoon.client.request_stats import RequestStats  # noqa: PLC0415

    with Cluster.connect(kafka, deadline.clock, RequestStats(), deadline) as cluster:
        answer = verb.answer(Context(cluster=cluster, options=options, deadline=deadline))
        return shown(replace(answer, failures=Together(answer.failures, cluster.refusals)))


def _usage() -> str:
    width = max(map(len, VERBS))
    lines = [*VERBS.items(), *((name, f"short for {' '.join(words)}") for name, words in ALIASES.items())]
    verbs = "\n".join(f"  {name:{width}}  {summary}" for name, summary in lines)
    return (
        "usage: lagoon kafka VERB [OPTION ...]\n\n"
        f"{verbs}\n\n"
        "lagoon kafka VERB --help lists a verb's options; -b HOST:PORT names the cluster, --json is for scripts;\n"
        "such options of all verbs may stand before the verb.\n"
        "Exit codes: 0 complete, 1 failed, 2 bad arguments or settings, 3 shown but incomplete (standard error says why)."
    )
