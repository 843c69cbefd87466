"""Changes a table as a user's Spark does, in a process of its own, and prints the version that was committed.

python -m tests.proof.spark_changes TABLE delete PERCENT     # of the rows, chosen by their offsets
python -m tests.proof.spark_changes TABLE restore VERSION
"""

import sys

from pyspark.sql import SparkSession

_CHOSEN = "pmod(xxhash64(topic_id, partition, `offset`), 100) < {percent}"


def statement(table: str, action: str, number: int) -> str:
    """Return the statement of a change."""
    if action == "delete":
        return f"DELETE FROM delta.`{table}` WHERE {_CHOSEN.format(percent=number)}"
    return f"RESTORE TABLE delta.`{table}` TO VERSION AS OF {number}"


def main(table: str, action: str, number: str) -> None:
    """Change the table."""
    spark = SparkSession.builder.master("local[1]").getOrCreate()
    spark.sql(statement(table, action, int(number))).collect()
    history = spark.sql(f"DESCRIBE HISTORY delta.`{table}`").where(f"operation = '{action.upper()}'")
    print("version", history.agg({"version": "max"}).collect()[0][0])
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
