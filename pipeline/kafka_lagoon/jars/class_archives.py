"""Says where a JVM finds the classes that an earlier one with the same jars has read and checked (class data sharing, JEP 350).

A JVM that starts from such an archive takes a fifth to a third less processor time. It ignores an archive of other jars, or of
another Java. What is in an archive is run as code, so one that others can have written is left alone.
"""

import os
from pathlib import Path

from kafka_lagoon.jars.locked_jars import cache_folder
from kafka_lagoon.owned_files import ROOT, belongs_to

KERNEL = "kernel.jsa"
# A JVM that ignores an archive says so on standard output, where py4j expects a port.
_QUIET = ("-Xlog:disable", "-Xlog:all=error:stderr")


def archive(name: str) -> Path:
    """The file of an archive in the cache folder, whether or not it is there."""
    return cache_folder() / "classes" / name


def archive_options(name: str) -> list[str]:
    """Options of a JVM with the jars of an archive; none if there is none that only this user or root can have written."""
    path = archive(name)
    try:
        status = path.stat()
    except OSError:
        return []
    is_ours = belongs_to(status, {os.getuid(), ROOT})
    return [f"-XX:SharedArchiveFile={path}", *_QUIET] if is_ours else []


def making_options(path: Path) -> list[str]:
    """Options of a JVM that writes the classes that it has read into a file when it ends."""
    return [f"-XX:ArchiveClassesAtExit={path}", *_QUIET]
