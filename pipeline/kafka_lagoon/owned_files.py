"""Checks who can have written a file or folder before its content is run as code, and who may read new files."""

import os
import stat
from collections.abc import Collection

ROOT = 0
PRIVATE = 0o077  # the umask that leaves new files to their user alone
HADOOP_UMASK = "fs.permissions.umask-mode"  # Hadoop sets the modes of local files itself
_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def belongs_to(status: os.stat_result, users: Collection[int]) -> bool:
    """True if a file belongs to one of these users, and nobody else can write to it."""
    return status.st_uid in users and not status.st_mode & _WRITABLE_BY_OTHERS


def umask_text() -> str:
    """The umask of this process in octal digits, as Hadoop wants it."""
    os.umask(umask := os.umask(PRIVATE))
    return f"{umask:03o}"
