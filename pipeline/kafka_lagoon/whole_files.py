"""Writes files as a whole: a reader sees what was there before, or all of the new file."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_MODE = 0o644  # umask takes what it takes


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A new, empty file beside the path, which gets its name when it is written; OSError if that cannot be."""
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    # A link that somebody else has put there is not followed: the folder may be shared.
    os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, _MODE))
    try:
        yield part
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
