"""Starts the JVM of Delta Kernel by py4j, without importing PySpark.

A run that will need it starts it first, and imports and connects meanwhile: the JVM takes half a second, on another core.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway
from py4j.protocol import Py4JError

from kafka_lagoon.delta.interrupts import held_back
from kafka_lagoon.errors import JarsUnavailable, TableError
from kafka_lagoon.jars.class_archives import KERNEL, archive_options
from kafka_lagoon.jars.ivy import spark_jars_folder
from kafka_lagoon.jars.java import class_path, java_path
from kafka_lagoon.jars.locked_jars import DELTA, jar_paths

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


class StartingJvm:
    """A JVM that starts in a thread; `take` waits for it."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1)
        self._jvm = self._thread.submit(started, archive_options(KERNEL))
        self._is_taken = False

    def take(self) -> tuple[Any, Any]:
        """Py4j's gateway and the process, which the caller ends; TableError as of `started`."""
        self._is_taken = True
        return self._jvm.result()

    def close(self) -> None:
        """End the JVM if nobody has taken it."""
        self._thread.shutdown()
        if not self._is_taken:
            with suppress(TableError), ended(*self._jvm.result()):
                pass


@contextmanager
def ended(gateway: Any, process: Any) -> Iterator[None]:
    """End a JVM after the block."""
    try:
        yield
    finally:
        gateway.shutdown()
        process.stdin.close()  # it waits for that


def started(options: Sequence[str]) -> tuple[Any, Any]:
    """Start a JVM; returns py4j's gateway and the process. TableError if there is no Java, or no jars."""
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
