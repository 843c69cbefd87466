"""Reads a desired state from a TOML or YAML file, or from a document made of a table.

All faults that do not depend on the cluster are found here.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from kafka_lagoon.apply.desired.document import Document, in_order_of_lines, lines
from kafka_lagoon.apply.desired.document import Path as KeyPath
from kafka_lagoon.apply.desired.faults import faults_of
from kafka_lagoon.apply.desired.model import Sections
from kafka_lagoon.apply.desired.resources import CONFIG_SECTIONS, ScramUser
from kafka_lagoon.apply.desired.state import DesiredState
from kafka_lagoon.apply.desired.toml_lines import toml_lines
from kafka_lagoon.apply.desired.validators import Reading
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.integers import MOST_INT64
from kafka_lagoon.toml_text import parse_toml

_MOST_DEPTH = 100  # nesting of tables and lists
_YAML = (".yaml", ".yml")


def read_desired(path: str, now_ms: int) -> DesiredState:
    """Read the desired state in a file; ConfigError lists every fault. `now_ms` is the time for values such as `2h ago`."""
    return desired_state(_document(path), now_ms)


def _document(path: str) -> Document:
    suffix = Path(path).suffix.lower()
    if suffix not in (".toml", *_YAML):
        raise ConfigError([f"{path}: the name of a desired state ends with .toml, .yaml or .yml"])
    try:
        text = Path(path).read_text("utf-8-sig")
    except OSError as error:
        raise ConfigError([f"{path}: {error.strerror}"]) from None
    except UnicodeDecodeError:
        raise ConfigError([f"{path}: not text in UTF-8"]) from None
    if suffix in _YAML:
        from kafka_lagoon.apply.desired.yaml_document import yaml_document  # noqa: PLC0415  an extra

        return yaml_document(path, text)
    return toml_document(path, text)


def toml_document(name: str, text: str) -> Document:
    """Parse TOML; ConfigError names the first place that is not TOML."""
    try:
        data = parse_toml(text)
        places = lines(toml_lines(text))
    except ValueError as error:
        line = re.search(r"\(at line (\d+), column \d+\)", str(error))
        reason = re.sub(r" \(at .*\)$", "", str(error))
        raise ConfigError([f"{name}{f':{line[1]}' if line else ''}: not TOML: {reason}"]) from None
    return Document(name=name, data=data, places=places)


def desired_state(document: Document, now_ms: int) -> DesiredState:
    """Read the desired state of a document; ConfigError lists every fault, in the order of their places."""
    faults = list(_unreadable(document))
    if faults:
        raise ConfigError(in_order_of_lines(faults))
    reading = Reading(document=document, now_ms=now_ms)
    try:
        sections = Sections.model_validate(document.data, context=reading)
    except ValidationError as error:
        raise ConfigError(in_order_of_lines([*_nulls(document), *faults_of(error, document)])) from None
    if faults := _nulls(document):
        raise ConfigError(faults)
    return DesiredState(
        cluster_id=sections.cluster_id,
        owns=sections.owns,
        topics={name: topic.completed(sections.defaults.topics) for name, topic in sections.topics.items()},
        configs={resource_type: getattr(sections, section) for resource_type, section in CONFIG_SECTIONS.items()},
        acls={rule: entry.path for entry in sections.acls for rule in entry.rules()},
        quotas={entry.entity: entry.limits() for entry in sections.quotas},
        quota_paths={entry.entity: entry.path for entry in sections.quotas},
        scram_users={
            ScramUser(name, mechanism): credential
            for name, credentials in sections.scram_users.items()
            for mechanism, credential in credentials.items()
        },
        features=sections.features,
        actions=sections.actions,
        document=document,
    )


def _unreadable(document: Document) -> Iterator[str]:
    """Values that Python cannot print or compare: numbers of more than 64 bits, and deep nesting."""
    for path, value in _values(document):
        if isinstance(value, int) and not -MOST_INT64 - 1 <= value <= MOST_INT64:
            yield document.fault(path, "is a larger number than brokers have: they have 64 bits")
        elif isinstance(value, dict | list) and len(path) >= _MOST_DEPTH:
            yield document.fault(path[:3], "values are nested too deeply")
            return


def _nulls(document: Document) -> list[str]:
    """Keys of YAML, and of JSON in a table, without a value; pydantic takes null for a value that is absent."""
    return [document.fault(path, "has no value") for path, value in _values(document) if value is None]


def _values(document: Document) -> Iterator[tuple[KeyPath, Any]]:
    """Every value with its path."""
    left: list[tuple[KeyPath, Any]] = [((), document.data)]
    while left:
        path, value = left.pop()
        yield path, value
        if isinstance(value, dict):
            left += [((*path, key), one) for key, one in value.items()]
        elif isinstance(value, list):
            left += [((*path, index), one) for index, one in enumerate(value)]
