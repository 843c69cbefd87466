"""The least that a Spark job can do for a Delta table: append one row, by Spark's own writer."""

import sys

from pyspark.sql import SparkSession

if __name__ == "__main__":
    SparkSession.builder.getOrCreate().range(1).write.format("delta").mode("append").save(sys.argv[1])
