"""Selects and orders the rows of `lagoon kafka lag`, and compares them with the limits of `--fail-above`.

The order is the same as in `lagoon lag`, where SQL makes it.
"""

import re
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from kafka_lagoon.cli.arguments import names, number_from, pattern
from kafka_lagoon.cli.thresholds import (
    NOTHING_SELECTED,
    OF_RUNNING_GROUPS,
    Measured,
    Threshold,
    Unit,
    add_fail_above,
    lines_of,
)
from kafka_lagoon.frozen import frozen
from kafka_lagoon.group_lag import LOG_START
from kafka_lagoon.snapshot.share_offsets import NOT_STARTED, ShareOffsetRow

LIMITS = {
    "lag": (Unit.COUNT, "unread records of a partition for a group"),
    "total": (Unit.COUNT, "unread records of all partitions of a group"),
    "time": (Unit.DURATION, "age of a group's first unread record in a partition, as --time measures it"),
    "lost": (Unit.COUNT, "records of a partition that were deleted before the group read them"),
}


@frozen(kw_only=False)
class Groups(Container[str]):
    """The ids of groups that options select."""

    ids: frozenset[str]
    regex: re.Pattern[str] | None

    def __contains__(self, group_id: object) -> bool:
        is_named = not self.ids or group_id in self.ids
        return is_named and (self.regex is None or self.regex.fullmatch(str(group_id)) is not None)


def declare(parser: ArgumentParser) -> None:
    """Declare the options that select, order and limit rows."""
    parser.add_argument("group", nargs="*", metavar="GROUP", help="ids of groups; default: all")
    parser.add_argument("--pattern", type=pattern, metavar="REGEX", help="only groups whose whole id matches")
    parser.add_argument("--topic", type=names, metavar="A,B", help="only these topics")
    parser.add_argument(
        "--min-lag", type=number_from(0), metavar="N", help="only partitions with at least N unread records"
    )
    parser.add_argument("--sort", choices=_ORDERS, default="group", help="order of the rows (default: group, by name)")
    parser.add_argument(
        "--time",
        action="store_true",
        help="also show the age of the first unread records; fetches a record of each partition",
    )
    add_fail_above(parser, LIMITS)


def is_timed(options: Namespace) -> bool:
    """Return True if options need ages: --time, an order by age, or a limit of age."""
    return options.time or options.sort == "time" or any(limit.name == "time" for limit in options.fail_above)


def selected_groups(options: Namespace) -> Groups | None:
    """Return the groups to describe; None stands for all."""
    return Groups(frozenset(options.group), options.pattern) if options.group or options.pattern else None


def of_topics(rows: Sequence[Any], options: Namespace) -> Sequence[Any]:
    """Select the rows of the topics that options name; limits and sums include all of them."""
    if options.topic is None:
        return rows
    topics = frozenset(options.topic)
    return [row for row in rows if row.topic in topics]


def shown_groups(rows: Iterable[Any], partitions: Iterable[Any], options: Namespace) -> list[Any]:
    """Order the sums of groups as options demand. --topic and --min-lag leave out groups without such a partition.

    `partitions` are in that order already: groups are in the order of their first partitions if sums do not decide.
    """
    least: int | None = options.min_lag
    kept = (
        row
        for row in rows
        if (options.topic is None or row.partitions) and (least is None or (row.highest_lag or 0) >= least)
    )
    if options.sort != "time":
        return sorted(kept, key=_ORDERS[options.sort])
    places: dict[str, int] = {}
    for place, row in enumerate(partitions):
        places.setdefault(row.group_id, place)
    return sorted(kept, key=lambda row: (places.get(row.group_id, len(places)), row.group_id))


def shown_partitions(rows: Sequence[Any], options: Namespace) -> Sequence[Any]:
    """Order the rows of partitions as options demand."""
    kept = (
        rows if options.min_lag is None else [one for one in rows if one.lag is not None and one.lag >= options.min_lag]
    )
    return kept if options.sort == "group" else sorted(kept, key=_ORDERS[options.sort])


def _by_name(row: Any) -> tuple[Any, ...]:
    return row.group_id, getattr(row, "topic", ""), getattr(row, "partition", 0)


def _by_lag(row: Any) -> tuple[Any, ...]:
    return row.lag is None, -(row.lag or 0), *_by_name(row)


def _by_age(row: Any) -> tuple[Any, ...]:
    """Return the sort key of an age: unknown ages are first, because they may be high; groups without positions are last."""
    if not _has_position(row):
        return 2, 0, *_by_lag(row)
    age = _age(row)
    return 0 if age is None else 1, -(age or 0), *_by_lag(row)


def _age(row: Any) -> int | None:
    """Return the age of the first unread record: 0 if all is read; None if unknown, and for share groups."""
    if not _has_position(row):
        return None
    age: int | None = 0 if row.lag == 0 else row.time_lag_ms
    return age


def _by_loss(row: Any) -> tuple[Any, ...]:
    return -max(getattr(row, "records_lost", None) or 0, 0), *_by_lag(row)


_ORDERS: Mapping[str, Callable[[Any], tuple[Any, ...]]] = {
    "group": _by_name,
    "lag": _by_lag,
    "time": _by_age,
    "lost": _by_loss,
}


def complaints(
    rows: Sequence[Any], totals: Sequence[Any], options: Namespace, stopped: Container[str]
) -> Sequence[str]:
    """Make a line for each limit that rows of partitions or sums of groups pass or may pass.

    Groups in `stopped` are expected to be stopped: they may lag, but not lose records. If named groups or a pattern select no
    group, a line says so, because nothing would pass a limit. A topic that no group reads is no fault: there is no lag.
    """
    limits: Sequence[Threshold] = options.fail_above
    rows = sorted(rows, key=_by_name)  # of rows with the same value, lines name the first, as those of `lagoon lag` do
    running, running_totals = ([row for row in some if row.group_id not in stopped] for some in (rows, totals))
    lines = chain.from_iterable(
        _lines(running, running_totals, limit) if limit.name in OF_RUNNING_GROUPS else _lines(rows, totals, limit)
        for limit in limits
    )
    chosen = totals if options.topic is None else rows
    is_empty = bool(options.group or options.pattern) and not chosen
    return [*([NOTHING_SELECTED] if is_empty else []), *lines]


def _lines(rows: Sequence[Any], totals: Sequence[Any], limit: Threshold) -> Iterator[str]:
    match limit.name:
        case "total":
            unknown = {row.group_id for row in rows if _is_lag_unknown(row)}
            measured = _measured(totals, limit, lambda row: row.lag, lambda row: row.group_id in unknown, _group)
            return lines_of(limit, measured, "groups")
        case "time":
            unknown_age = lambda row: _age(row) is None and _has_position(row)  # noqa: E731
            measured = _measured(rows, limit, _age, unknown_age, _partition)
        case "lost":
            measured = _measured(
                rows,
                limit,
                lambda row: getattr(row, "records_lost", None),
                lambda row: _has_position(row) and row.records_lost is None,
                _partition,
            )
        case _:
            measured = _measured(rows, limit, lambda row: row.lag, _is_lag_unknown, _partition)
    return lines_of(limit, measured, "partitions")


def _measured(
    rows: Sequence[Any],
    limit: Threshold,
    value: Callable[[Any], int | None],
    is_unknown: Callable[[Any], bool],
    place: Callable[[Any], str],
) -> Measured:
    known = [(number, row) for row in rows if (number := value(row)) is not None]
    highest, where = max(known, key=lambda pair: pair[0], default=(None, None))
    unknown = [row for row in rows if is_unknown(row)]
    return Measured(
        above=sum(number > limit.limit for number, _ in known),
        highest=highest,
        where=place(where) if where is not None else "",
        unknown=len(unknown),
        unknown_where=place(unknown[0]) if unknown else "",
    )


def _is_lag_unknown(row: Any) -> bool:
    """Return True if the lag is not known although there is one: a partition that the group has not begun to read has none."""
    has_begun = row.problem != NOT_STARTED if isinstance(row, ShareOffsetRow) else row.lag_basis != LOG_START
    return row.lag is None and has_begun


def _has_position(row: Any) -> bool:
    """Return True if the group has committed an offset, which share groups do not."""
    return not isinstance(row, ShareOffsetRow) and row.lag_basis != LOG_START


def _group(row: Any) -> str:
    return str(row.group_id)


def _partition(row: Any) -> str:
    return f"{row.group_id} {row.topic}-{row.partition}"
