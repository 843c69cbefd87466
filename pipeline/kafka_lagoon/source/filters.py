"""Translates the filters of a query to the partitions, offsets and times that must be read.

Every row that a filter accepts is read. Spark evaluates again all filters that are not applied exactly.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
)

from kafka_lagoon.frozen import frozen
from kafka_lagoon.integers import MOST_INT64

_MILLISECOND = timedelta(milliseconds=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NEVER_NULL = frozenset({"topic", "partition", "offset"})

_HOLDS: Mapping[type[Filter], Callable[[Any, Any], bool]] = {
    EqualTo: lambda value, bound: value == bound,
    In: lambda value, bound: value in bound,
    GreaterThan: lambda value, bound: value > bound,
    GreaterThanOrEqual: lambda value, bound: value >= bound,
    LessThan: lambda value, bound: value < bound,
    LessThanOrEqual: lambda value, bound: value <= bound,
}


@frozen
class Pushed:
    """The bounds to read: offsets from `from_offset` to `to_offset` (not included), no record older than `from_ms`.

    Rows within the bounds may still fail a filter that Spark evaluates.
    """

    on_topic: tuple[Filter, ...] = ()
    on_partition: tuple[Filter, ...] = ()
    from_offset: int = 0
    to_offset: int | None = None
    from_ms: int | None = None

    def admits(self, topic: str, partition: int) -> bool:
        """True if a partition must be read."""
        by_topic = all(_HOLDS[type(predicate)](topic, _value(predicate)) for predicate in self.on_topic)
        return by_topic and all(
            _HOLDS[type(predicate)](partition, _value(predicate)) for predicate in self.on_partition
        )


def push(filters: Sequence[Filter]) -> tuple[Pushed, list[Filter]]:
    """The bounds for all filters, and the filters that Spark still has to evaluate."""
    on_topic: list[Filter] = []
    on_partition: list[Filter] = []
    on_offset: list[tuple[int, int | None]] = []
    times: list[int] = []
    unfinished: list[Filter] = []
    for predicate in filters:
        match _column(predicate):
            case column if isinstance(predicate, IsNotNull) and column in _NEVER_NULL:
                pass
            case "topic" if type(predicate) in _HOLDS:
                on_topic.append(_hashed(predicate))
            case "partition" if type(predicate) in _HOLDS:
                on_partition.append(_hashed(predicate))
            case "offset" if type(predicate) in _HOLDS:
                on_offset.append(_interval(predicate))
                unfinished += [predicate] if isinstance(predicate, In) else []
            case "timestamp" | "timestamp_ms":
                times += _not_before(predicate)
                unfinished.append(predicate)
            case _:
                unfinished.append(predicate)
    ends = [end for _, end in on_offset if end is not None]
    pushed = Pushed(
        on_topic=tuple(on_topic),
        on_partition=tuple(on_partition),
        from_offset=max([0, *(start for start, _ in on_offset)]),
        to_offset=min(ends, default=None),
        from_ms=max(times, default=None),
    )
    return pushed, unfinished


def _column(predicate: Filter) -> str | None:
    attribute: Sequence[str] = getattr(predicate, "attribute", ())
    return attribute[0] if len(attribute) == 1 else None


def _hashed(predicate: Filter) -> Filter:
    """The same filter; the values of a list as a set, because each partition is looked up in it."""
    if not isinstance(predicate, In):
        return predicate
    values: Any = frozenset(predicate.value)
    return In(predicate.attribute, values)


def _value(predicate: Filter) -> Any:
    return getattr(predicate, "value")  # noqa: B009  every filter in _HOLDS has one, their base has none


def _interval(predicate: Filter) -> tuple[int, int | None]:
    """The smallest interval of offsets that holds all accepted offsets; its end is not included."""
    value = _value(predicate)
    match predicate:
        case In():
            values = [offset for offset in value if offset is not None] or [-1]
            return min(values), max(values) + 1
        case EqualTo():
            return value, value + 1
        case GreaterThan():
            return value + 1, None
        case GreaterThanOrEqual():
            return value, None
        case LessThan():
            return 0, value
        case _:
            return 0, value + 1


def _not_before(predicate: Filter) -> list[int]:
    """The first accepted millisecond; None if all are, or if it is before 1970, where Kafka's times have no order.

    There is no bound at the other end: after the last record of an hour, others of that hour may follow, because producers
    set the times.
    """
    match predicate:
        case GreaterThan():
            bound = _milliseconds(predicate.value, 1) if _is_time(predicate) else predicate.value + 1
        case GreaterThanOrEqual() | EqualTo():
            bound = _milliseconds(predicate.value, 0) if _is_time(predicate) else predicate.value
        case In() if _is_time(predicate):
            bound = min((_milliseconds(value, 0) for value in predicate.value if value is not None), default=0)
        case _:
            return []
    return [min(bound, MOST_INT64)] if bound > 0 else []


def _is_time(predicate: Filter) -> bool:
    return _column(predicate) == "timestamp"


def _milliseconds(moment: datetime, more: int) -> int:
    """A moment in epoch milliseconds; with `more`, the first one after it. Microseconds are rounded up."""
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    whole, rest = divmod(aware - _EPOCH, _MILLISECOND)
    return whole + (1 if rest else more)
