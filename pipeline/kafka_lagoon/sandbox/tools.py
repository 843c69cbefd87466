"""Runs Kafka's command line tools."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from kafka_lagoon.errors import ToolFailed
from kafka_lagoon.jars.class_archives import archive_options
from kafka_lagoon.jars.java import class_path, java_command
from kafka_lagoon.sandbox.node import archive_of

_QUIET = "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"
_UTF8 = ("-Dfile.encoding=UTF-8", "-Dsun.stdout.encoding=UTF-8")  # whatever the locale is


def run_tool(jars: Sequence[Path], main_class: str, *arguments: str, timeout_s: float) -> str:
    """Standard output of the tool with that whole class name; ToolFailed when it fails or takes longer."""
    archive = archive_options(archive_of(jars))
    command = java_command(*archive, "-cp", class_path(jars), _QUIET, *_UTF8, main_class, *arguments)
    try:
        run = subprocess.run(command, capture_output=True, timeout=timeout_s, check=False)  # noqa: S603
    except subprocess.TimeoutExpired as error:
        raise ToolFailed(f"{main_class}: no end within {timeout_s:g} s") from error
    if run.returncode:
        said = (run.stderr + run.stdout).decode(errors="backslashreplace").strip()
        raise ToolFailed(f"{main_class}: exit code {run.returncode}: {said}")
    return run.stdout.decode()  # not as text: line ends within what is printed are kept
