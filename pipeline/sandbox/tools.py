"""A main class and arguments in, what Kafka's command line tool printed out."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from pipeline.errors import ToolFailed
from pipeline.sandbox.java import class_path, java_command

_QUIET = "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"


def run_tool(jars: Sequence[Path], main_class: str, *arguments: str, timeout_s: float) -> str:
    """Standard output of the tool with that whole class name; ToolFailed when it fails or takes longer."""
    command = java_command("-cp", class_path(jars), _QUIET, main_class, *arguments)
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, check=False)  # noqa: S603
    except subprocess.TimeoutExpired as error:
        raise ToolFailed(f"{main_class}: no end within {timeout_s:g} s") from error
    if run.returncode:
        raise ToolFailed(f"{main_class}: exit code {run.returncode}: {(run.stderr + run.stdout).strip()}")
    return run.stdout
