"""Writes events for log collectors: one JSON object per line, on standard error or appended to a file.

An event has a name and values. Values are never part of a sentence, and bytes from the wire are never logged.
"""

import json
import logging
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

_LOGGER = logging.getLogger("lagoon")
_LOGGER.addHandler(logging.NullHandler())  # otherwise logging prints its own errors on standard error
_LOGGER.propagate = False


class _JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        """Format one JSON object: time, level, event, then the event's values."""
        moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        values: dict[str, Any] = getattr(record, "values", {})
        line = {"at": moment, "level": record.levelname.lower(), "event": record.getMessage(), **values}
        return json.dumps(line, default=str, ensure_ascii=True)


class _File(logging.FileHandler):
    def handleError(self, record: logging.LogRecord) -> None:  # noqa: ARG002, N802  logging's name for it
        """Print one line if an event cannot be written: a full disk neither ends a run nor shows a traceback."""
        print("lagoon: --log-file: an event could not be written", file=sys.stderr)  # noqa: T201


def configure(stream: TextIO | None = None) -> None:
    """Send events to `stream`, by default standard error. Without this call events are discarded."""
    _send_to(logging.StreamHandler(stream or sys.stderr))


def append_to(path: Path) -> None:
    """Append events to a file, and send them nowhere else; OSError if it cannot be opened."""
    _send_to(_File(path, encoding="utf-8"))


def _send_to(handler: logging.Handler) -> None:
    handler.setFormatter(_JsonLines())
    for old in _LOGGER.handlers:
        old.close()
    _LOGGER.handlers[:] = [handler]
    _LOGGER.setLevel(logging.INFO)


def info(event: str, **values: object) -> None:
    """Log an event of normal operation."""
    _LOGGER.info(event, extra={"values": values})


def error(event: str, **values: object) -> None:
    """Log an event that needs attention."""
    _LOGGER.error(event, extra={"values": values})
