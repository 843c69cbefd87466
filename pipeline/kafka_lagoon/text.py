"""Prepares text for a terminal: escapes control characters, aligns columns, counts, suggests a name for a misspelt one."""

import difflib
from collections.abc import Collection, Iterable, Sequence


def printable(text: str) -> str:
    """`text` with control characters, escapes and direction marks spelled out.

    For names that others chose (groups, clients, topics) and commit metadata: unescaped, they could control the terminal.
    """
    return text if text.isprintable() else "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)


def counted(number: int, noun: str) -> str:
    """`1 group`, `2,000 groups`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def did_you_mean(name: str, known: Iterable[object]) -> str:
    """` (did you mean X?)` for the known name that is nearest; empty if none is near."""
    close = difflib.get_close_matches(name, map(str, known), n=1)
    return f" (did you mean {close[0]}?)" if close else ""


def aligned(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> list[str]:
    """Lines of a table; columns in `right` are right-aligned, nothing is padded at the end of a line."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [aligned_line(row, widths, right) for row in rows]


def aligned_line(row: Sequence[str], widths: Sequence[int], right: Collection[int] = ()) -> str:
    """One line of a table with columns of these widths; a wider cell moves the rest of its line."""
    return "  ".join(padded(row, widths, right)).rstrip()


def padded(row: Sequence[str], widths: Sequence[int], right: Collection[int] = ()) -> list[str]:
    """The cells of a line, each as wide as its column."""
    return [
        cell.rjust(width) if index in right else cell.ljust(width)
        for index, (cell, width) in enumerate(zip(row, widths, strict=True))
    ]
