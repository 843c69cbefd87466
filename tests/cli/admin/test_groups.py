"""Arguments of the verbs about groups; tests on real brokers are in integration/test_admin_groups.py."""

import os
from pathlib import Path
from typing import Any

import pytest

from kafka_lagoon.cli.main import main
from kafka_lagoon.protocol.messages.describe_share_group_offsets import (
    DESCRIBE_SHARE_GROUP_OFFSETS,
    DescribeShareGroupOffsetsResponsePartition,
    DescribeShareGroupOffsetsResponseTopic,
)
from kafka_lagoon.protocol.messages.offset_fetch import OFFSET_FETCH
from tests.admin.conftest import altering_apis
from tests.cli.admin.faults import faults
from tests.fake.broker import FakeBroker
from tests.fake.cluster import FakeCluster, FakeCommit, FakeGroup, FakeMember
from tests.fake.faults import Altered, Fault

__all__ = ["altering_apis"]  # a fixture of tests/admin


def _server(brokers: dict[int, FakeBroker]) -> str:
    return f"127.0.0.1:{next(iter(brokers.values())).server_address[1]}"


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
    assert (
        main(["admin", "reset-offsets", "g", "--from-file", f"/dev/fd/{reading}", "-b", _server(brokers), "--yes"]) == 1
    )
    assert "topic absent: Metadata: UNKNOWN_TOPIC_OR_PARTITION" in capsys.readouterr().err
    os.close(reading)


@pytest.mark.usefixtures("altering_apis")
def test_stored_offsets_that_cannot_be_read(
    capsys: pytest.CaptureFixture[str], state: FakeCluster, brokers: dict[int, FakeBroker]
) -> None:
    """With --all-topics what cannot be read is a failure, of a partition (exit 3) or the group (exit 1), and is not passed over.

    A deletion does not say then that nothing is stored.
    """

    def refused(answer: Any) -> Any:
        for group in answer.groups:
            partition = next(one for one in group.topics[0].partitions if one.partition_index == 1)
            partition.error_code, partition.committed_offset = 29, -1
        return answer

    def refused_group(answer: Any) -> Any:
        for group in answer.groups:
            group.error_code, group.topics = 30, ()
        return answer

    state.groups = {"g": FakeGroup(coordinator_id=1, commits={("orders", index): FakeCommit(20) for index in range(2)})}
    call = ["admin", "reset-offsets", "g", "--all-topics", "--to", "earliest", "-b", _server(brokers), "--yes"]
    state.faults = [Fault(OFFSET_FETCH.key, Altered(refused))]
    assert main(call) == 3
    assert "group g, orders-1: OffsetFetch of broker 1: TOPIC_AUTHORIZATION_FAILED" in capsys.readouterr().err
    assert {index: commit.offset for (_, index), commit in state.groups["g"].commits.items()} == {0: 0, 1: 20}
    state.faults = [Fault(OFFSET_FETCH.key, Altered(refused_group), times=2)]
    assert main(call) == 1
    assert "group g: OffsetFetch of broker 1: GROUP_AUTHORIZATION_FAILED" in capsys.readouterr().err
    state.faults = [Fault(OFFSET_FETCH.key, Altered(refused_group), times=2)]
    assert main(["admin", "delete-offsets", "g", "--topic", "orders", *call[-3:], "--allow-deletions"]) == 1
    error = capsys.readouterr().err
    assert "group g: OffsetFetch of broker 1: GROUP_AUTHORIZATION_FAILED" in error
    assert "stored nothing" not in error


@pytest.mark.usefixtures("altering_apis")
@pytest.mark.parametrize(
    ("call", "exit_code", "kept", "reason"),
    [
        ("delete-group idle", 0, {"busy"}, "idle: done"),
        ("delete-group idle none", 3, {"busy"}, "group none: ListGroups: NOT_LISTED"),
        ("delete-group idle busy", 3, {"busy"}, "the group is Stable: stop its members first"),
        ("delete-group none", 1, {"busy", "idle"}, "no broker lists it"),
    ],
)
def test_groups_are_deleted(
    state: FakeCluster, brokers: dict[int, FakeBroker], capsys: pytest.CaptureFixture[str],
    call: str, exit_code: int, kept: set[str], reason: str,
) -> None:  # fmt: skip
    """A group that has members or is not listed is a failure, and the others are deleted; without the option none is."""
    state.groups = {"idle": FakeGroup(coordinator_id=1), "busy": FakeGroup(coordinator_id=1, state="Stable")}
    state.groups["busy"].members = [FakeMember("m")]
    words = ["admin", *call.split(), "-b", _server(brokers), "--yes"]
    assert main(words) == (2 if "idle" in call else 1)
    assert set(state.groups) == {"busy", "idle"}
    assert main([*words, "--allow-deletions"]) == exit_code
    assert set(state.groups) == kept
    shown = capsys.readouterr()
    assert reason in shown.out + shown.err


@pytest.mark.usefixtures("altering_apis")
@pytest.mark.parametrize(
    ("options", "exit_code", "kept", "reason"),
    [
        ("--topic orders", 0, {("bills", 0)}, ""),
        ("--topic orders:1", 0, {("orders", 0), ("bills", 0)}, ""),
        ("--topic orders:1 --topic bills", 0, {("orders", 0)}, ""),
        ("--topic orders:1 --topic none", 3, {("orders", 0), ("bills", 0)}, "topic none: Metadata: UNKNOWN_TOPIC_OR_PARTITION"),
        ("--topic orders:2", 0, {("orders", 0), ("orders", 1), ("bills", 0)}, "stored nothing about these partitions"),
        ("--all-topics", 0, set(), ""),
    ],
)  # fmt: skip
def test_offsets_are_deleted(
    state: FakeCluster, brokers: dict[int, FakeBroker], capsys: pytest.CaptureFixture[str],
    options: str, exit_code: int, kept: set[tuple[str, int]], reason: str,
) -> None:  # fmt: skip
    """Those of the named partitions or topics, or all, and of no other partition and group."""
    state.add_topic("bills", 1)
    stored = {("orders", 0): FakeCommit(20), ("orders", 1): FakeCommit(20), ("bills", 0): FakeCommit(20)}
    state.groups = {name: FakeGroup(coordinator_id=1, commits=dict(stored)) for name in ("g", "other")}
    words = ["admin", "delete-offsets", "g", *options.split(), "-b", _server(brokers), "--yes", "--allow-deletions"]
    assert main(words) == exit_code
    assert set(state.groups["g"].commits) == kept
    assert state.groups["other"].commits == stored
    error = capsys.readouterr().err
    assert reason in error
    assert reason or "stored nothing" not in error
    assert main(["admin", "delete-offsets", "none", "--all-topics", "-b", _server(brokers), "--yes"]) == 1
    assert "group none: ListGroups: NOT_LISTED" in capsys.readouterr().err


@pytest.mark.usefixtures("altering_apis")
def test_share_offsets_that_cannot_be_read(
    capsys: pytest.CaptureFixture[str], state: FakeCluster, brokers: dict[int, FakeBroker]
) -> None:
    """With --all-topics a topic or a group whose offsets are refused is a failure: it is not passed over as without offsets."""

    def refused_group(answer: Any) -> Any:
        for group in answer.groups:
            group.error_code, group.topics = 35, ()
        return answer

    refused = DescribeShareGroupOffsetsResponsePartition(
        partition_index=0, start_offset=0, leader_epoch=0, error_code=29
    )
    topic = DescribeShareGroupOffsetsResponseTopic(topic_name="orders", topic_id=bytes(16), partitions=(refused,))
    state.groups = {"g": FakeGroup(coordinator_id=1, group_type="share", share_topics=(topic,))}
    call = ["admin", "delete-offsets", "g", "--all-topics", "-b", _server(brokers), "--yes", "--allow-deletions"]
    assert main(call) == 1
    expected = "group g, orders-0: DescribeShareGroupOffsets: TOPIC_AUTHORIZATION_FAILED"
    assert expected in capsys.readouterr().err
    state.faults = [Fault(DESCRIBE_SHARE_GROUP_OFFSETS.key, Altered(refused_group))]
    assert main(call) == 1
    assert "group g: DescribeShareGroupOffsets of broker 1: UNSUPPORTED_VERSION" in capsys.readouterr().err


@pytest.mark.usefixtures("altering_apis")
def test_offsets_are_moved_or_stored_for_a_new_group(
    state: FakeCluster, brokers: dict[int, FakeBroker], capsys: pytest.CaptureFixture[str]
) -> None:
    """A note says that the group is new, since its name may be misspelt; a group that has stored nothing has nothing to move."""
    state.groups = {"g": FakeGroup(coordinator_id=1, commits={("orders", 0): FakeCommit(20)})}
    words = ["-b", _server(brokers), "--yes"]
    assert main(["admin", "reset-offsets", "g", "--all-topics", "--shift-by", "-5", *words]) == 0
    assert state.groups["g"].commits["orders", 0].offset == 15
    assert main(["admin", "reset-offsets", "g", "--topic", "orders:0,1", "--to", "7", *words]) == 0
    assert "it is created if it does not exist" not in capsys.readouterr().err
    assert {index: commit.offset for (_, index), commit in state.groups["g"].commits.items()} == {0: 7, 1: 7}
    assert main(["admin", "reset-offsets", "new", "--topic", "orders:1", "--to", "7", "-b", words[1], "--dry-run"]) == 0
    assert "it is created if it does not exist" in capsys.readouterr().err
    assert main(["admin", "reset-offsets", "none", "--all-topics", "--to", "latest", *words]) == 2
    assert "--all-topics: group none has stored no offsets, or is not there" in capsys.readouterr().err


@pytest.mark.usefixtures("altering_apis")
def test_stored_offsets_of_a_partition_that_is_gone(
    capsys: pytest.CaptureFixture[str], state: FakeCluster, brokers: dict[int, FakeBroker]
) -> None:
    """A topic was re-created with fewer partitions: the offset of the lost one is a failure (exit 3), the others are set."""
    state.groups = {
        "g": FakeGroup(coordinator_id=1, commits={("orders", index): FakeCommit(20) for index in (0, 1, 77)})
    }
    call = ["admin", "reset-offsets", "g", "--all-topics", "--to", "earliest", "-b", _server(brokers), "--yes"]
    assert main(call) == 3
    assert "orders-77: Metadata: UNKNOWN_TOPIC_OR_PARTITION" in capsys.readouterr().err
    assert {index: commit.offset for (_, index), commit in state.groups["g"].commits.items()} == {0: 0, 1: 0, 77: 20}


def test_a_named_partition_that_does_not_exist(
    capsys: pytest.CaptureFixture[str], brokers: dict[int, FakeBroker], tmp_path: Path
) -> None:
    """It is a fault of the option that names it: exit 2."""
    file = tmp_path / "offsets.csv"
    file.write_text("orders,0,1\norders,77,1\n")
    for option in (["--topic", "orders:0,77", "--to", "latest"], ["--from-file", str(file)]):
        assert main(["admin", "reset-offsets", "g", *option, "-b", _server(brokers), "--yes"]) == 2
        assert capsys.readouterr().err.splitlines()[-1].endswith(f"{option[0]}: there is no partition orders-77")


def test_a_deletion_says_what_it_is_about(capsys: pytest.CaptureFixture[str]) -> None:
    """A deletion needs topics or --all-topics."""
    (line,) = faults(capsys, "delete-offsets", "g")
    assert line.startswith("give --topic, or --all-topics")
