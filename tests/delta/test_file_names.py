"""Text of a broker is a single component of a path, also as a part of a name."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_lagoon.delta.file_names import file_name

HOSTILE = [
    "",
    ".",
    "..",
    "...",
    "../victim",
    "a/../../b",
    "/etc",
    "\\..\\",
    "\x00",
    "a\nb",
    "\ud800",
    "%2E%2E",
    "~",
    "é" * 300,
]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_names_stay_below_their_folder(text: str, tmp_path: Path) -> None:
    """Every name makes an entry in its folder, and in no other."""
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / file_name(text)).write_bytes(b"x")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]
    assert [path.read_bytes() for path in folder.iterdir()] == [b"x"]


def test_ordinary_names_are_kept() -> None:
    """Kafka's cluster ids are file names unchanged, as in earlier releases."""
    assert file_name("MkU3OEVBNTcwNTJENDM2Qk_-") == "MkU3OEVBNTcwNTJENDM2Qk_-"


@given(st.text(max_size=300), st.text(max_size=300))
def test_two_texts_have_two_names(text: str, other: str) -> None:
    """Otherwise two clusters would share a folder or a lock."""
    assert (file_name(text) == file_name(other)) == (text == other)
    assert len(file_name(text).encode()) <= 200
