"""Gives a JVM the classes that an earlier JVM with the same jars has read and checked (class data sharing, JEP 350).

A JVM that starts from such an archive takes a fifth to a third less processor time. It ignores an archive of other jars, or of
another Java, but a truncated archive kills it, so the size is kept beside the archive. Its content is run as code, so an
archive that other users can have written is not used.
"""

import os
from collections.abc import Iterable
from pathlib import Path

from kafka_lagoon.errors import JarsUnavailable
from kafka_lagoon.jars.java import class_path
from kafka_lagoon.jars.locked_jars import cache_folder
from kafka_lagoon.owned_files import ROOT, belongs_to

KERNEL, SPARK = "kernel.jsa", "spark.jsa"
SPARK_CLASS_PATH = "spark-class-path"  # conf/spark-env.sh reads it
# A JVM that ignores an archive prints that on standard output, where py4j expects a port, and jobs write their last line.
_QUIET = ("-Xlog:disable", "-Xlog:all=error:stderr")

# Of PySpark's jars, those that serve cluster managers, Hive, MLlib, GraphX and the Scala shell. A JVM looks through its class
# path for classes that are not in the archive, so these come last.
_RARELY_NEEDED_JARS = """
kubernetes- spark-kubernetes_ volcano- vertx- zjsonpatch- snakeyaml-engine- spark-yarn_ spark-hive hive-beeline hive-cli
hive-common hive-exec hive-jdbc hive-metastore hive-serde hive-service hive-shims derby datanucleus- jdo-api javax.jdo
jta- transaction-api libfb303 libthrift HikariCP javolution jpam ST4 antlr-runtime commons-dbcp commons-pool opencsv
super-csv json-1 stax-api spark-mllib spark-graphx breeze spire algebra_ cats-kernel arpack blas lapack JTransforms
JLargeArrays spark-repl scala-compiler jline curator- zookeeper
"""
_RARELY_NEEDED = tuple(_RARELY_NEEDED_JARS.split())


def archive(name: str) -> Path:
    """The file of an archive in the cache folder, whether or not it is there."""
    return cache_folder() / "classes" / name


def archive_size(name: str) -> Path:
    """The file with the size of an archive."""
    return archive(f"{name}.size")


def archive_options(name: str) -> list[str]:
    """Options of a JVM with the jars of an archive; none unless it is whole and only we or root can have written it.

    Whoever can write to the folder could replace the archive before the JVM opens it.
    """
    try:
        path = archive(name)
        folder, status, size = path.parent.stat(), path.stat(), int(archive_size(name).read_text())
    except (OSError, ValueError, JarsUnavailable):  # the last without a folder for caches
        return []
    is_ours = all(belongs_to(one, {os.getuid(), ROOT}) for one in (folder, status)) and status.st_size == size
    return [f"-XX:SharedArchiveFile={path}", *_QUIET] if is_ours else []


def making_options(path: Path) -> list[str]:
    """Options of a JVM that writes the classes that it has read into a file when it ends."""
    return [f"-XX:ArchiveClassesAtExit={path}", *_QUIET]


def keep(made: Path) -> None:
    """Put an archive into the cache folder, from a folder of the same file system; JarsUnavailable if it was not made."""
    if not made.exists():
        raise JarsUnavailable(f"no archive {made.name}: the JVM that was to write it has not")
    made.replace(archive(made.name))
    write_whole(archive_size(made.name), f"{archive(made.name).stat().st_size}\n", made.parent)


def write_whole(path: Path, text: str, scratch: Path) -> None:
    """Replace a file of the cache folder at once."""
    (scratch / path.name).write_text(text)
    (scratch / path.name).chmod(0o644)  # whatever the umask: what others can write is not used
    (scratch / path.name).replace(path)


def spark_class_paths(jars: Iterable[Path]) -> tuple[str, str]:
    """All of PySpark's jars: the jars that a job on one machine reads, then the rest. An archive depends on their order."""
    by_name = sorted(jars, key=lambda jar: jar.name)
    rest = [jar for jar in by_name if jar.name.startswith(_RARELY_NEEDED)]
    return class_path([jar for jar in by_name if jar not in set(rest)]), class_path(rest)
