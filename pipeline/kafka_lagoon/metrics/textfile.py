"""Replaces files of node_exporter's textfile collector as a whole: a reader sees the old or the new one, never half."""

import os
import secrets
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import quote

from kafka_lagoon.metrics.exposition import Sample, exposition

_MODE = 0o644  # node_exporter is another user; umask takes what it takes


def file_name(*parts: str) -> str:
    """A name of these parts, whatever characters they have; the collector reads names that end in .prom."""
    return f"{'-'.join(quote(part, safe='') for part in ('lagoon', *parts))}.prom"


def replace_file(path: Path, samples: Iterable[Sample]) -> None:
    """Write the samples to a file, atomically; OSError if that cannot be."""
    written = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        # A link that somebody else has put there is not followed: the folder may be shared.
        descriptor = os.open(written, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, _MODE)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(exposition(samples))
        written.replace(path)
    except OSError:
        written.unlink(missing_ok=True)
        raise
