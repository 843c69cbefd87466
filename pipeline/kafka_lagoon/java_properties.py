"""Reads and writes Java properties files, such as the `client.properties` of Kafka's tools.

Escapes and continued lines are read as java.util.Properties reads them, so that a password with a backslash stays the same.
"""

import json
import re
from collections.abc import Iterator, Mapping

_LINE_BREAK = re.compile(r"\r\n|\r|\n")
_GOES_ON = re.compile(r"(?<!\\)(?:\\\\)*\\$")
_SPACE = " \t\f"
_PAIR = re.compile(r"((?:\\.|[^\s=:\\])+)(?:[ \t\f]*[=:][ \t\f]*|[ \t\f]+|$)(.*)")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))")
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}


def read(text: str) -> dict[str, str]:
    """Every key with its value; of a key that occurs twice, the last value."""
    pairs = [_PAIR.fullmatch(line) for line in _lines(text)]
    return {_plain(pair[1]): _plain(pair[2]) for pair in pairs if pair}


def written(properties: Mapping[str, object]) -> str:
    """The text of a file with these properties; Java would read letters beyond ASCII as Latin-1, and backslashes as escapes."""
    # JSON's escapes are Java's, too, except that of backspace.
    return "".join(f"{name}={json.dumps(str(value))[1:-1]}\n" for name, value in properties.items())


def _lines(text: str) -> Iterator[str]:
    """Logical lines: continued ones joined, comments (which cannot be continued) and blank ones left out."""
    begun = ""
    for line in (part.lstrip(_SPACE) for part in _LINE_BREAK.split(text)):
        if not begun and (not line or line[0] in "#!"):
            continue
        if goes_on := _GOES_ON.search(line):
            begun += line[: goes_on.end() - 1]
            continue
        yield begun + line
        begun = ""
    if begun:
        yield begun


def _plain(text: str) -> str:
    def character(escape: re.Match[str]) -> str:
        return chr(int(escape[1], 16)) if escape[1] else _CONTROLS.get(escape[2], escape[2])

    unescaped = _ESCAPE.sub(character, text)
    return unescaped if unescaped.isascii() else _joined(unescaped)


def _joined(text: str) -> str:
    """Join surrogate pairs: Java writes characters beyond U+FFFF as two escapes. A lone surrogate becomes ?, as in Java."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass").encode(errors="replace").decode()
