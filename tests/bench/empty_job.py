"""Appends one row to a Delta table with Spark's own writer: the smallest useful Spark job."""

import sys

from pyspark.sql import SparkSession

if __name__ == "__main__":
    SparkSession.builder.getOrCreate().range(1).write.format("delta").mode("append").save(sys.argv[1])
