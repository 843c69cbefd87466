"""Jars by lock file; the downloads here are made by a stand-in for the java command."""

import threading
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import pytest

from kafka_lagoon.errors import JarsUnavailable
from kafka_lagoon.jars.class_archives import KERNEL, archive_options
from kafka_lagoon.jars.locked_jars import DELTA, cache_folder, jar_paths, locked
from tests.jars.conftest import BYTES, Registry, left_in


def test_a_user_without_a_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A container may run as a number that no file of users has: one line names the remedy, and no archive is used."""

    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr("kafka_lagoon.jars.locked_jars.__file__", str(tmp_path / "a" / "b" / "c" / "d.py"))
    monkeypatch.setattr(Path, "home", no_home)
    monkeypatch.delenv("LAGOON_CACHE", raising=False)
    with pytest.raises(JarsUnavailable, match="set HOME, or LAGOON_CACHE"):
        jar_paths(DELTA)
    assert archive_options(KERNEL) == []
    monkeypatch.setenv("LAGOON_CACHE", str(tmp_path))
    assert cache_folder() == tmp_path


def test_complete_download_is_kept(registry: Registry, tmp_path: Path) -> None:
    """Jars are downloaded once, in the order of the lock file, and reused from then on."""
    paths = jar_paths("two")
    assert [path.read_bytes() for path in paths] == list(BYTES.values())
    assert jar_paths("two") == paths
    assert registry.count() == 1
    assert left_in(tmp_path / "cache") == ["two"]


def test_wrong_bytes_leave_nothing(registry: Registry, tmp_path: Path) -> None:
    """A jar whose SHA-256 differs from the lock's is not cached."""
    registry.gives({**BYTES, "two": b"another jar\n"})
    with pytest.raises(JarsUnavailable, match=r"two-1\.jar: SHA-256"):
        jar_paths("two")
    assert left_in(tmp_path / "cache") == []


def test_a_forged_jar_is_not_believed(registry: Registry, tmp_path: Path) -> None:
    """A cached jar with other bytes is replaced before its path is returned, or an error is raised."""
    forged = tmp_path / "cache" / "jars" / "two" / "two-1.jar"
    for make in (lambda: forged.write_bytes(b"forged\n"), lambda: forged.symlink_to("/dev/null")):
        jar_paths("two")
        forged.unlink()
        make()
        assert [path.read_bytes() for path in jar_paths("two")] == list(BYTES.values())
    assert registry.count() == 3
    forged.write_bytes(b"forged\n")
    registry.gives({}, exit_code=1)
    with pytest.raises(JarsUnavailable, match="could not be downloaded"):
        jar_paths("two")


def test_a_cache_that_cannot_be_written(registry: Registry, tmp_path: Path) -> None:
    """One line names the folder and the variable that can set another."""
    (tmp_path / "cache").write_text("in the way")
    with pytest.raises(JarsUnavailable, match=r"cache.*: (Not a directory|File exists); LAGOON_CACHE can name another"):
        jar_paths("two")
    assert registry.count() == 0


def test_a_link_in_place_of_the_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another user of a shared cache may have put it there: the file that it leads to is neither emptied nor created."""
    own, absent = tmp_path / "own", tmp_path / "absent"
    own.write_text("precious\n")
    lock = tmp_path / "cache" / "jars" / f"{DELTA}.lock"
    monkeypatch.setenv("LAGOON_CACHE", str(tmp_path / "cache"))
    lock.parent.mkdir(parents=True)
    for target in (own, absent):
        lock.unlink(missing_ok=True)
        lock.symlink_to(target)
        with pytest.raises(JarsUnavailable, match=r"\.lock: .*; LAGOON_CACHE can name another"):
            jar_paths(DELTA)
    assert own.read_text() == "precious\n"
    assert not absent.exists()


def test_killed_attempt_is_swept_away(registry: Registry, tmp_path: Path) -> None:
    """The remains of a killed attempt, and a folder that lacks a jar, are replaced by a complete folder."""
    for leftover in ("two.partial/jars", "two"):
        (tmp_path / "cache" / "jars" / leftover).mkdir(parents=True)
    assert all(path.is_file() for path in jar_paths("two"))
    assert registry.count() == 1
    assert left_in(tmp_path / "cache") == ["two"]


@pytest.mark.long
def test_two_at_once_download_once(registry: Registry) -> None:
    """Of two processes that need the same jars one downloads and the other waits."""
    registry.gives(BYTES, seconds=0.3)
    results: list[Sequence[Path]] = []
    several = [threading.Thread(target=lambda: results.append(jar_paths("two"))) for _ in range(2)]
    for thread in several:
        thread.start()
    for thread in several:
        thread.join()
    assert len(results) == 2
    assert registry.count() == 1


@pytest.mark.parametrize("lock", ["kafka-4.4.0", "kafka-3.9.2", "kafka-2.8.2", "connector-4.2.0", "delta-4.4.0"])
def test_lock_files_are_sound(lock: str) -> None:
    """Every line has four columns, every SHA-256 its 64 digits, and no two jars share a file name."""
    listed = locked(lock)
    assert all(len(bytes.fromhex(jar.sha256)) == 32 for jar in listed)
    assert len({jar.file_name() for jar in listed}) == len(listed)


def test_delta_jars_match_the_python_package() -> None:
    """The jars on Spark's class path are of the same release as the delta-spark package."""
    assert {jar.revision for jar in locked(DELTA)} == {version("delta-spark")}


def test_unknown_lock_file_names_the_known() -> None:
    """The error for a release without a lock file lists the existing lock files."""
    with pytest.raises(JarsUnavailable, match=r"kafka-2\.8\.2, kafka-3\.9\.2, kafka-4\.4\.0"):
        jar_paths("kafka-0.8")
