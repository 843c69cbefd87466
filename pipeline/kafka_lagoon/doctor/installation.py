"""Checks what an installation downloads or compiles: Delta's jars, the kernels of the decoder, archives of Java classes."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

from kafka_lagoon.doctor.results import Check, Result
from kafka_lagoon.jars.class_archives import KERNEL, SPARK, SPARK_CLASS_PATH, archive, archive_options
from kafka_lagoon.jars.ivy import spark_jars_folder
from kafka_lagoon.jars.java import java_path
from kafka_lagoon.jars.locked_jars import DELTA, Jar, cached_jars, locked, sha256_of

_INSTALL_JARS = f"python -m kafka_lagoon.jars {DELTA}"
_JAVA_TIMEOUT_S = 60


def jars() -> Iterator[Result]:
    """Check that Delta's jars are beside Spark's or in the cache folder, and match the lock file."""
    folder = spark_jars_folder()
    check, wanted = Check("jars", DELTA), locked(DELTA)
    problems = [problem for jar in wanted for problem in _problems(folder, jar)]
    present = [jar for jar in wanted if (folder / jar.file_name()).exists()]
    if problems:
        yield check.failed("; ".join(problems), _INSTALL_JARS)
    elif len(present) == len(wanted):
        yield check.ok(f"{len(wanted)} jars in {folder}, SHA-256 as locked")
    elif present:
        missing = ", ".join(jar.file_name() for jar in wanted if jar not in present)
        yield check.failed(f"{folder} has only some of them; missing: {missing}", _INSTALL_JARS)
    elif paths := cached_jars(DELTA):
        yield check.ok(f"{len(paths)} jars in {paths[0].parent}, SHA-256 as locked")
    else:
        yield check.warning(
            "not downloaded yet: the first run does it, and needs the registry then", "lagoon path jars"
        )


def _problems(folder: Path, jar: Jar) -> Iterator[str]:
    """Faults of a jar on Spark's class path: another revision, or another file with its name."""
    others = [path.name for path in folder.glob(f"{jar.name}-[0-9]*.jar") if path.name != jar.file_name()]
    yield from (f"{folder} has {name}, not {jar.file_name()}" for name in sorted(others))
    path = folder / jar.file_name()
    if path.exists() and sha256_of(path) != jar.sha256:
        yield f"{path} has another SHA-256 than the lock file"


def kernels() -> Iterator[Result]:
    """Check that the decoder is compiled for this machine, so that no run waits for it."""
    from kafka_lagoon.records.kernel_cache import SOURCES, kept_in  # noqa: PLC0415  needs the extra records

    check = Check("kernels", "compiled decoder and encoder")
    places = {source: kept_in(source) for source in SOURCES}
    missing = [source for source, place in places.items() if place is None]
    if missing:
        yield check.warning(
            f"not compiled yet: {', '.join(missing)}; the first process that needs them takes ten seconds longer",
            "lagoon path kernels",
        )
    else:
        yield check.ok(f"in {', '.join(sorted({str(place) for place in places.values()}))}")


def class_archives() -> Iterator[Result]:
    """Check that JVMs of `lagoon` and of spark-submit start from archives of classes, which saves a third of their start."""
    yield _archive(KERNEL)
    yield _archive(SPARK)


def _archive(name: str) -> Result:
    path = archive(name)
    check, to_do = Check("class archive", str(path)), "lagoon path classes"
    if not path.exists():
        return check.warning("not there: JVMs start more slowly", to_do)
    if not archive_options(name):
        return check.warning("not used: it was cut off, or others can write to it", to_do)
    if reason := _refused(path, _class_path(name)):
        return check.warning(f"this Java does not use it: {reason}", to_do)
    return check.ok("JVMs start from it")


def _class_path(name: str) -> str:
    """The class path that an archive belongs to, or its beginning."""
    from kafka_lagoon.delta.jvm_start import kernel_class_path  # noqa: PLC0415  needs PySpark

    return kernel_class_path() if name == KERNEL else archive(SPARK_CLASS_PATH).read_text("utf-8").partition("\n")[0]


def _refused(path: Path, jars: str) -> str | None:
    """The reason why a JVM does not start from an archive; None if it does."""
    command = [java_path(), f"-XX:SharedArchiveFile={path}", "-Xshare:on", "-cp", jars, "-version"]
    run = subprocess.run(  # noqa: S603  our own command line
        command, capture_output=True, text=True, timeout=_JAVA_TIMEOUT_S, check=False
    )
    lines = [line.strip() for line in (run.stdout + run.stderr).splitlines() if line.strip()]
    return None if run.returncode == 0 else (lines or ["it does not say why"])[-1]
