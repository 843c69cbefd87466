"""Writes files that options such as --out name. A file that cannot be written is an error of one line."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kafka_lagoon.errors import TableError
from kafka_lagoon.whole_files import whole_file


@contextmanager
def out_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path, which is renamed to `path` at the end; TableError if the file cannot be written."""
    with writing(path), whole_file(path) as part:
        yield part


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Raise TableError instead of OSError while the file of --out is written."""
    try:
        yield
    except OSError as error:
        raise TableError(f"--out {path}: {error.strerror or error}") from error
