"""Properties files are parsed as by java.util.Properties."""

import pytest

from kafka_lagoon.java_properties import read, written


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=1\nb: 2\nc 3\nd\t=\t4\ne", {"a": "1", "b": "2", "c": "3", "d": "4", "e": ""}),
        ("# a=1\n  ! b=2\n\n \t\nc=3 # no comment", {"c": "3 # no comment"}),
        ("a=1\r\nb=2\rc=3", {"a": "1", "b": "2", "c": "3"}),
        ("a=one \\\n   two\\\n\\\n three", {"a": "one twothree"}),
        ("a=ends\\\\\nb=2", {"a": "ends\\", "b": "2"}),
        ("# comment \\\na=1", {"a": "1"}),
        ("a=1\\\n# part of the value", {"a": "1# part of the value"}),
        ("a\\ b\\:c\\=d=1", {"a b:c=d": "1"}),
        ("a=\\u0041\\t\\n\\q\\\\", {"a": "A\t\nq\\"}),
        ("a=\\ud83d\\ude00 \\u00e9 \\ud83d", {"a": "\U0001f600 \u00e9 ?"}),
        ("a= 1 \n", {"a": "1 "}),
        ("a=1\na=2", {"a": "2"}),
        ("a==1", {"a": "=1"}),
        ("a=last\\", {"a": "last"}),
        ("", {}),
    ],
)
def test_as_java_reads_them(text: str, expected: dict[str, str]) -> None:
    """Separators, comments, line breaks, continued lines and escapes are understood; the last value of a key counts."""
    assert read(text) == expected


def test_what_is_written_is_read_again() -> None:
    """Letters that Java would read as Latin-1, and backslashes, are escaped."""
    properties = {"log.dirs": "/home/j\u00f6rg/\U0001f600/a b/c\\d", "node.id": 1, "jaas": 'x required a="b=\\"c";'}
    text = written(properties)
    assert text.isascii()
    assert read(text) == {name: str(value) for name, value in properties.items()}
