"""The log of a table names the files of its commits."""

import json
from pathlib import Path

from kafka_lagoon.delta.log_files import added_files, removed_since
from kafka_lagoon.delta.storage import Storage


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
