"""A stand-in for the java command that downloads jars, and a lock file of two jars."""

import hashlib
from pathlib import Path

import pytest

from kafka_lagoon.jars import ivy, locked_jars, spark_jars

BYTES = {"one": b"first jar\n", "two": b"second jar\n"}


class Registry:
    """A java command that "downloads" the given bytes, and counts its calls."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.calls = home / "calls"
        (home / "bin").mkdir(parents=True)
        self.gives(BYTES)

    def gives(self, content: dict[str, bytes], exit_code: int = 0, seconds: float = 0) -> None:
        """Return these jars of revision 1 from now on, and end with this exit code."""
        writes = [f"printf '{text.decode()}' > jars/{name}-1.jar" for name, text in content.items()]
        lines = ["#!/bin/sh", f"echo called >> {self.calls}", f"sleep {seconds}", "mkdir -p jars", *writes]
        (self.home / "bin" / "java").write_text(
            "\n".join([*lines, "echo 'Server access error: refused'", f"exit {exit_code}"])
        )
        (self.home / "bin" / "java").chmod(0o755)

    def count(self) -> int:
        """Return the number of calls."""
        return len(self.calls.read_text().splitlines()) if self.calls.exists() else 0


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Registry:
    """A lock file `two` of two jars, an empty cache, a Spark folder, and a stand-in for java."""
    locks, spark = tmp_path / "locks", tmp_path / "pyspark"
    locks.mkdir()
    (spark / "jars").mkdir(parents=True)
    (spark / "jars" / "ivy-2.jar").touch()
    lines = [f"org {name} 1 {hashlib.sha256(content).hexdigest()}" for name, content in BYTES.items()]
    (locks / "two.lock").write_text("\n".join(["# comment", *lines]))
    monkeypatch.setattr(locked_jars, "_LOCKS", locks)
    monkeypatch.setattr(ivy, "spark_jars_folder", lambda: spark / "jars")
    monkeypatch.setattr(spark_jars, "spark_jars_folder", lambda: spark / "jars")
    monkeypatch.setenv("LAGOON_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "java"))
    return Registry(tmp_path / "java")


def left_in(cache: Path) -> list[str]:
    """Return names in the cache, without the lock file."""
    return sorted(path.name for path in (cache / "jars").glob("*") if path.suffix != ".lock")
