"""README says what the code does."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from kafka_lagoon.cli.job_arguments import ingest_arguments, snapshot_arguments
from kafka_lagoon.cli.maintain import maintain_arguments
from tests.clock import CLOCK
from tests.delta.lake import make_lake
from tests.query.duckdb_rows import rows_of
from tests.readme import README, renewed

_CLUSTER = ("--set", "kafka.bootstrap_servers=a:1", "--warehouse", "w")


def test_generated_parts_are_fresh() -> None:
    """Tables, settings and permissions in README are those of the code; `python -m tests.readme` writes them."""
    text = README.read_text("utf-8")
    assert renewed(text) == text, "run python -m tests.readme"


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
        [sys.executable, "-m", "kafka_lagoon", "--help"], capture_output=True, text=True, check=True, cwd=README.parent
    ).stdout
    assert named
    assert named <= set(re.findall(r"^  (\w+) ", printed, re.MULTILINE))


def snippets(language: str) -> list[str]:
    """README's blocks of code in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", README.read_text("utf-8"), re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a warehouse, as those have it who read README."""
    folder = tmp_path_factory.mktemp("readme")
    (folder / "warehouse").mkdir()
    make_lake(folder / "warehouse")
    return folder


def test_the_first_query_runs(lake: Path) -> None:
    """What README opens with, on two snapshots of another day."""
    statement = snippets("sql")[0]
    with rows_of(lake / "warehouse", statement) as rows:
        assert rows.schema.names == ["slot", "group_id", "lag", "known", "partitions"]
    moved = re.sub(r"'2026-11-17' AND '2026-11-18'", "'2025-11-21' AND '2025-11-22'", statement)
    with rows_of(lake / "warehouse", moved) as rows:
        shown = pa.Table.from_batches(list(rows.batches), rows.schema).to_pylist()
    assert [(int(one["lag"]), one["known"], one["partitions"]) for one in shown] == [
        (5, 1, 1),
        (2**63 - 1, 1, 2),
        (-2, 1, 1),
    ]


def test_every_question_runs(lake: Path) -> None:
    """The statements about history, each as it stands; what they answer is in tests/delta/views."""
    statements = [statement for statement in snippets("sql")[1].split(";") if statement.strip()]
    assert len(statements) == 7
    for statement in statements:
        with rows_of(lake / "warehouse", statement) as rows:
            assert rows.schema.names


@pytest.mark.parametrize("reader", ["duckdb", "polars", "deltalake"])
def test_readers_read(
    lake: Path, reader: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The lines for a notebook run as they stand, where the warehouse is."""
    (snippet,) = (one for one in snippets("python") if re.search(rf"^(?:import|from) {reader}\b", one, re.MULTILINE))
    monkeypatch.chdir(lake)
    exec(snippet, {})  # noqa: S102  what README says
    assert ("billing" if reader != "deltalake" else "4") in capsys.readouterr().out


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
