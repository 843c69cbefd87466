"""Reads YAML as plain values with their lines, by PyYAML's parser and the plain types of YAML 1.2.

In YAML 1.1, which PyYAML constructs, `no` is false, `1:30` is 90 and `010` is 8. Here only true, false, null and plain numbers
are not text, and `+7` and `-0` are no plain numbers; keys are always text. A key that is written twice is a fault, and so is a
value with a tag. Merge keys (`<<`) of YAML 1.1 are understood, because files use them for defaults. The number of values that
aliases and merges repeat is limited, and so is the depth of nesting.
"""

import re
from collections.abc import Iterator
from typing import Any

import yaml

from kafka_lagoon.apply.desired.document import Document, Path, lines
from kafka_lagoon.errors import ConfigError

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_INTEGER = re.compile(r"0|-?[1-9][0-9]*")  # +7 and -0 are text: as numbers they would be the names 7 and 0
_DECIMAL = re.compile(r"[-+]?[0-9]+\.[0-9]+(?:[eE][-+]?[0-9]+)?")
_BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_MERGE = "tag:yaml.org,2002:merge"
_MOST_REPEATED = 200_000  # values that aliases and merge keys repeat
# A desired state has six levels. libyaml ends the process at ten thousand; a repeated value has a place as long as it is deep.
_MOST_DEPTH = 30
_MOST_DIGITS = 20  # digits of a whole number: those of 64 bits have no more


def yaml_document(name: str, text: str) -> Document:
    """Parse YAML; ConfigError lists every fault."""
    try:
        _check_depth(name, text)
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


def _check_depth(name: str, text: str) -> None:
    """ConfigError for the first value that is nested too deeply."""
    depth = 0
    for event in yaml.parse(text, _LOADER):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _MOST_DEPTH:
            raise ConfigError(
                [f"{name}:{event.start_mark.line + 1}: values are nested more than {_MOST_DEPTH} levels deep"]
            )


class _Reader:
    def __init__(self, name: str) -> None:
        self.lines: dict[Path, int] = {}
        self.faults: list[str] = []
        self._name, self._repeated = name, 0
        self._anchored = set[int]()  # nodes on the way down, to which an alias may refer

    def value(self, node: yaml.Node, path: Path) -> Any:
        if id(node) in self._anchored:
            self._repeat(node)
        self._anchored.add(id(node))
        self.lines.setdefault(path, node.start_mark.line + 1)
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, (*path, index)) for index, item in enumerate(node.value)]
        if not node.tag.startswith("tag:yaml.org,2002:"):
            self._fault(node, f"{node.tag} is not a type that a desired state has")
        if not node.style and _INTEGER.fullmatch(node.value) and len(node.value) > _MOST_DIGITS:
            self._fault(node, f"a whole number of {len(node.value):,} digits: those of Kafka have at most 64 bits")
            return None
        return _scalar(node)

    def _repeat(self, node: yaml.Node) -> None:
        """Count a value that is written once and used again; ConfigError for too many."""
        self._repeated += 1
        if self._repeated > _MOST_REPEATED:
            where = f"{self._name}:{node.start_mark.line + 1}"
            raise ConfigError([f"{where}: aliases and merges repeat more than {_MOST_REPEATED:,} values"])

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, Any]:
        """The mapping, completed by those that it merges."""
        table: dict[str, Any] = {}
        merged: yaml.Node | None = None
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                self._fault(key, "a key must be text")
                continue
            name = key.value
            if (*path, name) in self.lines and (name in table or (key.tag == _MERGE and merged)):
                self._fault(key, f"{name} is written a second time, first in line {self.lines[(*path, name)]}")
                continue
            self.lines[(*path, name)] = key.start_mark.line + 1
            if key.tag == _MERGE:
                merged = value
            else:
                table[name] = self.value(value, (*path, name))
        for key, value in self._merged(merged) if merged else ():
            if key.value not in table:
                self.lines[(*path, key.value)] = key.start_mark.line + 1
                table[key.value] = self.value(value, (*path, key.value))
        return table

    def _merged(self, node: yaml.Node) -> Iterator[tuple[yaml.ScalarNode, yaml.Node]]:
        """The keys and values of merged mappings; the first mapping takes precedence, as in YAML 1.1."""
        for mapping in node.value if isinstance(node, yaml.SequenceNode) else [node]:
            if not isinstance(mapping, yaml.MappingNode):
                self._fault(mapping, "<< must be followed by a mapping, or by a list of mappings")
                continue
            inner = [value for key, value in mapping.value if key.tag == _MERGE]
            for key, value in mapping.value:
                self._repeat(mapping)
                if isinstance(key, yaml.ScalarNode) and key.tag != _MERGE:
                    yield key, value
            for value in inner:
                yield from self._merged(value)

    def _fault(self, node: yaml.Node, reason: str) -> None:
        self.faults.append(f"{self._name}:{node.start_mark.line + 1}: {reason}")


def _scalar(node: yaml.ScalarNode) -> Any:
    text = str(node.value)
    if node.style:  # quoted, or a block of text; None or empty for plain text
        return text
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    if text in _NULLS:
        return None
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _DECIMAL.fullmatch(text) else text
