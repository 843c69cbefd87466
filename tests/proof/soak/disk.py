"""Reads what jobs leave on disk: sizes of logs and tables, files that no table names, temporary files, and locks that are held."""

import fcntl
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlparse

from deltalake import DeltaTable

_LOG = "_delta_log"
_OF_LOG = re.compile(
    r"\d{20}\.(json|crc|checkpoint(\.[\w.-]+)?\.(parquet|json))|_last_checkpoint|_sidecars|_staged_commits"
)
_RETENTION = ("delta.logRetentionDuration", "delta.deletedFileRetentionDuration")


@dataclass(frozen=True, slots=True)
class Size:
    """Files and bytes of a table's log, and of its data; `pending` are the files of rows that wait for their commit."""

    log_files: int
    log_bytes: int
    files: int
    bytes: int
    pending: int


def tables(warehouse: Path) -> list[Path]:
    """Return the folders of tables."""
    return sorted(path.parent for path in warehouse.glob(f"*/{_LOG}"))


def size(table: Path) -> Size:
    """Measure a table's folder."""
    log = [path.stat().st_size for path in (table / _LOG).rglob("*") if path.is_file()]
    data = [path.stat().st_size for path in table.glob("*=*/**/*") if path.is_file()]
    pending = sum(path.is_file() for path in (table / "_lagoon").rglob("*"))
    return Size(log_files=len(log), log_bytes=sum(log), files=len(data), bytes=sum(data), pending=pending)


def unneeded(table: Path) -> list[Path]:
    """Return data files that the last version does not name, by delta-rs."""
    named = {Path(unquote(urlparse(uri).path)) for uri in DeltaTable(str(table)).file_uris()}
    files = [path for path in table.glob("*=*/**/*") if path.is_file()]
    return sorted(path for path in files if path not in named and not _is_checksum(path))


def temporary(warehouse: Path) -> list[Path]:
    """Return files of the warehouse that are neither a lock, nor of a log, nor of a table."""
    beside = [path for path in warehouse.iterdir() if path.is_file() and not is_lock(path)]
    in_logs = [path for table in tables(warehouse) for path in (table / _LOG).iterdir()]
    in_tables = [path for table in tables(warehouse) for path in table.iterdir() if path.is_file()]
    foreign = [path for path in in_logs if not _OF_LOG.fullmatch(path.name)]
    return sorted(path for path in (*beside, *in_tables, *foreign) if not _is_checksum(path))


def _is_checksum(path: Path) -> bool:
    """Return True for Hadoop's checksum of a file that is there: it has to go with its file."""
    return path.name.startswith(".") and path.suffix == ".crc" and path.with_name(path.stem[1:]).exists()


def is_lock(path: Path) -> bool:
    """Return True for the file of a lock, which stays when the lock is free."""
    return path.name.startswith(".lagoon-") and path.name.endswith(".lock")


def held(warehouse: Path) -> Iterator[Path]:
    """Return the locks that a process holds."""
    for path in filter(is_lock, warehouse.iterdir()):
        with path.open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield path


def keep_commits_for(table: Path, minutes: int, checkpoints_every: int) -> None:
    """Let commits leave the log after some minutes, by a commit as another engine writes it; nobody else may write meanwhile."""
    version = DeltaTable(str(table)).version()
    commits = [table / _LOG / f"{number:020}.json" for number in range(version + 1)]
    metadata = _metadata(commits)
    metadata["configuration"] |= dict.fromkeys(_RETENTION, f"interval {minutes} minutes")
    metadata["configuration"]["delta.checkpointInterval"] = str(checkpoints_every)
    with (table / _LOG / f"{version + 1:020}.json").open("x", encoding="utf-8") as file:
        file.write(json.dumps({"metaData": metadata}) + "\n")


def _metadata(commits: Sequence[Path]) -> dict[str, dict[str, str]]:
    actions = [json.loads(line) for path in commits for line in path.read_text("utf-8").splitlines()]
    metadata: dict[str, dict[str, str]] = [action["metaData"] for action in actions if "metaData" in action][-1]
    return metadata
