"""Arguments of the verbs about groups; tests on real brokers are in integration/test_admin_groups.py."""

from pathlib import Path

import pytest

from tests.cli.admin.faults import faults


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


def test_a_deletion_says_what_it_is_about(capsys: pytest.CaptureFixture[str]) -> None:
    """A deletion needs topics or --all-topics."""
    (line,) = faults(capsys, "delete-offsets", "g")
    assert line.startswith("give --topic, or --all-topics")
