"""Checks and converts values of a desired state: the validators of the classes in `model.py`.

Their ValueErrors are the reasons that users read.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from pydantic import AfterValidator, PlainValidator, ValidationError, ValidationInfo
from pydantic_core import InitErrorDetails

from kafka_lagoon.apply.desired.document import Document, Path
from kafka_lagoon.apply.desired.resources import OWNED, USER
from kafka_lagoon.apply.kinds.names import parse_listener
from kafka_lagoon.fetch import offset_specs
from kafka_lagoon.patterns import compile_pattern
from kafka_lagoon.text import did_you_mean

_INDEX = re.compile(r"0|[1-9]\d{0,9}", re.ASCII)


@dataclass(slots=True)
class Reading:
    """pydantic's context: the document, and those of its values on which the checks of later values depend."""

    document: Document
    now_ms: int  # for values such as `2h ago`
    may_touch: Callable[[str, str], bool] = lambda *_: True  # a resource type and a name
    principal_types: list[str] = field(default_factory=lambda: [USER])
    path: Path = ()  # of the entry of a list that is being read
    first: dict[object, Path] = field(default_factory=dict)  # where a rule or a quota is described

    def check_owned(self, resource_type: str, name: str) -> None:
        """ValueError for a resource that the patterns of `owns` do not match: it would be created, and never removed."""
        if not self.may_touch(resource_type, name):
            raise ValueError(f"{name} is not matched by owns.{OWNED[resource_type]}")

    def check_first(self, described: object, name: str) -> None:
        """ValueError if an entry before this one describes the same."""
        if described in self.first:
            first = self.document.place(self.first[described])
            raise ValueError(f"{name} is written a second time, first at {first}")
        self.first[described] = self.path


def reading_of(info: ValidationInfo) -> Reading:
    """The context of a check."""
    return cast("Reading", info.context)


def at_next(entry: Any, info: ValidationInfo) -> Any:
    """Count the entries of a list, because pydantic tells a validator no path."""
    reading, section = reading_of(info), info.field_name or ""
    match reading.path:
        case (last, int(index)) if last == section:
            reading.path = (section, index + 1)
        case _:
            reading.path = (section, 0)
    return entry


def not_one_of(name: object, names: Sequence[str]) -> str:
    """The reason why a word is refused that is not one of several."""
    return f"{name!r} is not one of {', '.join(names)}{did_you_mean(str(name), names)}"


def one_of(names: Sequence[str]) -> AfterValidator:
    """Accept only these words."""

    def check(name: str) -> str:
        if name not in names:
            raise ValueError(not_one_of(name, names))
        return name

    return AfterValidator(check)


def matching(pattern: re.Pattern[str], reason: str) -> AfterValidator:
    """Accept only text of this form."""

    def check(text: str) -> str:
        if not pattern.fullmatch(text):
            raise ValueError(reason)
        return text

    return AfterValidator(check)


def parsed(pattern: re.Pattern[str], parse: Callable[[str], Any], reason: str) -> PlainValidator:
    """Accept text of this form as what it describes."""

    def check(value: Any) -> Any:
        given = text(value)
        if not pattern.fullmatch(given):
            raise ValueError(reason)
        return parse(given)

    return PlainValidator(check)


def owned(resource_type: str, prefix: str = "") -> AfterValidator:
    """Accept only names that the file may touch."""

    def check(name: str, info: ValidationInfo) -> str:
        reading_of(info).check_owned(resource_type, f"{prefix}{name}")
        return name

    return AfterValidator(check)


def text(value: Any) -> str:
    """Text that is not empty; YAML and rows of a table have a name such as 2024 as a number."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str) or not value:
        raise ValueError("must be text that is not empty")
    return value


def regular_expression(value: Any) -> re.Pattern[str]:
    """A regular expression."""
    return compile_pattern(text(value))


def listener(address: str) -> str:
    """An address of a controller."""
    parse_listener(address)
    return address


def offset_spec(value: Any, info: ValidationInfo) -> offset_specs.OffsetSpec:
    """An offset or a time."""
    spec = offset_specs.parse_offset_specs("offset", text(value), reading_of(info).now_ms)
    if spec.default is None or spec.by_partition:
        raise ValueError("must be earliest, latest, latest-N, an offset or a time")
    return spec.default


def announced(principal: str, info: ValidationInfo) -> str:
    """A principal of a type that the cluster has."""
    kind, types = principal.partition(":")[0], reading_of(info).principal_types
    if kind not in types:
        known = ", ".join(types)
        raise ValueError(
            f"{kind!r} is not a type of principals that this cluster has ({known}; others: principal_types)"
        )
    return principal


def whole(rate: float) -> float:
    """A number of bytes."""
    if not rate.is_integer():
        raise ValueError("must be a whole number of bytes")
    return rate


def replicas(brokers: tuple[int, ...]) -> tuple[int, ...]:
    """Brokers, each once, the preferred leader first."""
    if not brokers:
        raise ValueError("must be a list of broker ids")
    if len(set(brokers)) < len(brokers):
        raise ValueError("names a broker twice")
    return brokers


def by_partition(value: Any) -> Any:
    """A list of lists, or a table by partition: `{ 0 = [1, 2], 1 = [2, 3] }`."""
    return dict(enumerate(value)) if isinstance(value, list) else value


def index(key: Any) -> Any:
    """The number of a partition, as it is a key of a table."""
    return int(key) if isinstance(key, str) and _INDEX.fullmatch(key) else key


def complete(assignments: dict[int, tuple[int, ...]]) -> dict[int, tuple[int, ...]]:
    """Replicas of each partition, in order."""
    if not assignments or sorted(assignments) != list(range(len(assignments))):
        raise ValueError("must have every partition from 0 on")
    if len(set(map(len, assignments.values()))) > 1:
        raise ValueError("partitions have different numbers of brokers")
    return dict(sorted(assignments.items()))


def flat(table: Any) -> Any:
    """Join the keys of nested tables: in TOML `retention.ms = 1` without quotes is a table `retention` with `ms`."""
    texts: dict[str, str] = {}
    faults: list[InitErrorDetails] = []

    def add(values: Mapping[str, Any], path: Path) -> None:
        for key, value in values.items():
            name = ".".join(map(str, (*path, key)))
            if isinstance(value, dict):
                add(value, (*path, key))
            elif name in texts:
                fault(f"{name} is written twice, whole and in parts", (*path, key), value)
            elif (flat_value := _config_text(value)) is None:
                fault("must be text, a number, true, false, or a list of these", (*path, key), value)
            else:
                texts[name] = flat_value

    def fault(reason: str, path: Path, value: Any) -> None:
        faults.append(InitErrorDetails(type="value_error", ctx={"error": ValueError(reason)}, loc=path, input=value))

    if not isinstance(table, dict):
        return table
    add(table, ())
    if faults:
        raise ValidationError.from_exception_data("", faults)  # pydantic adds the path of the table
    return texts


def _config_text(value: Any) -> str | None:
    """The value of a config as text for Kafka; None for a value that no config can have."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, list):
        parts = [_config_text(part) if not isinstance(part, list) else None for part in value]
        return None if None in parts else ",".join(part for part in parts if part is not None)
    return value if isinstance(value, str) else None
