"""Chooses the inputs that are kept: those that reach lines which no other kept input reaches, and few of them."""

import hashlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from tests.proof.fuzz.table import Target

_OURS = "/kafka_lagoon/"
_MOST_FILES, _MOST_BYTES = 16, 2_048  # of a target, and of an input
Arc = tuple[str, int, int]


def keep(target: Target, folder: Path) -> int:
    """Add inputs of a folder to the corpus while they reach something new; returns the number of inputs in the corpus."""
    run, _ = target.load()
    target.corpus.mkdir(parents=True, exist_ok=True)
    files = sorted(target.corpus.iterdir())
    reached = set[Arc]().union(*(_arcs(run, path.read_bytes()) for path in files))
    inputs = {data for path in folder.iterdir() if len(data := path.read_bytes()) <= _MOST_BYTES}
    arcs = {data: _arcs(run, data) for data in sorted(inputs, key=len)}
    kept = len(files)
    while arcs and kept < _MOST_FILES:
        best = max(arcs, key=lambda data: (len(arcs[data] - reached), -len(data)))
        if not arcs[best] - reached:
            break
        reached |= arcs.pop(best)
        add(target, best)
        kept += 1
    return kept


def add(target: Target, data: bytes) -> Path:
    """Write an input into the corpus."""
    path = target.corpus / hashlib.sha256(data).hexdigest()[:16]
    path.write_bytes(data)
    return path


def _arcs(run: Callable[[bytes], object], data: bytes) -> set[Arc]:
    """The pairs of lines of ours that an input runs one after the other."""
    with _traced() as arcs:
        run(data)
    return arcs


@contextmanager
def _traced() -> Iterator[set[Arc]]:
    arcs = set[Arc]()
    last: dict[FrameType, int] = {}

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if event == "call" and _OURS not in frame.f_code.co_filename:
            return None
        if event == "line":
            arcs.add((frame.f_code.co_filename, last.get(frame, 0), frame.f_lineno))
            last[frame] = frame.f_lineno
        elif event == "return":
            last.pop(frame, None)
        return trace

    sys.settrace(trace)
    try:
        yield arcs
    finally:
        sys.settrace(None)
