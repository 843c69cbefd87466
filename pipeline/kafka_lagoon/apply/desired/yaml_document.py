"""Reads YAML as plain values with their lines, by PyYAML's parser and the plain types of YAML 1.2.

In YAML 1.1, which PyYAML constructs, `no` is false, `1:30` is 90 and `010` is 8. Here only true, false, null and plain numbers
are not text; keys are always text. A key that is written twice is a fault, and so is a value with a tag.
"""

import re
from typing import Any

import yaml

from kafka_lagoon.apply.desired.document import Document, Path, lines
from kafka_lagoon.errors import ConfigError

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_DECIMAL = re.compile(r"[-+]?[0-9]+\.[0-9]+(?:[eE][-+]?[0-9]+)?")
_BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_MOST_VALUES = 5_000_000  # an alias counts as often as it is used


def yaml_document(name: str, text: str) -> Document:
    """The document that a YAML text is; ConfigError lists every fault."""
    try:
        root = yaml.compose(text, _LOADER)
        reader = _Reader(name)
        data = reader.value(root, ()) if root else {}
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        raise ConfigError([f"{name}{line}: not YAML: {error.problem or error.context}"]) from None
    except yaml.YAMLError as error:
        raise ConfigError([f"{name}: not YAML: {' '.join(str(error).split())}"]) from None
    except RecursionError:
        raise ConfigError([f"{name}: values are nested too deeply, or within themselves"]) from None
    if not isinstance(data, dict):
        reader.faults.append(f"{name}:1: must be a mapping of sections")
    if reader.faults:
        raise ConfigError(reader.faults)
    return Document(name=name, data=data, places=lines(reader.lines))


class _Reader:
    def __init__(self, name: str) -> None:
        self.lines: dict[Path, int] = {}
        self.faults: list[str] = []
        self._name, self._values = name, 0

    def value(self, node: yaml.Node, path: Path) -> Any:
        self._values += 1
        if self._values > _MOST_VALUES:
            raise ConfigError([f"{self._name}: more than {_MOST_VALUES:,} values"])
        self.lines.setdefault(path, node.start_mark.line + 1)
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, (*path, index)) for index, item in enumerate(node.value)]
        if not node.tag.startswith("tag:yaml.org,2002:"):
            self._fault(node, f"{node.tag} is not a type that a desired state has")
        return _scalar(node)

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, Any]:
        table: dict[str, Any] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                self._fault(key, "a key must be text")
                continue
            if key.value in table:
                first = self.lines[(*path, key.value)]
                self._fault(key, f"{key.value} is written a second time, first in line {first}")
                continue
            self.lines[(*path, key.value)] = key.start_mark.line + 1
            table[key.value] = self.value(value, (*path, key.value))
        return table

    def _fault(self, node: yaml.Node, reason: str) -> None:
        self.faults.append(f"{self._name}:{node.start_mark.line + 1}: {reason}")


def _scalar(node: yaml.ScalarNode) -> Any:
    text = str(node.value)
    if node.style:  # quoted, or a block of text; plain is None or empty
        return text
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    if text in _NULLS:
        return None
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _DECIMAL.fullmatch(text) else text
