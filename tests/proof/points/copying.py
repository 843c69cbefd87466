"""A job of Spark that copies a topic to another as a stream, up to the current end, in micro-batches of 400 offsets.

python -m tests.proof.points.copying SERVERS SOURCE TARGET TRANSACTIONS CHECKPOINT MASTER
"""

import sys

from pyspark.sql import SparkSession, functions

from kafka_lagoon.source.data_source import LagoonSource


def main(servers: str, source: str, target: str, transactions: str, checkpoint: str, master: str) -> None:
    """Write each micro-batch by one task, or by two with transactions of tasks."""
    spark = SparkSession.builder.master(master).config("spark.ui.enabled", "false").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    spark.dataSource.register(LagoonSource)
    reader = spark.readStream.format("lagoon").option("kafka.bootstrap.servers", servers).option("subscribe", source)
    rows = reader.option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", "400").load()
    rows = rows.select("value", functions.lit(0).alias("partition"))
    rows = rows.coalesce(1) if transactions == "run" else rows.repartition(2)
    writer = rows.writeStream.format("lagoon").option("kafka.bootstrap.servers", servers).option("topic", target)
    writer = writer.option("transactions", transactions).option("checkpointLocation", checkpoint).queryName(target)
    writer.trigger(availableNow=True).start().awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:])
