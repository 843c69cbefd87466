"""One holder at a time, also after a holder died."""

import errno
import fcntl
import getpass
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kafka_lagoon.clock import Clock
from kafka_lagoon.delta.lock import locked
from kafka_lagoon.errors import ConfigError, LockHeld, TableError
from tests.clock import CLOCK
from tests.closed import modes_bind


def test_the_second_learns_who_holds_it(tmp_path: Path) -> None:
    """The second process gets LockHeld with the holder's process and time, and may try again later."""
    lock = tmp_path / "a.lock"
    with (
        locked(lock, CLOCK),
        pytest.raises(LockHeld, match=rf"process {os.getpid()} on .* since 20\d\d-"),
        locked(lock, CLOCK),
    ):
        pass
    with locked(lock, CLOCK):
        pass


def test_a_wait_ends_when_the_lock_is_free(tmp_path: Path) -> None:
    """A waiting process takes the lock as soon as the holder is gone, and gives up after its time."""
    lock = tmp_path / "a.lock"
    first = locked(lock, CLOCK)
    first.__enter__()
    naps: list[float] = []

    def sleep(seconds: float) -> None:
        naps.append(seconds)
        if len(naps) == 3:
            first.__exit__(None, None, None)

    clock = Clock(now_ms=CLOCK.now_ms, monotonic=lambda: sum(naps), sleep=sleep)
    with locked(lock, clock, wait_ms=10_000):
        assert len(naps) == 3
        with pytest.raises(LockHeld), locked(lock, clock, wait_ms=1_000):
            pass
    assert 1.2 < sum(naps) < 1.5


def test_a_dead_holders_name_is_overwritten(tmp_path: Path) -> None:
    """No text of an earlier holder with a longer name is left in the file."""
    lock = tmp_path / "a.lock"
    lock.write_text("process 1234567890 on " + "x" * 100)
    with locked(lock, CLOCK):
        assert lock.read_text().startswith(f"process {os.getpid()} on ")
        assert "xxx" not in lock.read_text()


def _failing(code: int) -> Callable[..., None]:
    def fail(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    return fail


def test_a_full_disk_keeps_the_lock_without_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The holder's name is for people; the lock needs no space."""
    monkeypatch.setattr(os, "pwrite", _failing(errno.ENOSPC))
    with locked(tmp_path / "a.lock", CLOCK), pytest.raises(LockHeld), locked(tmp_path / "a.lock", CLOCK):
        pass


def test_a_file_system_without_locks_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An NFS server without a lock manager, for one."""
    monkeypatch.setattr(fcntl, "flock", _failing(errno.ENOLCK))
    with pytest.raises(TableError, match=r"a\.lock cannot be locked: No locks available"):
        locked(tmp_path / "a.lock", CLOCK).__enter__()


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A file of another user that no lock may touch."""
    path = tmp_path / "victim"
    path.write_text("precious")
    return path


@pytest.mark.parametrize(
    ("plant", "said"),
    [
        (lambda lock, victim: lock.symlink_to(victim), "symbolic link"),
        (lambda lock, victim: lock.symlink_to(victim.with_name("new")), "symbolic link"),
        (lambda lock, victim: lock.hardlink_to(victim), "hard links"),
        (lambda lock, _: os.mkfifo(lock), "not a regular file"),
        (lambda lock, _: lock.mkdir(), "Is a directory"),
    ],
)
def test_what_was_planted_is_neither_followed_nor_written(
    tmp_path: Path, victim: Path, plant: Callable[[Path, Path], None], said: str
) -> None:
    """One line describes it; the file that it links to keeps its content, and no file is made."""
    lock = tmp_path / "a.lock"
    plant(lock, victim)
    with pytest.raises(TableError, match=rf"a\.lock cannot be locked: .*{said}"), locked(lock, CLOCK):
        pass
    assert victim.read_text() == "precious"
    assert not victim.with_name("new").exists()


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o600), (0o077, 0o600), (0o000, 0o660), (0o007, 0o660)])
def test_only_who_may_run_can_hold_it(tmp_path: Path, umask: int, mode: int) -> None:
    """Other users can neither open it, which is enough to hold it, nor read it; a group can if the umask allows it."""
    before = os.umask(umask)
    try:
        with locked(tmp_path / "a.lock", CLOCK):
            assert stat.S_IMODE((tmp_path / "a.lock").stat().st_mode) == mode
    finally:
        os.umask(before)


def test_a_lock_file_of_an_earlier_release_becomes_private(tmp_path: Path) -> None:
    """Its earlier mode was readable for all."""
    lock = tmp_path / "a.lock"
    lock.touch(0o644)
    with locked(lock, CLOCK):
        assert stat.S_IMODE(lock.stat().st_mode) == 0o600


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")
@pytest.mark.parametrize(("mode", "opens"), [(0o660, True), (0o666, False)])
def test_a_lock_file_of_another_user(tmp_path: Path, mode: int, opens: bool) -> None:
    """A member of the group may have made it; a file that all can write may have been planted."""
    lock, user, other = tmp_path / "a.lock", 65_533, 65_534
    lock.touch()
    lock.chmod(mode)
    os.chown(lock, other, user)
    code = (
        "import os, sys, pathlib\n"
        "from kafka_lagoon.delta.lock import locked\n"
        "from kafka_lagoon.clock import SYSTEM_CLOCK\n"
        "handle = os.open(sys.argv[1], os.O_RDONLY)\n"
        "os.setgid(int(sys.argv[2])); os.setuid(int(sys.argv[2])); os.fchdir(handle)\n"
        "try:\n"
        "    with locked(pathlib.Path('a.lock'), SYSTEM_CLOCK): print('held')\n"
        "except Exception as error: print(error)\n"
    )
    tmp_path.chmod(0o711)
    command = [sys.executable, "-c", code, str(tmp_path), str(user)]
    said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    assert said.startswith("held" if opens else "a.lock cannot be locked: it belongs to another user (65534)")


@pytest.mark.parametrize("existing", [True, False], ids=["file", "folder"])
def test_a_lock_that_this_user_may_not_open(tmp_path: Path, existing: bool) -> None:
    """The warehouse cannot be written; the line names the owner of a file that an earlier run of another user left."""
    lock = tmp_path / "a.lock"
    if existing:
        lock.touch(0)
    tmp_path.chmod(0o500)
    with modes_bind(), pytest.raises(ConfigError) as raised, locked(lock, CLOCK):
        pass
    cure = f": it belongs to user {getpass.getuser()}: chown -R {os.geteuid()} {tmp_path}" if existing else ""
    assert raised.value.problems == (f"warehouse: {lock} cannot be locked: Permission denied{cure}",)


def test_a_folder_that_is_gone_is_a_table_error(tmp_path: Path) -> None:
    """A lock that cannot be made is an error of one line."""
    with (
        pytest.raises(TableError, match=r"a\.lock cannot be locked: No such file"),
        locked(tmp_path / "no" / "a.lock", CLOCK),
    ):
        pass
