"""Hints for users of Kafka's own tools: the command or option of `lagoon` that does the same."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from kafka_lagoon.cli.registry import COMMANDS
from kafka_lagoon.cli.terminal import BAD_CONFIGURATION, not_a_command, warn

# By the names of Kafka's tools without `kafka-` and `.sh`.
_TOOLS: Mapping[str, str] = {
    "topics": "lagoon kafka topics; lagoon admin create-topic, create-partitions, delete-topic",
    "console-consumer": "lagoon kafka fetch TOPIC, with --follow for new records",
    "console-producer": "lagoon kafka produce TOPIC",
    "consumer-groups": "lagoon kafka groups, describe-group, lag; lagoon admin reset-offsets, delete-offsets, delete-group",
    "groups": "lagoon kafka groups",
    "share-groups": "lagoon kafka groups, describe-group, lag",
    "streams-groups": "lagoon kafka groups, describe-group, lag",
    "configs": "lagoon kafka configs; lagoon admin alter-configs, alter-quotas, alter-scram, delete-scram",
    "client-metrics": "lagoon admin alter-configs client-metrics",
    "acls": "lagoon kafka acls; lagoon admin create-acl, delete-acl",
    "reassign-partitions": "lagoon admin reassign, cancel-reassignment; lagoon kafka reassignments",
    "leader-election": "lagoon admin elect-leaders",
    "delete-records": "lagoon admin delete-records",
    "log-dirs": "lagoon kafka log-dirs; lagoon admin move-replica",
    "get-offsets": "lagoon kafka offsets",
    "broker-api-versions": "lagoon kafka versions",
    "cluster": "lagoon kafka metadata --only cluster; lagoon admin unregister-broker",
    "metadata-quorum": "lagoon kafka quorum; lagoon admin add-voter, remove-voter",
    "features": "lagoon admin update-feature",
    "transactions": "lagoon kafka transactions; lagoon admin abort-transaction",
    "delegation-tokens": "lagoon admin create-token, renew-token, expire-token",
    "mirror-maker": "lagoon ingest and lagoon restore; lagoon compare for mirrored topics",
    "dump-log": "lagoon kafka fetch TOPIC --isolation-level read_uncommitted",
}
# Hints for options of Kafka's tools that a verb does not have.
_OPTIONS: Mapping[str, str] = {
    "--topic": "topics stand without an option",
    "--topics": "topics stand without an option",
    "--group": "groups stand without an option",
    "--groups": "groups stand without an option",
    "--partition": "partitions follow the topic: TOPIC:0,1",
    "--list": "it lists without an option",
    "--describe": "it describes without an option",
    "--all-groups": "all groups are shown if none is named",
    "--create": "lagoon admin create-topic TOPIC",
    "--delete": "lagoon admin delete-topic TOPIC",
    "--alter": "lagoon admin alter-configs or create-partitions",
    "--add": "lagoon admin create-acl",
    "--remove": "lagoon admin delete-acl",
    "--reset-offsets": "lagoon admin reset-offsets GROUP",
    "--add-config": "--config CONFIG=VALUE",
    "--delete-config": "--unset CONFIG",
    "--entity-type": "the kind stands first: topic NAME, broker ID, group ID",
    "--entity-name": "the kind stands first: topic NAME, broker ID, group ID",
    "--from-beginning": "--from earliest, which is the default without --follow",
    "--max-messages": "-n N",
    "--offset": "--from OFFSET",
    "--execute": "--yes",
    "--to-earliest": "--to earliest",
    "--to-latest": "--to latest",
    "--to-offset": "--to OFFSET",
    "--to-datetime": "--to TIME",
    "--under-replicated-partitions": "lagoon kafka health",
    "--unavailable-partitions": "lagoon kafka health",
    "--broker-list": "-b HOST:PORT",
    "--command-config": "--kafka-properties FILE",
    "--consumer.config": "--kafka-properties FILE",
    "--producer.config": "--kafka-properties FILE",
    "--state": "the state is shown without an option",
    "--members": "lagoon kafka describe-group GROUP",
}
_OPTIONS_OF_KCAT: Mapping[str, str] = {"-X": "--kafka-properties FILE, or --set kafka.NAME=VALUE"}


def not_here(program: str, name: str, known: Iterable[str], usage: str) -> int:
    """Print a hint for a tool of Kafka, else the usage or a line about an unknown command; return the exit code."""
    if line := _instead_of(name):
        warn(f"{name}: no such command; type {line}")
        return BAD_CONFIGURATION
    return not_a_command(program, name, known, usage)


def _instead_of(name: str) -> str | None:
    tool = name.removesuffix(".sh").removesuffix(".bat").removeprefix("kafka-")
    if tool in _TOOLS:
        return _TOOLS[tool]
    return next((f"lagoon {family} {name}" for family in ("kafka", "admin") if f"{family} {name}" in COMMANDS), None)


def instead_of_option(given: Sequence[str], known: Collection[str]) -> str:
    """Return the hint for the first option of other tools that the command does not know; empty without such an option."""
    for word in given:
        option = word.partition("=")[0]
        for tool, options in (("Kafka's tools", _OPTIONS), ("kcat", _OPTIONS_OF_KCAT)):
            if option in options and option not in known:
                return f" ({option} of {tool}: {options[option]})"
    return ""
