"""Makes Spark read the data source by columns: adds our Java class, java/ColumnarSource.java, to a session.

Spark reads the Python source through it (decisions 206 and 225). If the class cannot be added, Spark reads the Python source by
rows, and evaluates all filters itself.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from kafka_lagoon import log
from kafka_lagoon.delta.storage import JAVA_ERRORS, reason
from kafka_lagoon.source.data_source import LagoonSource

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

    from kafka_lagoon.source.batch import FilteredReader

_RELEASE = "4.2."  # the class extends classes that are internal to Spark
_JAR = Path(__file__).parent / "java" / "columnar-source.jar"


class SourceOfRows(LagoonSource):
    """The source that the Java class asks, under the name that it knows."""

    @classmethod
    def name(cls) -> str:
        """A name of its own: Spark refuses a Python source with the name of a Java one."""
        return "lagoon_python"

    def reader(self, schema: "StructType") -> "FilteredReader":
        """A reader of batches that takes filters; ConfigError lists every fault of the options."""
        from kafka_lagoon.source.batch import FilteredReader  # noqa: PLC0415  not to register the source

        return FilteredReader(self.query_of_batch(schema))


def source_for(spark: "SparkSession") -> type[LagoonSource]:
    """The class to register with a session, whose executors get the Java class if they can have it."""
    return SourceOfRows if _add_jar(spark) else LagoonSource


def _add_jar(spark: "SparkSession") -> bool:
    session = getattr(spark, "_jsparkSession", None)  # Spark Connect has none
    if session is None or not spark.version.startswith(_RELEASE) or not _JAR.is_file():  # addJar only logs that
        return False
    try:
        session.sessionState().resourceLoader().addJar(str(_JAR))
        _add_for_other_threads(spark)
    except JAVA_ERRORS as error:
        log.info("rows_instead_of_columns", reason=reason(error))
        return False
    return True


def _add_for_other_threads(spark: "SparkSession") -> None:
    """Add the jar to the class loader that spark-submit gives to all threads.

    addJar gives it to the calling thread alone: in another one, as of a ThreadPoolExecutor, Spark would not know the source.
    """
    session, jvm = cast("Any", spark)._jsparkSession, cast("Any", spark.sparkContext._jvm)  # noqa: SLF001
    loader = session.sharedState().jarClassLoader().getParent()
    if loader.getClass().getSimpleName() == "MutableURLClassLoader":
        loader.addURL(jvm.java.io.File(str(_JAR)).toURI().toURL())
