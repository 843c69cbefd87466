"""`lagoon kafka configs`: configs of topics, brokers and others, by default only those that were set explicitly."""

import re
from argparse import ArgumentParser, Namespace
from dataclasses import replace

from kafka_lagoon.admin.configs import (
    PER_BROKER,
    RESOURCE_TYPES,
    TYPE_NAMES,
    Configs,
    describe_broker_configs,
    describe_configs,
    list_config_resources,
)
from kafka_lagoon.admin.permissions import Permission
from kafka_lagoon.cli.command import Command
from kafka_lagoon.cli.kafka.command import CLUSTER, ClusterContext
from kafka_lagoon.cli.kafka.selection import every_broker, list_notes
from kafka_lagoon.cli.output import CommandOutput, RowSet
from kafka_lagoon.cli.permissions import CLUSTER_SETTINGS, TOPIC_SETTINGS, TOPICS, Requirement
from kafka_lagoon.client.agreement import agreed_metadata
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.protocol import acls
from kafka_lagoon.protocol.messages.describe_configs import GROUP, TOPIC
from kafka_lagoon.protocol.messages.metadata import METADATA
from kafka_lagoon.snapshot.configs import OF_GROUP, config_rows
from kafka_lagoon.tables.cluster_rows import ConfigRow

_MASKED = "(sensitive)"
_ID = re.compile(r"[0-9]{1,10}")  # int() refuses thousands of digits, and takes those of all scripts


def _declare(parser: ArgumentParser) -> None:
    parser.add_argument("kind", choices=tuple(RESOURCE_TYPES), help="type of the resources")
    parser.add_argument("name", nargs="*", metavar="NAME", help="topics, groups, broker ids; default: all")
    parser.add_argument("--all", action="store_true", help="defaults too, and for groups the configs of brokers")


def _check(options: Namespace) -> list[str]:
    if RESOURCE_TYPES[options.kind] not in PER_BROKER:
        return []
    return [f"{name}: not the id of a broker" for name in options.name if not _ID.fullmatch(name)]


def _answer(context: ClusterContext) -> CommandOutput:
    resource_type = RESOURCE_TYPES[context.options.kind]
    configs = _describe(context, resource_type, context.options.name)
    rows = (row for row in config_rows(configs.results) if context.options.all or _is_set(row))
    if not context.options.json:
        rows = (replace(row, value=_MASKED) if row.is_sensitive else row for row in rows)
    columns = ("resource_name", "name", "value", "source")
    wide = ("resource_type", *columns, "is_read_only")
    lists_topics = resource_type == TOPIC and not context.options.name
    return CommandOutput(
        rows=[RowSet(kind="config", rows=rows, columns=columns, wide=wide)],
        failures=configs.failures,
        notes=list_notes(context, METADATA.name, "topics") if lists_topics else (),
    )


def _is_set(row: ConfigRow) -> bool:
    """True if a config was set; configs of brokers, which apply to groups without their own, do not count as a group's."""
    return not row.is_default and (row.resource_type != TYPE_NAMES[GROUP] or row.source == OF_GROUP)


def _describe(context: ClusterContext, resource_type: int, names: list[str]) -> Configs:
    if resource_type in PER_BROKER:
        broker_ids = [int(name) for name in names] or every_broker(context)
        return describe_broker_configs(context.cluster, resource_type, broker_ids, context.deadline)
    resources = names or _every_resource(context, resource_type)
    if isinstance(resources, Failure):
        return Configs(results=[], failures=[resources])
    return describe_configs(context.cluster, resource_type, resources, context.deadline)


def _every_resource(context: ClusterContext, resource_type: int) -> list[str] | Failure:
    if resource_type == TOPIC:
        return sorted(topic.name or "" for topic in agreed_metadata(context.cluster, None, context.deadline).topics)
    return list_config_resources(context.cluster, resource_type, context.deadline)


COMMAND = Command(
    kind=CLUSTER,
    summary="Lists configs that were set explicitly, with their sources. Sensitive values are never shown.",
    examples=(
        "lagoon kafka configs topic orders -b kafka-1:9092",
        "lagoon kafka configs broker -b kafka-1:9092 --all",
    ),
    declare=_declare,
    check=_check,
    answer=_answer,
    requires={
        "topic": Requirement(permissions=(TOPICS, TOPIC_SETTINGS)),
        "topic TOPIC": Requirement(permissions=(TOPIC_SETTINGS,)),
        "broker": Requirement(permissions=(CLUSTER_SETTINGS,)),
        "broker-logger": Requirement(permissions=(CLUSTER_SETTINGS,)),
        "client-metrics": Requirement(permissions=(CLUSTER_SETTINGS,)),
        "group": Requirement(
            permissions=(
                Permission(acls.DESCRIBE_CONFIGS, acls.CLUSTER, "the list of groups that have settings is refused"),
                Permission(acls.DESCRIBE_CONFIGS, acls.GROUP, "refused for each group"),
            )
        ),
        "group GROUP": Requirement(
            permissions=(Permission(acls.DESCRIBE_CONFIGS, acls.GROUP, "refused for each group"),)
        ),
    },
)
