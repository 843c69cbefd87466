"""A data source for Spark that reads nothing: each task returns the same Arrow batch until it has its number of records.

What it costs is what Spark takes for any source in Python: Arrow to the JVM, and two conversions of each row there. No source in
Python can be quicker.
"""

from collections.abc import Iterator, Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from kafka_lagoon.source.columns import default_schema
from tests.bench.record_topics import BenchTopic

_ROWS = 50_000  # the same schema as our own source


def ready_batches(spark: SparkSession, topic: BenchTopic) -> DataFrame:
    """Make as many rows as the topic has records, with keys and values of the same size."""
    spark.dataSource.register(_source(topic.records, topic.partitions, topic.value_bytes))
    return spark.read.format("ready").load()


def _source(records: int, partitions: int, value_bytes: int) -> type[DataSource]:
    # Classes of a function are pickled by value; workers could not import this module.

    class Reader(DataSourceReader):
        def partitions(self) -> Sequence[InputPartition]:
            return [InputPartition(number) for number in range(partitions)]

        def read(self, partition: InputPartition) -> Iterator[object]:
            import os  # noqa: PLC0415
            from datetime import UTC, datetime  # noqa: PLC0415

            import pyarrow as pa  # noqa: PLC0415

            count = records // partitions
            columns = {
                "key": pa.array([b"%016d" % number for number in range(_ROWS)]),
                "value": pa.array([os.urandom(value_bytes)] * _ROWS),
                "topic": pa.array(["ready"] * _ROWS),
                "partition": pa.array([partition.value] * _ROWS, pa.int32()),
                "offset": pa.array(range(_ROWS), pa.int64()),
                "timestamp": pa.array([datetime(2026, 11, 22, tzinfo=UTC)] * _ROWS, pa.timestamp("us", "UTC")),
                "timestampType": pa.array([0] * _ROWS, pa.int32()),
            }
            batch = pa.record_batch(columns)
            for start in range(0, count, _ROWS):
                yield batch.slice(0, min(_ROWS, count - start))

    class Ready(DataSource):
        @classmethod
        def name(cls) -> str:
            return "ready"

        def schema(self) -> StructType:
            return default_schema(with_headers=False)

        def reader(self, schema: StructType) -> DataSourceReader:  # noqa: ARG002  Spark passes it
            return Reader()

    return Ready
