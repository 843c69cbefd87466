"""The log of a table names the files of its commits."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kafka_lagoon.delta.log_files import added_files, removed_since
from kafka_lagoon.delta.storage import Storage, Stored
from kafka_lagoon.errors import TableError


def test_commits_may_name_files_by_absolute_paths(tmp_path: Path) -> None:
    """Who looks for files that a version added or removed finds them under the names that the folder has."""
    log = tmp_path / "_delta_log" / f"{1:020d}.json"
    log.parent.mkdir()
    actions = [{"add": {"path": f"{tmp_path}/a.parquet"}}, {"remove": {"path": f"file://{tmp_path}/b.parquet"}}]
    log.write_text("\n".join(map(json.dumps, actions)))
    storage = Storage(jvm=None, conf=None)
    location = f"file:{tmp_path}"
    assert added_files(storage, location, 1) == [f"{location}/a.parquet"]
    assert removed_since(storage, location, 0) == {f"{location}/b.parquet": None}


def test_a_commit_leaves_the_log_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that writes a checkpoint removes old commits, while maintenance reads them."""
    first, second = (tmp_path / "_delta_log" / f"{version:020d}.json" for version in (1, 2))
    first.parent.mkdir()
    for commit in (first, second):
        commit.write_text(json.dumps({"remove": {"path": f"{commit.stem}.parquet"}}))

    def then(change: Callable[[], object]) -> dict[str, object]:
        def listed(_: Storage, url: str) -> list[Stored]:
            stored = [Stored(url=f"{url}/{path.name}", size=1, modified_at_ms=1) for path in (first, second)]
            change()
            return stored

        monkeypatch.setattr(Storage, "listed", listed)
        return dict(removed_since(Storage(jvm=None, conf=None), f"file:{tmp_path}", 0))

    assert then(first.unlink) == {f"file:{tmp_path}/{second.stem}.parquet": None}
    with pytest.raises(TableError, match="cannot be read: Is a directory"):
        then(first.mkdir)
