"""Distributes test files to the workers of a run, so that few workers start the same servers, and stops servers early.

Files with brokers go to one worker, files with Spark and brokers to another, files with Spark alone to two. A worker takes the files
of its servers first, cluster by cluster, and ends each cluster after its last file, because ten idle brokers take a third of a core;
then it takes files without servers. With xdist's own order each worker started every broker and a Spark session, a third of the
processor time of `make test`.
"""

import gc
import re
from collections.abc import Iterator
from functools import cache
from itertools import cycle, islice
from pathlib import Path
from typing import Any
from zlib import crc32

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


class UnreadFile(pytest.Item):
    """A test file that stands for its tests until a worker takes it."""

    def runtest(self) -> None:
        """Never called: FilesOnDemand runs the tests of the file."""
        raise NotImplementedError


class FilesOnDemand:
    """Collects a test file when a worker takes it, so that only one worker imports the file and makes its tests.

    With xdist's own way each worker collects all files before the first test: 8,000 tests, 11 s of processor time and 25 s in a fresh
    clone, which compiles each module first.
    """

    def __init__(self) -> None:
        self._is_begun = False

    @pytest.hookimpl(tryfirst=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> pytest.CollectReport | None:
        """Put one item in place of a module's tests."""
        if self._is_begun or not isinstance(collector, pytest.Module):
            return None
        file = UnreadFile.from_parent(collector, name="unread")
        file.add_marker(pytest.mark.timeout(0))  # its tests have timeouts of their own
        return pytest.CollectReport(collector.nodeid, "passed", longrepr=None, result=[file])

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Iterator[None]:
        """Keep files from being deselected by markers that only their tests have."""
        files = [item for item in items if isinstance(item, UnreadFile)]
        items[:] = [item for item in items if not isinstance(item, UnreadFile)]
        yield
        items[:0] = files

    def pytest_collection_finish(self) -> None:
        """From now on modules are collected."""
        self._is_begun = True

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
        """Collect a file and run its tests, each in the file's place: xdist compares a report with the item that it has sent."""
        if not isinstance(item, UnreadFile):
            return None
        session, hook = item.session, item.config.hook
        tests = list(session.genitems(item.parent))
        hook.pytest_collection_modifyitems(session=session, config=item.config, items=tests)
        place = session.items.index(item)
        for test, following in zip(tests, [*tests[1:], nextitem], strict=False):
            session.items[place] = test
            hook.pytest_runtest_protocol(item=test, nextitem=following)
            if session.shouldfail or session.shouldstop:
                break
        session.items[place] = item
        if not tests:
            session._setupstate.teardown_exact(nextitem)  # pytest does so after each test
        return True


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
        ended = clusters_of(self._path) - clusters_of(path) if self._path else frozenset[str]()
        if ended:
            gc.collect()  # clients that nobody uses would try to connect again and again
        for name in ended:
            for fixture in item.session._fixturemanager.getfixturedefs(name, item) or ():
                fixture.finish(item._request)
        self._path = path


class Workers(LoadFileScheduling):
    """Gives each worker the files that need its servers first, then files that need none."""

    def __init__(self, config: Any, log: Any) -> None:
        super().__init__(config, log)
        self._homes: dict[str, list[Any]] = {}
        self._complete = 0

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

    def mark_test_complete(self, node: Any, item_index: int, duration: float = 0) -> None:
        """Count what is complete: files, or tests if some were named."""
        super().mark_test_complete(node, item_index, duration)
        self._complete += 1
        self._set_number_of_tests(0)  # without a test the run fails

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self) -> None:
        """Let pytest show the share of files that are complete."""
        self._set_number_of_tests(1)

    def _set_number_of_tests(self, in_report: int) -> None:
        """Estimate the number of tests, which is known at the end only."""
        reporter = self.config.pluginmanager.getplugin("terminalreporter")
        share = max(self._complete, 1) / len(self.collection or [0])
        reporter._session.testscollected = int((reporter.reported_progress + in_report) / share)

    def _assign_work_unit(self, node: Any) -> None:
        if path := self._next_for(node):
            self.workqueue.move_to_end(path, last=False)
            super()._assign_work_unit(node)

    def _reschedule(self, node: Any) -> None:
        if not node.shutting_down and self._pending_of(self.assigned_work[node]) > 1:
            return  # no other worker can take what this one has
        if node.shutting_down or self._next_for(node) or not self.workqueue:
            super()._reschedule(node)
        else:
            node.shutdown()  # after the files that it already has

    def _next_for(self, node: Any) -> str | None:
        """Return the next file of a worker: a file that only it takes, else one of its servers, else one without servers.

        Files with the same clusters follow each other. A file whose worker has died is for every worker.
        """
        shared = without_servers = None
        for path in sorted(self.workqueue, key=self._place_of):
            homes = self._homes.get(servers_of(path) or "", [])
            if homes == [node]:
                return path
            if node in homes:
                shared = shared or path
            if not any(home in self.assigned_work for home in homes):
                without_servers = without_servers or path
        return shared or without_servers

    def _place_of(self, path: str) -> tuple[list[str], int]:
        """Sort files by their clusters; among those of the same clusters, and without servers, as xdist lists them or as drawn."""
        clusters = sorted(clusters_of(path)) if servers_of(path) else []
        seed = self.config.getoption("--shuffle")
        return clusters, 0 if seed is None else crc32(f"{seed} {path}".encode())
