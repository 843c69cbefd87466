"""Makes the archive of classes from which JVMs of this machine start (jars/class_archives.py), once, by letting one work.

A JVM archives the classes that it has read. So it does here what runs do: it creates the tables of a warehouse, which is
thrown away, and appends to one of them.
"""

import tempfile
from datetime import date
from pathlib import Path

from kafka_lagoon.clock import SYSTEM_CLOCK
from kafka_lagoon.delta.kernel import Fence
from kafka_lagoon.delta.plain_jvm import archiving_kernel
from kafka_lagoon.delta.schema import SNAPSHOT_DATE, STATE_TABLES, TABLES
from kafka_lagoon.delta.warehouse import Warehouse, open_folder
from kafka_lagoon.errors import JarsUnavailable
from kafka_lagoon.jars.class_archives import KERNEL, archive


def make_archives() -> Path:
    """Make the archive again, in place of one that is there; its folder. JarsUnavailable or TableError if that fails."""
    folder = archive(KERNEL).parent
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            _make_kernel(Path(scratch))
    except OSError as error:
        raise JarsUnavailable(f"{error.filename or folder}: {error.strerror}") from error
    return folder


def _make_kernel(scratch: Path) -> None:
    with archiving_kernel(scratch / KERNEL) as kernel:
        for _ in range(2):  # tables are created, and then they are there
            _use(open_folder(kernel, f"{scratch}/tables", TABLES, SYSTEM_CLOCK))
    if not (scratch / KERNEL).exists():
        raise JarsUnavailable(f"no archive {KERNEL}: the JVM that was to write it has not")
    (scratch / KERNEL).replace(archive(KERNEL))


def _use(warehouse: Warehouse) -> None:
    """Write rows to a table by the Kernel, and look for them."""
    day, table, kernel = date(2026, 1, 1), STATE_TABLES[-1], warehouse.kernel
    state = warehouse.state(table.name)
    fence = Fence("archive", (kernel.last_transaction(state, "archive") or 0) + 1)
    url = f"{state.location}/{SNAPSHOT_DATE}={day}/{fence.version}.parquet"
    file = kernel.storage.write_rows(url, table.file_schema().empty_table())
    kernel.append(state, [file], (SNAPSHOT_DATE, day), fence=fence)
    kernel.files(warehouse.state(table.name), {SNAPSHOT_DATE: day, "cluster": "archive"})
    kernel.checkpoint(state.location)
