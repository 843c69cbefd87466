"""Times on the command line and in settings: ISO 8601 in UTC unless it says otherwise, or relative to now.

Days are those of UTC everywhere, in tables too.
"""

import re
from datetime import UTC, date, datetime

from kafka_lagoon.frozen import frozen

FORMS = "ISO 8601, UTC without a zone; 14:05; 2h ago; yesterday"  # for --help

_DAY_MS = 86_400_000
# The years 1 to 9999, as in Python's calendar and in tables.
_FIRST_MS, _LAST_MS = -62_135_596_800_000, 253_402_300_799_999
_UNITS_MS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": _DAY_MS, "w": 7 * _DAY_MS}
# Compiled by their first use: most commands parse no time.
_AGO = r"(\d{1,9}) ?(?:(s)|(m)|(h)|(d)|(w)|(s)ec(?:ond)?s?|(m)in(?:ute)?s?|(h)(?:ou)?rs?|(d)ays?|(w)eeks?) ago"
_OF_DAY = r"([01]?\d|2[0-3]):([0-5]\d)"
_DAYS_AGO = {"today": 0, "yesterday": 1}


@frozen
class Moment:
    """A time as the user wrote it: epoch milliseconds, a duration before now, midnight some days before, or a time of day.

    A time of day is the latest that is not in the future: shortly after midnight 23:50 was yesterday.
    """

    epoch_ms: int | None = None
    ago_ms: int | None = None
    days_ago: int | None = None
    of_day_ms: int | None = None

    def at_ms(self, now_ms: int) -> int:
        """Epoch milliseconds; `now_ms` is the present time."""
        if self.epoch_ms is not None:
            return self.epoch_ms
        if self.ago_ms is not None:
            return now_ms - self.ago_ms
        if self.of_day_ms is not None:
            return now_ms - (now_ms - self.of_day_ms) % _DAY_MS
        return now_ms - now_ms % _DAY_MS - (self.days_ago or 0) * _DAY_MS


def utc_day(epoch_ms: int) -> date:
    """The day of a time."""
    return datetime.fromtimestamp(epoch_ms / 1000, UTC).date()


class FarTimeError(ValueError):
    """A time outside of the years 1 to 9999."""

    def __init__(self, text: str) -> None:
        super().__init__(f"{text!r} is outside of the years 1 to 9999")


def epoch_moment(text: str, epoch_ms: int) -> Moment:
    """Make a fixed time; FarTimeError if it is outside of the calendar."""
    if not _FIRST_MS <= epoch_ms <= _LAST_MS:
        raise FarTimeError(text)
    return Moment(epoch_ms=epoch_ms)


def parse_moment(text: str) -> Moment:
    """`2026-11-21T06:00`, `2026-11-21T07:00+01:00`, `14:05`, `2h ago`, `today`, `yesterday`, `now`; else ValueError."""
    words = " ".join(text.lower().split())
    if words == "now":
        return Moment(ago_ms=0)
    if words in _DAYS_AGO:
        return Moment(days_ago=_DAYS_AGO[words])
    if match := re.fullmatch(_AGO, words, re.ASCII):
        unit = next(filter(None, match.groups()[1:]))
        ago_ms = int(match[1]) * _UNITS_MS[unit]
        if ago_ms > -_FIRST_MS:
            raise FarTimeError(text)
        return Moment(ago_ms=ago_ms)
    if match := re.fullmatch(_OF_DAY, words, re.ASCII):
        return Moment(of_day_ms=int(match[1]) * _UNITS_MS["h"] + int(match[2]) * _UNITS_MS["m"])
    return epoch_moment(text, _iso_ms(text))


def parse_time_ms(text: str, now_ms: int) -> int:
    """A time in epoch milliseconds, as `parse_moment` reads it."""
    return parse_moment(text).at_ms(now_ms)


def _iso_ms(text: str) -> int:
    try:
        moment = datetime.fromisoformat(text.strip())
        return round((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)
    except (ValueError, OverflowError):
        raise ValueError(f"{text!r} is not a time like 2026-11-21T06:00:00Z, 14:05, 2h ago or yesterday") from None
