"""A Spark job that writes 2,000 rows in two tasks, and makes the first attempt of a task fail.

python -m tests.source.faulty_write SERVERS TOPIC TRANSACTIONS FAULT MASTER
"""

import os
import signal
import sys
import time
from collections.abc import Iterator
from typing import Any

from pyspark import TaskContext
from pyspark.sql import SparkSession, functions
from pyspark.sql.datasource import WriterCommitMessage
from pyspark.sql.types import StructType

from kafka_lagoon.source.data_source import LagoonSource
from kafka_lagoon.source.write_batch import LagoonWriter

ROWS = 2_000
_ROWS_BEFORE = 500  # rows that the first attempt writes


def struck(batches: Iterator[Any], fault: str) -> Iterator[Any]:
    """Yield the rows of a task; in the first attempt of task 0 the fault happens when half of the rows are written."""
    context = TaskContext.get()
    assert context is not None
    is_struck = context.partitionId() == 0 and context.attemptNumber() == 0
    taken = 0
    for batch in batches:
        taken += batch.num_rows
        yield batch
        if is_struck and taken >= _ROWS_BEFORE:
            is_struck = False
            time.sleep(1)  # until the rows before are in the log
            match fault:
                case "raise":
                    raise RuntimeError("struck")
                case "kill":
                    os.kill(os.getpid(), signal.SIGKILL)
                case "stall":
                    time.sleep(60)  # Spark kills it when the other attempt has finished


class StruckWriter(LagoonWriter):
    """Writes like the sink, until the fault happens."""

    fault = ""

    def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
        return super().write(struck(iterator, self.fault))


class StruckSource(LagoonSource):
    """The sink with the fault, under another name."""

    @classmethod
    def name(cls) -> str:
        return "struck"

    def writer(self, schema: StructType, overwrite: bool) -> StruckWriter:
        writer = super().writer(schema, overwrite)
        writer.__class__ = StruckWriter
        assert isinstance(writer, StruckWriter)
        writer.fault = FAULT
        return writer


def main(servers: str, topic: str, transactions: str, master: str) -> None:
    """Write the rows, in small Arrow batches and requests."""
    builder = SparkSession.builder.master(master).config("spark.ui.enabled", "false")
    # For executors with their own environment.
    builder = builder.config("spark.executorEnv.PYTHONPATH", os.environ["PYTHONPATH"])
    builder = builder.config("spark.sql.execution.arrow.maxRecordsPerBatch", "50")
    builder = builder.config("spark.speculation", str(FAULT == "stall").lower()).config(
        "spark.speculation.interval", "200ms"
    )
    builder = builder.config("spark.speculation.multiplier", "1.1").config("spark.speculation.quantile", "0.5")
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    spark.dataSource.register(StruckSource)
    rows = spark.range(0, ROWS, numPartitions=2)
    partition = functions.spark_partition_id()
    if FAULT == "data":  # the task is not struck, but its first row has an invalid partition
        partition = functions.when(functions.col("id") == 0, 99).otherwise(partition)
    columns = rows.select(functions.col("id").cast("string").alias("value"), partition.alias("partition"))
    writer = columns.write.format("struck").mode("append").option("kafka.bootstrap.servers", servers)
    writer = writer.option("topic", topic).option("transactions", transactions)
    writer.option("kafka.batch.size", "1000").option("kafka.transaction.timeout.ms", "60000").save()


if __name__ == "__main__":
    FAULT = sys.argv[4]
    main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[5])
