"""Starts Delta Kernel in a JVM without a session of Spark, for commands that write a few rows and must be quick.

A session takes 4 s to start, this JVM half a second, and less from an archive of its classes. It has the jars of PySpark and of
Delta that the Kernel needs, and serves folders of this machine only: for other file systems a session knows the settings.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway
from py4j.protocol import Py4JError
from pyspark import SparkContext

from kafka_lagoon.delta.interrupts import held_back
from kafka_lagoon.delta.kernel import Kernel, in_jvm
from kafka_lagoon.errors import JarsUnavailable, TableError
from kafka_lagoon.jars.class_archives import KERNEL, archive_options, making_options
from kafka_lagoon.jars.ivy import spark_jars_folder
from kafka_lagoon.jars.java import class_path, java_path
from kafka_lagoon.jars.locked_jars import DELTA, jar_paths
from kafka_lagoon.owned_files import HADOOP_UMASK, umask_text

# PySpark's jars that the Kernel needs: opening all of them takes 0.3 s longer.
_OF_SPARK = (
    *(
        "py4j-",
        "hadoop-client-",
        "jackson-",
        "parquet-",
        "slf4j-",
        "log4j-",
        "jcl-over-slf4j-",
        "commons-",
        "scala-library-",
    ),
    *("zstd-jni-", "snappy-java-", "RoaringBitmap-", "jts-core-"),
)
_FLAGS = ("-Xmx1g", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-UsePerfData")


@contextmanager
def plain_kernel() -> Iterator[Kernel]:
    """Yield the Kernel in a JVM that ends with this block, or with this process in whatever way it ends.

    Where PySpark has a JVM in this process, that JVM is used: PySpark attributes every exception of Java to its own.
    TableError if there is no Java, or if Delta's jars cannot be had.
    """
    if SparkContext._gateway is not None:  # noqa: SLF001  it has no public name
        jvm: Any = SparkContext._jvm  # noqa: SLF001
        yield in_jvm(jvm, jvm.org.apache.hadoop.conf.Configuration())
        return
    gateway, process = _started(archive_options(KERNEL))
    with _ended(gateway, process):
        conf = gateway.jvm.org.apache.hadoop.conf.Configuration()
        conf.set(HADOOP_UMASK, umask_text())
        yield in_jvm(gateway.jvm, conf)


@contextmanager
def archiving_kernel(path: Path) -> Iterator[Kernel]:
    """Yield the Kernel in a JVM that writes its classes into a file when it ends."""
    gateway, process = _started(making_options(path))
    with _ended(gateway, process):
        yield in_jvm(gateway.jvm, gateway.jvm.org.apache.hadoop.conf.Configuration())
    process.wait()


@contextmanager
def _ended(gateway: Any, process: Any) -> Iterator[None]:
    try:
        yield
    finally:
        gateway.shutdown()
        process.stdin.close()  # it waits for that


def _started(options: Sequence[str]) -> tuple[Any, Any]:
    try:
        java, jars = java_path(), kernel_jars()
        py4j = next(str(jar) for jar in jars if jar.name.startswith("py4j-"))
        with held_back():
            port, token, process = launch_gateway(
                jarpath=py4j,
                classpath=class_path(jars),
                javaopts=[*_FLAGS, *options],
                java_path=java,
                create_new_process_group=True,  # Ctrl-C is for us, who may still have something to write
                die_on_exit=True,  # its standard input is our pipe
                enable_auth=True,
                return_proc=True,
            )
        parameters = GatewayParameters(port=port, auth_token=token, auto_convert=True)
        return JavaGateway(gateway_parameters=parameters), process
    except (JarsUnavailable, Py4JError, OSError, ValueError, StopIteration) as error:
        raise TableError(f"no JVM for Delta Kernel: {error}") from error


def kernel_class_path() -> str:
    """The class path of that JVM, in py4j's form: its own jar first."""
    jars = kernel_jars()
    return class_path([*(jar for jar in jars if jar.name.startswith("py4j-")), *jars])


def kernel_jars() -> list[Path]:
    """PySpark's jars that the Kernel needs, and Delta's jars: beside them, or from the cache folder."""
    of_spark = sorted(spark_jars_folder().glob("*.jar"))
    delta = [jar for jar in of_spark if jar.name.startswith("delta-")]
    return [*(jar for jar in of_spark if jar.name.startswith(_OF_SPARK)), *(delta or jar_paths(DELTA))]
