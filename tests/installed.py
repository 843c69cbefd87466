"""The wheel in an environment of its own, without the clone and without what `make setup` puts into PySpark.

Other packages are those of the environment that runs the tests, linked one by one: to install them anew takes a minute and 500 MB.
PySpark is a copy (hard links) without Delta's jars, because it looks for its jars beside its own files.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from kafka_lagoon.jars.locked_jars import DELTA, cache_folder, jar_paths, locked
from kafka_lagoon.records.kernel_cache import cache_folder as kernel_folder

CLONE = Path(__file__).resolve().parent.parent
_SOURCES = ("pyproject.toml", "README.md", "LICENSE", "conf", "jobs", "pipeline")
_SUBMIT = ("spark-submit", "find-spark-home", "find_spark_home.py")  # what pip takes from PySpark for spark-submit


@dataclass(frozen=True)
class Installed:
    """An environment (a venv) and the home of its user, whose caches hold what a first run would bring there."""

    environment: Path
    home: Path

    def cron(self) -> dict[str, str]:
        """All the variables that cron gives a job; and JAVA_HOME, which README tells to set where it is needed."""
        java = {name: os.environ[name] for name in ("JAVA_HOME",) if name in os.environ}
        return {"HOME": str(self.home), "PATH": "/usr/bin:/bin", "SHELL": "/bin/sh", "LOGNAME": "lagoon", **java}

    def run(self, command: str, **more: str) -> subprocess.CompletedProcess[str]:
        """A command line, started by sh in the user's home as cron would."""
        return subprocess.run(
            ["/bin/sh", "-c", command],
            env=self.cron() | more,
            cwd=self.home,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )


def install(folder: Path) -> Installed:
    """Build the wheel, make an environment, install it there."""
    environment, home = folder / "lagoon" / ".venv", folder / "home"
    wheel = _wheel(folder)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    pip = [sys.executable, "-m", "pip", "--quiet", "--python", environment / "bin" / "python"]
    subprocess.run([*pip, "install", "--no-deps", "--no-index", wheel], check=True)
    (site,) = (environment / "lib").glob("python*/site-packages")
    _link_packages(folder / "packages")
    (site / "packages.pth").write_text(f"{folder / 'packages'}\n")
    for name in _SUBMIT:
        shutil.copy(Path(sys.executable).parent / name, environment / "bin")
    _fill_caches(home / ".cache" / "kafka-lagoon")
    return Installed(environment, home)


def _wheel(folder: Path) -> Path:
    """The wheel of this clone, built where nothing else of it is."""
    source = folder / "source"
    source.mkdir()
    for name in _SOURCES:
        one = CLONE / name
        if one.is_dir():
            shutil.copytree(one, source / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(one, source)
    build = "import sys; from setuptools import build_meta; build_meta.build_wheel(sys.argv[1])"
    command = [sys.executable, "-c", build, folder]
    subprocess.run(command, cwd=source, check=True, capture_output=True, env={**os.environ, "PYTHONPATH": ""})
    (wheel,) = folder.glob("*.whl")
    return wheel


def _link_packages(folder: Path) -> None:
    folder.mkdir()
    site = Path(sysconfig.get_path("purelib"))
    for one in site.iterdir():
        is_clone = one.name.startswith(("kafka_lagoon-", "__"))
        if not is_clone and one.suffix != ".pth" and one.name != "pyspark":
            (folder / one.name).symlink_to(one)
    delta = {jar.name for jar in locked(DELTA)}

    def unwanted(_: str, names: list[str]) -> list[str]:
        return [name for name in names if name in {"__pycache__", "work"} or name.rpartition("-")[0] in delta]

    shutil.copytree(site / "pyspark", folder / "pyspark", copy_function=_hard_link, ignore=unwanted)


def _hard_link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copy2(source, target)


def _fill_caches(cache: Path) -> None:
    """What a first run downloads and compiles, so that the test needs no registry and does not compile again."""
    jar_paths(DELTA)
    shutil.copytree(cache_folder() / "jars" / DELTA, cache / "jars" / DELTA)
    shutil.copytree(kernel_folder(), cache / "kernels")
