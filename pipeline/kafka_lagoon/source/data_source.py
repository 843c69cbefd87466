"""Kafka as a data source of Spark: `format("lagoon")` of `spark.read`, `spark.readStream`, `df.write` and `df.writeStream`.

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
    from kafka_lagoon.source.query import Query
    from kafka_lagoon.source.stream import LagoonStream
    from kafka_lagoon.source.write_batch import LagoonWriter
    from kafka_lagoon.source.write_stream import LagoonStreamWriter

# Spark creates the source in one process, plans in a second and reads in others, so each imports what it needs.


class LagoonSource(DataSource):
    """Reads records of Kafka's topics, decoded as in table `records`, and writes rows to topics."""

    @classmethod
    def name(cls) -> str:
        """The name for `format`."""
        return "lagoon"

    def schema(self) -> StructType:
        """The columns of a query that names none: the connector's."""
        return default_schema(with_headers=parse(self.options).include_headers)

    def reader(self, schema: StructType) -> "LagoonReader":
        """A reader of batches; ConfigError lists every fault of the options."""
        from kafka_lagoon.source.batch import LagoonReader  # noqa: PLC0415

        return LagoonReader(self.query_of_batch(schema))

    def query_of_batch(self, schema: StructType) -> "Query":
        """The query of a batch; ConfigError lists every fault of the options."""
        from kafka_lagoon.source.query import query  # noqa: PLC0415

        return query(parse(self.options).require_batch(), schema)

    def streamReader(self, schema: StructType) -> "LagoonStream":  # noqa: N802  Spark's name
        """A reader of streams; ConfigError lists every fault of the options."""
        from kafka_lagoon.source.query import query  # noqa: PLC0415
        from kafka_lagoon.source.stream import LagoonStream  # noqa: PLC0415

        return LagoonStream(query(parse(self.options).require_stream(), schema))

    def writer(self, schema: StructType, overwrite: bool) -> "LagoonWriter":
        """A writer of batches; ConfigError lists every fault of the options and the columns."""
        from kafka_lagoon.source.sink import new_sink  # noqa: PLC0415
        from kafka_lagoon.source.write_batch import LagoonWriter  # noqa: PLC0415
        from kafka_lagoon.source.write_options import parse_sink  # noqa: PLC0415

        options = parse_sink(self.options, schema, overwrite=overwrite, is_stream=False)
        return LagoonWriter(new_sink(options, schema))

    def streamWriter(self, schema: StructType, overwrite: bool) -> "LagoonStreamWriter":  # noqa: N802  Spark's name
        """A writer of micro-batches; ConfigError lists every fault of the options and the columns."""
        from kafka_lagoon.source.sink import new_sink  # noqa: PLC0415
        from kafka_lagoon.source.write_options import parse_sink  # noqa: PLC0415
        from kafka_lagoon.source.write_stream import LagoonStreamWriter  # noqa: PLC0415

        options = parse_sink(self.options, schema, overwrite=overwrite, is_stream=True)
        return LagoonStreamWriter(new_sink(options, schema))
