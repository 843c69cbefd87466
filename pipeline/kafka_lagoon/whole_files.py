"""Writes files as a whole: a reader sees the old file or all of the new one."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_MODE = 0o644  # less the umask


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Open a new file beside the path, which gets its name when it is written; OSError if that fails."""
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    # A link that somebody else has put there is not followed: the folder may be shared.
    os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, _MODE))
    try:
        yield part
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
