"""Rows in, Delta tables out; and for analysts, tables and views by name."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PUSHDOWN = "spark.sql.python.filterPushdown.enabled"


def register(spark: "SparkSession", warehouse: str) -> None:
    """Make the tables and views of the warehouse in folder `warehouse` (path or URL) available by name.

    In a catalog they already are.
    """
    from pipeline.tables.views import make_available  # noqa: PLC0415  the schemas alone must not cost a Spark import
    from pipeline.tables.warehouse import at_path  # noqa: PLC0415

    make_available(at_path(spark, warehouse))


def register_source(spark: "SparkSession") -> None:
    """Make `spark.read.format("lagoon")` and `spark.readStream.format("lagoon")` known to a session.

    Filters reach the source only with `spark.sql.python.filterPushdown.enabled`, which is set unless the session says.
    """
    from pipeline.tables.source import LagoonSource  # noqa: PLC0415  as above

    if spark.conf.get(_PUSHDOWN, None) is None:
        spark.conf.set(_PUSHDOWN, "true")
    spark.dataSource.register(LagoonSource)
