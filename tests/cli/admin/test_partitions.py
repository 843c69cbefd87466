"""Arguments of the verbs about partitions; tests on real brokers are in integration/test_admin_moves.py."""

from pathlib import Path

import pytest

from kafka_lagoon.cli.main import main
from tests.admin.conftest import topic_apis
from tests.cli.admin.faults import faults
from tests.fake.broker import FakeBroker
from tests.fake.cluster import FakeCluster

__all__ = ["topic_apis"]  # a fixture of tests/admin

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


MOVE = '{"topic": "orders", "partition": %s, "replicas": %s}'


def faults_of_file(server: str, file: Path, capsys: Output) -> list[str]:
    """Return the lines about a file of moves; the exit code is 2."""
    assert main(["admin", "reassign", "--file", str(file), "-b", server, "--yes"]) == 2
    lines = capsys.readouterr().err.splitlines()
    return [text for line in lines if (text := line.removeprefix(f"lagoon: --file: {file}: ")) != line]


@pytest.fixture
def server(brokers: dict[int, FakeBroker]) -> str:
    """Return the address of the cluster."""
    return f"127.0.0.1:{next(iter(brokers.values())).server_address[1]}"


@pytest.mark.parametrize(
    "moves",
    [
        "{}",
        "[1]",
        '{"partitions": [{"topic": "a"}]}',
        '{"partitions": {"topic": "a"}}',
        *(
            f'{{"partitions": [{MOVE % values}]}}'
            for values in (
                ("0.9", "[1]"),
                ('"0"', "[1]"),
                ("true", "[1]"),
                ("-1", "[1]"),
                ("0", '["2", true]'),
                ("0", "[]"),
                ("0", '"12"'),
                ("0", "[2147483648]"),
            )
        ),
    ],
)
def test_files_that_are_no_list_of_moves(server: str, tmp_path: Path, capsys: Output, moves: str) -> None:
    """A line names the file and shows the form, and nothing is sent: no value is made a number."""
    file = tmp_path / "moves.json"
    file.write_text(moves)
    (line,) = faults_of_file(server, file, capsys)
    assert line.startswith("not moves as kafka-reassign-partitions has them: ")


@pytest.mark.parametrize(
    ("content", "line"),
    [(None, "No such file or directory"), (b"no JSON", "not JSON: Expecting value"), (b"\xe4", "not text in UTF-8")],
)
def test_files_that_cannot_be_read(
    server: str, tmp_path: Path, capsys: Output, content: bytes | None, line: str
) -> None:
    """The line has the reason, without an error of Python."""
    file = tmp_path / "moves.json"
    if content is not None:
        file.write_bytes(content)
    (shown,) = faults_of_file(server, file, capsys)
    assert shown.startswith(line)


def test_a_file_with_log_directories(server: str, tmp_path: Path, capsys: Output) -> None:
    """Replicas would be in any directory, so a named directory is a fault; "any" is what Kafka's tool proposes."""
    file = tmp_path / "moves.json"
    entry = '{"topic": "orders", "partition": %s, "replicas": [1, 2], "log_dirs": %s}'
    moves = ", ".join(entry % values for values in ((0, '["any", "any"]'), (1, '["any", "/d2"]'), (2, "null")))
    file.write_text(f'{{"partitions": [{moves}]}}')
    assert faults_of_file(server, file, capsys) == [
        "orders-1 has log_dirs: leave them out here, and use lagoon admin move-replica"
    ]
    file.write_text(f'{{"partitions": [{entry % (0, 5)}]}}')
    (line,) = faults_of_file(server, file, capsys)
    assert line.startswith("not moves as kafka-reassign-partitions has them: ")


def test_a_partition_that_is_named_in_both_places(server: str, tmp_path: Path, capsys: Output) -> None:
    """Neither of the two has precedence."""
    file = tmp_path / "moves.json"
    file.write_text(f'{{"partitions": [{MOVE % (0, "[1]")}]}}')
    assert main(["admin", "reassign", "orders:0=2", "orders:1=2", "--file", str(file), "-b", server, "--yes"]) == 2
    assert capsys.readouterr().err.splitlines()[-1] == "lagoon: orders-0: named as an argument and in --file"


def test_a_file_that_names_something_twice(server: str, tmp_path: Path, capsys: Output) -> None:
    """Partitions and brokers that are named twice are listed; a byte order mark is no fault."""
    file = tmp_path / "moves.json"
    moves = ", ".join(MOVE % values for values in ((0, "[1]"), (1, "[2, 2]"), (0, "[2]")))
    file.write_text(f'{{"version": 1, "partitions": [{moves}]}}', "utf-8-sig")
    assert faults_of_file(server, file, capsys) == ["orders-0 stands there 2 times", "orders-1 names a broker twice"]


@pytest.mark.usefixtures("topic_apis")
def test_partitions_are_moved(state: FakeCluster, server: str, tmp_path: Path, capsys: Output) -> None:
    """Those of arguments and of the file; one that is there already needs nothing, and one that does not exist is a failure."""
    file = tmp_path / "moves.json"
    file.write_text(f'{{"partitions": [{MOVE % (1, "[2, 1]")}]}}')
    some = state.topics["orders"].partitions
    for partition in some[:3]:
        partition.replicas, partition.isr, partition.leader_id = (1, 2), (1, 2), 1
    words = ["-b", server, "--yes"]
    assert main(["admin", "reassign", "orders:0=2", "orders:2=1,2", "orders:99=1", "--file", str(file), *words]) == 3
    assert [one.replicas for one in some[:3]] == [(2,), (2, 1), (1, 2)]
    shown = capsys.readouterr()
    assert "orders-99: Metadata: UNKNOWN_TOPIC_OR_PARTITION" in shown.err
    assert "2 done" in shown.out.splitlines()[-1]
    some[2].leader_id = 2
    assert main(["admin", "elect-leaders", "orders:2,99", *words]) == 3
    assert some[2].leader_id == 1
    assert "orders-99: Metadata: UNKNOWN_TOPIC_OR_PARTITION" in capsys.readouterr().err
    assert main(["admin", "elect-leaders", "orders:2", *words]) == 0
    assert capsys.readouterr().out == "nothing to do\n"


@pytest.mark.usefixtures("topic_apis")
def test_replicas_are_moved_to_another_directory(state: FakeCluster, server: str, capsys: Output) -> None:
    """Of a topic, only those that the broker has; a partition that is named itself is a failure if it has none of it."""
    for number, partition in enumerate(state.add_topic("wide", 2).partitions, 1):
        partition.replicas, partition.isr, partition.leader_id = (number,), (number,), number
    call = ["admin", "move-replica", "--broker", "1", "--to", "/b", "-b", server, "--yes"]
    assert main([*call, "wide"]) == 0
    assert state.log_dirs == {(1, "wide", 0): "/b"}
    capsys.readouterr()
    assert main([*call, "wide:0,1"]) == 1
    assert "wide-1" in capsys.readouterr().err


@pytest.mark.usefixtures("topic_apis")
@pytest.mark.parametrize("confirm", ["--dry-run", "--yes"])
def test_a_replica_goes_only_to_a_directory_of_its_broker(
    confirm: str, state: FakeCluster, server: str, capsys: Output
) -> None:
    """Brokers cannot validate a move, and take a directory only as they name it."""
    assert main(["admin", "move-replica", "orders:0", "--broker", "1", "--to", "/b/", "-b", server, confirm]) == 1
    assert "broker 1, /b/: AlterReplicaLogDirs: LOG_DIR_NOT_FOUND (it has /a, /b)" in capsys.readouterr().err
    assert not state.log_dirs
