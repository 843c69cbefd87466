"""Starts Delta Kernel in a JVM without a session of Spark, for commands that write a few rows and must be quick.

A session takes 4 s to start, this JVM half a second, and less from an archive of its classes. It has the jars of PySpark and of
Delta that the Kernel needs, and serves folders of this machine only: for other file systems a session knows the settings.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark import SparkContext

from kafka_lagoon.delta.jvm_start import StartingJvm, ended, started
from kafka_lagoon.delta.kernel import Kernel, in_jvm
from kafka_lagoon.jars.class_archives import KERNEL, archive_options, making_options
from kafka_lagoon.owned_files import HADOOP_UMASK, umask_text


@contextmanager
def plain_kernel(starting: StartingJvm | None = None) -> Iterator[Kernel]:
    """Yield the Kernel in a JVM that ends with this block, or with this process in whatever way it ends.

    It is the one that is `starting`, if there is one.

    Where PySpark has a JVM in this process, that JVM is used: PySpark attributes every exception of Java to its own.
    TableError if there is no Java, or if Delta's jars cannot be had.
    """
    if SparkContext._gateway is not None:  # noqa: SLF001  it has no public name
        jvm: Any = SparkContext._jvm  # noqa: SLF001
        yield in_jvm(jvm, jvm.org.apache.hadoop.conf.Configuration())
        return
    gateway, process = starting.take() if starting else started(archive_options(KERNEL))
    with ended(gateway, process):
        conf = gateway.jvm.org.apache.hadoop.conf.Configuration()
        conf.set(HADOOP_UMASK, umask_text())
        yield in_jvm(gateway.jvm, conf)


@contextmanager
def archiving_kernel(path: Path) -> Iterator[Kernel]:
    """Yield the Kernel in a JVM that writes its classes into a file when it ends."""
    gateway, process = started(making_options(path))
    with ended(gateway, process):
        yield in_jvm(gateway.jvm, gateway.jvm.org.apache.hadoop.conf.Configuration())
    process.wait()
