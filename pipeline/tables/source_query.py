"""One query of the data source: options and columns in, connections and records out, for batches and streams alike.

Guards one rule: a query is plain values, because Spark pickles it; whoever connects closes.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql.datasource import InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from pipeline import log
from pipeline.client.cluster import Cluster
from pipeline.client.deadline import Clock, Deadline
from pipeline.client.journal import Journal
from pipeline.kafka_settings import KafkaSettings
from pipeline.tables.source_columns import require_known
from pipeline.tables.source_options import SourceOptions
from pipeline.tables.source_plan import kafka_settings

if TYPE_CHECKING:
    import pyarrow as pa

# Spark makes the source, so nobody can pass it a clock.
_CLOCK = Clock(
    now_ms=lambda: time.time_ns() // 1_000_000,
    monotonic=time.monotonic,  # noqa: TID251
    sleep=time.sleep,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """What is asked of which cluster, and the columns that Spark expects."""

    options: SourceOptions
    kafka: KafkaSettings
    schema: StructType

    def deadline(self) -> Deadline:
        """The time for one answer to Spark."""
        return Deadline.after(_CLOCK, self.kafka.default_api_timeout_ms)

    def connect(self, deadline: Deadline) -> Cluster:
        """The cluster, to be closed by the caller."""
        log.configure()
        return Cluster.connect(self.kafka, _CLOCK, Journal(), deadline)

    def read(self, partition: InputPartition) -> "Iterator[pa.RecordBatch]":
        """The records of one task. Spark makes up a task where there is none."""
        from pipeline.tables.source_read import Reading, read  # noqa: PLC0415  decoding is not for the driver to load

        if partition.value is None:
            return
        log.configure()
        reading = Reading(
            kafka=self.kafka,
            isolation_level=self.options.isolation_level,
            fail_on_data_loss=self.options.fail_on_data_loss,
            schema=to_arrow_schema(self.schema, timezone="UTC"),
        )
        yield from read(reading, _CLOCK, partition.value)


def query(options: SourceOptions, schema: StructType) -> Query:
    """A query; ConfigError lists columns that no record has, or properties that cannot be."""
    require_known(schema)
    return Query(options=options, kafka=kafka_settings(options), schema=schema)
