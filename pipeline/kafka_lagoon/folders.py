"""Checks folders of this machine that may belong to another user, and names the owner."""

import os
import pwd
from pathlib import Path

from kafka_lagoon.errors import TableError


def is_folder(path: Path) -> bool:
    """True if the folder exists; TableError with the cure if this user may not enter it, or a folder above it."""
    try:
        os.stat(os.path.join(path, "."))  # noqa: PTH116, PTH118  pathlib drops the dot, which needs permission to enter
    except (FileNotFoundError, NotADirectoryError):
        return False
    except PermissionError as error:
        closed = _closed(path)
        cure = f"it belongs to user {owner(closed)}, who can let others read it (docs/security.md, umask)"
        raise TableError(f"{closed}: {error.strerror}: {cure}") from error
    except OSError as error:
        raise TableError(f"{path}: {error.strerror}") from error
    return True


def owner(path: Path) -> str:
    """Name of the user that a file or folder belongs to, or the user's number if it has no name."""
    number = path.stat().st_uid
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


def _closed(path: Path) -> Path:
    """The uppermost folder that this user may not enter."""
    absolute = path.absolute()
    above = (*reversed(absolute.parents), absolute)
    return next((folder for folder in above if not os.access(folder, os.X_OK, effective_ids=True)), absolute)
