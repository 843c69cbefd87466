"""Reads a batch of the data source: the records that exist when Spark plans the query.

Tasks read exactly the planned ranges. Filters are pushed down only where each scan has a plan of its own, and are applied
exactly.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition

from kafka_lagoon.source.filters import Pushed, push
from kafka_lagoon.source.plan import batch_tasks
from kafka_lagoon.source.query import Query

if TYPE_CHECKING:
    import pyarrow as pa


class LagoonReader(DataSourceReader):
    """Reads the records that exist when the query is planned.

    It takes no filters: Spark plans a Python source once for a DataFrame, and reads the same plan in scans with other filters.
    """

    def __init__(self, query: Query) -> None:
        self._query, self._pushed = query, Pushed()

    def partitions(self) -> Sequence[InputPartition]:
        """The splits of the tasks."""
        deadline = self._query.deadline()
        with self._query.connect(deadline) as cluster:
            tasks = batch_tasks(cluster, self._query.options, self._pushed, deadline)
        return [InputPartition(task) for task in tasks]

    def read(self, partition: InputPartition) -> "Iterator[pa.RecordBatch]":
        """The records of one task."""
        return self._query.read(partition)


class FilteredReader(LagoonReader):
    """Takes filters, of a scan for which our Java class makes Spark plan the source again."""

    def pushFilters(self, filters: list[Filter]) -> list[Filter]:  # noqa: N802  Spark's name
        """Accept filters on topics, partitions, offsets and times; Spark evaluates the rest."""
        self._pushed, rest = push(filters)
        return rest
