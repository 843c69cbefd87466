"""Reads a desired state from a TOML or YAML file, or from a document made of a table.

All faults that do not depend on the cluster are found here.
"""

import re
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from kafka_lagoon.apply.desired.document import Document, in_order_of_lines, lines
from kafka_lagoon.apply.desired.document import Path as KeyPath
from kafka_lagoon.apply.desired.fields import Fields
from kafka_lagoon.apply.desired.one_offs import read_one_offs
from kafka_lagoon.apply.desired.sections import (
    read_acls,
    read_configs,
    read_features,
    read_quotas,
    read_scram_users,
    read_topics,
)
from kafka_lagoon.apply.desired.state import OWNED, DesiredState
from kafka_lagoon.apply.desired.toml_lines import toml_lines
from kafka_lagoon.errors import ConfigError

SECTIONS = (
    "cluster_id",
    "owns",
    "principal_types",
    "defaults",
    "topics",
    "broker_configs",
    "group_configs",
    "client_metrics",
    "acls",
    "quotas",
    "scram_users",
    "features",
    "actions",
)
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
        data = tomllib.loads(text)
        places = lines(toml_lines(text))
    except RecursionError:
        raise ConfigError([f"{name}: values are nested too deeply"]) from None
    except ValueError as error:
        line = re.search(r"\(at line (\d+), column \d+\)", str(error))
        reason = re.sub(r" \(at .*\)$", "", str(error))
        raise ConfigError([f"{name}{f':{line[1]}' if line else ''}: not TOML: {reason}"]) from None
    return Document(name=name, data=data, places=places)


def desired_state(document: Document, now_ms: int) -> DesiredState:
    """Read the desired state of a document; ConfigError lists every fault, in the order of their places."""
    faults = list(_unheard_of(document))
    if faults:
        raise ConfigError(in_order_of_lines(faults))
    root = Fields(document, faults, (), document.data)
    root.only(*SECTIONS)
    cluster_id = root.text("cluster_id", needed=True)
    quotas, quota_paths = read_quotas(root)
    state = DesiredState(
        cluster_id=cluster_id or "",
        owns=_owns(root),
        topics=read_topics(root),
        configs=read_configs(root),
        acls=read_acls(root),
        quotas=quotas,
        quota_paths=quota_paths,
        scram_users=read_scram_users(root),
        features=read_features(root),
        actions=read_one_offs(root, now_ms),
        document=document,
    )
    faults += _outside(state)
    if faults:
        raise ConfigError(in_order_of_lines(faults))
    return state


def _unheard_of(document: Document) -> Iterator[str]:
    """Values that no field accepts and that Python cannot print or compare: numbers of more than 64 bits, and deep nesting."""
    left: list[tuple[KeyPath, Any]] = [((), document.data)]
    while left:
        path, value = left.pop()
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            yield document.fault(path, "is a larger number than brokers have: they have 64 bits")
        elif isinstance(value, dict | list) and len(path) >= _MOST_DEPTH:
            yield document.fault(path[:3], "values are nested too deeply")
            return
        elif isinstance(value, dict):
            left += [((*path, key), one) for key, one in value.items()]
        elif isinstance(value, list):
            left += [((*path, index), one) for index, one in enumerate(value)]


def _owns(root: Fields) -> dict[str, Sequence[re.Pattern[str]]]:
    section = root.table("owns")
    section.only(*dict.fromkeys(OWNED.values()))
    owned = {key: section.patterns(key) for key in dict.fromkeys(OWNED.values())}
    return {key: patterns for key, patterns in owned.items() if patterns is not None}


def _outside(state: DesiredState) -> list[str]:
    """Faults for entries that the patterns of `owns` do not match: they would be created, and never removed."""
    written: list[tuple[str, str, KeyPath]] = [("topic", name, ("topics", name)) for name in state.topics]
    written += [("acl", rule.principal, path) for rule, path in state.acls.items()]
    written += [("quota", entity, path) for entity, path in state.quota_paths.items()]
    written += [("scram_user", f"User:{user.name}", ("scram_users", *user)) for user in state.scram_users]
    sections = {"broker": "broker_configs", "group": "group_configs", "client_metrics": "client_metrics"}
    written += [
        (resource_type, name, (sections[resource_type], name))
        for resource_type, by_name in state.configs.items()
        for name in by_name
    ]
    return [
        state.fault(path, f"{name} is not matched by owns.{OWNED[resource_type]}")
        for resource_type, name, path in written
        if not state.may_touch(resource_type, name)
    ]
