"""Runs a verb of `lagoon admin`: parses its arguments, connects, has its actions shown, confirmed and carried out.

A verb's module is imported when that verb runs, so that each starts as fast as what it imports.
"""

import importlib
from argparse import Namespace
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kafka_lagoon.cli.habits import not_here
from kafka_lagoon.cli.kafka.run import run as run_kafka
from kafka_lagoon.cli.kafka.run import verb_first
from kafka_lagoon.cli.pipes import piped
from kafka_lagoon.cli.terminal import reported, say_version
from kafka_lagoon.clock import Clock, Deadline

if TYPE_CHECKING:  # help is printed without them
    from kafka_lagoon.cli.admin.verb import AdminVerb
    from kafka_lagoon.cli.kafka.arguments import ChosenCluster


class Listed(NamedTuple):
    """Where a verb is declared: a module of this folder, whose VERBS has it; and its line in the help."""

    module: str
    summary: str


# Name -> module and summary, in the order of the help.
VERBS: Mapping[str, Listed] = {
    "create-topic": Listed("topics", "create topics"),
    "create-partitions": Listed("topics", "extend topics to a number of partitions"),
    "delete-topic": Listed("topics", "delete topics with all their records"),
    "delete-records": Listed("topics", "delete the oldest records of partitions"),
    "alter-configs": Listed("configs", "set and unset configs of topics, brokers and others"),
    "elect-leaders": Listed("partitions", "let preferred replicas lead again, or any that lives"),
    "reassign": Listed("partitions", "move partitions to other brokers"),
    "cancel-reassignment": Listed("partitions", "call such moves off"),
    "move-replica": Listed("partitions", "move replicas to another log directory of their broker"),
    "add-voter": Listed("brokers", "give a controller a vote in the metadata quorum"),
    "remove-voter": Listed("brokers", "take a controller's vote"),
    "unregister-broker": Listed("brokers", "forget brokers that are stopped for good"),
    "update-feature": Listed("brokers", "change the level of features that all brokers obey"),
    "create-acl": Listed("acls", "create ACLs"),
    "delete-acl": Listed("acls", "delete the ACLs that a filter matches"),
    "alter-quotas": Listed("quotas", "set and remove quotas of users, clients and addresses"),
    "alter-scram": Listed("users", "set passwords of users that log in by SCRAM"),
    "delete-scram": Listed("users", "delete such passwords"),
    "create-token": Listed("tokens", "create a delegation token"),
    "renew-token": Listed("tokens", "let delegation tokens live on"),
    "expire-token": Listed("tokens", "end delegation tokens"),
    "reset-offsets": Listed("groups", "set the offsets of a group"),
    "delete-offsets": Listed("groups", "forget offsets of a group"),
    "delete-group": Listed("groups", "delete groups with their offsets"),
    "abort-transaction": Listed("transactions", "abort transactions that hang"),
    "fence-producer": Listed("transactions", "fence the producers of transactional ids"),
}

# Verbs that alter nothing, under the names of Kafka's APIs: those of `lagoon kafka` with these words.
DESCRIBING: Mapping[str, Sequence[str]] = {
    "describe-cluster": ("metadata", "--only", "cluster,broker"),
    "describe-topics": ("metadata", "--only", "topic,partition"),
    "describe-configs": ("configs",),
    "describe-acls": ("acls",),
    "describe-log-dirs": ("log-dirs",),
    "describe-quorum": ("quorum",),
    "list-reassignments": ("reassignments",),
}


def run(argv: Sequence[str], environ: Mapping[str, str], clock: Clock) -> int:
    """The exit code of the verb that the arguments name."""
    name, *rest = verb_first(argv, {})
    if name == "--version":
        return say_version()
    if name in DESCRIBING:
        return run_kafka([*DESCRIBING[name], *rest], environ, clock)
    if name not in VERBS:
        return not_here("lagoon admin", name, [*VERBS, *DESCRIBING], usage())
    return piped(lambda: reported(lambda: _run(name, rest, environ, clock)))


def declared(name: str) -> "AdminVerb":
    """A verb as its module declares it."""
    module = importlib.import_module(f"kafka_lagoon.cli.admin.{VERBS[name].module}")
    verb: AdminVerb = module.VERBS[name]
    return verb


def _run(name: str, argv: Sequence[str], environ: Mapping[str, str], clock: Clock) -> int:
    from kafka_lagoon.cli.admin.arguments import parse  # noqa: PLC0415  help needs no settings
    from kafka_lagoon.cli.kafka.arguments import chosen_cluster  # noqa: PLC0415

    verb = declared(name)
    options = parse(verb, name, argv)
    return _carried_out(verb, options, chosen_cluster(options, environ), clock)


def _carried_out(verb: "AdminVerb", options: Namespace, chosen: "ChosenCluster", clock: Clock) -> int:
    """The exit code once the verb's actions were carried out, or shown."""
    from kafka_lagoon.cli.alterations import ADMIN, alter  # noqa: PLC0415
    from kafka_lagoon.cli.kafka.verb import Context  # noqa: PLC0415
    from kafka_lagoon.cli.recorder import OpeningRecorder  # noqa: PLC0415
    from kafka_lagoon.client.cluster import Cluster  # noqa: PLC0415
    from kafka_lagoon.client.request_stats import RequestStats  # noqa: PLC0415

    budget_ms = round(options.timeout * 1000) if options.timeout else chosen.kafka.default_api_timeout_ms
    deadline = Deadline.after(clock, budget_ms)
    with (
        OpeningRecorder(ADMIN, chosen.settings, clock) as recorder,
        Cluster.connect(chosen.kafka, clock, RequestStats(), deadline) as cluster,
    ):
        if options.yes and not options.dry_run:
            recorder.begin()
        planned = verb.plan(Context(cluster=cluster, options=options, deadline=deadline))
        return alter(cluster, chosen, planned, recorder, options).exit_code


def usage() -> str:
    """What `lagoon admin --help` prints."""
    width = max(map(len, VERBS), default=0)
    verbs = "\n".join(f"  {name:{width}}  {listed.summary}" for name, listed in VERBS.items())
    return (
        "usage: lagoon admin VERB [OPTION ...]\n\n"
        f"{verbs}\n\n"
        f"{', '.join(DESCRIBING)}:\n"
        "as `lagoon kafka` has them, under other names.\n\n"
        "lagoon admin VERB --help lists a verb's options; -b HOST:PORT names the cluster, --json is for scripts;\n"
        "such options of all verbs may stand before the verb. Each verb shows what it will do and asks; --yes answers,\n"
        "--dry-run changes nothing. What destroys something needs an option of its own (--allow-...).\n"
        "Exit codes: 0 done, 1 failed, 2 bad arguments or settings, 3 partly done (standard error says why), 4 another run\n"
        "alters the cluster."
    )
