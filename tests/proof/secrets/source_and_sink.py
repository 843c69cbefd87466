"""A script for spark-submit: reads a topic by the data source, shows all plans, and writes it by the sink, at once and as a stream.

    spark-submit source_and_sink.py CONF TOPIC TARGET FOLDER [--fails]

CONF is a JSON file with options `kafka.*`, secrets as text among them. With --fails a task raises an exception.
"""

import json
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession, functions

from kafka_lagoon.notebooks import register_source

MODES = ("simple", "extended", "codegen", "cost", "formatted")


def main(conf: str, topic: str, target: str, folder: str, *fails: str) -> None:
    """Read and write."""
    options = json.loads(Path(conf).read_text())
    spark = SparkSession.builder.appName("source-and-sink").getOrCreate()
    register_source(spark)
    rows = spark.read.format("lagoon").options(**options, subscribe=topic).load()
    if fails:
        rows.select("value").rdd.map(_fail).collect()
    counted = rows.groupBy("partition").count()
    show_plans(rows, Path(folder) / "plans" / "rows")
    show_plans(counted, Path(folder) / "plans" / "counts")
    print(counted.collect())
    rows.createOrReplaceTempView("rows")
    print(spark.sql("DESCRIBE EXTENDED rows").collect(), spark.sql("EXPLAIN EXTENDED SELECT * FROM rows").collect())
    written = rows.select("key", "value", functions.lit(target).alias("topic"))
    written.write.format("lagoon").mode("append").options(**options).save()
    stream = spark.readStream.format("lagoon").options(**options, subscribe=topic, startingOffsets="earliest").load()
    writer = stream.select("key", "value").writeStream.format("lagoon").options(**options, topic=target)
    query = writer.option("checkpointLocation", f"{folder}/checkpoint").queryName("copy").trigger(availableNow=True)
    started = query.start()
    started.awaitTermination()
    (Path(folder) / "plans" / "stream").write_text(str(started.lastProgress))
    spark.stop()


def show_plans(rows: DataFrame, path: Path) -> None:
    """Write the plans of a query in every mode, and what its object prints."""
    path.parent.mkdir(exist_ok=True)
    execution = rows._jdf.queryExecution()
    jvm: Any = rows.sparkSession._jvm
    texts = [execution.explainString(jvm.org.apache.spark.sql.execution.ExplainMode.fromString(mode)) for mode in MODES]
    path.write_text("\n".join([*texts, execution.toString(), execution.logical().toJSON(), repr(rows)]))


def _fail(row: Any) -> None:
    raise RuntimeError(f"a fault of the test at {row}")


if __name__ == "__main__":
    main(*sys.argv[1:])
