"""Folders that cannot be written, locks that do not exclude, active runs, and full disks."""

import errno
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kafka_lagoon.delta.lock import locked
from kafka_lagoon.doctor import race, warehouse
from kafka_lagoon.doctor.results import Check, run_alone
from tests.clock import CLOCK
from tests.closed import modes_bind


def test_a_folder(tmp_path: Path) -> None:
    """It is written to and raced for, and no file is left; for a missing folder its parent is checked."""
    for path, words in ((tmp_path, "writable"), (tmp_path / "a" / "b", "not there yet; the first run makes it in ")):
        written, commits = warehouse.folder(path)
        assert (written.status, commits.status) == ("ok", "ok")
        assert written.observed.startswith(words)
    assert list(tmp_path.iterdir()) == []


def test_no_folder(tmp_path: Path) -> None:
    """A file where the folder would be."""
    (tmp_path / "lake").touch()
    (result,) = warehouse.folder(tmp_path / "lake")
    assert (result.status, result.observed) == ("failed", f"{tmp_path / 'lake'} is not a folder")


@pytest.mark.skipif(not Path("/proc/sys").is_dir(), reason="no file system here that even root cannot write")
def test_a_folder_that_cannot_be_written() -> None:
    """One line with the reason, and no race."""
    (result,) = warehouse.folder(Path("/proc/sys/lake"))
    assert result.status == "failed"
    assert result.observed.startswith("/proc/sys cannot be written: ")
    assert result.to_do


def test_a_folder_that_cannot_be_entered(tmp_path: Path) -> None:
    """One line, although the probe cannot be looked for either."""
    tmp_path.chmod(0)
    with modes_bind():
        (result,) = warehouse.folder(tmp_path)
    assert result.observed == f"{tmp_path} cannot be written: Permission denied"


def test_a_folder_that_is_mounted_read_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line: Linux refuses to remove a file there before it looks whether there is one."""

    def refuse(self: Path, *_: object, **__: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(self))

    monkeypatch.setattr(Path, "open", refuse)
    monkeypatch.setattr(Path, "unlink", refuse)
    (result,) = warehouse.folder(tmp_path)
    assert result.observed == f"{tmp_path} cannot be written: Read-only file system"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")
@pytest.mark.parametrize(
    "name", ["brokers", "brokers/_delta_log", "brokers/snapshot_date=2026-11-27", ".lagoon-commit.lock"]
)
def test_what_a_run_of_another_user_left(tmp_path: Path, name: str) -> None:
    """A table, its log, a day or a lock that this user cannot write fails with its owner, and the folder with its cure."""
    (tmp_path / "brokers" / "_delta_log").mkdir(parents=True)
    (tmp_path / "brokers" / "snapshot_date=2026-11-27").mkdir()
    (tmp_path / ".lagoon-commit.lock").touch(0o600)
    (tmp_path / "lost+found").mkdir(0)  # of nobody's concern
    with modes_bind():
        assert [result.status for result in warehouse.folder(tmp_path)] == ["ok", "ok"]
    os.chown(tmp_path / name, 54_321, -1)
    (tmp_path / name).chmod(0o700)
    with modes_bind():
        (result,) = warehouse.folder(tmp_path)
    assert (result.status, result.to_do) == ("failed", f"chown -R 0 {tmp_path}")
    assert result.observed == f"{tmp_path / name} cannot be written: it belongs to user 54321"


@pytest.mark.parametrize(
    ("error", "words"), [(PermissionError(13, "no"), "let user "), (OSError(28, "full"), "free some")]
)
def test_what_to_do(error: OSError, words: str) -> None:
    """A full disk has another remedy than a missing permission."""
    assert warehouse._cure(error, Path("/data")).startswith(words)


@pytest.mark.parametrize(
    ("codes", "counted", "words"),
    [([0, 0], "31", "the lock let two processes in: 9 of 40 counts were lost"), ([0, 1], "20", "ended with an error")],
)
def test_a_lock_that_does_not_exclude(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, codes: list[int], counted: str, words: str
) -> None:
    """Lost counts, or processes that do not get the lock, are a failure."""

    def raced(probe: Path) -> list[int]:
        probe.write_text(counted)
        return codes

    monkeypatch.setattr(warehouse, "_race", raced)
    _, commits = warehouse.folder(tmp_path)
    assert commits.status == "failed"
    assert words in commits.observed


def test_processes_that_wait_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are ended, and the result says what they waited for: it is no fault of the doctor."""
    started: list[subprocess.Popen[bytes]] = []

    def never_ending(*_: object, **options: Any) -> subprocess.Popen[bytes]:
        started.append(popen([sys.executable, "-c", "import time; time.sleep(600)"], **options))
        return started[-1]

    popen = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", never_ending)
    monkeypatch.setattr(warehouse, "_RACE_TIMEOUT_S", 0.1)
    _, commits = run_alone(Check("warehouse", "w"), lambda: warehouse.folder(tmp_path))
    assert (commits.check, commits.status) == ("commits", "failed")
    assert commits.observed == "processes that wanted the lock of commits did not end within 0.1 s"
    assert [process.wait(10) for process in started] == [-signal.SIGKILL] * warehouse.RACERS
    assert list(tmp_path.iterdir()) == []


def test_the_race_counts(tmp_path: Path) -> None:
    """Each round adds one under a lock beside the file."""
    (tmp_path / "n").write_text("40")
    race.count(tmp_path / "n", 3)
    assert (tmp_path / "n").read_text() == "43"


def test_locks(tmp_path: Path) -> None:
    """A lock that a run holds is reported with its holder, and stays usable; others are free."""
    (tmp_path / ".lagoon-other.lock").touch()
    (free,) = warehouse.locks(tmp_path)
    assert free.status == "ok"
    with locked(tmp_path / ".lagoon-snapshot-prod.lock", CLOCK):
        (held,) = warehouse.locks(tmp_path)
        assert (held.status, held.subject) == ("warning", str(tmp_path / ".lagoon-snapshot-prod.lock"))
        assert held.observed.startswith(f"held by process {os.getpid()} on ")
    (free,) = warehouse.locks(tmp_path)
    assert free.status == "ok"


def test_locks_on_btrfs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its files have the device of their subvolume, but the kernel lists locks by the device of the file system."""

    def of_a_subvolume(status: os.stat_result) -> os.stat_result:
        mode, number, _, *others = status
        return os.stat_result((mode, number, os.makedev(0, 4711), *others))

    with locked(tmp_path / ".lagoon-snapshot-prod.lock", CLOCK):
        as_path, as_file = Path.stat, os.fstat
        monkeypatch.setattr(Path, "stat", lambda *given, **more: of_a_subvolume(as_path(*given, **more)))
        monkeypatch.setattr(os, "fstat", lambda opened: of_a_subvolume(as_file(opened)))
        (held,) = warehouse.locks(tmp_path)
        monkeypatch.undo()
    assert held.status == "warning"
    monkeypatch.setattr(warehouse, "_MOUNTS", tmp_path / "mounts")
    (tmp_path / "mounts").write_text("1 1 0:1 / / rw - tmpfs tmpfs rw\n")
    with locked(tmp_path / ".lagoon-snapshot-prod.lock", CLOCK):
        (held,) = warehouse.locks(tmp_path)
    assert held.status == "warning"


@pytest.mark.parametrize(("free", "status"), [(10**9, "warning"), (10**10, "warning"), (10**11, "ok")])
def test_disks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, status: str) -> None:
    """Less than a GiB, or less than 2 %, is reported."""
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(2 * 10**12, 0, free))
    (result,) = warehouse.free_space("warehouse", tmp_path / "lake")
    assert result.status == status


def test_no_inode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Free space without free inodes is not enough."""
    status = os.statvfs(tmp_path)

    class Full:
        f_files, f_favail = 1000, 0
        f_blocks, f_bfree, f_bavail, f_frsize = status.f_blocks, status.f_bfree, status.f_bavail, status.f_frsize

    monkeypatch.setattr(os, "statvfs", lambda _: Full())
    (result,) = warehouse.free_space("warehouse", tmp_path)
    assert result.status == "failed"
