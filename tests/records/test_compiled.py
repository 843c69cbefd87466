"""Compiled kernels: compiled once, kept where only we can write, and never missing because of where that is."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from pipeline.records.compiled import cache_folder

ROOT = Path(__file__).parents[2]
KERNEL = """
from pipeline.records.compiled import kernel

@kernel("int64(int64)")
def double(number):
    return 2 * number
"""
DOUBLE = "from pipeline.records.ours import double; assert double(21) == 42"


@pytest.fixture(autouse=True)
def _nobody(monkeypatch, tmp_path):
    """A user without a home of whom nothing is set, and with a folder for temporary files."""
    for name in ("NUMBA_CACHE_DIR", "LAGOON_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "file" / "no"))
    (tmp_path / "file").touch()
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))


def test_the_first_folder_that_can_be_written(monkeypatch, tmp_path):
    """What is named comes first, then the user's own folder, then one among temporary files."""
    assert cache_folder() == tmp_path / "tmp" / f"kafka-lagoon-{os.getuid()}" / "kernels"
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache_folder() == tmp_path / "home" / ".cache" / "kafka-lagoon" / "kernels"
    monkeypatch.setenv("LAGOON_CACHE", str(tmp_path / "ours"))
    assert cache_folder() == tmp_path / "ours" / "kernels"
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "numba"))
    assert cache_folder() == tmp_path / "numba"


def test_a_folder_that_others_can_write_to_is_not_used(tmp_path):
    """What lies in the folder is run as code, so somebody else's is refused."""
    (tmp_path / "tmp" / f"kafka-lagoon-{os.getuid()}" / "kernels").mkdir(parents=True)
    cache_folder().chmod(0o777)
    with pytest.raises(OSError, match="no folder"):
        cache_folder()


def run(code: str, cache: Path, path: Path) -> subprocess.Popen:
    env = {"PATH": os.environ["PATH"], "NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": str(path)}
    return subprocess.Popen([sys.executable, "-c", code], env=env, cwd=cache.parent, stderr=subprocess.PIPE, text=True)


def finish(process: subprocess.Popen) -> None:
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors


def test_from_an_archive_by_two_at_once_and_then_not_again(tmp_path):
    """Spark ships Python as archives, to several processes at once; what they compile is the same for all paths."""
    archive = tmp_path / "lagoon.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        for source in sorted((ROOT / "pipeline").rglob("*.py")):
            packed.write(source, source.relative_to(ROOT))
        packed.writestr("pipeline/records/ours.py", KERNEL)
    cache = tmp_path / "cache"
    cache.mkdir(mode=0o700)
    both = [run(DOUBLE, cache, archive) for _ in range(2)]
    for process in both:
        finish(process)
    kept = {path: path.stat().st_mtime_ns for path in cache.rglob("*.nb*")}
    assert kept
    shutil.copy(archive, tmp_path / "other.zip")
    finish(run(DOUBLE, cache, tmp_path / "other.zip"))
    assert {path: path.stat().st_mtime_ns for path in cache.rglob("*.nb*")} == kept
    for path in kept:
        path.write_bytes(b"spoiled")
    finish(run(DOUBLE, cache, archive))
    shutil.rmtree(cache)
    cache.touch()
    finish(run(DOUBLE, cache, archive))
