"""A Spark job that reads a topic by columns; each first attempt of a task is killed after its first Arrow batch.

python -m tests.source.faulty_read SERVERS TOPIC

The last line of its output has the number of records, and of different pairs of partition and offset, as JSON.
"""

import json
import os
import signal
import sys
from collections.abc import Iterator
from typing import Any

from pyspark import TaskContext
from pyspark.sql import functions
from pyspark.sql.datasource import InputPartition
from pyspark.sql.types import StructType

from kafka_lagoon.delta.session import session
from kafka_lagoon.notebooks import register_source
from kafka_lagoon.source.batch import LagoonReader
from kafka_lagoon.source.columnar import SourceOfRows


def struck(batches: Iterator[Any]) -> Iterator[Any]:
    """Yield the batches of a task; the process of its first attempt kills itself after the first one."""
    context = TaskContext.get()
    assert context is not None
    for batch in batches:
        yield batch
        if context.attemptNumber() == 0:
            os.kill(os.getpid(), signal.SIGKILL)


class StruckReader(LagoonReader):
    """Reads like the source, until the worker dies."""

    def read(self, partition: InputPartition) -> Iterator[Any]:
        return struck(super().read(partition))


class StruckSource(SourceOfRows):
    """The source with the fault, under the name that the Java class asks for."""

    def reader(self, schema: StructType) -> StruckReader:
        reader = super().reader(schema)
        reader.__class__ = StruckReader
        assert isinstance(reader, StruckReader)
        return reader


def main(servers: str, topic: str) -> None:
    """Read partitions and offsets alone."""
    spark = session("faulty read")
    spark.sparkContext.setLogLevel("OFF")
    register_source(spark)
    spark.dataSource.register(StruckSource)
    reader = spark.read.format("lagoon").option("kafka.bootstrap.servers", servers).option("subscribe", topic)
    rows = reader.option("startingOffsets", "earliest").load().select("partition", "offset")
    counted = rows.agg(functions.count("*"), functions.countDistinct("partition", "offset")).first()
    plan = rows._jdf.queryExecution().executedPlan().toString()
    print(json.dumps({"counted": list(counted or ()), "is_columnar": "ColumnarToRow" in plan}))


if __name__ == "__main__":
    main(*sys.argv[1:])
