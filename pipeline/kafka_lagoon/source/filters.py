"""Filters of a query in; which partitions, offsets and times have to be read for it, out.

Guards one rule: nothing is left out that a filter would let through. What is left out exactly as the filter says is no
longer Spark's to check; everything else Spark checks again.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
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

_MILLISECOND = timedelta(milliseconds=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NEVER_NULL = frozenset({"topic", "partition", "offset"})

_HOLDS: Mapping[type[Filter], Callable[[Any, Any], bool]] = {
    EqualTo: lambda mine, theirs: mine == theirs,
    In: lambda mine, theirs: mine in theirs,
    GreaterThan: lambda mine, theirs: mine > theirs,
    GreaterThanOrEqual: lambda mine, theirs: mine >= theirs,
    LessThan: lambda mine, theirs: mine < theirs,
    LessThanOrEqual: lambda mine, theirs: mine <= theirs,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pushed:
    """What has to be read: offsets from `from_offset` to `to_offset` (not included), no record older than `from_ms`.

    Of offsets and times behind a bound nothing is known: what Spark still filters may pass.
    """

    on_topic: tuple[Filter, ...] = ()
    on_partition: tuple[Filter, ...] = ()
    from_offset: int = 0
    to_offset: int | None = None
    from_ms: int | None = None

    def admits(self, topic: str, partition: int) -> bool:
        """Whether a partition has to be read at all."""
        by_topic = all(_HOLDS[type(one)](topic, _value(one)) for one in self.on_topic)
        return by_topic and all(_HOLDS[type(one)](partition, _value(one)) for one in self.on_partition)


def push(filters: Sequence[Filter]) -> tuple[Pushed, list[Filter]]:
    """What has to be read for all of the filters to be decided, and the filters that Spark still has to check."""
    on_topic: list[Filter] = []
    on_partition: list[Filter] = []
    on_offset: list[tuple[int, int | None]] = []
    times: list[int] = []
    unfinished: list[Filter] = []
    for one in filters:
        match _column(one):
            case column if isinstance(one, IsNotNull) and column in _NEVER_NULL:
                pass
            case "topic" if type(one) in _HOLDS:
                on_topic.append(one)
            case "partition" if type(one) in _HOLDS:
                on_partition.append(one)
            case "offset" if type(one) in _HOLDS:
                on_offset.append(_interval(one))
                unfinished += [one] if isinstance(one, In) else []
            case "timestamp" | "timestamp_ms":
                times += _not_before(one)
                unfinished.append(one)
            case _:
                unfinished.append(one)
    ends = [end for _, end in on_offset if end is not None]
    pushed = Pushed(
        on_topic=tuple(on_topic),
        on_partition=tuple(on_partition),
        from_offset=max([0, *(start for start, _ in on_offset)]),
        to_offset=min(ends, default=None),
        from_ms=max(times, default=None),
    )
    return pushed, unfinished


def _column(one: Filter) -> str | None:
    attribute: Sequence[str] = getattr(one, "attribute", ())
    return attribute[0] if len(attribute) == 1 else None


def _value(one: Filter) -> Any:
    return getattr(one, "value")  # noqa: B009  every filter in _HOLDS has one, their base has none


def _interval(one: Filter) -> tuple[int, int | None]:
    """The smallest interval of offsets that holds all that pass; its end is not included."""
    value = _value(one)
    match one:
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


def _not_before(one: Filter) -> list[int]:
    """The first millisecond that passes; none if all may, or if it is before 1970, where Kafka's times have no order.

    There is no such bound at the other end: after the last record of an hour others of that hour may follow, because
    producers set the times.
    """
    match one:
        case GreaterThan():
            bound = _milliseconds(one.value, 1) if _is_time(one) else one.value + 1
        case GreaterThanOrEqual() | EqualTo():
            bound = _milliseconds(one.value, 0) if _is_time(one) else one.value
        case In() if _is_time(one):
            bound = min((_milliseconds(value, 0) for value in one.value if value is not None), default=0)
        case _:
            return []
    return [bound] if bound > 0 else []


def _is_time(one: Filter) -> bool:
    return _column(one) == "timestamp"


def _milliseconds(moment: datetime, more: int) -> int:
    """A moment in epoch milliseconds: the first one at it, or with `more` behind it; microseconds are rounded up."""
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    whole, rest = divmod(aware - _EPOCH, _MILLISECOND)
    return whole + (1 if rest else more)
