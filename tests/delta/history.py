"""Makes a long history of a warehouse quickly: files are linked and commits copied, with their modification times set back."""

import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from kafka_lagoon.delta.maintain import MaintainOptions, maintain
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.tables.schema import TABLES
from tests.clock import clock_at

_DAY = timedelta(days=1)
_IN_FULL = 8  # days


@dataclass(frozen=True)
class _Commit:
    """The last commit of a table, and the file that it added."""

    folder: Path
    text: str
    version: int
    add: dict[str, Any]

    def repeat(self, number: int, moment: datetime, partition_by: str) -> None:
        """Add the same file under another name, in a commit of its own, at a time."""
        old, day = self.add["path"], moment.date().isoformat()
        new = f"{partition_by}={day}/{moment.timestamp():.0f}-{number}.parquet"
        (self.folder / new).parent.mkdir(exist_ok=True)
        os.link(self.folder / old, self.folder / new)
        text = self.text.replace(old, new).replace(self.add["partitionValues"][partition_by], day)
        text = re.sub(r'"modificationTime":\d+', f'"modificationTime":{moment.timestamp() * 1000:.0f}', text)
        commit = self.folder / "_delta_log" / f"{self.version + number:020d}.json"
        commit.write_text(text)
        os.utime(commit, (moment.timestamp(),) * 2)


ALL = tuple(table.name for table in TABLES)


def make_history(warehouse: Warehouse, days: int, runs: int, names: Sequence[str] = ALL) -> None:
    """Repeat the last commit of tables `runs` times on each of the days before today; each is maintained at its end.

    Days that are longer ago than any commit is kept have one run, whose file stands for the one that maintenance leaves.
    """
    today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    _age(warehouse, names, today - days * _DAY)
    for ago in range(days, 0, -1):
        midnight = today - ago * _DAY
        for table in (table for table in TABLES if table.name in names):
            folder = Path(warehouse.locations[table.name].removeprefix("file:"))
            for commit in _last_commit(folder):
                for number in range(1, (runs if ago <= _IN_FULL else 1) + 1):
                    commit.repeat(number, midnight + _DAY * number / (runs + 1), table.partition_by)
            warehouse.kernel.checkpoint(warehouse.locations[table.name])
        maintain(warehouse, MaintainOptions(tables=tuple(names)), clock_at(midnight + _DAY * 1.02))
        _age(warehouse, names, midnight + _DAY * 1.02)


def _age(warehouse: Warehouse, names: Sequence[str], moment: datetime) -> None:
    """Set the times of a table's log files back, so that none is younger than a moment."""
    for path in (path for name in names for path in log_files(warehouse, name, "*")):
        if path.stat().st_mtime > moment.timestamp():
            os.utime(path, (moment.timestamp(),) * 2)


def _last_commit(folder: Path) -> Iterator[_Commit]:
    """Return the commit that added the newest file, with the table's version; None if the table is empty."""
    commits = sorted((folder / "_delta_log").glob("*.json"))
    for path in reversed(commits):
        adds = [json.loads(line)["add"] for line in path.read_text().splitlines() if '"add"' in line]
        if adds and adds[0]["dataChange"]:
            text = "\n".join(line for line in path.read_text().splitlines()) + "\n"
            yield _Commit(folder, text, int(commits[-1].stem), adds[0])
            return


def log_size(warehouse: Warehouse) -> int:
    """Return the bytes of all logs."""
    folder = Path(warehouse.name.removeprefix("file:"))
    return sum(path.stat().st_size for path in folder.glob("*/_delta_log/*"))


def log_files(warehouse: Warehouse, table: str, pattern: str = "*.json") -> list[Path]:
    """List the files of a table's log, oldest first."""
    return sorted((Path(warehouse.locations[table].removeprefix("file:")) / "_delta_log").glob(pattern))
