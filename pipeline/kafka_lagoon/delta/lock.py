"""Locks a file, so that one process at a time writes to tables in a local folder.

Delta on a local or NFS folder does not keep two processes apart (both can win the same version), so whoever writes there
holds a flock. On HDFS and object stores there is no such lock: their log stores exclude, and the
transaction id of `publish` is the fence everywhere.
"""

import fcntl
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from kafka_lagoon.clock import Clock, Deadline
from kafka_lagoon.errors import LockHeld, TableError

_POLL_SECONDS = 0.1


@contextmanager
def locked(path: Path, clock: Clock, wait_ms: int = 0) -> Iterator[None]:
    """Hold `path` exclusively; LockHeld, naming the holder, if it is not free within `wait_ms` milliseconds.

    The kernel frees it when the process ends, however it ends. The file stays: to remove it would race.
    """
    deadline = Deadline.after(clock, wait_ms)
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise TableError(f"{path} cannot be locked: {error.strerror}") from error
    try:
        while not _taken(handle):
            if not deadline.pause(_POLL_SECONDS):
                raise LockHeld(str(path), os.pread(handle, 200, 0).decode("utf-8", "replace").strip() or "unknown")
        os.ftruncate(handle, 0)
        os.pwrite(handle, _holder(clock).encode(), 0)
        yield
    finally:
        os.close(handle)


def _taken(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _holder(clock: Clock) -> str:
    since = datetime.fromtimestamp(clock.now_ms() // 1000, UTC).isoformat()
    return f"process {os.getpid()} on {platform.node()} since {since}"
