"""A JVM takes the archive of classes that is made for it, and starts without one that does not fit."""

from pathlib import Path

import pytest

from kafka_lagoon.delta import plain_jvm
from kafka_lagoon.jars.class_archives import KERNEL, archive_options
from kafka_lagoon.jars.java import class_path
from kafka_lagoon.jars.locked_jars import cache_folder
from tests.delta.test_admin_actions import NOON_MS
from tests.jobs.commands import lagoon, rows, run

pytestmark = [pytest.mark.java, pytest.mark.proof]


def test_the_kernel_starts_from_an_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A JVM that may not start without the archive starts; rows are written with it, and with one that is broken."""
    cache = tmp_path / "cache"
    cache.mkdir()
    (cache / "jars").symlink_to(cache_folder().absolute() / "jars")
    monkeypatch.setenv("LAGOON_CACHE", str(cache))
    made = lagoon("path", "classes", LAGOON_CACHE=str(cache))
    assert (made.returncode, made.stdout, made.stderr) == (0, f"{cache}/classes\n", "")
    assert [path.name for path in (cache / "classes").iterdir()] == [KERNEL]
    jars = plain_jvm.kernel_jars()
    py4j = next(jar for jar in jars if jar.name.startswith("py4j-"))  # py4j names it first
    started = run(
        [
            "java",
            "-Xshare:on",
            *plain_jvm._FLAGS,
            *archive_options(KERNEL),
            "-cp",
            class_path([py4j, *jars]),
            "-version",
        ]
    )
    assert started.returncode == 0, started.stdout + started.stderr
    for lake in ("whole", "broken"):
        command = ["python", "-m", "tests.delta.plain_recording", str(tmp_path / lake), str(NOON_MS)]
        written = run(command, LAGOON_CACHE=str(cache))
        assert (written.returncode, written.stdout) == (0, "None\n"), written.stderr
        assert len(rows(tmp_path / lake, "admin_actions")) == 5
        archive = cache / "classes" / KERNEL
        content = archive.read_bytes()
        archive.unlink()
        archive.write_bytes(content[:4096] + bytes(len(content) - 4096))
