"""Downloads the jars of a lock file into a cache folder, and verifies them each time they are used.

Whoever may write to the cache folder could put another jar there, so a jar counts only if its SHA-256 is the lock file's.

    python -m kafka_lagoon.sandbox.jars delta-4.4.0 kafka-4.3.1

Ivy, which comes with PySpark, downloads: it knows the public registry by itself, and a proxy from JAVA_TOOL_OPTIONS.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from xml.sax.saxutils import quoteattr

from kafka_lagoon.errors import JarsUnavailable
from kafka_lagoon.sandbox.java import java_command

_LOCKS = Path(__file__).parent / "locks"
_ATTEMPTS = 2  # the second goes on where the first stopped
_ATTEMPT_TIMEOUT_S = 300

# No POMs and no checksum files: the lock names every jar, and SHA-256 says more than what lies beside a jar. That
# makes one request a jar instead of four: 5 s instead of 40 s for Kafka.
_IVY_SETTINGS = """<ivysettings>
  <settings defaultResolver="central"/>
  <timeout-constraints>
    <timeout-constraint name="patience" connectionTimeout="5000" readTimeout="30000"/>
  </timeout-constraints>
  <resolvers>
    <ibiblio name="central" m2compatible="true" usepoms="false" useMavenMetadata="false" checksums=""
             timeoutConstraint="patience"/>
  </resolvers>
</ivysettings>
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Jar:
    """One line of a lock file."""

    organisation: str
    name: str
    revision: str
    sha256: str

    def file_name(self) -> str:
        """Name of the file in its folder."""
        return f"{self.name}-{self.revision}.jar"


def locked(lock: str) -> tuple[Jar, ...]:
    """The jars of a lock file, e.g. `kafka-4.3.1`; JarsUnavailable names the lock files that exist."""
    path = _LOCKS / f"{lock}.lock"
    if not path.is_file():
        known = ", ".join(sorted(one.stem for one in _LOCKS.glob("*.lock")))
        raise JarsUnavailable(f"no lock file {lock}: there are {known}")
    rows = [line.split() for line in path.read_text().splitlines() if line and not line.startswith("#")]
    return tuple(Jar(organisation=row[0], name=row[1], revision=row[2], sha256=row[3]) for row in rows)


def cache_folder() -> Path:
    """`LAGOON_CACHE`, else `.cache` in the clone that this file belongs to, else a folder of the user's own."""
    named = os.environ.get("LAGOON_CACHE")
    if named:
        return Path(named)
    clone = Path(__file__).resolve().parents[3]
    return clone / ".cache" if (clone / "pyproject.toml").is_file() else Path.home() / ".cache" / "kafka-lagoon"


def jar_paths(lock: str) -> list[Path]:
    """Every jar of a lock file with the right SHA-256, downloaded if one is missing or another; JarsUnavailable if that fails.

    To verify them takes 0.05 s for Delta's 13 MB and 0.2 s for Kafka's 44 MB.
    """
    jars = locked(lock)
    folder = cache_folder() / "jars" / lock
    try:
        if not _is_complete(folder, jars):
            with _one_at_a_time(folder):
                if not _is_complete(folder, jars):  # else another process brought them while we waited
                    _download(folder, jars)
    except OSError as error:
        raise JarsUnavailable(
            f"{error.filename or folder}: {error.strerror}; LAGOON_CACHE can name another folder"
        ) from error
    return [folder / jar.file_name() for jar in jars]


def install_into_spark(lock: str) -> Path:
    """Put the jars of a lock file on the class path of this environment's Spark; other revisions of them go.

    A plain spark-submit then has them without --packages, which would resolve them at every start. Returns the folder.
    """
    folder = _pyspark_folder() / "jars"
    for jar, path in zip(locked(lock), jar_paths(lock), strict=True):
        for old in folder.glob(f"{jar.name}-[0-9]*.jar"):
            if old.name != jar.file_name():
                old.unlink()
        shutil.copyfile(path, folder / f"{path.name}.part")
        (folder / f"{path.name}.part").replace(folder / path.name)
    return folder


def _is_complete(folder: Path, jars: Sequence[Jar]) -> bool:
    return all(_sha256(folder / jar.file_name()) == jar.sha256 for jar in jars)


def _sha256(path: Path) -> str | None:
    """SHA-256 of a file; None if there is no such file, or none that we may read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


@contextmanager
def _one_at_a_time(folder: Path) -> Iterator[None]:
    """Other processes that want the same folder wait here; the lock ends with the process that holds it."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_name(f"{folder.name}.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


def _download(folder: Path, jars: Sequence[Jar]) -> None:
    scratch = folder.with_name(f"{folder.name}.partial")
    shutil.rmtree(scratch, ignore_errors=True)  # of an attempt that was killed
    try:
        _retrieve(jars, scratch)
        _verify(jars, scratch / "jars")
        shutil.rmtree(folder, ignore_errors=True)
        (scratch / "jars").rename(folder)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _retrieve(jars: Sequence[Jar], scratch: Path) -> None:
    scratch.mkdir()
    (scratch / "settings.xml").write_text(_IVY_SETTINGS)
    (scratch / "ivy.xml").write_text(_ivy_module(jars))
    for _ in range(_ATTEMPTS):
        complaint = _run_ivy(scratch)
        if complaint is None:
            return
    raise JarsUnavailable(f"{len(jars)} jars could not be downloaded: {complaint}")


def _ivy_module(jars: Sequence[Jar]) -> str:
    lines = [
        f"<dependency org={quoteattr(jar.organisation)} name={quoteattr(jar.name)} rev={quoteattr(jar.revision)}"
        ' transitive="false" conf="default"/>'
        for jar in jars
    ]
    head = '<ivy-module version="2.0"><info organisation="kafka-lagoon" module="jars"/><dependencies>'
    return "\n".join([head, *lines, "</dependencies></ivy-module>"])


def _run_ivy(scratch: Path) -> str | None:
    """None when Ivy has retrieved every jar, else the first thing that it complains about."""
    ivy = next((_pyspark_folder() / "jars").glob("ivy-*.jar"), None)
    if ivy is None:
        return "this PySpark brings no Ivy"
    options = ["-settings", "settings.xml", "-cache", "ivy", "-warn", "-ivy", "ivy.xml"]
    command = java_command("-jar", str(ivy), *options, "-retrieve", "jars/[artifact]-[revision].[ext]")
    try:
        run = subprocess.run(  # noqa: S603  our own command line
            command, cwd=scratch, capture_output=True, text=True, timeout=_ATTEMPT_TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise JarsUnavailable(f"the registry did not deliver within {_ATTEMPT_TIMEOUT_S} s") from error
    return None if run.returncode == 0 else _first_complaint(run.stdout + run.stderr)


def _first_complaint(output: str) -> str:
    lines = [line.strip(" \t:") for line in output.splitlines()]
    for telling in ("Server access error", "Exception", "not found", ""):
        for line in lines:
            if line and telling in line:
                return line
    return "Ivy failed without a word"


def _verify(jars: Sequence[Jar], folder: Path) -> None:
    for jar in jars:
        found = _sha256(folder / jar.file_name())
        if found != jar.sha256:
            raise JarsUnavailable(f"{jar.file_name()}: SHA-256 is {found}, the lock file says {jar.sha256}")


def _pyspark_folder() -> Path:
    spec = find_spec("pyspark")  # found, not imported: importing takes half a second
    if spec is None or spec.origin is None:
        raise JarsUnavailable("PySpark is not installed: its Ivy downloads the jars")
    return Path(spec.origin).parent


def main(locks: Sequence[str]) -> int:
    """Download what is named; what belongs to Delta goes onto Spark's class path too."""
    for lock in locks:
        started = time.monotonic()
        try:
            count = len(jar_paths(lock))
            where = install_into_spark(lock) if lock.startswith("delta-") else cache_folder() / "jars" / lock
        except JarsUnavailable as error:
            print(f"{lock}: {error}", file=sys.stderr)  # noqa: T201  a command's own line
            return 1
        print(f"{lock}: {count} jars in {where} ({time.monotonic() - started:.1f} s)")  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
