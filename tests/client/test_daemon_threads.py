"""Work is done in threads that do not keep the process alive."""

import gc
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator
from concurrent.futures import CancelledError
from threading import Barrier, Event

import pytest

from kafka_lagoon.client.daemon_threads import DaemonThreads
from tests.clock import CLOCK

MOST = 3
WAIT_S = 30


@pytest.fixture
def threads() -> Iterator[DaemonThreads]:
    """A few threads, which have ended after the test."""
    with DaemonThreads(MOST, "daemon-test") as made:
        yield made
    assert running() == []


def running() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("daemon-test")]


def test_no_more_threads_than_are_needed(threads: DaemonThreads) -> None:
    """A thread that is idle does the next work; more work than threads waits."""
    assert threads.submit(str, 1).result(WAIT_S) == "1"
    while not threads._idle:  # the result is there a moment before its thread waits again
        CLOCK.sleep(0.001)
    assert threads.submit(str, 2).result(WAIT_S) == "2"
    assert len(running()) == 1
    meeting = Barrier(MOST)
    results = [threads.submit(meeting.wait, WAIT_S) for _ in range(4 * MOST)]
    assert sorted(future.result(WAIT_S) for future in results) == sorted([*range(MOST)] * 4)
    assert len(running()) == MOST


def test_errors_are_raised_with_the_result(threads: DaemonThreads) -> None:
    """The thread goes on, also after Ctrl-C that was raised in it."""
    for error in (ValueError, KeyboardInterrupt):

        def fails(error: type[BaseException] = error) -> None:
            raise error

        with pytest.raises(error):
            threads.submit(fails).result(WAIT_S)
    assert threads.submit(str, 1).result(WAIT_S) == "1"


class Answer:
    """A result that can be referred to weakly."""


@pytest.mark.parametrize("error", [None, ValueError])
def test_results_are_not_kept(threads: DaemonThreads, error: type[Exception] | None) -> None:
    """A result that the caller has thrown away takes no memory until the next work, and needs no collector."""

    def work() -> Answer:
        answer = Answer()
        known.append(weakref.ref(answer))
        if error:
            raise error
        return answer

    known: list[weakref.ref[Answer]] = []
    gc.disable()
    try:
        future = threads.submit(work)
        future.exception(WAIT_S)
        del future
        threads.shutdown()
        assert known[0]() is None
    finally:
        gc.enable()


def test_work_that_has_not_begun_may_be_cancelled(threads: DaemonThreads) -> None:
    """Work that runs is waited for, and afterwards none is taken."""
    begun, may_end = Barrier(MOST + 1), Event()

    def work() -> bool:
        begun.wait(WAIT_S)
        return may_end.wait(WAIT_S)

    futures = [threads.submit(work) for _ in range(2 * MOST)]
    begun.wait(WAIT_S)
    threads.shutdown(wait=False, cancel_futures=True)
    may_end.set()
    assert [future.result(WAIT_S) for future in futures[:MOST]] == [True] * MOST
    for future in futures[MOST:]:
        with pytest.raises(CancelledError):
            future.result(WAIT_S)
    with pytest.raises(RuntimeError, match="have ended"):
        threads.submit(work)


CODE = """
from threading import Event
from kafka_lagoon.client.daemon_threads import DaemonThreads
begun = Event()
DaemonThreads(2, "broker").submit(lambda: begun.set() or Event().wait())
begun.wait()
"""


def test_a_process_does_not_wait_for_them() -> None:
    """A broker that never answers does not keep it from ending."""
    assert subprocess.run([sys.executable, "-c", CODE], timeout=WAIT_S, check=False).returncode == 0
