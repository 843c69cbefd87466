"""`lagoon kafka configs`: settings of topics, brokers and others, by default only those that somebody has set."""

import argparse
from dataclasses import replace

from kafka_lagoon.admin.configs import (
    PER_BROKER,
    RESOURCE_TYPES,
    Configs,
    describe_broker_configs,
    describe_configs,
    list_config_resources,
)
from kafka_lagoon.cli.kafka.chosen import list_notes
from kafka_lagoon.cli.kafka.verb import Answer, Asked, Part, Verb
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.protocol.messages.describe_configs import TOPIC
from kafka_lagoon.protocol.messages.metadata import METADATA
from kafka_lagoon.snapshot.configs import config_rows

_MASKED = "(sensitive)"


def _declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kind", choices=tuple(RESOURCE_TYPES), help="what has the settings")
    parser.add_argument("name", nargs="*", metavar="NAME", help="topics, groups, broker ids; default: all")
    parser.add_argument("--all", action="store_true", help="defaults too")


def _check(told: argparse.Namespace) -> list[str]:
    if RESOURCE_TYPES[told.kind] not in PER_BROKER:
        return []
    return [f"{name}: not the id of a broker" for name in told.name if not name.isdecimal()]


def _answer(asked: Asked) -> Answer:
    resource_type = RESOURCE_TYPES[asked.told.kind]
    configs = _describe(asked, resource_type, asked.told.name)
    rows = (row for row in config_rows(configs.results) if asked.told.all or not row.is_default)
    if not asked.told.json:
        rows = (replace(row, value=_MASKED) if row.is_sensitive else row for row in rows)
    columns = ("resource_type", "resource_name", "name", "value", "source", "is_read_only")
    lists_topics = resource_type == TOPIC and not asked.told.name
    return Answer(
        parts=[Part(kind="config", rows=rows, columns=columns)],
        failures=configs.failures,
        notes=list_notes(asked, METADATA.name, "topics") if lists_topics else (),
    )


def _describe(asked: Asked, resource_type: int, names: list[str]) -> Configs:
    if resource_type in PER_BROKER:
        broker_ids = [int(name) for name in names] or sorted(asked.cluster.brokers)
        return describe_broker_configs(asked.cluster, resource_type, broker_ids, asked.deadline)
    resources = names or _every_resource(asked, resource_type)
    if isinstance(resources, Failure):
        return Configs(results=[], failures=[resources])
    return describe_configs(asked.cluster, resource_type, resources, asked.deadline)


def _every_resource(asked: Asked, resource_type: int) -> list[str] | Failure:
    if resource_type == TOPIC:
        return sorted(topic.name or "" for topic in asked.cluster.refresh(None, asked.deadline).topics)
    return list_config_resources(asked.cluster, resource_type, asked.deadline)


VERB = Verb(
    summary="Settings that somebody has set, and where; sensitive ones are never shown.",
    declare=_declare,
    check=_check,
    answer=_answer,
)
