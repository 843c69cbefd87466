"""Reads rows of published snapshots as Python values."""

from typing import Any

from kafka_lagoon.query.statements import Ask


def rows_of(ask: Ask, statement: str, *values: int | str) -> list[dict[str, Any]]:
    """The rows of a statement, each with its columns by name; TableError if it cannot be run."""
    rows = ask(statement, *values)
    return [row for batch in rows.batches for row in batch.to_pylist()]
