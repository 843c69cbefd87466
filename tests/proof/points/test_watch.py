"""A folder is watched from outside: every file that is created, written or removed, also in folders that are new."""

import os
from collections import Counter
from pathlib import Path

from tests.proof.points.watch import Change, Watch


def test_changes_of_files(tmp_path: Path) -> None:
    """Files that were there before are known by their changes only."""
    (tmp_path / "old").write_text("a")
    (tmp_path / "folder").mkdir()
    with Watch(tmp_path) as watch:
        (tmp_path / "old").unlink()
        (tmp_path / "folder" / "part").write_text("b")
        os.link(tmp_path / "folder" / "part", tmp_path / "folder" / "whole")
        (tmp_path / "folder" / "part").rename(tmp_path / "moved")
    assert watch.changes == Counter(
        [
            Change("gone", "old"),
            Change("new", "folder/part"),
            Change("write", "folder/part"),
            Change("new", "folder/whole"),
            Change("gone", "folder/part"),
            Change("new", "moved"),
        ]
    )


def test_new_folders(tmp_path: Path) -> None:
    """A file in a folder that was not watched yet is counted once."""
    with Watch(tmp_path) as watch:
        for number in range(50):
            folder = tmp_path / f"{number}" / "deep"
            folder.mkdir(parents=True)
            (folder / "file").write_text("c")
    new = [path for (kind, path), count in watch.changes.items() for _ in range(count) if kind == "new"]
    assert sorted(new) == sorted(f"{number}{below}" for number in range(50) for below in ("", "/deep", "/deep/file"))
    assert sum(kind == "write" for kind, _ in watch.changes) == 50
