"""Kafka as a data source of Spark: `spark.read.format("lagoon")` and `spark.readStream.format("lagoon")`.

Options are those of Spark's Kafka connector, under their names, and so are the columns; `.schema(...)` may name others of
table `records`, and fewer. Guards one rule: what a query cannot mean is refused, with all faults at once, before a record
is read.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceReader, Filter, InputPartition
from pyspark.sql.types import StructType

from pipeline.tables.source_columns import default_schema
from pipeline.tables.source_filters import Pushed, push
from pipeline.tables.source_options import parse
from pipeline.tables.source_plan import batch_tasks
from pipeline.tables.source_query import Query, query
from pipeline.tables.source_stream import LagoonStream

if TYPE_CHECKING:
    import pyarrow as pa


class LagoonSource(DataSource):
    """Records of Kafka's topics, decoded as table `records` has them."""

    @classmethod
    def name(cls) -> str:
        """What `format` calls it."""
        return "lagoon"

    def schema(self) -> StructType:
        """The columns where the query names none: the connector's."""
        return default_schema(with_headers=parse(self.options).include_headers)

    def reader(self, schema: StructType) -> "LagoonReader":
        """A reader of batches; ConfigError lists every fault of the options."""
        return LagoonReader(query(parse(self.options).require_batch(), schema))

    def streamReader(self, schema: StructType) -> LagoonStream:  # noqa: N802  Spark's name
        """A reader of streams; ConfigError lists every fault of the options."""
        return LagoonStream(query(parse(self.options).require_stream(), schema))


class LagoonReader(DataSourceReader):
    """Reads what is there when the query is planned."""

    def __init__(self, asked: Query) -> None:
        self._query, self._pushed = asked, Pushed()

    def pushFilters(self, filters: list[Filter]) -> list[Filter]:  # noqa: N802  Spark's name
        """Take what can be decided by topics, partitions, offsets and times; the rest is Spark's."""
        self._pushed, rest = push(filters)
        return rest

    def partitions(self) -> Sequence[InputPartition]:
        """What each task reads."""
        deadline = self._query.deadline()
        with self._query.connect(deadline) as cluster:
            tasks = batch_tasks(cluster, self._query.options, self._pushed, deadline)
        return [InputPartition(task) for task in tasks]

    def read(self, partition: InputPartition) -> "Iterator[pa.RecordBatch]":
        """The records of one task."""
        return self._query.read(partition)
