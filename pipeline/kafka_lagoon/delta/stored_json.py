"""Names what is wrong where JSON in a table's log, beside it or in a stream's checkpoint is not as its writers write it.

Every engine may write to a log, and people restore files from backups: such a value ends a run with one line and no traceback.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from kafka_lagoon.errors import TableError

# Errors that other JSON than expected raises.
MALFORMED = (ValueError, KeyError, TypeError, AttributeError, RecursionError)


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Turn the errors of reading `what` into a TableError."""
    try:
        yield
    except MALFORMED as error:
        raise TableError(f"{what} cannot be read: {type(error).__name__} {str(error)[:200]}".rstrip()) from error
