"""A Spark job that copies a topic as a stream whose rows are shuffled before they are written, slowly and in one transaction.

spark-submit shuffled_stream.py SERVERS SOURCE TARGET CHECKPOINT

A query that fails is started once more, and is quick then.
"""

import sys

from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession, functions

from kafka_lagoon.notebooks import register_source

TASKS = 8  # that read, so that each executor has some of the shuffled rows
_PAUSE_MS = 25  # before a row is written


def copy(spark: SparkSession, servers: str, source: str, target: str, checkpoint: str, pause_ms: int) -> None:
    """Copy the topic up to its end, as one micro-batch with one task that writes."""
    reader = spark.readStream.format("lagoon").option("kafka.bootstrap.servers", servers).option("subscribe", source)
    rows = reader.option("startingOffsets", "earliest").option("minPartitions", str(TASKS)).load()
    pause = functions.expr(f"coalesce(java_method('java.lang.Thread', 'sleep', {pause_ms}L), '')")
    rows = rows.select("value").repartition(1).select("value", functions.encode(pause, "UTF-8").alias("key"))
    writer = rows.writeStream.format("lagoon").option("kafka.bootstrap.servers", servers).option("topic", target)
    writer = writer.option("transactions", "run").option("kafka.batch.size", "10000").queryName(target)
    writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start().awaitTermination()


def main(servers: str, source: str, target: str, checkpoint: str) -> None:
    """Copy the topic, and once more if that fails."""
    spark = SparkSession.builder.getOrCreate()
    register_source(spark)
    try:
        copy(spark, servers, source, target, checkpoint, _PAUSE_MS)
    except StreamingQueryException as error:
        print(f"failed: {error}", flush=True)
        copy(spark, servers, source, target, checkpoint, 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
