"""Checks the versions of Python, Java, Spark and the packages that this installation uses, and whether they fit each other."""

import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from importlib.metadata import PackageNotFoundError, requires, version
from itertools import zip_longest
from pathlib import Path

from kafka_lagoon.doctor.results import Check, Result
from kafka_lagoon.folders import NAME_USER, nameless_user
from kafka_lagoon.jars.java import java_path, java_release
from kafka_lagoon.jars.locked_jars import DELTA, FOR_SPARK

DISTRIBUTION = "kafka-lagoon"
TRIED_PYTHONS = ((3, 11), (3, 13))
TRIED_JAVAS = (17, 25)
_FOR_DEVELOPMENT = frozenset({"all", "demo", "test", "fuzz", "lint", "kerberos"})
_REQUIREMENT = re.compile(r"""([A-Za-z0-9._-]+)(?:\[.*?\])?\s*([^;]*)(?:;\s*extra == ["'](.*?)["'])?""")
_BOUND = re.compile(r"(>=|<=|==|<|>)\s*([0-9][0-9.]*)")


def python() -> Iterator[Result]:
    """Check that this version of Python is tested."""
    check, (oldest, newest) = Check("python", sys.executable), TRIED_PYTHONS
    current, text = sys.version_info[:2], sys.version.partition(" ")[0]
    if current < oldest:
        yield check.failed(text, f"install Python {_dotted(oldest)} or newer")
    elif current > newest:
        yield check.warning(
            f"{text}, newer than what was tried", f"use Python up to {_dotted(newest)} if anything fails"
        )
    else:
        yield check.ok(text)


def java() -> Iterator[Result]:
    """Check that there is a Java that Spark runs on; JarsUnavailable without Java."""
    path = java_path()
    check, (oldest, newest) = Check("java", path), TRIED_JAVAS
    release = java_release(path)
    if release is None:
        yield check.failed("it does not say its version", f"install Java {oldest} or newer, or let JAVA_HOME name it")
        return
    if release < oldest:
        yield check.failed(f"Java {release}", f"install Java {oldest} or newer, or let JAVA_HOME name it")
    elif fault := nameless_user():
        yield check.failed(fault, NAME_USER)
    elif release > newest:
        yield check.warning(
            f"Java {release}, newer than what was tried", f"use Java {oldest} to {newest} if anything fails"
        )
    else:
        yield check.ok(f"Java {release}")


def spark() -> Iterator[Result]:
    """Check that Delta's jars of this version are for the Spark that jobs run on."""
    home = os.environ.get("SPARK_HOME")
    check = Check("spark", f"SPARK_HOME {home}" if home else "PySpark of this environment")
    release = _release_of(Path(home)) if home else _installed("pyspark")
    if release is None and not home and _installed("pyspark-client"):
        yield check.failed(
            "only Spark Connect's client, which has no JVM", "pip install 'kafka-lagoon[spark]' elsewhere"
        )
    elif release is None and home:
        yield check.not_checked("no file RELEASE says its version", f"jobs need Spark {FOR_SPARK}x")
    elif release is None:
        yield check.not_checked("not installed: the jobs need it", "pip install 'kafka-lagoon[spark]'")
    elif release.startswith(FOR_SPARK):
        yield check.ok(f"Spark {release}, as {DELTA} needs it")
    else:
        yield check.failed(f"Spark {release}, and {DELTA} is for {FOR_SPARK}x", f"use Spark {FOR_SPARK}x")


def has_spark() -> bool:
    """Return True if there is a Spark that jobs could run on, whatever its release."""
    return bool(os.environ.get("SPARK_HOME") or _installed("pyspark"))


def packages() -> Iterator[Result]:
    """Check that the packages of each extra are installed, in versions that the extra allows."""
    try:
        wanted = _by_extra(requires(DISTRIBUTION) or ())
    except PackageNotFoundError:
        yield Check("packages", DISTRIBUTION).not_checked(
            "not installed as a package: an archive, or a folder on the path"
        )
        return
    complete = {package for bounds in wanted.values() if all(map(_installed, bounds)) for package in bounds}
    for extra, bounds in wanted.items():
        yield _packages_of(extra, bounds, complete)


def _packages_of(extra: str, bounds: Mapping[str, str], complete: AbstractSet[str]) -> Result:
    """Check an extra. It is not installed if what is there of it came with others: `complete` are packages of whole extras."""
    name = f"{DISTRIBUTION}[{extra}]" if extra else DISTRIBUTION
    check, to_do = Check("packages", name), f"pip install '{name}'"
    installed = {package: _installed(package) for package in bounds}
    missing = [package for package, release in installed.items() if release is None]
    if extra and missing and bounds.keys() - set(missing) <= complete:
        return check.not_checked("this extra is not installed", f"{to_do}, if you need it")
    if missing:
        return check.failed(f"not installed: {', '.join(missing)}", to_do)
    unfit = [
        f"{package} {release} (wanted {bounds[package]})"
        for package, release in installed.items()
        if release and not is_within(release, bounds[package])
    ]
    if unfit:
        return check.warning(", ".join(unfit), f"{to_do}: these versions were not tried")
    return check.ok(", ".join(f"{package} {release}" for package, release in installed.items()))


def is_within(release: str, bounds: str) -> bool:
    """True if a version satisfies bounds such as `>=1,<2`."""
    return all(_compares(_numbers(release), relation, _numbers(bound)) for relation, bound in _BOUND.findall(bounds))


def _compares(release: Sequence[int], relation: str, bound: Sequence[int]) -> bool:
    pairs = [(ours, theirs) for ours, theirs in zip_longest(release, bound, fillvalue=0) if ours != theirs]
    order = 0 if not pairs else 1 if pairs[0][0] > pairs[0][1] else -1
    return {">=": order >= 0, "<=": order <= 0, "==": order == 0, "<": order < 0, ">": order > 0}[relation]


def _numbers(text: str) -> tuple[int, ...]:
    match = re.match(r"\d+(?:\.\d+)*", text)
    return tuple(map(int, match[0].split("."))) if match else ()


def _by_extra(requirements: Sequence[str]) -> dict[str, dict[str, str]]:
    """Extra -> package -> bounds; the extra is empty for what is always needed."""
    wanted: dict[str, dict[str, str]] = {}
    for text in requirements:
        match = _REQUIREMENT.fullmatch(text.strip())
        if match and match[1] != DISTRIBUTION and match[3] not in _FOR_DEVELOPMENT:
            wanted.setdefault(match[3] or "", {})[match[1]] = match[2].strip()
    return wanted


def _installed(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _release_of(home: Path) -> str | None:
    """The content of Spark's file RELEASE, e.g. `Spark 4.2.0 (git revision ...) built for Hadoop 3.4.2`."""
    try:
        match = re.search(r"Spark (\d[\w.-]*)", (home / "RELEASE").read_text("utf-8", "replace"))
    except OSError:
        return None
    return match[1] if match else None


def _dotted(numbers: Sequence[int]) -> str:
    return ".".join(map(str, numbers))
