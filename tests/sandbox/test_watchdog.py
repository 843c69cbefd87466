"""The watchdog kills what is on its list when its input ends, and no process that got the id of another."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from kafka_lagoon.sandbox.watchdog import watch

_SLEEPS = (sys.executable, "-c", "import time; time.sleep(60)")
Children = list["subprocess.Popen[bytes]"]


@pytest.fixture
def children() -> Iterator[Children]:
    """Three processes that sleep."""
    processes = [subprocess.Popen(_SLEEPS) for _ in range(3)]
    yield processes
    for process in processes:
        process.kill()
        process.wait()


def test_what_is_left_is_killed(children: Children) -> None:
    """A process that was removed from the list stays."""
    first, second, removed = children
    watch([f"+{first.pid}", f"+{second.pid}", f"+{removed.pid}", f"-{removed.pid}"])
    assert [first.wait(10), second.wait(10)] == [-signal.SIGKILL, -signal.SIGKILL]
    assert removed.poll() is None


def test_an_id_that_is_free_again_is_left_alone(children: Children, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that has ended, before or after it was listed, is not killed by its number."""
    ended, killed, early = children

    def by_number(pid: int, _: int) -> None:
        pytest.fail(f"process {pid} is killed by its number")

    def lines() -> Iterator[str]:
        early.kill()
        early.wait()
        yield f"+{early.pid}"
        yield f"+{ended.pid}"
        ended.kill()
        ended.wait()
        patched.setattr(os, "kill", by_number)
        yield f"+{killed.pid}"

    with monkeypatch.context() as patched:
        watch(lines())
    assert killed.wait(10) == -signal.SIGKILL


def test_a_system_without_descriptors(children: Children, monkeypatch: pytest.MonkeyPatch) -> None:
    """There the number is all there is."""
    monkeypatch.delattr(os, "pidfd_open")
    watch([f"+{children[0].pid}"])
    assert children[0].wait(10) == -signal.SIGKILL
    assert children[1].poll() is None
