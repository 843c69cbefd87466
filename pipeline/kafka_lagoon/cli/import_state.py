"""Runs `lagoon import`: writes the current state of a cluster to standard output, as a file of desired state."""

from argparse import ArgumentParser
from datetime import UTC, datetime

from kafka_lagoon.admin.permissions import Permission
from kafka_lagoon.apply.desired.writing import toml_text, yaml_text
from kafka_lagoon.apply.imports import Imported, import_state
from kafka_lagoon.cli.clusters import add_cluster_options, chosen_cluster, connected
from kafka_lagoon.cli.command import PLAIN, Command, Invocation
from kafka_lagoon.cli.output import failure_lines
from kafka_lagoon.cli.permissions import TOPIC_SETTINGS, TOPICS, Requirement
from kafka_lagoon.cli.pipes import write_utf8
from kafka_lagoon.cli.terminal import COMPLETE, INCOMPLETE, say_exactly, warn
from kafka_lagoon.clock import Clock
from kafka_lagoon.protocol import acls
from kafka_lagoon.protocol.messages.metadata import METADATA
from kafka_lagoon.snapshot.list_notes import list_note

_ABOUT = (
    "Resources that this file does not name are left alone, unless a pattern of [owns] matches them: these are deleted or",
    "unset. Patterns are regular expressions of whole names of topics, principals, groups, quotas, brokers or",
    'client_metrics, e.g. topics = ["orders-.*"]',
)


def _declare(parser: ArgumentParser) -> None:
    add_cluster_options(parser)
    parser.add_argument("--format", choices=("toml", "yaml"), default="toml", help="default: toml")
    parser.add_argument("--assignments", action="store_true", help="also write the replicas of each partition")


def _import(call: Invocation) -> int:
    """Print the file. The exit code is INCOMPLETE if state could not be read: it is not in the file then."""
    options = call.options
    chosen = chosen_cluster(options, call.environ)
    with connected(chosen.kafka, options, call.clock) as (cluster, deadline):
        imported = import_state(cluster, deadline, with_assignments=options.assignments)
        hidden = list_note(cluster, METADATA.name, "topics", deadline)
    write_utf8()  # as TOML demands, and as files are read
    say_exactly(_text(imported, hidden, options.format, call.clock).rstrip("\n"))
    for line in [*failure_lines(imported.failures), *([hidden] if hidden else [])]:
        warn(line)
    return INCOMPLETE if imported.failures else COMPLETE


def _text(imported: Imported, hidden: str | None, form: str, clock: Clock) -> str:
    cluster_id = imported.state["cluster_id"]
    missing = [f"not read: {line}" for line in failure_lines(imported.failures)]
    now = datetime.fromtimestamp(clock.now_ms() // 1000, UTC).isoformat()
    about = [f"State of cluster {cluster_id} at {now}.", *_ABOUT]
    notes = [*about, *missing, *([hidden] if hidden else []), *imported.notes]
    return (toml_text if form == "toml" else yaml_text)(imported.state, notes)


COMMAND = Command(
    kind=PLAIN,
    summary="Writes the current state of a cluster to standard output, as a file of desired state; its `lagoon plan` is empty.",
    examples=(
        "lagoon import --conf lagoon.toml > state.toml",
        "lagoon import -b kafka-1:9092 --format yaml > state.yaml",
    ),
    declare=_declare,
    answer=_import,
    requires={
        "": Requirement(
            permissions=(
                TOPICS,
                TOPIC_SETTINGS,
                Permission(acls.DESCRIBE, acls.CLUSTER, "ACLs, users and moves are refused"),
                Permission(
                    acls.DESCRIBE_CONFIGS,
                    acls.CLUSTER,
                    "settings of brokers, groups and client metrics and quotas are refused",
                ),
                Permission(acls.DESCRIBE_CONFIGS, acls.GROUP, "refused for each group that has settings"),
            ),
            remark="What is refused is left out of the file, and said in it; exit 3.",
        )
    },
)
