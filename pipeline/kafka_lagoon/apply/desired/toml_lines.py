"""Finds the line of each key and each array element of a TOML text.

Python's tomllib returns values without their places. The text must be valid TOML: it is not checked a second time.
"""

import re
import tomllib
from bisect import bisect_left

from kafka_lagoon.apply.desired.document import Path

_BLANK = re.compile(r"(?:[ \t\n]|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_KEY = re.compile(r"[A-Za-z0-9_-]+|\"(?:\\.|[^\"\\])*\"|'[^']*'")
_STRING = re.compile(r"\"\"\"(?:\\.|[^\\])*?\"\"\"\"{0,2}|'''.*?''''{0,2}|\"(?:\\.|[^\"\\])*\"|'[^']*'", re.DOTALL)
_OTHER = re.compile(r"[^,\]}\n#]*")  # a number, a boolean or a time


def toml_lines(text: str) -> dict[Path, int]:
    """The line (from 1) of each key, of each table where it is first named, and of each element of an array."""
    scanner = _Scanner(text.replace("\r\n", "\n"))
    scanner.scan()
    return scanner.lines


class _Scanner:
    def __init__(self, text: str) -> None:
        self.lines: dict[Path, int] = {}
        self._text, self._position = text, 0
        self._line_ends = [match.start() for match in re.finditer("\n", text)]
        self._lengths: dict[Path, int] = {}  # of arrays of tables

    def scan(self) -> None:
        table: Path = ()
        self._skip(_BLANK)
        while self._position < len(self._text):
            if self._take("[["):
                table = self._next_of_array(self._key())
            elif self._take("["):
                table = self._resolved(self._key())
            else:
                self._pair(table)
            self._skip(_BLANK)
            while self._take("]"):
                self._skip(_BLANK)

    def _pair(self, table: Path) -> None:
        path = table
        for part in self._key():
            path = (*path, part)
            self._note(path)
        self._skip(_SPACE)
        self._take("=")
        self._value(path)

    def _value(self, path: Path) -> None:
        self._skip(_SPACE)
        if self._take("["):
            self._array(path)
        elif self._take("{"):
            self._inline_table(path)
        elif not self._skip(_STRING):
            self._skip(_OTHER)

    def _array(self, path: Path) -> None:
        index = 0
        self._skip(_BLANK)
        while not self._take("]"):
            self._note((*path, index))
            self._value((*path, index))
            self._skip(_BLANK)
            self._take(",")
            self._skip(_BLANK)
            index += 1

    def _inline_table(self, path: Path) -> None:
        self._skip(_BLANK)
        while not self._take("}"):
            self._pair(path)
            self._skip(_BLANK)
            self._take(",")
            self._skip(_BLANK)

    def _key(self) -> list[str]:
        """The parts of a dotted key."""
        parts: list[str] = []
        while True:
            self._skip(_SPACE)
            parts.append(_unquoted(self._skip(_KEY)))
            self._skip(_SPACE)
            if not self._take("."):
                return parts

    def _resolved(self, keys: list[str]) -> Path:
        """The table that a header names: for an array of tables, its last table."""
        path: Path = ()
        for key in keys:
            path = (*path, key)
            self._note(path)
            if path in self._lengths:
                path = (*path, self._lengths[path] - 1)
        return path

    def _next_of_array(self, keys: list[str]) -> Path:
        array = (*self._resolved(keys[:-1]), keys[-1])
        self._note(array)
        index = self._lengths.get(array, 0)
        self._lengths[array] = index + 1
        self._note((*array, index))
        return (*array, index)

    def _note(self, path: Path) -> None:
        self.lines.setdefault(path, bisect_left(self._line_ends, self._position) + 1)

    def _take(self, text: str) -> bool:
        is_next = self._text.startswith(text, self._position)
        self._position += len(text) if is_next else 0
        return is_next

    def _skip(self, pattern: re.Pattern[str]) -> str:
        """Skip what the pattern matches here, which may be nothing."""
        match = pattern.match(self._text, self._position)
        skipped = match[0] if match else ""
        self._position += len(skipped)
        return skipped


def _unquoted(key: str) -> str:
    return str(tomllib.loads(f"key = {key}")["key"]) if key[:1] in ("'", '"') else key
