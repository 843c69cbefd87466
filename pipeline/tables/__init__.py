"""Rows in, Delta tables out; and for analysts, tables and views by name."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(spark: "SparkSession", warehouse: str) -> None:
    """Make the tables and views of the warehouse in folder `warehouse` (path or URL) available by name.

    In a catalog they already are.
    """
    from pipeline.tables.views import make_available  # noqa: PLC0415  the schemas alone must not cost a Spark import
    from pipeline.tables.warehouse import at_path  # noqa: PLC0415

    make_available(at_path(spark, warehouse))
