"""README says what the code does."""

import re
import shlex
import subprocess
import sys

import pytest

from pipeline.cli.arguments import ingest_arguments, snapshot_arguments
from pipeline.cli.maintain import maintain_arguments
from tests.clock import CLOCK
from tests.readme import README, renewed

_CLUSTER = ("--set", "kafka.bootstrap_servers=a:1", "--warehouse", "w")


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


def _examples() -> list[list[str]]:
    """The words of every `lagoon JOB ...` that begins a line of a code block."""
    blocks = re.findall(r"^```\w*\n(.*?)^```$", README.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    lines = [line.removeprefix(".venv/bin/") for block in blocks for line in block.splitlines()]
    words = [shlex.split(line, comments=True) for line in lines if line.startswith("lagoon ")]
    return [one[1:] for one in words if one[1] in {"snapshot", "ingest", "maintain"}]


@pytest.mark.parametrize("example", _examples(), ids=" ".join)
def test_every_example_of_a_job_has_options_that_it_takes(example: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """With a cluster and a warehouse, no example is bad configuration."""
    monkeypatch.chdir(README.parent)
    job, *options = example
    arguments = [one for one in options if one != "--conf" and not one.endswith(".toml")]
    match job:
        case "snapshot":
            snapshot_arguments([*arguments, *_CLUSTER], {}, CLOCK)
        case "ingest":
            ingest_arguments([*arguments, *_CLUSTER], {}, CLOCK)
        case _:
            maintain_arguments([*arguments, *_CLUSTER], {})


def test_there_are_examples() -> None:
    """The test above looks where examples are."""
    assert {one[0] for one in _examples()} >= {"ingest", "maintain"}
