"""A job of Spark that writes rows to a topic by the data source, at once, or as a stream that copies a topic.

python -m tests.proof.sink SERVERS batch TARGET TRANSACTIONS ROWS MASTER
python -m tests.proof.sink SERVERS stream TARGET TRANSACTIONS SOURCE CHECKPOINT MASTER
"""

import os
import sys
from collections.abc import Iterator

from pyspark.sql import DataFrame, SparkSession, functions

from kafka_lagoon.notebooks import register_source

PASSWORD_NAME, USER = "PROOF_PASSWORD", "lagoon"
TASKS, PADDING = 3, 100
TIMEOUT_MS = 12_000  # of transactions that nobody ends


def rows_of(count: int) -> Iterator[str]:
    """Return the values that a batch writes."""
    for number in range(count):
        yield f"{number}-{'x' * PADDING}"


def options(servers: str) -> dict[str, str]:
    """Log in as the user of the jobs, with waits that are short enough for faults of seconds."""
    module = "org.apache.kafka.common.security.scram.ScramLoginModule required"
    return {
        "kafka.bootstrap.servers": servers,
        "kafka.security.protocol": "SASL_PLAINTEXT",
        "kafka.sasl.mechanism": "SCRAM-SHA-512",
        "kafka.sasl.jaas.config": f'{module} username="{USER}" password="{os.environ[PASSWORD_NAME]}";',
        "kafka.allow.plaintext.credentials": "true",
        "kafka.request.timeout.ms": "5000",
    }


def _spark(master: str) -> SparkSession:
    builder = SparkSession.builder.master(master).config("spark.stage.maxConsecutiveAttempts", "1")
    spark = builder.config("spark.sql.execution.arrow.maxRecordsPerBatch", "200").getOrCreate()
    register_source(spark)
    return spark


def batch(servers: str, target: str, transactions: str, count: str, master: str) -> None:
    """Write rows by several tasks, or by one where a partition may have one writer."""
    spark = _spark(master)
    rows = spark.range(0, int(count), numPartitions=1 if transactions == "run" else TASKS)
    rows = rows.select(functions.concat("id", functions.lit(f"-{'x' * PADDING}")).alias("value"))
    writer = rows.write.format("lagoon").mode("append").options(**options(servers), topic=target)
    if transactions != "none":
        writer = writer.option("kafka.transactional.id", target).option("kafka.transaction.timeout.ms", TIMEOUT_MS)
    _say("write")
    writer.option("transactions", transactions).option("kafka.batch.size", "2000").save()


def stream(servers: str, target: str, transactions: str, source: str, checkpoint: str, master: str) -> None:
    """Copy a topic in micro-batches, up to its end."""
    spark = _spark(master)
    reader = spark.readStream.format("lagoon").options(**options(servers), subscribe=source)
    rows = reader.option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", "20").load()
    copied: DataFrame = rows.select(functions.concat_ws("-", "partition", "offset").alias("value"))
    copied = copied.coalesce(1) if transactions == "run" else copied.repartition(2)
    writer = copied.writeStream.format("lagoon").options(**options(servers), topic=target, transactions=transactions)
    writer = writer.option("checkpointLocation", checkpoint).queryName(target)
    _say("write")
    writer.trigger(availableNow=True).start().awaitTermination()


def _say(step: str) -> None:
    """Print the line by which a history knows the step."""
    print(f'{{"name": "{step}"}}', flush=True)


def main(servers: str, how: str, *words: str) -> None:
    """Write."""
    {"batch": batch, "stream": stream}[how](servers, *words)


if __name__ == "__main__":
    main(*sys.argv[1:])
