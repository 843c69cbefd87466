"""Downloads jars with Ivy, which comes with PySpark: it knows the public registry, and takes a proxy from JAVA_TOOL_OPTIONS."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from xml.sax.saxutils import quoteattr

from kafka_lagoon.errors import JarsUnavailable
from kafka_lagoon.jars.java import java_command

Coordinates = tuple[str, str, str]  # organisation, name, revision

_ATTEMPTS = 2  # the second goes on where the first stopped
_ATTEMPT_TIMEOUT_S = 300
_PROXIES = ("HTTPS_PROXY", "https_proxy")

# No POMs and no checksum files: the lock names every jar and its SHA-256. That makes one request per jar instead of four:
# 5 s instead of 40 s for Kafka.
_SETTINGS = """<ivysettings>
  <settings defaultResolver="central"/>
  <timeout-constraints>
    <timeout-constraint name="timeouts" connectionTimeout="5000" readTimeout="30000"/>
  </timeout-constraints>
  <resolvers>
    <ibiblio name="central" m2compatible="true" usepoms="false" useMavenMetadata="false" checksums=""
             timeoutConstraint="timeouts"/>
  </resolvers>
</ivysettings>
"""


def retrieve(jars: Sequence[Coordinates], scratch: Path) -> None:
    """Download jars into `scratch/jars`, where `scratch` is a new folder; JarsUnavailable if that fails twice."""
    scratch.mkdir()
    (scratch / "settings.xml").write_text(_SETTINGS)
    (scratch / "ivy.xml").write_text(_module(jars))
    for _ in range(_ATTEMPTS):
        complaint = _run(scratch)
        if complaint is None:
            return
    raise JarsUnavailable(f"{len(jars)} jars could not be downloaded: {complaint}{_cure(os.environ)}")


def _cure(environ: Mapping[str, str]) -> str:
    """Return how to name a proxy to Java, where only other programs know one; else nothing."""
    if "proxyHost" in environ.get("JAVA_TOOL_OPTIONS", "") or not any(environ.get(name) for name in _PROXIES):
        return ""
    return "; Java does not read HTTPS_PROXY: set JAVA_TOOL_OPTIONS='-Dhttps.proxyHost=HOST -Dhttps.proxyPort=PORT'"


def spark_jars_folder() -> Path:
    """The folder of the jars that PySpark brings; JarsUnavailable if PySpark is not installed."""
    spec = find_spec("pyspark")  # found, not imported: importing takes half a second
    if spec is None or spec.origin is None:
        raise JarsUnavailable(
            "PySpark, whose Ivy downloads the jars, is not installed: pip install 'kafka-lagoon[spark]'"
        )
    return Path(spec.origin).parent / "jars"


def _module(jars: Sequence[Coordinates]) -> str:
    lines = [
        f"<dependency org={quoteattr(organisation)} name={quoteattr(name)} rev={quoteattr(revision)}"
        ' transitive="false" conf="default"/>'
        for organisation, name, revision in jars
    ]
    head = '<ivy-module version="2.0"><info organisation="kafka-lagoon" module="jars"/><dependencies>'
    return "\n".join([head, *lines, "</dependencies></ivy-module>"])


def _run(scratch: Path) -> str | None:
    """None when Ivy has retrieved every jar, else the first problem that it reports."""
    ivy = next(spark_jars_folder().glob("ivy-*.jar"), None)
    if ivy is None:
        return "this PySpark brings no Ivy"
    options = ["-settings", "settings.xml", "-cache", "ivy", "-warn", "-ivy", "ivy.xml"]
    command = java_command("-jar", str(ivy), *options, "-retrieve", "jars/[artifact]-[revision].[ext]")
    try:
        run = subprocess.run(  # noqa: S603  our own command line
            command, cwd=scratch, capture_output=True, text=True, timeout=_ATTEMPT_TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        late = f"the registry did not deliver within {_ATTEMPT_TIMEOUT_S} s"
        raise JarsUnavailable(f"{late}{_cure(os.environ)}") from error
    return None if run.returncode == 0 else _first_problem(run.stdout + run.stderr)


def _first_problem(output: str) -> str:
    # Java repeats JAVA_TOOL_OPTIONS, in which the password of a proxy may be.
    lines = [line.strip(" \t:") for line in output.splitlines() if not line.startswith("Picked up ")]
    for part in ("Server access error", "Exception", "not found", ""):
        for line in lines:
            if line and part in line:
                return line
    return "Ivy failed and printed nothing"
