"""The java command that jars are run with."""

from pathlib import Path

import pytest

from kafka_lagoon.errors import JarsUnavailable
from kafka_lagoon.jars import java
from kafka_lagoon.jars.java import java_command, java_path, java_release
from tests.jars.conftest import Registry


def test_missing_java_is_one_line(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without Java the error names the package to install."""
    (registry.home / "bin" / "java").unlink()
    with pytest.raises(JarsUnavailable, match="install Java 17"):
        java_path()
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(JarsUnavailable, match="on PATH"):
        java_path()


def test_java_home_comes_before_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The Java that Spark would run is used: JAVA_HOME's, else that of PATH; its heap is limited."""
    for folder in ("home/bin", "path"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "java").write_text("")
        (tmp_path / folder / "java").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    assert java_path() == str(tmp_path / "home" / "bin" / "java")
    monkeypatch.delenv("JAVA_HOME")
    command = java_command("-version", heap_mb=64)
    assert (command[0], command[1], command[-1]) == (str(tmp_path / "path" / "java"), "-Xmx64m", "-version")


def test_a_java_that_does_not_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its version is not known, which a job that got no JVM says in a line."""
    monkeypatch.setattr(java, "_VERSION_TIMEOUT_S", 0.1)
    (tmp_path / "java").write_text("#!/bin/sh\nexec sleep 5\n")
    (tmp_path / "java").chmod(0o755)
    assert java_release(str(tmp_path / "java")) is None
