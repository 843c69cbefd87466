"""Distributes test files to the workers of a run, so that few workers start the same servers, and stops servers early.

Files with brokers go to one worker, files with Spark and brokers to another, files with Spark alone to two. A worker takes the files
of its servers first, cluster by cluster, and ends each cluster after its last file, because ten idle brokers take a third of a core;
then it takes files without servers. With xdist's own order each worker started every broker and a Spark session, a third of the
processor time of `make test`.
"""

import importlib
import re
from contextlib import suppress
from functools import cache
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling

# Texts of a file that show which servers it needs. A wrong guess only costs time.
_SPARK = re.compile(r"mark\.spark|\bspark\b: |\(\"spark\"|\bwarehouse: Warehouse|\bbucket: ")
_BROKERS = re.compile(r"mark\.kafka|\b(kafka|secured|administered)(_\d+)?: ")
_CODECS = re.compile(r"mark\.java")
_CLUSTER = re.compile(r"\b(?:kafka|secured|administered)(?:_\d+)?(?=: |\")")


@cache
def servers_of(path: str) -> str | None:
    """Return the servers that a test file needs, or None."""
    text = Path(path).read_text("utf-8")
    if _SPARK.search(text):
        return "spark and brokers" if _BROKERS.search(text) else "spark"
    if _BROKERS.search(text):
        return "brokers"
    return "codecs" if _CODECS.search(text) else None


@cache
def clusters_of(path: str) -> frozenset[str]:
    """Return the fixtures of clusters that a test file names."""
    return frozenset(_CLUSTER.findall(Path(path).read_text("utf-8")))


class SpreadImports:
    """Imports test files from another place on in each worker, so that a fresh clone compiles each file once.

    Every worker collects all files. Side by side each would rewrite the assertions of the same file at the same time.
    """

    def __init__(self, worker: int, workers: int) -> None:
        self._share = worker / workers

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self, session: pytest.Session) -> None:
        """Called before files are collected; a file that cannot be imported is reported when it is collected."""
        root = session.config.rootpath
        paths = sorted(root.glob("tests/**/test_*.py"))
        begin = round(len(paths) * self._share)
        for path in (*paths[begin:], *paths[:begin]):
            with suppress(Exception, pytest.skip.Exception):
                importlib.import_module(".".join(path.relative_to(root).with_suffix("").parts))


class ServersStopEarly:
    """Ends clusters before the first test of a file that does not name them, and all servers before the first test without servers.

    A later test starts what it needs again.
    """

    def __init__(self) -> None:
        self._path = ""

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> None:
        """End all fixtures of the worker before a test that needs no servers."""
        if self._path and servers_of(str(item.path)) is None:
            item.session._setupstate.teardown_exact(None)
            self._path = ""

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """End the clusters of earlier files."""
        path = str(item.path)
        if path == self._path or servers_of(path) is None:
            return
        for name in clusters_of(self._path) - clusters_of(path) if self._path else ():
            for fixture in item.session._fixturemanager.getfixturedefs(name, item) or ():
                fixture.finish(item._request)
        self._path = path


class Workers(LoadFileScheduling):
    """Gives each worker the files that need its servers first, then files that need none."""

    def __init__(self, config: Any, log: Any) -> None:
        super().__init__(config, log)
        self._homes: dict[str, list[Any]] = {}

    def schedule(self) -> None:
        """Choose the workers of each kind of servers, then schedule as xdist does."""
        if not self._homes:
            first, second, third = islice(cycle(self.nodes), 3)
            self._homes = {
                "spark and brokers": [first],
                "spark": [first, third],
                "brokers": [second],
                "codecs": [third],
            }
        super().schedule()

    def _assign_work_unit(self, node: Any) -> None:
        if path := self._next_for(node):
            self.workqueue.move_to_end(path, last=False)
            super()._assign_work_unit(node)

    def _reschedule(self, node: Any) -> None:
        if node.shutting_down or self._next_for(node) or not self.workqueue:
            super()._reschedule(node)
        elif self._pending_of(self.assigned_work[node]) <= 2:
            node.shutdown()  # after the tests that it already has

    def _next_for(self, node: Any) -> str | None:
        """Return the next file of a worker: a file that only it takes, else one of its servers, else one without servers.

        Files with the same clusters follow each other. A file whose worker has died is for every worker.
        """
        shared = without_servers = None
        for path in sorted(self.workqueue, key=lambda path: sorted(clusters_of(path))):
            homes = self._homes.get(servers_of(path) or "", [])
            if homes == [node]:
                return path
            if node in homes:
                shared = shared or path
            if not any(home in self.assigned_work for home in homes):
                without_servers = without_servers or path
        return shared or without_servers
