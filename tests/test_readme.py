"""README says what the code does."""

import re
import subprocess
import sys

from tests.readme import README, renewed


def test_generated_parts_are_fresh() -> None:
    """Tables, settings and rights in README are those of the code; `python -m tests.readme` writes them anew."""
    text = README.read_text("utf-8")
    assert renewed(text) == text


def test_every_make_target_that_is_named_exists() -> None:
    """No command in README that does nothing."""
    named = set(re.findall(r"`make (\w+)", README.read_text("utf-8")))
    printed = subprocess.run(["make", "help"], cwd=README.parent, capture_output=True, text=True, check=True).stdout
    offered = set(re.findall(r"^make (\w+)", printed, re.MULTILINE))
    assert named
    assert named <= offered


def test_every_command_that_is_named_exists() -> None:
    """`lagoon --help` lists what README uses."""
    named = set(re.findall(r"\blagoon (snapshot|sql|\w+)\b(?= |`|$)", README.read_text("utf-8"), re.MULTILINE))
    printed = subprocess.run(
        [sys.executable, "-m", "pipeline", "--help"], capture_output=True, text=True, check=True, cwd=README.parent
    ).stdout
    assert named
    assert named <= set(re.findall(r"^  (\w+) ", printed, re.MULTILINE))
