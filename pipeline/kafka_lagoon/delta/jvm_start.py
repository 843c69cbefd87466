"""Starts the JVM of Delta Kernel by py4j, without importing PySpark.

A run that will need it starts it first, and imports and connects meanwhile: the JVM takes half a second, on another core.
"""

import os
import select
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen
from typing import IO, Any, cast

from py4j.java_gateway import GatewayParameters, JavaGateway, OutputConsumer, ProcessConsumer
from py4j.protocol import Py4JError

from kafka_lagoon.delta.interrupts import held_back
from kafka_lagoon.delta.s3_jvm import conf_folder, s3_jars
from kafka_lagoon.errors import JarsUnavailable, TableError
from kafka_lagoon.folders import no_current_folder
from kafka_lagoon.jars.class_archives import KERNEL, archive_options
from kafka_lagoon.jars.ivy import spark_jars_folder
from kafka_lagoon.jars.java import class_path, java_path
from kafka_lagoon.jars.locked_jars import DELTA, jar_paths
from kafka_lagoon.warehouse_urls import in_s3

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
_START_TIMEOUT_S = 120  # it takes half a second
_GATEWAY = ("py4j.GatewayServer", "--die-on-broken-pipe", "--enable-auth", "0")


def has_session() -> bool:
    """True if this process has a Spark session, which then opens the tables; PySpark is not imported for that."""
    pyspark = sys.modules.get("pyspark")
    return pyspark is not None and pyspark.SparkContext._active_spark_context is not None  # noqa: SLF001  it has no public name


class StartingJvm:
    """A JVM for a warehouse that starts in a thread; `take` waits for it."""

    def __init__(self, warehouse: str) -> None:
        self._thread = ThreadPoolExecutor(1)
        self._jvm = self._thread.submit(started_for, warehouse)
        self._is_taken = False

    def take(self) -> tuple[Any, Any]:
        """Py4j's gateway and the process, which the caller ends; errors are those of `started_for`."""
        self._is_taken = True
        return self._jvm.result()

    def close(self) -> None:
        """End the JVM if nobody has taken it."""
        self._thread.shutdown()
        if not self._is_taken:
            with suppress(TableError), ended(*self._jvm.result()):
                pass


@contextmanager
def starting_jvm(warehouse: str | None) -> Iterator[StartingJvm | None]:
    """A JVM for a warehouse, which ends with the block if nobody has taken it.

    None where there is no warehouse that needs it, or a session of this process opens the tables.
    """
    if warehouse is None or has_session():
        yield None
        return
    with closing(StartingJvm(warehouse)) as starting:
        yield starting


@contextmanager
def ended(gateway: Any, process: Any) -> Iterator[None]:
    """End a JVM after the block."""
    try:
        yield
    finally:
        gateway.shutdown()
        process.stdin.close()  # it waits for that


def started_for(warehouse: str) -> tuple[Any, Any]:
    """Start a JVM that reaches a warehouse, in a folder or in S3; errors are those of `started` and of `s3_jars`."""
    # Hadoop finds core-site.xml as it does in Spark's JVM, which has this folder on its class path.
    more = (*s3_jars(), conf_folder(os.environ)) if in_s3(warehouse) else ()
    return started(archive_options(KERNEL), more)


def started(options: Sequence[str], more: Sequence[Path] = ()) -> tuple[Any, Any]:
    """Start a JVM with `more` on its class path; returns py4j's gateway and the process.

    TableError if there is no Java, or no jars.

    This is py4j's launch_gateway without its fork in Python, by which a session of the same process loses connections: the
    child forgets the connections of all other threads, and py4j then shuts down their sockets.
    """
    try:
        flags = [*_FLAGS, *_temporary_files(os.environ), *options]
        command = [java_path(), *flags, "-classpath", kernel_class_path(more), *_GATEWAY]
        with held_back():
            # A process group of its own: Ctrl-C is for us, who may still have something to write. It ends with our pipe.
            process = Popen(command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, process_group=0)  # noqa: S603  Java's, and ours
            answers = cast("IO[bytes]", process.stdout)
            port, token = _port(_first_line(process, answers), command[0]), answers.readline().decode().strip()
        nowhere = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115  the second consumer closes it
        OutputConsumer(nowhere, answers, daemon=True).start()
        ProcessConsumer(process, [nowhere], daemon=True).start()
        parameters = GatewayParameters(port=port, auth_token=token, auto_convert=True)
        return JavaGateway(gateway_parameters=parameters), process
    except (JarsUnavailable, Py4JError, OSError, ValueError) as error:
        raise TableError(f"no JVM for Delta Kernel: {error}") from error


def _temporary_files(environ: Mapping[str, str]) -> list[str]:
    """The option that lets Java use the folder that TMPDIR names; none where another variable names one to Java itself.

    Java knows only /tmp, and codecs of checkpoints are unpacked there: a table could be read only where /tmp has space.
    """
    of_java = f"{environ.get('JAVA_TOOL_OPTIONS', '')} {environ.get('JDK_JAVA_OPTIONS', '')}"
    if not environ.get("TMPDIR") or "java.io.tmpdir" in of_java:
        return []
    with suppress(FileNotFoundError):  # no folder can be written, and only tables with checkpoints need one
        return [f"-Djava.io.tmpdir={tempfile.gettempdir()}"]
    return []


def _first_line(process: "Popen[bytes]", answers: IO[bytes]) -> bytes:
    """The first line of a JVM, empty if it has ended; ValueError for one that hangs, which is ended."""
    # Unlike select, poll takes descriptors from 1024 on.
    poll = select.poll()
    poll.register(answers, select.POLLIN)
    if not poll.poll(_START_TIMEOUT_S * 1000):
        process.kill()
        process.wait()
        raise ValueError(f"it said nothing within {_START_TIMEOUT_S} s")
    return answers.readline()


def _port(line: bytes, java: str) -> int:
    """The port that py4j prints first; ValueError if Java has ended without it."""
    if not line.strip().isdigit():
        options = f"{java} did not start with this memory and these options: `{java} -version` may say why"
        raise ValueError(no_current_folder() or options)
    return int(line)


def kernel_class_path(more: Sequence[Path] = ()) -> str:
    """The class path of that JVM, in py4j's form: its own jar first, and `more` last, so that an archive of classes fits."""
    jars = kernel_jars()
    return class_path([*(jar for jar in jars if jar.name.startswith("py4j-")), *jars, *more])


def kernel_jars() -> list[Path]:
    """PySpark's jars that the Kernel needs, and Delta's jars: beside them, or from the cache folder."""
    of_spark = sorted(spark_jars_folder().glob("*.jar"))
    delta = [jar for jar in of_spark if jar.name.startswith("delta-")]
    return [*(jar for jar in of_spark if jar.name.startswith(_OF_SPARK)), *(delta or jar_paths(DELTA))]
