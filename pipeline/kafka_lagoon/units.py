"""Spells numbers of bytes and milliseconds for people: two or three digits and a unit."""

_BYTE_UNITS = ("B", "kB", "MB", "GB", "TB", "PB", "EB")
_THOUSAND = 1000
_DURATIONS = (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000))


def byte_count(value: float) -> str:
    """`1.2 GB`: three digits or so, in powers of 1000 as disks and networks are sold."""
    size, power = abs(value), 0
    while size >= 999.5 and power < len(_BYTE_UNITS) - 1:  # noqa: PLR2004  what would be rounded to 1000
        size, power = size / _THOUSAND, power + 1
    number = f"{size:.0f}" if power == 0 or size >= 99.95 else f"{size:.1f}"  # noqa: PLR2004
    return f"{'-' if value < 0 else ''}{number} {_BYTE_UNITS[power]}"


def duration(milliseconds: int) -> str:
    """`250ms`, `45s`, `5m12s`, `2h05m`, `3d04h`: the two largest units."""
    sign, rest = ("-", -milliseconds) if milliseconds < 0 else ("", milliseconds)
    if rest < _THOUSAND:
        return f"{sign}{rest}ms" if rest else "0s"
    place = next(number for number, (_, size) in enumerate(_DURATIONS) if rest >= size)
    (unit, size), *smaller = _DURATIONS[place:]
    minor = f"{rest % size // smaller[0][1]:02}{smaller[0][0]}" if smaller and rest % size >= smaller[0][1] else ""
    return f"{sign}{rest // size}{unit}{minor}"
