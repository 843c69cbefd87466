"""Prepares text for people: escapes control characters, aligns columns, spells numbers, suggests a name for a misspelt one."""

from collections.abc import Collection, Iterable, Sequence

_BYTE_UNITS = ("B", "kB", "MB", "GB", "TB", "PB", "EB")
_THOUSAND = 1000
_DURATIONS = (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000))


def printable(text: str) -> str:
    """`text` with control characters, escapes and direction marks spelled out.

    For names that others chose (groups, clients, topics) and commit metadata: unescaped, they could control the terminal.
    """
    return text if text.isprintable() else "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)


def comma_separated(value: object) -> object:
    """A list of texts, as an array of TOML, as one text; anything else as it is."""
    is_list = isinstance(value, list) and all(isinstance(one, str) and "," not in one for one in value)
    return ",".join(value) if is_list else value  # type: ignore[arg-type]


def counted(number: int, noun: str) -> str:
    """`1 group`, `2,000 groups`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def did_you_mean(name: str, known: Iterable[object]) -> str:
    """` (did you mean X?)` for the known name that is nearest; empty if none is near."""
    import difflib  # noqa: PLC0415  only for what is not found

    close = difflib.get_close_matches(name, map(str, known), n=1)
    return f" (did you mean {close[0]}?)" if close else ""


def columns_of(text: str) -> int:
    """The columns that a printable text takes on a terminal: two for CJK and emoji, none for a mark on the letter before it.

    Ids of groups and clients can have such letters. With their number alone a line would be wider than the terminal.
    """
    if text.isascii():
        return len(text)
    import unicodedata  # noqa: PLC0415  hardly any name needs it

    return sum(
        0 if unicodedata.category(c) in ("Mn", "Me") else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table; nothing is padded at the end of a line."""
    widths = [max(map(columns_of, column)) for column in zip(*rows, strict=True)]
    return [aligned_line(row, widths) for row in rows]


def aligned_line(row: Sequence[str], widths: Sequence[int], right: Collection[int] = ()) -> str:
    """One line of a table: columns have these widths, those in `right` are right-aligned; a wider cell moves the rest."""
    return "  ".join(padded(row, widths, right)).rstrip()


def padded(row: Sequence[str], widths: Sequence[int], right: Collection[int] = ()) -> list[str]:
    """The cells of a line, each as wide as its column."""
    # A text with as many columns as letters, which nearly all are, is padded to the same length.
    lengths = [
        width if cell.isascii() else width - columns_of(cell) + len(cell)
        for cell, width in zip(row, widths, strict=True)
    ]
    return [
        cell.rjust(length) if index in right else cell.ljust(length)
        for index, (cell, length) in enumerate(zip(row, lengths, strict=True))
    ]


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
