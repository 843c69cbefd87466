"""Replaces files of node_exporter's textfile collector, which is another user and may read them at any moment."""

from collections.abc import Iterable
from pathlib import Path
from urllib.parse import quote

from kafka_lagoon.metrics.exposition import Sample, exposition
from kafka_lagoon.text import printable
from kafka_lagoon.whole_files import whole_file

SUFFIX = ".prom"  # of the files that the collector reads
_PLACE = "# warehouse: "  # other comments than HELP and TYPE mean nothing in the format
_MODE = 0o644  # whatever the umask: the folder says who reaches them


def file_name(*parts: str) -> str:
    """A name of these parts, whatever characters they have; the collector reads names that end in .prom."""
    return f"{'-'.join(quote(part, safe='') for part in ('lagoon', *parts))}{SUFFIX}"


def replace_file(path: Path, samples: Iterable[Sample], place: str | None = None) -> None:
    """Write the samples to a file, atomically, with the `place` of the tables as a comment; OSError if that cannot be."""
    with whole_file(path) as part:
        part.chmod(_MODE)
        head = "" if place is None else f"{_PLACE}{printable(place)}\n"
        part.write_text(head + exposition(samples), "utf-8")


def replaced_place(path: Path, place: str) -> str | None:
    """The place of other tables than those in `place` whose metrics a file has; None if it has none, or names no place."""
    if not path.is_file():  # nobody may ever write to a pipe
        return None
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            first = file.readline()
    except OSError:
        return None
    written = first.removeprefix(_PLACE).strip()
    return None if not first.startswith(_PLACE) or written == printable(place) else written
