"""Replaces files of node_exporter's textfile collector, which is another user and may read them at any moment."""

from collections.abc import Iterable
from pathlib import Path
from urllib.parse import quote

from kafka_lagoon.metrics.exposition import Sample, exposition
from kafka_lagoon.whole_files import whole_file

_MODE = 0o644  # whatever the umask: the folder says who reaches them


def file_name(*parts: str) -> str:
    """A name of these parts, whatever characters they have; the collector reads names that end in .prom."""
    return f"{'-'.join(quote(part, safe='') for part in ('lagoon', *parts))}.prom"


def replace_file(path: Path, samples: Iterable[Sample]) -> None:
    """Write the samples to a file, atomically; OSError if that cannot be."""
    with whole_file(path) as part:
        part.chmod(_MODE)
        part.write_text(exposition(samples), "utf-8")
