"""Folders that are there, that are not, and that this user may not enter."""

import getpass
import os
import tempfile
from pathlib import Path

import pytest

from kafka_lagoon.errors import TableError
from kafka_lagoon.folders import is_folder, nameless_user, no_current_folder, owner, place_for_temporary_files
from tests.closed import modes_bind


def test_folders(tmp_path: Path) -> None:
    """A file is no folder, and nothing lies below it."""
    (tmp_path / "file").touch()
    assert is_folder(tmp_path)
    assert not any(is_folder(tmp_path / name) for name in ("file", "file/below", "missing", "missing/below"))


@pytest.mark.parametrize("below", ["", "table", "missing/below"])
def test_a_closed_folder_is_named_with_its_owner(tmp_path: Path, below: str) -> None:
    """The line names the folder to open, not the one that was looked for."""
    closed = tmp_path / "lake"
    (closed / "table").mkdir(parents=True)
    closed.chmod(0)
    with modes_bind(), pytest.raises(TableError) as raised:
        is_folder(closed / below)
    belongs = f"it belongs to user {getpass.getuser()}, who can let others read it"
    assert str(raised.value) == f"{closed}: Permission denied: {belongs} (docs/security.md, umask)"


def test_other_errors_are_the_systems(tmp_path: Path) -> None:
    """A link to itself, for one."""
    (tmp_path / "link").symlink_to("link")
    with pytest.raises(TableError, match=r"link: Too many levels of symbolic links$"):
        is_folder(tmp_path / "link")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")
def test_an_owner_without_a_name(tmp_path: Path) -> None:
    """Its number is shown."""
    os.chown(tmp_path, 54_321, -1)
    assert owner(tmp_path) == "54321"


def test_a_user_without_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Containers may start a process as any number."""
    assert nameless_user() == ""
    monkeypatch.setattr(os, "geteuid", lambda: 54_321)
    assert nameless_user() == "user 54321 has no name on this machine, which Hadoop needs"


def test_no_place_for_temporary_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """A container whose files are only read and that has no /tmp: the line has the cause, and the variable that helps."""
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: ["/nowhere/tmp"])
    with pytest.raises(TableError) as raised, place_for_temporary_files():
        tempfile.mkdtemp()
    cause = "No usable temporary directory found in ['/nowhere/tmp']"
    assert str(raised.value) == f"temporary files: {cause}: let TMPDIR name a folder with space that can be written"


def test_a_current_folder_that_was_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Code that makes absolute paths of temporary files fails in one, and TMPDIR was named as the cure."""
    assert no_current_folder() == ""
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(TableError) as raised, place_for_temporary_files():
        (Path.cwd() / "file").touch()
    assert str(raised.value) == "the current folder has been removed: change to another one"
