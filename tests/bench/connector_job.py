"""Archives and restores a topic by Spark's own Kafka connector, as a job that people would schedule.

    spark-submit tests/bench/connector_job.py ingest BOOTSTRAP TOPIC FOLDER
    spark-submit tests/bench/connector_job.py restore BOOTSTRAP TOPIC TABLE TARGET CODEC

An ingest is a stream that ends when it has read what is there (availableNow), with its offsets in a checkpoint beside the table.
"""

import sys

from pyspark.sql import SparkSession

_FETCH_BYTES = str(8 << 20)


def ingest(spark: SparkSession, servers: str, topic: str, folder: str) -> None:
    """Append what is new to FOLDER/table."""
    reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", servers).option("subscribe", topic)
    reader = reader.option("startingOffsets", "earliest").option("includeHeaders", "true")
    rows = reader.option("kafka.max.partition.fetch.bytes", _FETCH_BYTES).load()
    writer = rows.writeStream.format("delta").option("checkpointLocation", f"{folder}/checkpoints/{topic}")
    writer.trigger(availableNow=True).start(f"{folder}/table").awaitTermination()


def restore(spark: SparkSession, servers: str, topic: str, table: str, target: str, codec: str) -> None:
    """Write the records of an archive to another topic."""
    rows = spark.read.format("delta").load(table).where(f"topic = '{topic}'")
    writer = rows.select("partition", "key", "value", "headers").write.format("kafka").option("topic", target)
    for key, value in {
        "bootstrap.servers": servers,
        "enable.idempotence": "true",
        "acks": "all",
        "batch.size": "131072",
        "linger.ms": "100",
        "compression.type": codec,
    }.items():
        writer = writer.option(f"kafka.{key}", value)
    writer.option("includeHeaders", "true").save()


if __name__ == "__main__":
    {"ingest": ingest, "restore": restore}[sys.argv[1]](SparkSession.builder.getOrCreate(), *sys.argv[2:])
