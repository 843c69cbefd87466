"""Loaded by each Python process that has this folder on PYTHONPATH: tasks of an ingest fail with an exception that nobody expects."""

from collections.abc import Sequence
from typing import Any

from kafka_lagoon.fetch import small_partitions


def _fail(self: Any, splits: Sequence[Any]) -> Any:
    raise RuntimeError(
        f"a fault of the test, with {self!r} and {splits!r}, {vars(self) if hasattr(self, '__dict__') else ''}"
    )


small_partitions.SmallPartitions.read = _fail  # type: ignore[method-assign]
