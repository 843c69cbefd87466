"""Writes files as a whole: a reader sees the old file or all of the new one."""

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_MODE = 0o644  # less the umask


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Open a new file beside the path, which gets its name when it is written; OSError if that fails."""
    _refuse_other_than_files(path)
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    # A link that somebody else has put there is not followed: the folder may be shared.
    os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, _MODE))
    try:
        yield part
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _refuse_other_than_files(path: Path) -> None:
    """Raise OSError for a device, a pipe, a link or a folder: replacing /dev/stdout would affect the whole machine."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(mode):
        kind = "a link: name the file that it leads to" if stat.S_ISLNK(mode) else "not a file that can be replaced"
        raise OSError(errno.EEXIST, kind)
