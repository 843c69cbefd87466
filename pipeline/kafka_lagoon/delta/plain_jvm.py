"""Starts Delta Kernel in a JVM without a session of Spark, for commands that write a few rows and must be quick.

A session takes 4 s to start, this JVM half a second, and less from an archive of its classes. It has the jars of PySpark and of
Delta that the Kernel needs, and serves folders of this machine and buckets of S3: for other file systems a session knows the
settings.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark import SparkContext

from kafka_lagoon.delta.jvm_start import StartingJvm, ended, started, started_for
from kafka_lagoon.delta.kernel import Kernel, in_jvm
from kafka_lagoon.delta.s3_jvm import s3_settings
from kafka_lagoon.errors import NeedsSession
from kafka_lagoon.jars.class_archives import making_options
from kafka_lagoon.owned_files import HADOOP_UMASK, umask_text
from kafka_lagoon.warehouse_urls import in_s3


@contextmanager
def plain_kernel(warehouse: str, starting: StartingJvm | None = None) -> Iterator[Kernel]:
    """Yield the Kernel for a warehouse in a JVM that ends with this block, or with this process in whatever way it ends.

    It is the one that is `starting`, if there is one.

    Where PySpark has a JVM in this process, that JVM is used: PySpark attributes every exception of Java to its own.
    TableError if there is no Java, or if Delta's jars cannot be had; NeedsSession if only a session can reach the warehouse.
    """
    if SparkContext._gateway is not None:  # noqa: SLF001  it has no public name
        if in_s3(warehouse):
            raise NeedsSession(f"PySpark's JVM has no jars for {warehouse}")
        jvm: Any = SparkContext._jvm  # noqa: SLF001
        yield in_jvm(jvm, jvm.org.apache.hadoop.conf.Configuration())
        return
    settings = {HADOOP_UMASK: umask_text(), **(s3_settings() if in_s3(warehouse) else {})}
    gateway, process = starting.take() if starting else started_for(warehouse)
    with ended(gateway, process):
        conf = gateway.jvm.org.apache.hadoop.conf.Configuration()
        for name, value in settings.items():
            conf.set(name, value)
        yield in_jvm(gateway.jvm, conf)


@contextmanager
def archiving_kernel(path: Path) -> Iterator[Kernel]:
    """Yield the Kernel in a JVM that writes its classes into a file when it ends."""
    gateway, process = started(making_options(path))
    with ended(gateway, process):
        yield in_jvm(gateway.jvm, gateway.jvm.org.apache.hadoop.conf.Configuration())
    process.wait()
