"""Runs a verb of `lagoon kafka`: parses its arguments, connects, shows its answer.

A verb's module is imported when that verb runs, so that each starts as fast as what it imports.
"""

import importlib
from collections.abc import Mapping, Sequence

from kafka_lagoon.cli.pipes import piped
from kafka_lagoon.cli.terminal import not_a_command, reported
from kafka_lagoon.clock import Clock

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
    "transactions": "transactions, and producers of partitions",
    "fetch": "records of a topic, from where you say",
    "produce": "lines of standard input into a topic",
}


def run(argv: Sequence[str], environ: Mapping[str, str], clock: Clock) -> int:
    """The exit code of the verb that the arguments name."""
    name, *rest = [*argv, ""]
    if name not in VERBS:
        return not_a_command("lagoon kafka", name, VERBS, _usage())
    return piped(lambda: reported(lambda: _answer(name, rest[:-1], environ, clock)))


def _answer(name: str, argv: Sequence[str], environ: Mapping[str, str], clock: Clock) -> int:
    from kafka_lagoon.cli.kafka.arguments import cluster_settings, parse  # noqa: PLC0415  help needs no settings
    from kafka_lagoon.cli.kafka.output import show  # noqa: PLC0415
    from kafka_lagoon.cli.kafka.verb import Context, Verb  # noqa: PLC0415
    from kafka_lagoon.client.cluster import Cluster  # noqa: PLC0415
    from kafka_lagoon.client.request_stats import RequestStats  # noqa: PLC0415
    from kafka_lagoon.clock import Deadline  # noqa: PLC0415

    verb: Verb = importlib.import_module(f"kafka_lagoon.cli.kafka.{name.replace('-', '_')}").VERB
    options = parse(verb, name, argv)
    kafka = cluster_settings(options, environ)
    budget_ms = round(options.timeout * 1000) if options.timeout else kafka.default_api_timeout_ms
    deadline = Deadline.after(clock, budget_ms)
    with Cluster.connect(kafka, clock, RequestStats(), deadline) as cluster:
        return show(verb.answer(Context(cluster=cluster, options=options, deadline=deadline)), as_json=options.json)


def _usage() -> str:
    width = max(map(len, VERBS))
    verbs = "\n".join(f"  {name:{width}}  {summary}" for name, summary in VERBS.items())
    return (
        "usage: lagoon kafka VERB [OPTION ...]\n\n"
        f"{verbs}\n\n"
        "lagoon kafka VERB --help lists a verb's options; -b HOST:PORT names the cluster, --json is for scripts.\n"
        "Exit codes: 0 complete, 1 failed, 2 bad arguments or settings, 3 shown but incomplete (standard error says why)."
    )
