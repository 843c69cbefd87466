"""Events in, lines on stderr out: JSON for collectors.

Guards one rule: an event is a name and values, never a sentence with values mixed in, and never bytes from the wire.
"""

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any, TextIO

_LOGGER = logging.getLogger("lagoon")


class _JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        """One JSON object: time, level, event, then the event's values."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        values: dict[str, Any] = getattr(record, "values", {})
        line = {"at": at, "level": record.levelname.lower(), "event": record.getMessage(), **values}
        return json.dumps(line, default=str, ensure_ascii=True)


def configure(stream: TextIO = sys.stderr) -> None:
    """Send events to `stream`; without this they go nowhere."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(_JsonLines())
    _LOGGER.handlers[:] = [handler]
    _LOGGER.propagate = False
    _LOGGER.setLevel(logging.INFO)


def info(event: str, **values: object) -> None:
    """Something that was to be expected."""
    _LOGGER.info(event, extra={"values": values})


def error(event: str, **values: object) -> None:
    """Something that needs somebody."""
    _LOGGER.error(event, extra={"values": values})
