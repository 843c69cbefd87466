"""Reads the processor seconds of processes from Linux: of one, or of one with all that it has started."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TICKS = os.sysconf("SC_CLK_TCK")
_PARENT, _USED, _USED_BY_ENDED_CHILDREN = 1, slice(11, 13), slice(13, 15)  # fields of /proc/PID/stat after the name


def seconds_of(pid: int) -> float:
    """Return the seconds of all threads of a process, also of those that have ended; OSError if the process has ended."""
    return _seconds(_fields(pid)[_USED])


def seconds_of_tree(root: int) -> float:
    """Return the seconds of a process and all of its descendants, including ended ones that were waited for."""
    parents, used = dict[int, int](), dict[int, float]()
    for folder in Path("/proc").glob("[0-9]*"):
        pid = int(folder.name)
        try:
            fields = _fields(pid)
        except OSError:
            continue  # the process has ended
        parents[pid], used[pid] = int(fields[_PARENT]), _seconds(fields[_USED] + fields[_USED_BY_ENDED_CHILDREN])
    return sum(seconds for pid, seconds in used.items() if _is_below(pid, root, parents))


def jvm_of(spark: "SparkSession") -> int:
    """Return the id of a session's JVM."""
    jvm: Any = spark.sparkContext._jvm
    pid: int = jvm.java.lang.ProcessHandle.current().pid()
    return pid


def _fields(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def _seconds(ticks: list[str]) -> float:
    return sum(map(int, ticks)) / _TICKS


def _is_below(pid: int, root: int, parents: Mapping[int, int]) -> bool:
    while pid in parents and pid != root:
        pid = parents[pid]
    return pid == root
