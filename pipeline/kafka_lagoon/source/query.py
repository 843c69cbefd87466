"""Describes one query of the data source, and connects and reads for it, for batches and streams.

A query consists of plain values, because Spark pickles it; the caller of `connect` closes the connection.
"""

import pickle
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyspark.sql.datasource import InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from kafka_lagoon import log
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import SYSTEM_CLOCK, Deadline
from kafka_lagoon.frozen import frozen
from kafka_lagoon.garbage import modules_kept
from kafka_lagoon.kafka_settings import KafkaSettings
from kafka_lagoon.source.columns import require_known
from kafka_lagoon.source.options import SourceOptions
from kafka_lagoon.source.plan import kafka_settings

if TYPE_CHECKING:
    import pyarrow as pa


@frozen
class Query:
    """The topics and the cluster of a query, and the columns that Spark expects."""

    options: SourceOptions
    kafka: KafkaSettings
    schema: StructType

    def deadline(self) -> Deadline:
        """The time for one answer to Spark."""
        return Deadline.after(SYSTEM_CLOCK, self.kafka.default_api_timeout_ms)

    def connect(self, deadline: Deadline) -> Cluster:
        """The cluster, to be closed by the caller."""
        log.configure()
        return Cluster.connect(self.kafka, SYSTEM_CLOCK, RequestStats(), deadline)

    def read(self, partition: InputPartition) -> "Iterator[pa.RecordBatch]":
        """The records of one task. Spark creates a task if there is none."""
        from kafka_lagoon.source.read import Reading, read  # noqa: PLC0415  decoding is not for the driver to load

        if partition.value is None:
            return
        log.configure()
        reading = Reading(
            kafka=self.kafka,
            isolation_level=self.options.isolation_level,
            fail_on_data_loss=self.options.fail_on_data_loss,
            schema=to_arrow_schema(self.schema, timezone="UTC"),
            needed=partition.needed if isinstance(partition, PartitionOfColumns) else frozenset(self.schema.names),
        )
        with modules_kept():
            yield from read(reading, SYSTEM_CLOCK, partition.value)


class PartitionOfColumns(InputPartition):
    """A partition of which a query needs these columns alone."""

    def __init__(self, value: object, needed: frozenset[str]) -> None:
        super().__init__(value)
        self.needed = needed


def partition_of_columns(pickled: bytes, names: str) -> PartitionOfColumns:
    """A planned partition with the columns that a query needs, separated by newlines; ColumnarSource.java pickles this call."""
    planned = pickle.loads(pickled)  # noqa: S301  Spark's own bytes, which its worker would have loaded
    return PartitionOfColumns(planned.value, frozenset(filter(None, names.split("\n"))))


def query(options: SourceOptions, schema: StructType) -> Query:
    """Make a query; ConfigError lists unknown columns and invalid properties."""
    require_known(schema)
    return Query(options=options, kafka=kafka_settings(options), schema=schema)
