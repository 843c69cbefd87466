"""Installs the wheel in an environment of its own, without the clone and without Delta's jars of `make setup` in PySpark.

The packages that the wheel requires are links to those of the environment that runs the tests: to install them takes a minute and
500 MB. What it does not require is not there.
PySpark is a copy (hard links) without Delta's jars, because it looks for its jars beside its own files.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution, PathDistribution, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from kafka_lagoon.jars.locked_jars import DELTA, cache_folder, jar_paths, locked
from kafka_lagoon.records.kernel_cache import cache_folder as kernel_folder

CLONE = Path(__file__).resolve().parent.parent
_SOURCES = ("pyproject.toml", "README.md", "LICENSE", "NOTICE", "conf", "jobs", "pipeline")
# Commands of spark-submit that pip installs from PySpark.
_SUBMIT = ("spark-submit", "find-spark-home", "find_spark_home.py")


@dataclass(frozen=True)
class Installed:
    """An environment (a venv) and the home of its user, whose caches are filled as after a first run."""

    environment: Path
    home: Path

    def cron(self) -> dict[str, str]:
        """Return all the variables that cron sets, and JAVA_HOME, which docs/scheduling.md recommends."""
        java = {name: os.environ[name] for name in ("JAVA_HOME",) if name in os.environ}
        return {"HOME": str(self.home), "PATH": "/usr/bin:/bin", "SHELL": "/bin/sh", "LOGNAME": "lagoon", **java}

    def run(self, command: str, **more: str) -> subprocess.CompletedProcess[str]:
        """Run a command line with sh in the user's home, as cron does."""
        return subprocess.run(
            ["/bin/sh", "-c", command],
            env=self.cron() | more,
            cwd=self.home,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )


def install(folder: Path, extra: str = "all") -> Installed:
    """Install the wheel with an extra that has PySpark, and fill the caches, ready to run jobs."""
    installed = _install(folder, [extra])
    for name in _SUBMIT:
        shutil.copy(Path(sys.executable).parent / name, installed.environment / "bin")
    _copy_pyspark(folder / "packages" / "pyspark")
    _fill_caches(installed.home / ".cache" / "kafka-lagoon")
    return installed


def install_alone(folder: Path) -> Installed:
    """Install the wheel without extras, with only its required packages and their requirements."""
    return _install(folder, [])


def _install(folder: Path, extras: Sequence[str]) -> Installed:
    """Build the wheel, make an environment, install the wheel there and link its requirements."""
    home = folder / "home"
    home.mkdir()
    environment, site = install_wheel(folder)
    (metadata,) = site.glob("kafka_lagoon-*.dist-info")
    _link_packages(folder / "packages", closure(PathDistribution(metadata), extras))
    (site / "packages.pth").write_text(f"{folder / 'packages'}\n")
    return Installed(environment, home)


def install_wheel(folder: Path) -> tuple[Path, Path]:
    """Install only the wheel of this clone in an environment; return the folder of its packages."""
    environment = folder / "lagoon" / ".venv"
    wheel = _wheel(folder)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    pip = [sys.executable, "-m", "pip", "--quiet", "--python", environment / "bin" / "python"]
    subprocess.run([*pip, "install", "--no-deps", "--no-index", wheel], check=True, env=_without_search_path())
    (site,) = (environment / "lib").glob("python*/site-packages")
    return environment, site


def _without_search_path() -> dict[str, str]:
    """This environment for pip, which takes packages that PYTHONPATH names for installed ones."""
    return {**os.environ, "PYTHONPATH": ""}


def closure(root: Distribution, extras: Sequence[str]) -> dict[str, Distribution]:
    """Return every distribution that `root` with these extras requires, by name."""
    closure: dict[str, Distribution] = {}
    pending: list[tuple[Distribution, Sequence[str]]] = [(root, extras)]
    while pending:
        requiring, active = pending.pop()
        for requirement in map(Requirement, requiring.requires or ()):
            marker = requirement.marker
            if marker and not any(marker.evaluate({"extra": extra}) for extra in ("", *active)):
                continue
            name = canonicalize_name(requirement.name)
            required = root if name == "kafka-lagoon" else distribution(name)
            if name not in closure or requirement.extras:
                pending.append((required, sorted(requirement.extras)))
            if required is not root:
                closure[name] = required
    return closure


def _wheel(folder: Path) -> Path:
    """Build the wheel of this clone in a folder of its own."""
    source = folder / "source"
    source.mkdir()
    for name in _SOURCES:
        if (CLONE / name).is_dir():
            shutil.copytree(CLONE / name, source / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(CLONE / name, source)
    build = "import sys; from setuptools import build_meta; build_meta.build_wheel(sys.argv[1])"
    command = [sys.executable, "-c", build, folder]
    subprocess.run(command, cwd=source, check=True, capture_output=True, env=_without_search_path())
    (wheel,) = folder.glob("*.whl")
    return wheel


def _link_packages(folder: Path, packages: Mapping[str, Distribution]) -> None:
    folder.mkdir()
    for package in packages.values():
        for name in {file.parts[0] for file in package.files or ()} - {"..", "pyspark", "__pycache__"}:
            if not (folder / name).exists():  # several distributions may share a folder
                (folder / name).symlink_to(package.locate_file(name))


def _copy_pyspark(folder: Path) -> None:
    delta = {jar.name for jar in locked(DELTA)}

    def unwanted(_: str, names: list[str]) -> list[str]:
        return [name for name in names if name in {"__pycache__", "work"} or name.rpartition("-")[0] in delta]

    source = Path(sysconfig.get_path("purelib")) / "pyspark"
    shutil.copytree(source, folder, copy_function=hard_link, ignore=unwanted)


def hard_link(source: str, target: str) -> None:
    """Make a hard link, or a copy if that fails."""
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copy2(source, target)


def _fill_caches(cache: Path) -> None:
    """Fill the caches with downloads and compiled files of a first run, so that tests need no registry."""
    jar_paths(DELTA)
    shutil.copytree(cache_folder() / "jars" / DELTA, cache / "jars" / DELTA)
    shutil.copytree(kernel_folder(), cache / "kernels")
