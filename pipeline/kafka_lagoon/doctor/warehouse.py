"""Checks the folder of a warehouse on this machine: whether it can be written, excludes writers, has space, and is in use."""

import os
import shutil
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from kafka_lagoon.doctor.results import Check, Result
from kafka_lagoon.folders import owner

RACERS, ROUNDS = 2, 20
_RACE_TIMEOUT_S = 60
_ENOUGH_BYTES = 1 << 30
_ENOUGH_SHARE = 0.02
_LOCKS, _MOUNTS = Path("/proc/locks"), Path("/proc/self/mountinfo")
_MODULE = "kafka_lagoon.doctor.race"


def folder(path: Path, *, is_created: bool = True) -> Iterator[Result]:
    """Check that tables can be written in the folder, or above it where the first run will create it.

    If no run creates it unasked (`is_created` False), the result says how to ask.
    """
    check, existing = Check("warehouse", str(path)), _existing(path)
    if not existing.is_dir():
        yield check.failed(f"{existing} is not a folder", "name another folder in warehouse")
        return
    probe = existing / f".lagoon-probe-{uuid.uuid4().hex}"
    try:
        with probe.open("xb") as file:
            file.write(b"probe")
        probe.unlink()
    except OSError as error:
        yield check.failed(f"{existing} cannot be written: {error.strerror}", _cure(error, existing))
        return
    finally:
        # A folder that cannot be entered, or is mounted read-only, refuses that also of a file that is not there.
        with suppress(OSError):
            probe.unlink(missing_ok=True)
    if closed := _closed(path.absolute()):
        others = f", and {len(closed) - 1:,} more" if len(closed) > 1 else ""
        yield check.failed(
            f"{closed[0]} cannot be written: it belongs to user {owner(closed[0])}{others}",
            f"chown -R {os.geteuid()} {path.absolute()}",
        )
        return
    made = "the first run makes it" if is_created else "lagoon snapshot --create makes it"
    yield check.ok("writable" if existing == path.absolute() else f"not there yet; {made} in {existing}")
    yield from _exclusion(existing)


def _closed(path: Path) -> list[Path]:
    """Tables, their logs and days, and lock files that this user cannot write, because another user's runs created them."""
    from kafka_lagoon.tables.schema import TABLES  # noqa: PLC0415  its packages may be missing

    patterns = [f"{table.name}{below}" for table in TABLES for below in ("", "/_delta_log", f"/{table.partition_by}=*")]
    folders = [(folder, os.W_OK | os.X_OK) for pattern in patterns for folder in path.glob(pattern)]
    files = [(file, os.W_OK | os.R_OK) for file in path.glob(".lagoon-*.lock")]
    return [place for place, mode in (*folders, *files) if not os.access(place, mode, effective_ids=True)]


def _existing(path: Path) -> Path:
    """The folder, or the nearest existing folder above it."""
    absolute = path.absolute()
    return next(place for place in (absolute, *absolute.parents) if place.exists())


def _cure(error: OSError, path: Path) -> str:
    if isinstance(error, PermissionError):
        return f"let user {os.getuid()} write to {path}"
    return "free some space, or mount it for writing"


def _exclusion(path: Path) -> Iterator[Result]:
    """Let processes increment a number in a file under the lock that commits take."""
    check = Check("commits", str(path))
    probe = path / f".lagoon-probe-{uuid.uuid4().hex}"
    try:
        probe.write_text("0")
        codes, counted = _race(probe), int(probe.read_text() or 0)
    except subprocess.TimeoutExpired:
        yield check.failed(
            f"processes that wanted the lock of commits did not end within {_RACE_TIMEOUT_S} s",
            "use a file system that releases locks",
        )
        return
    finally:
        probe.unlink(missing_ok=True)
        probe.with_name(f"{probe.name}.lock").unlink(missing_ok=True)
    lost = RACERS * ROUNDS - counted
    if any(codes):
        yield check.failed(
            "processes that wanted the lock of commits ended with an error", "use a file system with locks"
        )
    elif lost:
        yield check.failed(
            f"the lock let two processes in: {lost} of {RACERS * ROUNDS} counts were lost",
            "use a file system with locks, or a store that excludes writers",
        )
    else:
        yield check.ok(f"{RACERS} processes, {ROUNDS} times each, one at a time; other machines were not tried")


def _race(probe: Path) -> list[int]:
    command = [sys.executable, "-m", _MODULE, str(probe), str(ROUNDS)]
    racers = [
        subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603  our own module
        for _ in range(RACERS)
    ]
    try:
        return [racer.wait(_RACE_TIMEOUT_S) for racer in racers]
    finally:
        for racer in racers:
            racer.kill()  # does nothing to a process that has ended


def locks(path: Path) -> Iterator[Result]:
    """Runs that hold a lock of the warehouse now, by the kernel's list: taking the lock to find out could end a run."""
    check = Check("locks", str(path))
    files = sorted(path.glob(".lagoon-*.lock")) if path.is_dir() else []
    try:
        held = set(_held())
    except OSError:
        yield check.not_checked(f"{_LOCKS} cannot be read")
        return
    busy = [file for file in files if _identity(file) in held]
    if not busy:
        yield check.ok("no run of this machine holds one")
    for file in busy:
        holder = file.read_text("utf-8", "replace").strip() or "unknown"
        yield Check("locks", str(file)).warning(
            f"held by {holder}", "a run is under way: wait for it, or end that process"
        )


def _held() -> Iterator[str]:
    """Device and inode of each file with a lock, from lines such as `3: FLOCK  ADVISORY  WRITE 4711 00:2d:131074 0 EOF`."""
    for line in _LOCKS.read_text().splitlines():
        match line.split():
            case [_, "FLOCK", _, _, _, file, *_]:  # those that wait have an arrow in second place
                yield file


def _identity(file: Path) -> str:
    """Device and inode as /proc/locks writes them: the device is that of the file system, and btrfs gives its files others."""
    opened = os.open(file, os.O_PATH)  # which is no lock, and lets none go
    try:
        status, mounted = os.fstat(opened), _device(opened)
    finally:
        os.close(opened)
    major, minor = mounted or (os.major(status.st_dev), os.minor(status.st_dev))
    return f"{major:02x}:{minor:02x}:{status.st_ino}"


def _device(opened: int) -> tuple[int, int] | None:
    """The device of the file system of an open file, from lines such as `36 29 0:34 / /srv rw - btrfs`; None if unknown."""
    facts = (line.split() for line in Path(f"/proc/self/fdinfo/{opened}").read_text().splitlines())
    mounts = {values[0] for name, *values in facts if name == "mnt_id:"}
    for line in _MOUNTS.read_bytes().splitlines():
        number, _, device, *_ = line.decode("utf-8", "replace").split(" ")
        if number in mounts:
            major, _, minor = device.partition(":")
            return int(major), int(minor)
    return None


def free_space(what: str, path: Path) -> Iterator[Result]:
    """Check the free space and inodes of a file system."""
    existing = _existing(path)
    check, usage, nodes = Check("disk", f"{what} {path}"), shutil.disk_usage(existing), os.statvfs(existing)
    observed = f"{usage.free / 1e9:,.1f} GB free of {usage.total / 1e9:,.1f}"
    if nodes.f_files and not nodes.f_favail:
        yield check.failed(f"{observed}, but no inode is free", "remove files")
    elif usage.free < max(_ENOUGH_BYTES, usage.total * _ENOUGH_SHARE):
        yield check.warning(observed, "free some space; lagoon maintain removes files that no table needs")
    else:
        yield check.ok(observed)
