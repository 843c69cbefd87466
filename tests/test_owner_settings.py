"""[owners] and [expected] are read from the settings or from a file of their own; every fault is a line with its place."""

from datetime import date
from pathlib import Path

import pytest

from kafka_lagoon.errors import ConfigError
from kafka_lagoon.owner_settings import NO_OWNERS, NOTHING_EXPECTED
from kafka_lagoon.owners import Expectation
from kafka_lagoon.settings import Settings
from kafka_lagoon.settings_sources import load
from tests.documents import blocks, page

PLACE = 'warehouse = "/lake"\n'
OWNERS = """
[owners.topics]
'orders.*' = "shop"
'.*' = "platform"
[owners.groups]
'web' = "shop"
[expected.groups]
'nightly-.*' = "22:00-06:00 Europe/Berlin"
'moved' = { hours = "paused", until = 2026-12-24, reason = "new cluster" }
"""


def loaded(folder: Path, text: str, *overrides: str, **environ: str) -> Settings:
    path = folder / "lagoon.toml"
    path.write_text(text)
    return load(path, environ, overrides, cluster_needed=False)


def faults(folder: Path, text: str, *overrides: str) -> list[str]:
    with pytest.raises(ConfigError) as raised:
        loaded(folder, text, *overrides)
    return list(raised.value.problems)


def test_sections_keep_the_order_of_the_file(tmp_path: Path) -> None:
    """The first pattern that matches counts, so their order is a part of the settings."""
    settings = loaded(tmp_path, PLACE + OWNERS)
    assert list(settings.owners.topics.items()) == [("orders.*", "shop"), (".*", "platform")]
    assert dict(settings.owners.groups) == {"web": "shop"}
    assert dict(settings.all_owners().expected) == {
        "nightly-.*": Expectation(hours="22:00-06:00 Europe/Berlin"),
        "moved": Expectation(hours="paused", until=date(2026, 12, 24), reason="new cluster"),
    }


def test_without_them_nobody_owns_anything(tmp_path: Path) -> None:
    """Both sections are optional."""
    settings = loaded(tmp_path, PLACE)
    assert (settings.owners, settings.expected) == (NO_OWNERS, NOTHING_EXPECTED)


def test_a_file_of_their_own(tmp_path: Path) -> None:
    """`owners` names it, relative to the file that does so; from the environment or --set relative to the current folder."""
    folder = tmp_path / "teams"
    folder.mkdir()
    (folder / "owners.toml").write_text(OWNERS)
    inline = loaded(tmp_path, PLACE + OWNERS)
    for settings in (
        loaded(tmp_path, PLACE + 'owners = "teams/owners.toml"\n'),
        loaded(tmp_path, PLACE, f"owners={folder / 'owners.toml'}"),
        loaded(tmp_path, PLACE, LAGOON_OWNERS=str(folder / "owners.toml")),
    ):
        assert (settings.owners, settings.expected) == (inline.owners, inline.expected)


def test_the_example_of_the_page(tmp_path: Path) -> None:
    """The file of owners in docs/settings.md has no fault."""
    (example,) = (block for block in blocks(page("settings"), "toml") if "[expected.groups]" in block)
    (tmp_path / "owners.toml").write_text(example)
    settings = loaded(tmp_path, PLACE + 'owners = "owners.toml"\n')
    assert list(settings.owners.topics) == [r"payments\..*", r".*\.cdc"]
    assert [one.until for one in settings.expected.groups.values()] == [None, date(2027, 1, 1), date(2026, 12, 24)]


def test_a_later_file_replaces_the_owners(tmp_path: Path) -> None:
    """They are not mixed, because their order would then not be that of one file."""
    (tmp_path / "other.toml").write_text("[owners.topics]\n'a' = \"b\"\n")
    settings = loaded(tmp_path, PLACE + OWNERS, f"owners={tmp_path / 'other.toml'}")
    assert (dict(settings.owners.topics), dict(settings.owners.groups)) == ({"a": "b"}, {})
    assert list(settings.expected.groups) == ["nightly-.*", "moved"]


def test_faults_of_the_file(tmp_path: Path) -> None:
    """A file that is missing, is no TOML, has other sections, or repeats one is a fault that names it."""
    other = tmp_path / "owners.toml"
    named = PLACE + 'owners = "owners.toml"\n'
    assert faults(tmp_path, named) == [f"owners {other}: No such file or directory"]
    other.write_text("[owners")
    assert faults(tmp_path, named)[0].startswith(f"owners {other}: not TOML: ")
    other.write_text("[owner.topics]\n'a' = \"b\"\n")
    assert faults(tmp_path, named) == [f"owners {other}: owner: no such section (did you mean owners?)"]
    other.write_text(OWNERS)
    twice = named + "[expected.groups]\n'a' = \"paused\"\n"
    assert faults(tmp_path, twice) == [
        f"owners {other}: has [expected], and so have the other settings: keep one of them"
    ]


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("[owners.topics]\n'or(' = \"a\"", "owners.topics.\"or(\": 'or(' is not a regular expression: missing ), "),
        ("[owners.groups]\n'a' = \" \"", 'owners.groups."a": must not be empty'),
        ("[owners.groups]\n'a' = 1", 'owners.groups."a": must be text'),
        ("[owners.group]\n'a' = \"b\"", "owners.group: no such setting (did you mean groups?)"),
        ("[owners]\ntopics = 1", "owners.topics: must be a section with settings of its own"),
        ("[expected.groups]\n'a(' = \"paused\"", "expected.groups.\"a(\": 'a(' is not a regular expression: "),
        ("[expected.groups]\n'a' = \"6-22\"", 'expected.groups."a": must be hours such as 22:00-06:00 '),
        (
            "[expected.groups]\n'a' = \"06:00-22:00 Mars\"",
            'expected.groups."a": must name a time zone that this machine knows',
        ),
        ("[expected.groups]\n'a' = { until = 2026-12-01 }", 'expected.groups."a".hours: must be set'),
        (
            '[expected.groups]\n\'a\' = { hours = "paused", until = "soon" }',
            'expected.groups."a".until: must be a date such as 2026-12-24',
        ),
        (
            "[expected.groups]\n'a' = { hours = \"paused\", untl = 2026-12-01 }",
            'expected.groups."a".untl: no such setting (did you mean until?)',
        ),
        ('[expected.groups]\n"a\\nb" = 5', 'expected.groups."a\\u000ab": must be a section'),
    ],
)
def test_every_fault_is_a_line(tmp_path: Path, line: str, fault: str) -> None:
    """It names the pattern and what is wrong with it or its value."""
    (problem,) = faults(tmp_path, f"{PLACE}{line}\n")
    assert problem.startswith(fault)
    assert "\n" not in problem


def test_all_faults_are_listed_at_once(tmp_path: Path) -> None:
    """Each pattern has its own."""
    problems = faults(
        tmp_path, PLACE + "[owners.topics]\n'(' = \"a\"\n')' = \"a\"\n[expected.groups]\n'a' = \"never\"\n"
    )
    assert len(problems) == 3
