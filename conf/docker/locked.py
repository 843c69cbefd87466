"""Prints the part of requirements.lock that an extra of the project, or a package, needs: `python locked.py all`.

The lock says of every package which others brought it ("via"), so pip resolves nothing a second time, and hashes stay.
"""

import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

_NAME = re.compile(r"[A-Za-z0-9._-]+")
_OURS = "kafka-lagoon"


def locked(lock: str, wanted: Iterable[str]) -> str:
    """The entries of these packages and of all that they bring; some have one entry for each of several versions of Python."""
    entries = [(_canonical(entry), entry) for entry in re.split(r"^(?=[A-Za-z0-9])", lock, flags=re.MULTILINE)]
    chosen: set[str] = set()
    new = set(wanted)
    while new:
        chosen |= new
        new = {name for name, entry in entries if chosen & set(_via(entry))} - chosen
    return "".join(entry for name, entry in entries if name in chosen)


def _via(entry: str) -> list[str]:
    """The packages that brought one."""
    comments = re.findall(r"^    #(?: via)? +([a-z0-9._-]+)", entry.replace("# via\n", ""), flags=re.MULTILINE)
    return [name for name in comments if name != _OURS]


def _canonical(requirement: str) -> str:
    match = _NAME.match(requirement)
    return re.sub(r"[-_.]+", "-", match[0]).lower() if match else ""


def packages(project: dict[str, object], extra: str) -> Iterator[str]:
    """The packages that the project and one of its extras name, extras of extras included."""
    extras: dict[str, list[str]] = project["optional-dependencies"]  # type: ignore[assignment]
    base: list[str] = project["dependencies"]  # type: ignore[assignment]
    for requirement in [*base, *extras[extra]]:
        if _canonical(requirement) == _OURS:
            inner = requirement.partition("[")[2].partition("]")[0]
            for name in inner.split(","):
                yield from packages(project, name.strip())
        else:
            yield _canonical(requirement)


if __name__ == "__main__":
    project = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["project"]
    name = sys.argv[1]
    wanted = packages(project, name) if name in project["optional-dependencies"] else [name]
    sys.stdout.write(locked(Path("requirements.lock").read_text("utf-8"), wanted))
