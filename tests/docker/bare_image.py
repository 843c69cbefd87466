"""Carries out a Dockerfile in folders: its RUN steps in a bare Debian by chroot, its final stage as its user on a read-only tree.

It stands in for an engine where there is none. It knows what our Dockerfile uses, and needs root, debootstrap and the registries.
"""

import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

_BASE = "python:3.11-slim-bookworm"
_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
_INSIDE = 'mount -t proc proc "$0/proc" && mount --bind /dev "$0/dev" && shift && exec "$@"'
_READ_ONLY = """
mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && mount -t proc proc "$0/proc" && mount --bind /dev "$0/dev"
mount -t tmpfs -o mode=1777 tmpfs "$0/tmp" && mount --bind "$1" "$0/var/lib/lagoon" && shift 2 && exec "$@"
"""


def instructions(dockerfile: str) -> Iterator[tuple[str, str]]:
    """Each instruction and its argument, without comments and line ends."""
    text = re.sub(r"^#.*\n", "", dockerfile, flags=re.MULTILINE)
    for line in re.sub(r"\\\n", " ", text).splitlines():
        if line.strip():
            name, _, argument = line.strip().partition(" ")
            yield name, argument.strip()


@dataclass(slots=True)
class Stage:
    """A stage of the build: its folder, and what ENV, WORKDIR and others have set."""

    root: Path
    environ: dict[str, str] = field(default_factory=lambda: {"PATH": _PATH, "HOME": "/root"})
    folder: str = "/"
    user: str = "0:0"
    entrypoint: list[str] = field(default_factory=list)

    def run(self, command: str) -> None:
        """A RUN step."""
        inside = ["chroot", str(self.root), "sh", "-c", f"cd {shlex.quote(self.folder)} && {command}"]
        subprocess.run(
            ["unshare", "--mount", "sh", "-c", _INSIDE, str(self.root), "-", *inside], env=self.environ, check=True
        )

    def command(self, state: Path, *command: str) -> list[str]:
        """The arguments of a process that runs as the stage's user, where only /tmp and /var/lib/lagoon (`state`) can be written."""
        inside = [
            "chroot",
            f"--userspec={self.user}",
            str(self.root),
            "env",
            "-i",
            *(f"{k}={v}" for k, v in self.environ.items()),
        ]
        return ["unshare", "--mount", "sh", "-c", _READ_ONLY, str(self.root), str(state), "-", *inside, *command]


def bare_debian(folder: Path) -> None:
    """A minimal Debian with Python, in place of the base image; certificates and registries are the machine's."""
    program = shutil.which("debootstrap")
    assert program, "debootstrap is missing: apt-get install debootstrap"
    packages = "--include=python3,python3-venv,ca-certificates"
    subprocess.run(
        [program, "--variant=minbase", packages, "bookworm", str(folder)], check=True, stdout=subprocess.DEVNULL
    )
    (folder / "usr/local/bin/python").symlink_to("/usr/bin/python3.11")
    for name in (
        "etc/pip.conf",
        "etc/resolv.conf",
        "etc/hosts",
        "usr/local/share/ca-certificates",
        "etc/apt/apt.conf.d/99artifact-registry",
    ):
        source = Path("/", name)
        if source.is_dir():
            shutil.copytree(source, folder / name, dirs_exist_ok=True)
        elif source.exists():
            shutil.copy(source, folder / name)
    subprocess.run(
        ["chroot", str(folder), "update-ca-certificates"], env={"PATH": _PATH}, check=True, capture_output=True
    )


def build(dockerfile: Path, context: Path, into: Path) -> Stage:
    """The final stage, built."""
    stages: dict[str, Stage] = {}
    stage = Stage(into / "base")
    for name, argument in instructions(dockerfile.read_text("utf-8")):
        match name:
            case "FROM":
                base, _, alias = argument.partition(" AS ")
                stage = _from(stages, base, into / (alias or "final"))
                stages[alias] = stage
            case "RUN":
                stage.run(argument)
            case "COPY":
                _copy(stage, stages, context, shlex.split(argument))
            case "ENV":
                stage.environ |= dict(pair.split("=", 1) for pair in shlex.split(argument))
            case "WORKDIR":
                stage.folder = argument
                (stage.root / argument[1:]).mkdir(parents=True, exist_ok=True)
            case "USER":
                stage.user = argument
            case "ENTRYPOINT":
                stage.entrypoint = json.loads(argument)
            case "LABEL" | "CMD":
                pass
            case _:
                raise NotImplementedError(name)
    return stage


def _from(stages: dict[str, Stage], base: str, root: Path) -> Stage:
    if base == _BASE:
        bare_debian(root)
        return Stage(root)
    subprocess.run(["cp", "-a", "--reflink=auto", str(stages[base].root), str(root)], check=True)
    return Stage(root, dict(stages[base].environ))


def _copy(stage: Stage, stages: dict[str, Stage], context: Path, words: Sequence[str]) -> None:
    source = context
    if words[0].startswith("--from="):
        source, words = stages[words[0].removeprefix("--from=")].root, words[1:]
    *names, target = words
    to = stage.root / str(Path(stage.folder, target))[1:]
    for name in names:
        path = source / name.lstrip("/")
        if path.is_dir():  # its content, as COPY does
            to.mkdir(parents=True, exist_ok=True)
            subprocess.run(["cp", "-a", f"{path}/.", str(to)], check=True)
        else:
            shutil.copy2(path, to)
