"""Logs of Delta tables that others may have written, and the JSON that we store in them and beside them."""

import json
import shutil
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from deltalake import write_deltalake

from kafka_lagoon.delta.files import described_file, live_file, remove_action
from kafka_lagoon.delta.foreign_commits import commit_of, contradiction
from kafka_lagoon.delta.log_files import added_files
from kafka_lagoon.errors import TableError
from kafka_lagoon.ingest import next_offsets
from kafka_lagoon.ingest.pending_files import PendingFiles
from kafka_lagoon.query.duckdb_tables import select_rows
from kafka_lagoon.restore import plan, progress
from tests.delta.test_foreign_commits import ADD, MOVED, REMOVE, log_of
from tests.ingest.test_next_offsets import RUN, TOPICS
from tests.proof.fuzz.targets.texts import _FOLDER
from tests.restore.test_progress import PLAN

_BETWEEN = b"\n\n"  # commits
_LOCATION = "file:/t"


class _Files:
    """A storage in which each file has the same bytes."""

    def __init__(self, content: bytes) -> None:
        self.content = content

    def read(self, _url: str) -> bytes:
        return self.content

    def size(self, _url: str) -> int:
        return len(self.content)

    def names(self, _url: str) -> list[str]:
        return ["000000000000-id-report.json"]


def commits(data: bytes) -> None:
    """Commits of a log are judged, and the files that they add and remove are listed; TableError if they are no commits."""
    with suppress(TableError):
        contradiction(
            [commit_of(5 + number, log) for number, log in enumerate(data.split(_BETWEEN))], "lagoon/records/c"
        )
    storage: Any = _Files(data)
    with suppress(TableError):
        added_files(storage, _LOCATION, 5)
    for line in data.splitlines():
        with suppress(ValueError, RecursionError):
            action = json.loads(line)
            if isinstance(action, dict) and isinstance(action.get("add"), dict):
                _actions(action["add"])


def _actions(add: dict[str, Any]) -> None:
    with suppress(TableError):
        described_file(_LOCATION, add)
    with suppress(TableError):
        remove_action(live_file(add, "ingest_date"), "ingest_date", 1)


def commits_seeds() -> Iterator[bytes]:
    stats = {"numRecords": 3, "minValues": {"a": 1}, "maxValues": {"a": 2}, "nullCount": {"a": 0}}
    values = {
        "path": "ingest_date=2026-11-21/a%20b.parquet",
        "partitionValues": {"ingest_date": "2026-11-21"},
        "size": 5,
    }
    add = {"add": {**values, "modificationTime": 7, "dataChange": True, "stats": json.dumps(stats)}}
    restore = log_of("RESTORE", ADD, operationParameters={"version": "3"}, timestamp=5)
    yield log_of("WRITE", ADD, REMOVE) + _BETWEEN + restore
    yield log_of("OPTIMIZE", *MOVED) + b"\n" + json.dumps(add, separators=(",", ":")).encode()
    yield log_of("WRITE", {"txn": {"appId": "lagoon/records/c", "version": 1}}, ADD, timestamp=1_700_000_000_000)
    yield log_of(None, {"metaData": {"id": "x"}}, {"protocol": {}}, clientVersion="x")


def delta_log(data: bytes) -> None:
    """A table with these commits after its first one; what DuckDB is given to read is a statement that it can parse."""
    folder = _table()
    for number, log in enumerate(data.split(_BETWEEN)[:4], 1):
        (folder / "_delta_log" / f"{number:020d}.json").write_bytes(log)
    with suppress(TableError):
        duckdb.extract_statements(select_rows(_database(), "t", folder).sql)


@cache
def _database() -> duckdb.DuckDBPyConnection:
    return duckdb.connect()


def _table() -> Path:
    """A table of one commit."""
    folder = Path(_FOLDER.name) / "table"
    if folder.is_dir():
        for commit in sorted((folder / "_delta_log").iterdir())[1:]:
            commit.unlink()
        return folder
    rows = pa.table({"a": pa.array([1, 2], pa.int64()), "day": ["x", "y"]})
    made = folder.with_name("made")
    write_deltalake(made, rows, partition_by=["day"])
    return Path(shutil.move(made, folder))


def delta_log_seeds() -> Iterator[bytes]:
    values = {
        "path": "day=x/b.parquet",
        "partitionValues": {"day": "x"},
        "size": 5,
        "modificationTime": 7,
        "dataChange": True,
    }
    for path in ("day=x/b.parquet", "../b.parquet", "file:/etc/passwd", "day=x%2Fb/c.parquet"):
        yield json.dumps({"add": values | {"path": path}}).encode()
    features = ["deletionVectors", "columnMapping"]
    protocol = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": features, "writerFeatures": features}
    yield json.dumps({"protocol": protocol}).encode() + _BETWEEN + json.dumps({"add": values}).encode()
    for kind in (
        "void",  # words: ok, a type of Delta's
        "decimal(38,18)",
        {"type": "map", "keyType": "string", "valueType": "long", "valueContainsNull": True},
    ):
        fields = [{"name": 'a"', "type": kind, "nullable": True, "metadata": {}}]
        schema = json.dumps({"type": "struct", "fields": fields})
        metadata = {"id": "x", "format": {"provider": "parquet", "options": {}}, "schemaString": schema}
        yield json.dumps({"metaData": metadata | {"partitionColumns": [], "configuration": {}}}).encode()


def stored_states(data: bytes) -> None:
    """Stored values that are not as we write them are a TableError; of a plan a ValueError, which its caller turns into one."""
    content = data.decode(errors="replace")
    with suppress(TableError):
        next_offsets.from_json(content)
    with suppress(ValueError):
        plan.from_json(data)
    with suppress(TableError):
        progress._from_json(content)
    files: Any = PendingFiles(storage=_Files(data), root="file:/r", cluster_id="c")  # type: ignore[arg-type]
    with suppress(TableError):
        files.reports(None)


def stored_states_seeds() -> Iterator[bytes]:
    yield next_offsets.to_json(
        next_offsets.NextOffsets(topics=TOPICS, last_run=RUN, examined={"record_ranges": 3})
    ).encode()
    yield b'{"format":1,"run":null,"topics":{"t":{"id":"x","partitions":{"0":[40000,2,[[0,0],[2,20480]]],"1":[5,-1,[]]}}}}'
    yield plan.to_json(PLAN)
    yield progress._to_json(progress.start_of(PLAN), "id").encode()
    yield b'{"ingest_id":"i","text":"had 5 LOST","is_loss":true}'
