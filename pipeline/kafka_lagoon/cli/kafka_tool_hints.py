"""Hints for users of Kafka's own tools: the command or option of `lagoon` that does the same."""

from argparse import ZERO_OR_MORE, Action
from collections.abc import Iterable, Mapping, Sequence

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
# Hints for options of Kafka's tools. A hint is shown for commands that have its key as an option, a choice or an argument; keys
# of optional arguments are in brackets. The first such hint is shown.
_ANY_COMMAND = ""
_TOPICS: Mapping[str, str] = {
    "TOPIC": "name topics without an option",
    "--topic": "--topic A,B",
    "--topics": "--topics A,B",
    "topic": "write the kind first: topic NAME",
    "--resource-name": "--resource-type TOPIC --resource-name NAME",
}
_GROUPS: Mapping[str, str] = {
    "GROUP": "name groups without an option",
    "--group": "--group A,B",
    "--groups": "--groups A,B",
    "group": "write the kind first: group NAME",
    "--resource-name": "--resource-type GROUP --resource-name NAME",
}
_KINDS: Mapping[str, str] = {"topic": "write the kind first: topic NAME, broker ID, group ID"}
_PROPERTIES: Mapping[str, str] = {"--kafka-properties": "--kafka-properties FILE"}
_HEALTH: Mapping[str, str] = {_ANY_COMMAND: "lagoon kafka health"}
_OPTIONS: Mapping[str, Mapping[str, str]] = {
    "--topic": _TOPICS,
    "--topics": _TOPICS,
    "--group": _GROUPS,
    "--groups": _GROUPS,
    "--partition": {"TOPIC:PARTITIONS": "partitions follow the topic: TOPIC:0,1"},
    "--list": {"--wide": "it lists without an option"},
    "--describe": {"--wide": "it describes without an option"},
    "--all-groups": {"[GROUP]": "all groups are shown if none is named"},
    "--create": {_ANY_COMMAND: "lagoon admin create-topic TOPIC"},
    "--delete": {_ANY_COMMAND: "lagoon admin delete-topic TOPIC"},
    "--alter": {_ANY_COMMAND: "lagoon admin alter-configs or create-partitions"},
    "--add": {_ANY_COMMAND: "lagoon admin create-acl"},
    "--remove": {_ANY_COMMAND: "lagoon admin delete-acl"},
    "--reset-offsets": {_ANY_COMMAND: "lagoon admin reset-offsets GROUP"},
    "--add-config": {"--config": "--config CONFIG=VALUE"},
    "--delete-config": {"--unset": "--unset CONFIG"},
    "--entity-type": _KINDS,
    "--entity-name": _KINDS,
    "--from-beginning": {"--follow": "--from earliest, which is the default without --follow"},
    "--max-messages": {"--number": "-n N"},
    "--offset": {"--follow": "--from OFFSET"},
    "--execute": {"--yes": "--yes"},
    "--to-earliest": {"--shift-by": "--to earliest"},
    "--to-latest": {"--shift-by": "--to latest"},
    "--to-offset": {"--shift-by": "--to OFFSET"},
    "--to-datetime": {"--shift-by": "--to TIME"},
    "--under-replicated-partitions": _HEALTH,
    "--unavailable-partitions": _HEALTH,
    "--broker-list": {"-b": "-b HOST:PORT"},
    "--command-config": _PROPERTIES,
    "--consumer.config": _PROPERTIES,
    "--producer.config": _PROPERTIES,
    "--state": {"[GROUP]": "the state is shown without an option"},
    "--members": {_ANY_COMMAND: "lagoon kafka describe-group GROUP"},
}
_OPTIONS_OF_KCAT: Mapping[str, Mapping[str, str]] = {
    "-X": {"--kafka-properties": "--kafka-properties FILE, or --set kafka.NAME=VALUE"}
}


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


def instead_of_option(given: Sequence[str], arguments: Iterable[Action]) -> str:
    """Return a hint for the first option that belongs to other tools and not to this command; empty if there is none."""
    known = {_ANY_COMMAND, *(name for argument in arguments for name in _names_of(argument))}
    for word in given:
        option = word.partition("=")[0]
        for tool, options in (("Kafka's tools", _OPTIONS), ("kcat", _OPTIONS_OF_KCAT)):
            hint = next((hint for name, hint in options.get(option, {}).items() if name in known), None)
            if hint and option not in known:
                return f" ({option} of {tool}: {hint})"
    return ""


def _names_of(argument: Action) -> Iterable[str]:
    """Return the keys of hints in _OPTIONS that need this argument."""
    if argument.option_strings or argument.choices:
        return [*argument.option_strings, *(argument.choices or ())]
    topic_or_group, has_partitions, _ = str(argument.metavar).partition("[:")
    optional = [f"[{topic_or_group}]"] if argument.nargs == ZERO_OR_MORE else []
    return [topic_or_group, *optional, *(["TOPIC:PARTITIONS"] if has_partitions else [])]
