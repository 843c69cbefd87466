"""Parses `--fail-above NAME=LIMIT,...`, and describes passed limits, for all commands that report lag, health or changes.

A passed limit makes the exit code 3, for schedulers and scripts. So does an unknown value, because it may be above.
"""

import argparse
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType

from kafka_lagoon.frozen import frozen
from kafka_lagoon.text import counted, did_you_mean, duration, printable

_COUNT = re.compile(r"(\d{1,18})([kMG]?)", re.ASCII)
_FACTORS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9}
_DURATION = re.compile(r"(\d{1,15}(?:\.\d{1,9})?)(ms|s|m|h|d|w)", re.ASCII)
_UNITS_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 7 * 86_400_000}

GRAMMAR = (
    "NAME=LIMIT, several separated by commas; a NAME alone is NAME=0. Limits are counts (1000, 10k, 2M) or durations "
    "(90s, 5m, 2h)"
)


OF_RUNNING_GROUPS = ("lag", "total", "time")  # limits that leave out groups that are expected to be stopped
NOTHING_SELECTED = "the options select nothing, so no limit is known to be kept"
_NAMED = 10  # groups in a line


def nothing_visible(what: str) -> str:
    """Return the line for an empty list that brokers may have shortened: nothing in it could pass a limit."""
    return f"no {what} is visible, so no limit is known to be kept"


class Unit(StrEnum):
    """The unit of a limit."""

    COUNT = "count"
    DURATION = "duration"


@frozen(kw_only=False)
class Threshold:
    """A named limit; a duration is in milliseconds."""

    name: str
    limit: int
    unit: Unit = Unit.COUNT

    def spelled(self, value: float) -> str:
        """Spell a value in the unit of the limit, for people."""
        return duration(round(value)) if self.unit is Unit.DURATION else f"{round(value):,}"


@frozen
class Measured:
    """Counts of items above a limit and of unknown items, the highest value with its place, and an unknown item's place."""

    above: int = 0
    highest: int | None = None
    where: str = ""
    unknown: int = 0
    unknown_where: str = ""


def add_fail_above(
    parser: argparse.ArgumentParser,
    known: Mapping[str, tuple[Unit, str]],
    elsewhere: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Declare `--fail-above`; `known` are the names with their units and meanings, `elsewhere` names of other commands."""
    others = "".join(
        f". Limits on {', '.join(name for name, of in elsewhere.items() if of == command and name not in known)}: see {command}"
        for command in dict.fromkeys(elsewhere.values())
    )
    meanings = "; ".join(f"{name}: {meaning}" for name, (_, meaning) in known.items())
    parser.add_argument(
        "--fail-above",
        type=_parser(known, elsewhere),
        action="extend",
        default=[],
        metavar="NAME=LIMIT,...",
        help=f"exit 3 if a value is above its limit or unknown. {GRAMMAR}. Names: {meanings}{others}",
    )


def _parser(
    known: Mapping[str, tuple[Unit, str]], elsewhere: Mapping[str, str]
) -> Callable[[str], Sequence[Threshold]]:
    def parse(text: str) -> Sequence[Threshold]:
        words = [word for part in text.split(",") if (word := part.strip())]
        if not words:
            raise argparse.ArgumentTypeError(f"{text!r} has no limits: write them as NAME=LIMIT,...")
        return [_threshold(word, known, elsewhere) for word in words]

    return parse


def _threshold(word: str, known: Mapping[str, tuple[Unit, str]], elsewhere: Mapping[str, str]) -> Threshold:
    name, equals, limit = word.partition("=")
    if name not in known and name in elsewhere:
        raise argparse.ArgumentTypeError(
            f"{name}: is a limit of another command: {elsewhere[name]} --fail-above {word}"
        )
    if name not in known:
        raise argparse.ArgumentTypeError(f"{name}{did_you_mean(name, known)}: there are {', '.join(known)}")
    unit = known[name][0]
    value = _limit(limit, unit) if equals else 0
    if value is None:
        example = "a duration like 90s, 5m or 2h" if unit is Unit.DURATION else "a count like 1000, 10k or 2M"
        raise argparse.ArgumentTypeError(f"{word}: {limit!r} is not {example}")
    return Threshold(name, value, unit)


def _limit(text: str, unit: Unit) -> int | None:
    if unit is Unit.DURATION:
        match = _DURATION.fullmatch(text)
        return round(float(match[1]) * _UNITS_MS[match[2]]) if match else 0 if text == "0" else None
    match = _COUNT.fullmatch(text)
    return int(match[1]) * _FACTORS[match[2]] if match else None


def lines_of(threshold: Threshold, measured: Measured, items: str) -> Iterator[str]:
    """Make lines for a limit that is passed or may be; none if it is kept. `items` names the measured items: partitions."""
    if measured.above:
        place = f" ({printable(measured.where)})" if measured.where else ""
        highest = place if measured.highest is None else f", highest {threshold.spelled(measured.highest)}{place}"
        limit = threshold.spelled(threshold.limit)
        yield f"{threshold.name} above {limit}: {counted(measured.above, items.removesuffix('s'))}{highest}"
    if measured.unknown:
        place = f", e.g. {printable(measured.unknown_where)}" if measured.unknown_where else ""
        yield f"{threshold.name} not known of {counted(measured.unknown, items.removesuffix('s'))}{place}"


def left_out(groups: Sequence[str], limits: Iterable[Threshold]) -> Sequence[str]:
    """Make the line that names groups that are expected to be stopped, if limits leave them out."""
    names = ", ".join(dict.fromkeys(limit.name for limit in limits if limit.name in OF_RUNNING_GROUPS))
    if not groups or not names:
        return ()
    more = f" and {len(groups) - _NAMED:,} more" if len(groups) > _NAMED else ""
    groups_are = "group is" if len(groups) == 1 else "groups are"
    shown = ", ".join(map(printable, groups[:_NAMED]))
    return [f"{len(groups):,} {groups_are} expected to be stopped and left out of {names}: {shown}{more}"]
