import random
import string
import tomllib
from collections.abc import Iterator
from typing import Any

import pytest

from kafka_lagoon.apply.desired.toml_lines import toml_lines

TEXT = '''# a comment with [brackets] = and "quotes
cluster_id = "x"   # = ]

[topics.orders]
partitions = 6
configs = { "retention.ms" = 1, cleanup.policy = "a,b" }
assignments = [
    [1, 2],   # the first, with a comma
    [2, 3],

    [3, 1]]
[topics."dotted.name".configs]
text = """
[not.a.table]
quoted \\" and \\\\"""
literal = \'\'\'
it's = "this"\'\'\'
after = 1979-05-27 07:32:00
[[acls]]
principal = 'User:#1'
operations = [ "READ",
  "WRITE" ]
[[acls]]
host = "*"
[acls.inner]
x = 1
'''


def test_lines_of_keys_and_elements() -> None:
    """Strings over several lines, comments, inline tables and arrays of tables do not move what follows."""
    lines = toml_lines(TEXT)
    assert lines["cluster_id",] == 2
    assert lines["topics",] == lines["topics", "orders"] == 4
    assert lines["topics", "orders", "configs", "retention.ms"] == 6
    assert lines["topics", "orders", "configs", "cleanup", "policy"] == 6
    assert lines["topics", "orders", "assignments"] == 7
    assert [lines["topics", "orders", "assignments", index] for index in range(3)] == [8, 9, 11]
    assert lines["topics", "dotted.name"] == 12
    assert lines["topics", "dotted.name", "configs", "literal"] == 16
    assert lines["topics", "dotted.name", "configs", "after"] == 18
    assert lines["acls", 0, "operations", 1] == 22
    assert lines["acls", 1, "host"] == 24
    assert lines["acls", 1, "inner", "x"] == 26


def test_windows_line_ends_count_once() -> None:
    """A file from Windows has the same lines."""
    assert toml_lines(TEXT.replace("\n", "\r\n")) == toml_lines(TEXT)


def paths(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in entries:
        yield (*path, key)
        yield from paths(inner, (*path, key))


def written(chance: random.Random) -> tuple[str, dict[tuple[str | int, ...], int]]:
    """A TOML text, and the lines of its keys as it was written."""
    lines: list[str] = []
    known: dict[tuple[str | int, ...], int] = {}
    for table in range(chance.randint(1, 4)):
        lines += chance.choices(["", "# [x]", "   ", '# """'], k=chance.randint(0, 2))
        path: tuple[str | int, ...] = (f"t{table}", "in.ner") if chance.random() < 0.5 else (f"t{table}",)
        lines.append("[" + ".".join(f'"{part}"' if "." in str(part) else str(part) for part in path) + "]")
        for key in chance.sample(string.ascii_lowercase, chance.randint(0, 6)):
            known[*path, key] = len(lines) + 1
            lines += _value(chance, key)
    return "\n".join(lines) + "\n", known


def _value(chance: random.Random, key: str) -> list[str]:
    return chance.choice(
        [
            [f"{key} = 1"],
            [f'{key} = """', "a = 1", '[b]"""'],
            [f"{key} = '''", "]]", "'''"],
            [f"{key} = [", "  1, # one", "", "  [2, 3],", "]"],
            [f'"{key}" = {{ x = "}}", y = [1, 2] }} # end'],
            [f"{key} = [", '  { a = "]" },', "  { a = '#' } ]"],
        ]
    )


@pytest.mark.parametrize("seed", range(60))
def test_every_key_of_a_text_has_its_line(seed: int) -> None:
    """Of texts by chance: the lines are those where keys were written, and no key of the values is without one."""
    text, known = written(random.Random(seed))
    lines = toml_lines(text)
    assert {path: lines.get(path) for path in known} == known
    assert set(paths(tomllib.loads(text))) <= set(lines)
