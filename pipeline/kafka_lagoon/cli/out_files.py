"""Writes files that options such as --out name: whole under their name, or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kafka_lagoon.errors import TableError


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A path beside it to write to, which gets its name when that is done; TableError if the file cannot be written."""
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield part
        part.replace(path)
    except OSError as error:
        raise TableError(f"--out {path}: {error.strerror or error}") from error
    finally:
        part.unlink(missing_ok=True)
