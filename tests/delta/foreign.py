"""Writes commits of other engines into a table's log, as Spark writes them, at any moment of a run."""

import json
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kafka_lagoon.delta.files import LiveFile
from kafka_lagoon.delta.warehouse import Warehouse

ENGINE = "Apache-Spark/4.2.0 Delta-Lake/4.4.0"


def _log(warehouse: Warehouse, table: str) -> Path:
    return Path(warehouse.locations[table].removeprefix("file:")) / "_delta_log"


def commit_files(warehouse: Warehouse, table: str) -> list[Path]:
    """List the files of the commits in a table's log."""
    return sorted(path for path in _log(warehouse, table).glob("*.json") if path.stem.isdigit())


def versions(warehouse: Warehouse, table: str) -> list[int]:
    """List the versions in a table's log."""
    return [int(path.stem) for path in commit_files(warehouse, table)]


def live(warehouse: Warehouse, table: str, version: int | None = None) -> list[LiveFile]:
    """List the data files of a version."""
    state = warehouse.kernel.load(warehouse.locations[table], version)
    assert state
    return warehouse.kernel.live_files(state)


def write(warehouse: Warehouse, table: str, operation: str, *actions: dict[str, Any], **parameters: Any) -> None:
    """Write a commit after the last one."""
    info = {"operation": operation, "operationParameters": parameters, "engineInfo": ENGINE, "isBlindAppend": False}
    lines = [{"commitInfo": {"timestamp": time.time_ns() // 1_000_000, **info}}, *actions]
    path = _log(warehouse, table) / f"{versions(warehouse, table)[-1] + 1:020d}.json"
    with path.open("x") as file:
        file.writelines(f"{json.dumps(line)}\n" for line in lines)


def removes(files: Sequence[LiveFile], *, data_change: bool = True) -> list[dict[str, Any]]:
    """Make remove actions of these files."""
    return [
        {
            "remove": {
                "path": file.path,
                "deletionTimestamp": 1,
                "dataChange": data_change,
                "extendedFileMetadata": True,
                "partitionValues": {_column(file): str(file.day)},
                "size": file.size,
            }
        }
        for file in files
    ]


def copies(
    warehouse: Warehouse, table: str, files: Sequence[LiveFile], *, data_change: bool = True
) -> list[dict[str, Any]]:
    """Make other files with the same rows."""
    folder, actions = _log(warehouse, table).parent, []
    for file in files:
        name = f"{file.path.removesuffix('.parquet')}-{versions(warehouse, table)[-1]}-copy.parquet"
        shutil.copy(folder / file.path, folder / name)
        values = {_column(file): str(file.day)}
        actions.append(
            {
                "add": {
                    "path": name,
                    "partitionValues": values,
                    "size": file.size,
                    "modificationTime": 1,
                    "dataChange": data_change,
                    "stats": json.dumps({"numRecords": file.rows}),
                }
            }
        )
    return actions


def _column(file: LiveFile) -> str:
    return file.path.partition("=")[0]


def restore(warehouse: Warehouse, table: str, version: int) -> None:
    """Commit a RESTORE TABLE ... TO VERSION AS OF."""
    now, then = live(warehouse, table), live(warehouse, table, version)
    gone = [file for file in now if file.path not in {one.path for one in then}]
    back = [file for file in then if file.path not in {one.path for one in now}]
    assert not back, "an old file comes back: only RESTORE to what is still there is written here"
    write(warehouse, table, "RESTORE", *removes(gone), version=version, timestamp=None)


def overwrite(warehouse: Warehouse, table: str) -> None:
    """Commit an INSERT OVERWRITE without rows."""
    write(warehouse, table, "WRITE", *removes(live(warehouse, table)), mode="Overwrite", partitionBy="[]")


def delete(warehouse: Warehouse, table: str) -> None:
    """Commit a DELETE of all rows of the first file."""
    write(warehouse, table, "DELETE", *removes(live(warehouse, table)[:1]), predicate='["true"]')


def update(warehouse: Warehouse, table: str) -> None:
    """Commit an UPDATE of a row."""
    files = live(warehouse, table)[:1]
    write(warehouse, table, "UPDATE", *removes(files), *copies(warehouse, table, files), predicate='["true"]')


def optimize(warehouse: Warehouse, table: str) -> None:
    """Commit an OPTIMIZE of a file."""
    files = live(warehouse, table)[:1]
    moved = copies(warehouse, table, files, data_change=False)
    write(warehouse, table, "OPTIMIZE", *removes(files, data_change=False), *moved, predicate="[]")


def vacuum(warehouse: Warehouse, table: str) -> None:
    """Commit a VACUUM."""
    write(warehouse, table, "VACUUM START", retentionCheckEnabled=True)
    write(warehouse, table, "VACUUM END", status="COMPLETED")
