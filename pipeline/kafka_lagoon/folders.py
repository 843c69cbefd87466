"""Checks folders of this machine: those that may belong to another user, whom it names, and that of temporary files."""

import os
import pwd
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kafka_lagoon.errors import TableError

NAME_USER = "add a line for it to /etc/passwd, or run as a user that has one"


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


def nameless_user() -> str:
    """The fault of a user who is only a number, as in some containers; empty if this user has a name."""
    try:
        pwd.getpwuid(os.geteuid())
    except KeyError:
        return f"user {os.geteuid()} has no name on this machine, which Hadoop needs"
    return ""


@contextmanager
def place_for_temporary_files() -> Iterator[None]:
    """Raise TableError with the cure instead of OSError while a temporary file or folder is made: a pod may have no /tmp."""
    try:
        yield
    except OSError as error:
        raise TableError(no_temporary_files(error)) from error


def no_temporary_files(error: OSError) -> str:
    """The line about a temporary file that cannot be made."""
    return (
        no_current_folder()
        or f"temporary files: {error.strerror}: let TMPDIR name a folder with space that can be written"
    )


def no_current_folder() -> str:
    """The fault of a process whose current folder was removed: Java and PySpark do not start there. Empty if it exists."""
    try:
        Path.cwd()
    except FileNotFoundError:
        return "the current folder has been removed: change to another one"
    return ""


def _closed(path: Path) -> Path:
    """The uppermost folder that this user may not enter."""
    absolute = path.absolute()
    above = (*reversed(absolute.parents), absolute)
    return next((folder for folder in above if not os.access(folder, os.X_OK, effective_ids=True)), absolute)
