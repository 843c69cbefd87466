"""Starts Java, the same that runs Spark: JAVA_HOME comes first and PATH second."""

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from kafka_lagoon.errors import JarsUnavailable

# Short-lived or idle JVMs on a small machine: the quick compiler, one collector thread, no files under /tmp.
_VERSION = re.compile(r'version "(\d+)(?:\.(\d+))?')
_VERSION_TIMEOUT_S = 30
_FLAGS = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-UsePerfData")


def java_path() -> str:
    """Path of the java command; JarsUnavailable when there is none."""
    home = os.environ.get("JAVA_HOME")
    path = shutil.which("java", path=f"{home}/bin" if home else None)
    if path is None:
        where = f"in JAVA_HOME ({home})" if home else "on PATH"
        raise JarsUnavailable(f"no java {where}: install Java 17 or newer")
    return path


def java_release(path: str) -> int | None:
    """The Java version of a command, such as 17; None if it does not print one in time. OSError if it cannot be started."""
    try:
        run = subprocess.run(  # noqa: S603  the Java that would run Spark
            [path, "-version"], capture_output=True, text=True, timeout=_VERSION_TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        return None
    match = _VERSION.search(run.stderr + run.stdout)
    if match is None:
        return None
    return int(match[2] or 0) if match[1] == "1" else int(match[1])  # 1.8 is Java 8


def java_command(*arguments: str, heap_mb: int = 128) -> list[str]:
    """Command line of a JVM with a heap of at most `heap_mb` MiB."""
    return [java_path(), f"-Xmx{heap_mb}m", *_FLAGS, *arguments]


def start_java(*arguments: str, log: Path, heap_mb: int = 128) -> subprocess.Popen[bytes]:
    """Start a JVM in the background; its output is appended to `log`."""
    with log.open("ab") as output:
        return subprocess.Popen(  # noqa: S603  our own command line
            java_command(*arguments, heap_mb=heap_mb),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,  # Ctrl-C in a terminal is for us, who then stop the servers in order
        )


def class_path(jars: Sequence[Path]) -> str:
    """One class path of many jars, as java -cp takes it."""
    return os.pathsep.join(map(str, jars))
