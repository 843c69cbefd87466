"""A Spark job that copies a topic to another as a stream, until it is killed or reaches the current end.

python -m tests.source.copying_stream SERVERS SOURCE TARGET TRANSACTIONS CHECKPOINT follow|finish
"""

import sys

from pyspark.sql import SparkSession, functions

from kafka_lagoon.source.data_source import LagoonSource


def main(servers: str, source: str, target: str, transactions: str, checkpoint: str, until: str) -> None:
    """Run micro-batches of 200 records in two tasks, each for one partition."""
    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    spark.dataSource.register(LagoonSource)
    reader = spark.readStream.format("lagoon").option("kafka.bootstrap.servers", servers).option("subscribe", source)
    rows = reader.option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", "200").load()
    rows = rows.select("value", functions.lit(0).alias("partition"))
    rows = rows.coalesce(1) if transactions == "run" else rows.repartition(2)
    writer = rows.writeStream.format("lagoon").option("kafka.bootstrap.servers", servers).option("topic", target)
    writer = writer.option("transactions", transactions).option("checkpointLocation", checkpoint).queryName(target)
    trigger = {"availableNow": True} if until == "finish" else {"processingTime": "0 seconds"}
    writer.trigger(**trigger).start().awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:])
