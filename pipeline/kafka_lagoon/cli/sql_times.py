"""Formats times and intervals of SQL results, also those that Python does not have: nanoseconds, years beyond 9999, infinity.

Times are ISO 8601, with a sign before years that have more than four digits; intervals are spelled as DuckDB prints them.
"""

from collections.abc import Iterator
from datetime import date, timedelta
from typing import Any

import pyarrow as pa

_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_SECONDS_PER_DAY, _MONTHS_PER_YEAR = 86_400, 12
_YEARS_PER_ERA, _DAYS_PER_ERA = 400, 146_097  # after which the calendar repeats itself
_EPOCH = date(1970, 1, 1).toordinal()
_LAST_YEAR = 9999  # with four digits
# DuckDB's infinite values of numbers with so many bits: the largest one and its negative.
_INFINITE = {bits: 2 ** (bits - 1) - 1 for bits in (32, 64)}


def values_of(column: pa.Array) -> list[Any]:
    """The values of a column as Python objects, with text for times that Python cannot represent."""
    if not _is_finer(column.type):
        try:
            return list(column.to_pylist())
        except (ValueError, OverflowError):  # beyond Python's calendar
            pass
    return [_value(scalar) for scalar in column]


def _is_finer(kind: pa.DataType) -> bool:
    """True for a type whose times Python may not represent exactly: nanoseconds, or 24:00:00."""
    if pa.types.is_nested(kind):
        return any(_is_finer(kind.field(index).type) for index in range(kind.num_fields))
    return bool(pa.types.is_time64(kind) or (pa.types.is_timestamp(kind) and kind.unit == "ns"))


def _value(scalar: pa.Scalar) -> Any:
    """The same as `scalar.as_py()`, with text for every time."""
    kind = scalar.type
    if not scalar.is_valid:
        return None
    if pa.types.is_timestamp(kind):
        return _spelled_timestamp(scalar.value, kind)
    if pa.types.is_date32(kind):
        return _infinity(scalar.value, 32) or _spelled_date(scalar.value)
    if pa.types.is_time64(kind):
        return _spelled_clock(scalar.value, _PER_SECOND[kind.unit], (0, 6, 9))
    if pa.types.is_map(kind):
        return [(_value(entry[0]), _value(entry[1])) for entry in scalar.values]
    if pa.types.is_struct(kind):
        return {field.name: _value(scalar[index]) for index, field in enumerate(kind)}
    if pa.types.is_nested(kind) and not pa.types.is_union(kind):
        return [_value(one) for one in scalar.values]
    return _value(scalar.value) if pa.types.is_union(kind) else scalar.as_py()


def _infinity(number: int, bits: int) -> str | None:
    return {_INFINITE[bits]: "infinity", -_INFINITE[bits]: "-infinity"}.get(number)


def _spelled_timestamp(number: int, kind: pa.DataType) -> str:
    per_second = _PER_SECOND[kind.unit]
    if infinity := _infinity(number, 64):
        return infinity
    days, rest = divmod(number, _SECONDS_PER_DAY * per_second)
    return f"{_spelled_date(days)}T{_spelled_clock(rest, per_second, (3, 6, 9))}{'Z' if kind.tz else ''}"


def _spelled_date(days: int) -> str:
    eras, rest = divmod(days, _DAYS_PER_ERA)
    day = date.fromordinal(_EPOCH + rest)
    year = day.year + eras * _YEARS_PER_ERA
    sign = "-" if year < 0 else "+" if year > _LAST_YEAR else ""
    return f"{sign}{abs(year):04}-{day:%m-%d}"


def _spelled_clock(number: int, per_second: int, digits: tuple[int, ...]) -> str:
    """A time of day, with the first of these numbers of fractional digits that loses nothing."""
    seconds, part = divmod(number, per_second)
    nanoseconds = part * (_PER_SECOND["ns"] // per_second)
    shown = next(count for count in digits if nanoseconds % 10 ** (9 - count) == 0)
    minutes, second = divmod(seconds, 60)
    text = f"{minutes // 60:02}:{minutes % 60:02}:{second:02}"
    return f"{text}.{f'{nanoseconds:09}'[:shown]}" if shown else text


def spelled_interval(interval: pa.MonthDayNano | timedelta) -> str:
    """`1 year 2 months`, `-1 day -01:00:00.5`, `00:00:13.64`; Spark's differences of times are a timedelta."""
    months, days, microseconds = _parts(interval)
    sign = -1 if months < 0 else 1
    years, rest = divmod(abs(months), _MONTHS_PER_YEAR)
    texts = [*_counted(sign * years, "year"), *_counted(sign * rest, "month"), *_counted(days, "day")]
    if microseconds or not texts:
        seconds, part = divmod(abs(microseconds), _PER_SECOND["us"])
        clock = _spelled_clock(seconds, 1, (0,)) + f".{part:06}".rstrip("0").rstrip(".")
        texts.append(f"-{clock}" if microseconds < 0 else clock)
    return " ".join(texts)


def _parts(interval: pa.MonthDayNano | timedelta) -> tuple[int, int, int]:
    """Months, days and microseconds; the days and the rest of a difference have the same sign."""
    if isinstance(interval, timedelta):
        sign, whole = (-1, -interval) if interval < timedelta() else (1, interval)
        return 0, sign * whole.days, sign * (whole.seconds * _PER_SECOND["us"] + whole.microseconds)
    return interval.months, interval.days, interval.nanoseconds // 1000


def _counted(number: int, noun: str) -> Iterator[str]:
    if number:
        yield f"{number} {noun}{'' if abs(number) == 1 else 's'}"
