"""Tries one input and measures it: the errors that a target lets through, processor time, and memory.

The peak of the process's memory only rises, so an input that takes too much raises it, unless an earlier one took as much.
"""

import re
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

MOST_SECONDS = 1.0  # of processor time, for an input of any length
_MOST_GROWTH, _GROWTH_PER_BYTE = 64 << 20, 4
_STATUS = Path("/proc/self/status")
_PEAK_AND_NOW = re.compile(rb"VmHWM:\s*(\d+) kB\nVmRSS:\s*(\d+) kB")  # words: ok, fields of Linux
_OURS = ("/kafka_lagoon/", "/tests/reference/")


@dataclass(frozen=True, kw_only=True)
class Trial:
    """An input's measures, and what is wrong about it (empty: nothing); `place` is equal for inputs with the same fault."""

    seconds: float
    growth: int
    fault: str = ""
    place: str = ""


def tried(run: Callable[[bytes], object], data: bytes) -> Trial:
    """Run a target on an input."""
    fault = place = ""
    peak_before, before = _memory()
    started = time.process_time()
    try:
        run(data)
    except Exception as error:  # noqa: BLE001  any error that a target does not expect is a fault
        fault, place = "".join(traceback.format_exception(error)), _place(error)
    seconds = time.process_time() - started
    peak, _ = _memory()
    growth = peak - before if peak > peak_before else 0
    if not fault and seconds > MOST_SECONDS:
        fault, place = f"takes {seconds:.1f} s of processor time for {len(data)} bytes", "time"
    if not fault and growth > _MOST_GROWTH + _GROWTH_PER_BYTE * len(data):
        fault, place = f"takes {growth >> 20} MiB of memory for {len(data)} bytes", "memory"
    return Trial(seconds=seconds, growth=growth, fault=fault, place=place)


def stretched(data: bytes, longest: int) -> bytes:
    """Repeat the middle of an input up to the longest one: what takes more than linear time or memory shows it."""
    start, stop = len(data) // 3, len(data) - len(data) // 3
    middle = data[start:stop]
    return data[:start] + middle * ((longest - len(data)) // max(1, len(middle)) + 1) + data[stop:] if middle else data


def _memory() -> tuple[int, int]:
    """The peak of this process's memory, and its memory now."""
    peak, now = map(int, _PEAK_AND_NOW.search(_STATUS.read_bytes()).groups())  # type: ignore[union-attr]
    return peak << 10, now << 10


def _place(error: BaseException) -> str:
    """The type of an error and the last line of ours that it went through."""
    frames = [
        frame for frame in traceback.extract_tb(error.__traceback__) if any(part in frame.filename for part in _OURS)
    ]
    last = frames[-1] if frames else traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} {Path(last.filename).name}:{last.lineno}"
