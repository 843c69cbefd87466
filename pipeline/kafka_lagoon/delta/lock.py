"""Locks a file, so that one process at a time writes to tables in a local folder.

Delta on a local or NFS folder does not keep two processes apart (both can win the same version), so whoever writes there
holds a flock. On HDFS and object stores there is no such lock: their log stores exclude, and the
transaction id of `publish` is the fence everywhere.

Whoever may open a lock file can hold it, so it is its owner's alone, or also its group's where the umask lets groups write
(a warehouse that users share). Links and files that are no lock of ours are refused: what they lead to is never written.
"""

import errno
import fcntl
import os
import platform
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from kafka_lagoon.clock import Clock, Deadline
from kafka_lagoon.errors import ConfigError, LockHeld, TableError
from kafka_lagoon.folders import owner

_POLL_SECONDS = 0.1
_OWNER, _GROUP = 0o600, 0o060


@contextmanager
def locked(path: Path, clock: Clock, wait_ms: int = 0) -> Iterator[None]:
    """Hold `path` exclusively; LockHeld, naming the holder, if it is not free within `wait_ms` milliseconds.

    The kernel frees it when the process ends, however it ends. The file stays: to remove it would race.
    """
    deadline = Deadline.after(clock, wait_ms)
    handle = _opened(path)
    try:
        while not _taken(handle, path):
            if not deadline.pause(_POLL_SECONDS):
                raise LockHeld(str(path), os.pread(handle, 200, 0).decode("utf-8", "replace").strip() or "unknown")
        with suppress(OSError):  # a full disk: the lock works without the holder's name, which is only for messages
            os.ftruncate(handle, 0)
            os.pwrite(handle, _holder(clock).encode(), 0)
        yield
    finally:
        os.close(handle)


def check_existing(path: Path) -> None:
    """Raise as `locked` does if the lock file exists and cannot be opened."""
    if os.path.lexists(path):
        os.close(_opened(path))


def _opened(path: Path) -> int:
    """Open or create the lock file. TableError if that is not possible, or if the file cannot be one of our locks.

    ConfigError without permission, as for a warehouse that cannot be written.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        handle = os.open(path, flags, _OWNER | _GROUP)
    except PermissionError as error:
        raise ConfigError([f"warehouse: {path} cannot be locked: {error.strerror}{_cure(path)}"]) from error
    except OSError as error:
        what = "it is a symbolic link, remove it" if error.errno == errno.ELOOP else error.strerror
        raise TableError(f"{path} cannot be locked: {what}") from error
    if fault := _fault(os.fstat(handle)):
        os.close(handle)
        raise TableError(f"{path} cannot be locked: {fault}, remove it")
    _make_private(handle)
    return handle


def _cure(path: Path) -> str:
    """The owner of a lock file that an earlier run of another user left, and how to give it to this user; or nothing."""
    with suppress(OSError):  # the file does not exist: the folder cannot be written
        return f": it belongs to user {owner(path)}: chown -R {os.geteuid()} {path.absolute().parent}"
    return ""


def _fault(status: os.stat_result) -> str | None:
    """The reason why a file cannot be one of our locks, or None."""
    if not stat.S_ISREG(status.st_mode):
        return "it is not a regular file"
    if status.st_nlink > 1:
        return "it has other names (hard links)"
    if status.st_uid not in {os.geteuid(), 0} and os.geteuid() != 0 and status.st_mode & stat.S_IWOTH:
        return f"it belongs to another user ({status.st_uid}) and everybody can write it"
    return None


def _make_private(handle: int) -> None:
    """Remove permissions of others that earlier releases and umasks gave; does nothing if the file is not ours."""
    status = os.fstat(handle)
    mode = _OWNER | _GROUP if status.st_mode & stat.S_IWGRP else _OWNER
    if status.st_uid == os.geteuid() and stat.S_IMODE(status.st_mode) != mode:
        os.fchmod(handle, mode)


def _taken(handle: int, path: Path) -> bool:
    """Try to take the lock; TableError if the file system has no locks."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        raise TableError(f"{path} cannot be locked: {error.strerror}") from error
    return True


def _holder(clock: Clock) -> str:
    since = datetime.fromtimestamp(clock.now_ms() // 1000, UTC).isoformat()
    return f"process {os.getpid()} on {platform.node()} since {since}"
