"""Writes events for log collectors: one JSON object per line, on standard error or appended to a file.

An event has a name and values. Values are never part of a sentence, and bytes from the wire are never logged. Commands that log
nothing import neither json nor Python's logging, which take longer than a request.
"""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import TextIO

_LOCK = Lock()
_write: Callable[[str], None] | None = None  # where the lines of this process go
_new_file: int | None = None  # descriptor of a log file that this process has made


def configure(stream: TextIO | None = None) -> None:
    """Send events to `stream`, by default standard error. Without this call events are discarded."""
    chosen = stream or sys.stderr

    def write(line: str) -> None:
        try:
            chosen.write(line)
            chosen.flush()
        except (OSError, ValueError):  # it is closed: nobody reads a complaint there
            pass

    _send_to(write)


def append_to(path: Path) -> None:
    """Append events to a file, and send them nowhere else; OSError if it cannot be opened.

    A disk that becomes full keeps a part of an event. The next event, also of a later run, begins on a line of its own.
    """
    is_new = not path.exists()
    file = path.open("ab", buffering=0)  # without a buffer, whose rest Python would try to write again at the end
    is_cut, is_failing = _ends_within_a_line(path), False

    def write(line: str) -> None:
        """Print one line if events cannot be written: a full disk neither ends a run nor shows a traceback."""
        nonlocal is_cut, is_failing
        data, written, cause = (f"\n{line}" if is_cut else line).encode(), 0, "only a part of it was"
        try:
            written = file.write(data) or 0
        except OSError as error:
            cause = error.strerror or cause
        if written:
            is_cut = not data[:written].endswith(b"\n")
        if written < len(data) and not is_failing:
            with suppress(OSError):  # standard error is often on the same disk
                print(f"lagoon: --log-file {path}: an event could not be written: {cause}", file=sys.stderr)  # noqa: T201
        is_failing = written < len(data)

    _send_to(write, file.fileno() if is_new else None)


def open_to(umask: int) -> None:
    """Give a log file that this process has made the mode of its other new files, which settings decide that are read later."""
    if _new_file is not None:
        with suppress(OSError):  # a file system without modes
            os.fchmod(_new_file, 0o666 & ~umask)


def _ends_within_a_line(path: Path) -> bool:
    """True if the last line of a file has no end; False for a pipe or device, and where the file may only be written."""
    with suppress(OSError):
        if path.is_file() and path.stat().st_size:
            with path.open("rb") as file:
                file.seek(-1, 2)
                return file.read() != b"\n"
    return False


def _send_to(write: Callable[[str], None], new_file: int | None = None) -> None:
    global _write, _new_file  # of the process, as standard error is
    _write, _new_file = write, new_file


def info(event: str, **values: object) -> None:
    """Log an event of normal operation."""
    _log("info", event, values)


def error(event: str, **values: object) -> None:
    """Log an event that needs attention."""
    _log("error", event, values)


def _log(level: str, event: str, values: dict[str, object]) -> None:
    if _write is None:
        return
    import json  # noqa: PLC0415  see above

    moment = datetime.now(UTC).isoformat(timespec="milliseconds")
    line = json.dumps({"at": moment, "level": level, "event": event, **values}, default=str, ensure_ascii=True)
    with _LOCK:
        _write(f"{line}\n")
