"""`lagoon kafka configs`: settings of topics, brokers and others, by default only those that somebody has set."""

import argparse
from dataclasses import replace

from kafka_lagoon.admin.configs import (
    KINDS,
    OF_ONE_BROKER,
    Configs,
    config_rows,
    list_resources,
    read_broker_configs,
    read_configs,
)
from kafka_lagoon.cli.kafka.chosen import list_notes
from kafka_lagoon.cli.kafka.verb import Answer, Asked, Part, Verb
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.protocol.messages.describe_configs import TOPIC
from kafka_lagoon.protocol.messages.metadata import METADATA

_MASKED = "(sensitive)"


def _declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kind", choices=tuple(KINDS), help="what has the settings")
    parser.add_argument("name", nargs="*", metavar="NAME", help="topics, groups, broker ids; default: all")
    parser.add_argument("--all", action="store_true", help="defaults too")


def _check(told: argparse.Namespace) -> list[str]:
    if KINDS[told.kind] not in OF_ONE_BROKER:
        return []
    return [f"{name}: not the id of a broker" for name in told.name if not name.isdecimal()]


def _answer(asked: Asked) -> Answer:
    found = _read(asked, KINDS[asked.told.kind], asked.told.name)
    rows = (one for one in config_rows(found.results) if asked.told.all or not one.is_default)
    if not asked.told.json:
        rows = (replace(one, value=_MASKED) if one.is_sensitive else one for one in rows)
    columns = ("resource_type", "resource_name", "name", "value", "source", "is_read_only")
    listing = KINDS[asked.told.kind] == TOPIC and not asked.told.name
    return Answer(
        parts=[Part(kind="config", rows=rows, columns=columns)],
        failures=found.failures,
        notes=list_notes(asked, METADATA.name, "topics") if listing else (),
    )


def _read(asked: Asked, kind: int, chosen: list[str]) -> Configs:
    if kind in OF_ONE_BROKER:
        broker_ids = [int(name) for name in chosen] or sorted(asked.cluster.brokers)
        return read_broker_configs(asked.cluster, kind, broker_ids, asked.deadline)
    names = chosen or _every(asked, kind)
    if isinstance(names, Failure):
        return Configs(results=[], failures=[names])
    return read_configs(asked.cluster, kind, names, asked.deadline)


def _every(asked: Asked, kind: int) -> list[str] | Failure:
    if kind == TOPIC:
        return sorted(topic.name or "" for topic in asked.cluster.refresh(None, asked.deadline).topics)
    return list_resources(asked.cluster, kind, asked.deadline)


VERB = Verb(
    summary="Settings that somebody has set, and where; sensitive ones are never shown.",
    declare=_declare,
    check=_check,
    answer=_answer,
)
