"""Installs what only `make proof` needs, below .cache, and names the programs that the system must have: python -m tests.tools

Emulators of Google's and Azure's object stores, Airflow with the schemas of Kubernetes, Jupyter, what drives a browser, and atheris.
A variable names one of them in another place. Exit 1 if a program is missing, with the packages of Debian that have them.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_CACHE = ROOT / ".cache"
_NPM = _CACHE / "npm"
_TESTBENCH_SOURCE = "https://github.com/googleapis/storage-testbench"
# Programs, and the packages of Debian that have them.
PROGRAMS = {
    "cc": "gcc libc6-dev",
    "git": "git",
    "node": "nodejs",
    "npm": "npm",
    "chromium": "chromium",
    "promtool": "prometheus",
    "zsh": "zsh",
    "fish": "fish",
}


def notebook() -> Path:
    """The Python that has Jupyter."""
    return _CACHE / "notebook" / "bin" / "python"


def schedules() -> Path:
    """The Python that has Airflow."""
    return Path(os.environ.get("SCHEDULES_PYTHON", _CACHE / "schedules" / "bin" / "python"))


def storage_testbench() -> Path:
    """The Python that has Google's test server for storage, which is in a repository and in no registry."""
    return Path(os.environ.get("STORAGE_TESTBENCH_PYTHON", _CACHE / "testbench" / "bin" / "python"))


def azurite() -> Path:
    """The program of Azurite, Azure's emulator."""
    return Path(os.environ.get("AZURITE_BLOB", node_modules() / ".bin" / "azurite-blob"))


def node_modules() -> Path:
    """The folder of packages from npm."""
    return Path(os.environ.get("NODE_PATH", _NPM / "node_modules"))


def is_there(path: Path) -> Path:
    """Return a path that exists; without it a test fails, and says what installs it."""
    assert path.exists(), f"{path} is not there: python -m tests.tools installs it"
    return path


@dataclass(frozen=True)
class Tool:
    """Something that commands install, unless it is there."""

    name: str
    is_there: Callable[[], bool]
    commands: Sequence[Sequence[str | Path]]


def _environment(python: Path, *packages: str | Path) -> Sequence[Sequence[str | Path]]:
    pip = (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    return (sys.executable, "-m", "venv", python.parents[1]), (*pip, *packages)


def tools() -> Sequence[Tool]:
    """Everything that can be installed."""
    npm = ("npm", "install", "--silent", "--prefix", _NPM, "playwright-core", "axe-core", "azurite")
    source = _CACHE / "storage-testbench"
    requirements = Path(__file__).parent / "schedules" / "requirements.txt"
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--editable")
    return (
        Tool("atheris", lambda: find_spec("atheris") is not None, [(*pip, f"{ROOT}[fuzz]")]),
        Tool("Azurite, Playwright and axe-core", lambda: azurite().exists() and node_modules().exists(), [npm]),
        Tool("Airflow and Kubernetes' schemas", schedules().exists, _environment(schedules(), "-r", requirements)),
        Tool(
            "Jupyter",
            notebook().exists,
            _environment(notebook(), "-e", f"{ROOT}[sql]", "nbclient", "ipykernel", "matplotlib", "polars"),
        ),
        Tool(
            "Google's storage-testbench",
            storage_testbench().exists,
            [
                ("rm", "-rf", source),
                ("git", "clone", "--quiet", "--depth=1", _TESTBENCH_SOURCE, source),
                *_environment(storage_testbench(), source),
            ],
        ),
    )


def missing_programs() -> dict[str, str]:
    """The programs that are not there, with the packages that have them."""
    known = {"chromium": os.environ.get("CHROMIUM", "chromium")}
    return {name: package for name, package in PROGRAMS.items() if not shutil.which(known.get(name, name))}


def main() -> int:
    """Install what is missing; return 1 if a program is not there, or something cannot be installed."""
    if missing := missing_programs():
        print(f"Not there: {', '.join(missing)}. On Debian: apt-get install {' '.join(missing.values())}")
        return 1
    for tool in tools():
        if tool.is_there():
            continue
        print(f"Installing {tool.name}", flush=True)
        for command in tool.commands:
            if subprocess.run(command, cwd=ROOT, check=False).returncode:
                print(f"{tool.name} could not be installed: {' '.join(map(str, command))}")
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
