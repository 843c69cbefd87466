"""Text that strangers chose, and rows of cells, in; lines that a terminal can show out.

Guards one rule: names (of groups, clients, topics, in commit metadata) never steer a terminal.
"""

from collections.abc import Collection, Sequence


def printable(text: str) -> str:
    """Text that somebody else chose, with control characters, escapes and marks of direction spelled out."""
    return text if text.isprintable() else "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)


def aligned(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> list[str]:
    """Lines of a table; columns in `right` are right-aligned, nothing is padded at the end of a line."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [aligned_line(row, widths, right) for row in rows]


def aligned_line(row: Sequence[str], widths: Sequence[int], right: Collection[int] = ()) -> str:
    """One line of a table whose columns have these widths; what is wider moves the rest of its line."""
    cells = [
        cell.rjust(width) if index in right else cell.ljust(width)
        for index, (cell, width) in enumerate(zip(row, widths, strict=True))
    ]
    return "  ".join(cells).rstrip()
