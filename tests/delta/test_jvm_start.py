"""The JVM of Delta Kernel starts while its process does something else."""

import os
import resource
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from kafka_lagoon.delta import jvm_start
from kafka_lagoon.delta.jvm_start import StartingJvm, ended, starting_jvm
from kafka_lagoon.errors import TableError


@pytest.mark.java
def test_a_jvm_that_is_taken_is_ended_by_who_took_it() -> None:
    """It answers after `close`, and its process ends with its block."""
    with closing(StartingJvm("/lake")) as starting:
        gateway, process = starting.take()
    with ended(gateway, process):
        assert gateway.jvm.java.lang.Integer.parseInt("7") == 7
    assert process.wait(timeout=30) is not None


@pytest.mark.java
def test_a_jvm_that_nobody_takes_ends() -> None:
    """As where no cluster answers."""
    starting = StartingJvm("/lake")
    _, process = starting._jvm.result()
    starting.close()
    assert process.wait(timeout=30) is not None


@pytest.mark.java
def test_python_does_not_fork() -> None:
    """In the child of a fork py4j shuts down the sockets of other threads, of which a session may be one."""
    forks: list[int] = []
    os.register_at_fork(after_in_parent=lambda: forks.append(os.getpid()))
    with closing(StartingJvm("/lake")) as starting:
        starting._jvm.result()
    assert forks == []


def test_a_missing_java_is_said_to_who_takes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that needs no JVM in the end does not fail for want of one."""
    monkeypatch.setenv("JAVA_HOME", "/nonexistent")
    with closing(StartingJvm("/lake")) as starting, pytest.raises(TableError, match="no java in JAVA_HOME"):
        starting.take()
    StartingJvm("/lake").close()


def test_a_java_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As one on a network drive that is gone: the run ends with one line, and Java with it."""
    java = tmp_path / "java"
    java.write_text(f"#!/bin/sh\necho $$ > {tmp_path / 'pid'}\nexec sleep 600\n")
    java.chmod(0o700)
    monkeypatch.setattr(jvm_start, "java_path", lambda: str(java))
    monkeypatch.setattr(jvm_start, "_START_TIMEOUT_S", 1)
    with pytest.raises(TableError, match="it said nothing within 1 s"):
        jvm_start.started(())
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_a_jvm_of_a_process_with_many_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A notebook server or a worker of Airflow may have more than 1024 open when it starts one."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limits[1] < 1100:
        pytest.skip("fewer than 1,100 files may be open")
    java = tmp_path / "java"
    java.write_text("#!/bin/sh\necho no number\n")
    java.chmod(0o700)
    monkeypatch.setattr(jvm_start, "java_path", lambda: str(java))
    opened: list[int] = []
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(1100, limits[0]), limits[1]))
    try:
        while not opened or opened[-1] < 1024:
            opened.append(os.open(os.devnull, os.O_RDONLY))
        with pytest.raises(TableError, match="did not start with this memory"):
            jvm_start.started(())
    finally:
        for descriptor in opened:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def test_a_current_folder_that_was_removed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Java ends at once in one; its memory and its options were named as the cause."""
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(TableError, match=r"^no JVM for Delta Kernel: the current folder has been removed: change to "):
        jvm_start.started(())


@pytest.mark.parametrize(("warehouse", "has_session"), [(None, False), ("/lake", True)])
def test_none_starts_where_none_is_needed(
    monkeypatch: pytest.MonkeyPatch, warehouse: str | None, has_session: bool
) -> None:
    """Nor where a session of the process opens the tables."""
    monkeypatch.setattr(jvm_start, "has_session", lambda: has_session)
    monkeypatch.setattr(jvm_start, "StartingJvm", lambda _: pytest.fail("a JVM was started"))
    with starting_jvm(warehouse) as starting:
        assert starting is None


def test_a_snapshot_starts_it_before_it_imports_spark() -> None:
    """Arguments and settings are read without the packages that read and write tables."""
    code = "import sys, kafka_lagoon.cli.snapshot; print({'pyspark', 'pyarrow', 'numpy'} & sys.modules.keys())"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "set()\n"
