"""Jars by lock file; the downloads here are made by a stand-in for the java command."""

import hashlib
import threading
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import pytest

from kafka_lagoon.errors import JarsUnavailable
from kafka_lagoon.sandbox import jars

BYTES = {"one": b"first jar\n", "two": b"second jar\n"}


class Registry:
    """A java command that "downloads" the bytes it is told, and remembers how often it was called."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.calls = home / "calls"
        (home / "bin").mkdir(parents=True)
        self.gives(BYTES)

    def gives(self, content: dict[str, bytes], exit_code: int = 0, seconds: float = 0) -> None:
        """From now on, deliver these jars of revision 1 and end with that code."""
        writes = [f"printf '{text.decode()}' > jars/{name}-1.jar" for name, text in content.items()]
        lines = ["#!/bin/sh", f"echo called >> {self.calls}", f"sleep {seconds}", "mkdir -p jars", *writes]
        (self.home / "bin" / "java").write_text(
            "\n".join([*lines, "echo 'Server access error: refused'", f"exit {exit_code}"])
        )
        (self.home / "bin" / "java").chmod(0o755)

    def count(self) -> int:
        """How often it was called."""
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
    monkeypatch.setattr(jars, "_LOCKS", locks)
    monkeypatch.setattr(jars, "_pyspark_folder", lambda: spark)
    monkeypatch.setenv("LAGOON_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "java"))
    return Registry(tmp_path / "java")


def left_in(cache: Path) -> list[str]:
    """Names in the cache, but for the lock that processes hold."""
    return sorted(path.name for path in (cache / "jars").glob("*") if path.suffix != ".lock")


def test_complete_download_is_kept(registry: Registry, tmp_path: Path) -> None:
    """Jars are downloaded once, in the order of the lock file, and found from then on."""
    paths = jars.jar_paths("two")
    assert [path.read_bytes() for path in paths] == list(BYTES.values())
    assert jars.jar_paths("two") == paths
    assert registry.count() == 1
    assert left_in(tmp_path / "cache") == ["two"]


@pytest.mark.parametrize("content", [{"one": BYTES["one"]}, {}])
def test_incomplete_download_leaves_nothing(registry: Registry, tmp_path: Path, content: dict[str, bytes]) -> None:
    """When the registry fails half-way, twice, the cause is told and the cache is as before."""
    registry.gives(content, exit_code=1)
    with pytest.raises(JarsUnavailable, match="2 jars could not be downloaded: Server access error: refused"):
        jars.jar_paths("two")
    assert registry.count() == 2
    assert left_in(tmp_path / "cache") == []


def test_wrong_bytes_leave_nothing(registry: Registry, tmp_path: Path) -> None:
    """A jar whose SHA-256 is not the lock's never reaches the cache."""
    registry.gives({**BYTES, "two": b"another jar\n"})
    with pytest.raises(JarsUnavailable, match=r"two-1\.jar: SHA-256"):
        jars.jar_paths("two")
    assert left_in(tmp_path / "cache") == []


def test_a_forged_jar_is_not_believed(registry: Registry, tmp_path: Path) -> None:
    """A cached jar with other bytes is replaced before anybody has its path; where that is not possible there is none."""
    forged = tmp_path / "cache" / "jars" / "two" / "two-1.jar"
    for make in (lambda: forged.write_bytes(b"forged\n"), lambda: forged.symlink_to("/dev/null")):
        jars.jar_paths("two")
        forged.unlink()
        make()
        assert [path.read_bytes() for path in jars.jar_paths("two")] == list(BYTES.values())
    assert registry.count() == 3
    forged.write_bytes(b"forged\n")
    registry.gives({}, exit_code=1)
    with pytest.raises(JarsUnavailable, match="could not be downloaded"):
        jars.jar_paths("two")


def test_a_cache_that_cannot_be_written(registry: Registry, tmp_path: Path) -> None:
    """One line names the folder and the variable that can name another."""
    (tmp_path / "cache").write_text("in the way")
    with pytest.raises(JarsUnavailable, match=r"cache.*: (Not a directory|File exists); LAGOON_CACHE can name another"):
        jars.jar_paths("two")
    assert registry.count() == 0


def test_killed_attempt_is_swept_away(registry: Registry, tmp_path: Path) -> None:
    """What a killed attempt left, and a folder that lacks a jar, give way to a complete folder."""
    for leftover in ("two.partial/jars", "two"):
        (tmp_path / "cache" / "jars" / leftover).mkdir(parents=True)
    assert all(path.is_file() for path in jars.jar_paths("two"))
    assert registry.count() == 1
    assert left_in(tmp_path / "cache") == ["two"]


def test_two_at_once_download_once(registry: Registry) -> None:
    """Of two that want the same jars one downloads and the other waits for it."""
    registry.gives(BYTES, seconds=0.3)
    found: list[Sequence[Path]] = []
    several = [threading.Thread(target=lambda: found.append(jars.jar_paths("two"))) for _ in range(2)]
    for thread in several:
        thread.start()
    for thread in several:
        thread.join()
    assert len(found) == 2
    assert registry.count() == 1


def test_spark_gets_one_revision(registry: Registry, tmp_path: Path) -> None:
    """Installing into Spark's folder replaces other revisions of the same jars and touches nothing else."""
    folder = tmp_path / "pyspark" / "jars"
    for name in ("one-0.9.jar", "one-more-0.9.jar"):
        (folder / name).touch()
    assert jars.install_into_spark("two") == folder
    assert registry.count() == 1
    assert sorted(path.name for path in folder.iterdir()) == ["ivy-2.jar", "one-1.jar", "one-more-0.9.jar", "two-1.jar"]


def test_missing_java_is_one_line(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without Java the error says what to install."""
    (registry.home / "bin" / "java").unlink()
    with pytest.raises(JarsUnavailable, match="install Java 17"):
        jars.jar_paths("two")
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(JarsUnavailable, match="on PATH"):
        jars.jar_paths("two")


@pytest.mark.parametrize("lock", ["kafka-4.3.1", "kafka-3.9.2", "kafka-2.8.2", "connector-4.2.0", "delta-4.4.0"])
def test_lock_files_are_sound(lock: str) -> None:
    """Every line has four columns, every SHA-256 its 64 digits, and no two jars share a file name."""
    listed = jars.locked(lock)
    assert all(len(bytes.fromhex(jar.sha256)) == 32 for jar in listed)
    assert len({jar.file_name() for jar in listed}) == len(listed)


def test_delta_jars_match_the_python_package() -> None:
    """The jars on Spark's class path are of the same release as the delta-spark package."""
    assert {jar.revision for jar in jars.locked("delta-4.4.0")} == {version("delta-spark")}


def test_unknown_lock_file_names_the_known() -> None:
    """A release without a lock file is refused with the ones that there are."""
    with pytest.raises(JarsUnavailable, match=r"kafka-2\.8\.2, kafka-3\.9\.2, kafka-4\.3\.1"):
        jars.jar_paths("kafka-0.8")
