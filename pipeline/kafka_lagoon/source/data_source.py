"""Kafka as a data source of Spark: `spark.read.format("lagoon")` and `spark.readStream.format("lagoon")`.

Options are those of Spark's Kafka connector, under their names, and so are the columns; `.schema(...)` may name others of
table `records`, and fewer. A query that makes no sense is refused, with all faults at once, before a record is read.
"""

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource
from pyspark.sql.types import StructType

from kafka_lagoon.source.columns import default_schema
from kafka_lagoon.source.options import parse

if TYPE_CHECKING:
    from kafka_lagoon.source.batch import LagoonReader
    from kafka_lagoon.source.stream import LagoonStream

# Spark makes the source in one process, plans in a second and reads in others: each imports what it needs.


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
        from kafka_lagoon.source.batch import LagoonReader  # noqa: PLC0415
        from kafka_lagoon.source.query import query  # noqa: PLC0415

        return LagoonReader(query(parse(self.options).require_batch(), schema))

    def streamReader(self, schema: StructType) -> "LagoonStream":  # noqa: N802  Spark's name
        """A reader of streams; ConfigError lists every fault of the options."""
        from kafka_lagoon.source.query import query  # noqa: PLC0415
        from kafka_lagoon.source.stream import LagoonStream  # noqa: PLC0415

        return LagoonStream(query(parse(self.options).require_stream(), schema))
