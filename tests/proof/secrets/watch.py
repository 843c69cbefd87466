"""Sees what a run shows only while it runs: files that it removes, command lines, environments, Spark's web pages, memory."""

import os
import re
import resource
import stat
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self
from urllib.error import URLError
from urllib.request import urlopen

from tests.integration.restore_process import Process, members
from tests.proof.points import watch
from tests.proof.secrets.canaries import Hit, Search

_PROCESSES_EVERY_S = 0.15
_UI_EVERY_S = 1
_READS_AFTER_S = 1
_CHUNK, _OVERLAP = 64 << 20, 4096
_MAPPING = re.compile(r"([0-9a-f]+)-([0-9a-f]+) rw")
_PAGES = (
    "environment/",
    "jobs/",
    "stages/",
    "storage/",
    "executors/",
    "SQL/",
    "api/v1/applications",
    *(
        f"api/v1/applications/{{app}}/{name}"
        for name in (
            "environment",
            "jobs",
            "stages?details=true",
            "allexecutors",
            "storage/rdd",
            "sql?details=true&planDescription=true&length=1000",
        )
    ),
)


@dataclass(frozen=True, slots=True)
class File:
    """A file that was created or written during a run: its path below the watched folder, and its last content."""

    path: Path
    content: bytes


class Files(watch.Watch):
    """Opens each file below some folders as soon as it is there: its content can then be read after it is removed."""

    def __init__(self, folder: Path, names: frozenset[str]) -> None:
        super().__init__(folder)
        self._root, self._names = folder, names
        self._opened: dict[str, int] = {}
        self._handles: list[tuple[str, int]] = []
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))

    def _note(self, kind: str, path: str) -> None:
        super()._note(kind, path)
        if kind == "gone":
            self._opened.pop(path, None)
        elif path not in self._opened and path.partition("/")[0] in self._names:
            with suppress(OSError):
                handle = os.open(self._root / path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
                if stat.S_ISREG(os.fstat(handle).st_mode):
                    self._opened[path] = handle
                    self._handles.append((path, handle))
                else:
                    os.close(handle)

    def read(self) -> list[File]:
        """Return all files, and close them."""
        files = []
        for path, handle in self._handles:
            with os.fdopen(handle, "rb") as file:
                files.append(File(Path(path), file.read()))
        return files


@dataclass
class Processes:
    """Watches the processes of a session and Spark's pages until the block ends.

    With `of_memory` the memory of each JVM is searched once a Python worker runs.
    """

    session: int
    ui_port: int
    of_memory: Search | None
    command_lines: dict[int, bytes] = field(default_factory=dict)
    environments: dict[int, tuple[bytes, bytes]] = field(default_factory=dict)  # command line and environment
    pages: dict[tuple[str, int], bytes] = field(default_factory=dict)
    memory: list[tuple[int, frozenset[Hit]]] = field(default_factory=list)  # of each JVM: bytes, and what was found

    def __enter__(self) -> Self:
        self._is_over = threading.Event()
        self._threads = [threading.Thread(target=target) for target in (self._watch, self._ask)]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        for thread in self._threads:
            thread.join()

    def _watch(self) -> None:
        while not self._is_over.wait(_PROCESSES_EVERY_S):
            processes = list(members(self.session))
            for process in processes:
                self.command_lines.setdefault(hash((process.pid, process.command)), process.command)
                with suppress(OSError):
                    environment = Path(f"/proc/{process.pid}/environ").read_bytes()
                    self.environments[process.pid] = (process.command, environment)
            if self.of_memory and not self.memory:
                self._search_memory(self.of_memory, processes)

    def _search_memory(self, search: Search, processes: list[Process]) -> None:
        daemons = {one.pid for one in processes if b"pyspark.daemon" in one.command}
        if any(one.parent in daemons for one in processes):
            time.sleep(_READS_AFTER_S)  # the worker then reads its task
            for process in processes:
                if process.command.split(b"\0")[0].endswith(b"java"):
                    size, hits = 0, set[Hit]()
                    for chunk in _memory(process.pid):
                        size += len(chunk)
                        hits |= set(search.in_bytes(chunk, f"JVM {process.pid}"))
                    self.memory.append((size, frozenset(hits)))

    def _ask(self) -> None:
        app = ""
        while not self._is_over.wait(_UI_EVERY_S):
            for page in _PAGES:
                try:
                    url = f"http://127.0.0.1:{self.ui_port}/{page.format(app=app)}"
                    body: bytes = urlopen(url, timeout=5).read()
                except (URLError, OSError, ValueError):
                    break
                self.pages.setdefault((page, hash(body)), body)
                if page.endswith("applications"):
                    app = body.partition(b'"id" : "')[2].partition(b'"')[0].decode()


def _memory(pid: int) -> Iterator[bytes]:
    """Return what a core dump of a process has: its writable mappings, in chunks that overlap."""
    with suppress(OSError), Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            if bounds := _MAPPING.match(line):
                first, last = (int(bound, 16) for bound in bounds.groups())
                for start in range(first, last, _CHUNK):
                    with suppress(OSError):
                        memory.seek(start)
                        yield memory.read(min(_CHUNK + _OVERLAP, last - start))


def variables(environment: bytes, without: Mapping[str, str]) -> bytes:
    """Return an environment without the variables in which the user has put the secrets."""
    kept = [entry for entry in environment.split(b"\0") if entry.partition(b"=")[0].decode() not in without]
    return b"\0".join(kept)
