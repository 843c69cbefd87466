"""Turns Java's exceptions of Delta Kernel into errors: a log that cannot be read, and commits that are refused or fail."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from py4j.protocol import Py4JJavaError

from kafka_lagoon.delta.storage import JAVA_ERRORS, is_java, reason, reason_of
from kafka_lagoon.errors import PipelineError, TableError


class Conflict(PipelineError):
    """Another commit was made since the version that a commit was to follow."""


class Fenced(PipelineError):
    """Another commit has used the same transaction id, or a later version of it."""


@contextmanager
def reading_log(location: str) -> Iterator[None]:
    """Raise TableError in place of Java's exceptions of a log: the Kernel reads it only when it is asked for its content."""
    try:
        yield
    except JAVA_ERRORS as error:
        raise TableError(f"{location} cannot be read: {reason(error)}") from error


@contextmanager
def appending(location: str) -> Iterator[None]:
    """Raise Fenced or TableError in place of Java's exceptions of an append."""
    try:
        yield
    except JAVA_ERRORS as error:
        if is_java(error, "ConcurrentTransactionException"):
            raise Fenced(location) from error
        raise TableError(f"{location} cannot be appended to: {why(error)}") from error


def last_attempt(error: Exception) -> Any:
    """Java's exception of the last attempt of a commit; None for errors that are not about attempts.

    Delta Kernel raises the same error, with different causes, for other commits that were first and for a file system that
    failed (a full disk, a request without an answer).
    """
    if isinstance(error, Py4JJavaError) and is_java(error, "MaxCommitRetryLimitReachedException"):
        return error.java_exception.getCause()
    return None


def why(error: Exception) -> str:
    """The reason for an error of a commit."""
    attempt = last_attempt(error)
    return reason(error) if attempt is None else reason_of(attempt)
