"""Says who can have written a file or folder, before what is in it is run as code."""

import os
import stat
from collections.abc import Collection

ROOT = 0
_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def belongs_to(status: os.stat_result, users: Collection[int]) -> bool:
    """Whether one of these users owns it, and nobody else can write to it."""
    return status.st_uid in users and not status.st_mode & _WRITABLE_BY_OTHERS
