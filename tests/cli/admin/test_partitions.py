"""Arguments of the verbs about partitions; tests on real brokers are in integration/test_admin_moves.py."""

from pathlib import Path

import pytest

from kafka_lagoon.cli.main import main
from tests.cli.admin.faults import faults
from tests.fake.broker import FakeBroker

Output = pytest.CaptureFixture[str]


def test_faults_of_moves(capsys: Output) -> None:
    """No partition is named, or a partition is named twice."""
    assert faults(capsys, "reassign") == ["nothing to move: name partitions, or give --file"]
    assert faults(capsys, "reassign", "a:0=1,2", "a:0=2,1", "a:1=2") == ["a-0: named twice"]
    (line,) = faults(capsys, "reassign", "a=1,2")
    assert "'a=1,2' is not TOPIC:PARTITION=BROKER,BROKER" in line
    assert faults(capsys, "move-replica", "a:0", "--broker", "1", "--to", "disk-2") == [
        "--to: disk-2: not an absolute path"
    ]


@pytest.mark.parametrize("content", ["{}", "[1]", '{"partitions": [{"topic": "a"}]}', "no JSON", None])
def test_files_that_are_no_list_of_moves(
    brokers: dict[int, FakeBroker], tmp_path: Path, capsys: Output, content: str | None
) -> None:
    """A line names the file, and nothing is sent."""
    file = tmp_path / "moves.json"
    if content is not None:
        file.write_text(content)
    server = f"127.0.0.1:{next(iter(brokers.values())).server_address[1]}"
    assert main(["admin", "reassign", "--file", str(file), "-b", server, "--yes"]) == 2
    assert f"--file: {file}: " in capsys.readouterr().err
