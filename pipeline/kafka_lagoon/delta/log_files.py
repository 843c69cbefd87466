"""Reads from a table's log which files a commit added, and which files commits since a time have removed.

It also removes from the log what a checkpoint that failed has left there.
"""

import json
import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from itertools import chain
from typing import Any

from kafka_lagoon.delta.files import url_of
from kafka_lagoon.delta.storage import Storage
from kafka_lagoon.delta.stored_json import reading
from kafka_lagoon.errors import TableError

_READ_AT_ONCE = 16  # commits; on object stores each is a request
_PARQUET = b"PAR1"  # begin and end of a whole file


def commit_url(location: str, version: int) -> str:
    """The URL of the commit of a version in the log of the table at `location`."""
    return f"{location}/_delta_log/{version:020d}.json"


def added_files(storage: Storage, location: str, version: int) -> list[str]:
    """URLs of the files that one version added, from its commit in the log; none if that is gone."""
    commit = commit_url(location, version)
    with reading(commit):
        lines = storage.read(commit).splitlines() if storage.size(commit) else []
        adds = (action["add"] for line in lines if (action := json.loads(line)).get("add"))
        return [url_of(location, add["path"]) for add in adds]


def removed_since(storage: Storage, location: str, since_ms: int) -> dict[str, date | None]:
    """URLs of the files that commits since a time have removed, as far as these are in the log, each with its day.

    The day is None if the commit does not have it. It cannot be read from the path: a foreign OPTIMIZE may name folders in
    another way. Commits may leave the log meanwhile: every run that writes a checkpoint removes old ones.
    """
    log_files = [file for file in storage.listed(f"{location}/_delta_log") if file.modified_at_ms >= since_ms]
    commits = [file.url for file in log_files if re.search(r"/\d{20}\.json$", file.url)]
    with reading(f"a commit of {location}"), ThreadPoolExecutor(_READ_AT_ONCE) as threads:
        removed = chain.from_iterable(threads.map(lambda commit: _removed(storage, commit), commits))
        return {url_of(location, remove["path"]): _day_of(remove) for remove in removed}


def remove_failed_checkpoint(storage: Storage, location: str, version: int) -> None:
    """Remove the temporary files of a checkpoint of this version, and the checkpoint itself if it is not whole.

    Delta Kernel renames an incomplete file, too, if an error such as OutOfMemoryError has ended the writing. Nobody could read
    the table then. A full disk leaves temporary files that fill the rest of it.

    Elsewhere than on this machine no lock keeps other writers away, and a temporary file may be of another run that is writing
    the same checkpoint. Maintenance removes it there when it is old.
    """
    log, name = f"{location}/_delta_log", f"{version:020d}.checkpoint.parquet"
    is_alone = storage.local(location) is not None
    for file in storage.names(log):
        is_temporary = is_alone and file.startswith(f".{name}.") and file.endswith(".tmp")
        if is_temporary or (file == name and not _is_whole(storage.read(f"{log}/{name}"))):
            storage.delete(f"{log}/{file}")


def _is_whole(parquet: bytes) -> bool:
    return len(parquet) > 2 * len(_PARQUET) and parquet.startswith(_PARQUET) and parquet.endswith(_PARQUET)


def _removed(storage: Storage, commit: str) -> list[Mapping[str, Any]]:
    """The `remove` actions of a commit, none if it is gone.

    Its bytes are split, because str.splitlines would also split within values.
    """
    try:
        content = storage.read(commit)
    except TableError:
        if storage.exists(commit):
            raise
        return []
    lines = (line for line in content.splitlines() if b'"remove"' in line)
    return [action["remove"] for line in lines if (action := json.loads(line)).get("remove")]


def _day_of(remove: Mapping[str, Any]) -> date | None:
    """The day of a removed file; None if its partition values are left out, which Delta's protocol allows."""
    values = tuple((remove.get("partitionValues") or {}).values())
    return date.fromisoformat(values[0]) if values else None
