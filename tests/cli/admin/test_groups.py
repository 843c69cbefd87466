"""Arguments of the verbs about groups; tests on real brokers are in integration/test_admin_groups.py."""

import os
from pathlib import Path

import pytest

from kafka_lagoon.cli.main import main
from tests.cli.admin.faults import faults
from tests.fake.broker import FakeBroker


def test_where_offsets_are_set_to(capsys: pytest.CaptureFixture[str]) -> None:
    """Exactly one of --to, --shift-by and --from-file is given, and partitions are named once."""
    assert faults(capsys, "reset-offsets", "g", "--topic", "a:x", "--topic", "b", "--all-topics") == [
        "--topic: 'a:x' is not TOPIC or TOPIC:0,1",
        "--all-topics and --topic exclude each other",
        "give one of --to, --shift-by and --from-file",
    ]
    assert faults(capsys, "reset-offsets", "g", "--to", "latest", "--shift-by", "3") == [
        "give one of --to, --shift-by and --from-file",
        "give --topic, or --all-topics for all topics of its stored offsets",
    ]
    (line,) = faults(capsys, "reset-offsets", "g", "--all-topics", "--to", "tomorrow")
    assert line.startswith("--to: 'tomorrow' is not a time")
    (line,) = faults(capsys, "reset-offsets", "g", "--all-topics", "--to", "a:0=5")
    assert line.startswith("--to: name partitions by --topic")


def test_a_file_names_its_partitions(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """--from-file excludes options that name partitions; faults of the file are named with their lines."""
    file = tmp_path / "offsets.csv"
    file.write_text("a,0\n")
    assert faults(capsys, "reset-offsets", "g", "--from-file", str(file), "--topic", "a") == [
        "--from-file excludes --topic and --all-topics, because the file names the partitions",
        f"{file}:1: not TOPIC,PARTITION,OFFSET or GROUP,TOPIC,PARTITION,OFFSET",
    ]


def test_a_file_may_be_a_pipe(capsys: pytest.CaptureFixture[str], brokers: dict[int, FakeBroker]) -> None:
    """The file is read once: its offsets are those of the plan, and not an empty rest."""
    reading, writing = os.pipe()
    os.write(writing, b"absent,0,7\n")
    os.close(writing)
    server = f"127.0.0.1:{next(iter(brokers.values())).server_address[1]}"
    assert main(["admin", "reset-offsets", "g", "--from-file", f"/dev/fd/{reading}", "-b", server, "--yes"]) == 1
    assert "topic absent: Metadata: UNKNOWN_TOPIC_OR_PARTITION" in capsys.readouterr().err
    os.close(reading)


def test_a_deletion_says_what_it_is_about(capsys: pytest.CaptureFixture[str]) -> None:
    """A deletion needs topics or --all-topics."""
    (line,) = faults(capsys, "delete-offsets", "g")
    assert line.startswith("give --topic, or --all-topics")
