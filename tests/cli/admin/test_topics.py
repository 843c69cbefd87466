"""Arguments of the verbs about topics; tests on real brokers are in integration/test_admin_topics.py."""

import json
import tracemalloc

import pytest

from kafka_lagoon.cli.main import main
from tests.cli.admin.faults import faults
from tests.fake import topic_changes
from tests.fake.answers import SPOKEN
from tests.fake.broker import FakeBroker
from tests.fake.cluster import FakeCluster

Output = pytest.CaptureFixture[str]


def test_faults_of_a_creation(capsys: Output) -> None:
    """Faults are listed together: --assignment excludes replica options, and names each partition from 0 on."""
    placed = ("--assignment", "0=1,2", "--assignment", "2=1,2", "--partitions", "3")
    assert faults(capsys, "create-topic", "t", *placed, "--config", "a=1", "--config", "a=2") == [
        "--assignment excludes --partitions and --replication-factor",
        "--assignment: name every partition once, from 0 on",
        "--config: names a config twice",
    ]


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (("create-topic", "t", "--assignment", "0:1"), "'0:1' is not PARTITION=BROKER,BROKER"),
        (("create-topic", "t", "--assignment", "0=1,1"), "'0=1,1' names a broker twice"),
        (("create-topic", "t", "--config", "retention.ms"), "'retention.ms' is not CONFIG=VALUE"),
        (("create-topic", "t", "--partitions", "0"), "'0' is not a whole number from 1 on"),
        (("create-topic", "t", "--partitions", "2147483648"), "is not a whole number from 1 to 2147483647"),
        (("create-topic", "t", "--replication-factor", "32768"), "is not a whole number from 1 to 32767"),
        (("create-partitions", "t", "--partitions", "9" * 5_000), "is not a whole number from 1 to 2147483647"),
        (("create-partitions", "t"), "the following arguments are required: --partitions"),
        (("delete-records", "a:b", "--before", "1"), "'a:b' is not TOPIC[:0,1]"),
        (("delete-records", "a", "--before", "soon"), "it takes earliest, latest"),
        (("delete-topic",), "the following arguments are required: TOPIC"),
    ],
)
def test_faults_of_one_argument(capsys: Output, arguments: tuple[str, ...], fault: str) -> None:
    """A line names the fault before anything is connected."""
    (line,) = faults(capsys, *arguments)
    assert fault in line


@pytest.fixture
def server(brokers: dict[int, FakeBroker], monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the address of a cluster whose topics can be altered; topic orders has 6 partitions."""
    for api, answer in topic_changes.ANSWERS:
        monkeypatch.setitem(SPOKEN, api.key, (api, answer))
    return f"127.0.0.1:{next(iter(brokers.values())).server_address[1]}"


@pytest.mark.parametrize(
    ("call", "exit_code", "topics", "reason"),
    [
        ("create-topic orders new --partitions 2", 3, {"orders": 6, "new": 2}, "topic orders: CreateTopics: TOPIC_ALREADY_EXISTS"),
        ("create-topic orders new --if-not-exists", 0, {"orders": 6, "new": 1}, ""),
        ("create-topic new --partitions 2 --dry-run", 0, {"orders": 6}, ""),
        ("delete-topic orders none --allow-deletions", 3, {}, "topic none: Metadata: UNKNOWN_TOPIC_OR_PARTITION"),
        ("delete-topic orders none --allow-deletions --if-exists", 0, {}, ""),
        ("delete-topic orders", 2, {"orders": 6}, "delete topic orders needs --allow-deletions"),
        ("create-partitions orders none --partitions 8", 3, {"orders": 8}, "topic none: Metadata: UNKNOWN_TOPIC_OR_PARTITION"),
        ("create-partitions orders --partitions 8 --assignment 7=1 --assignment 6=2", 0, {"orders": 8}, "keys go to other partitions"),
        ("create-partitions orders --partitions 8 --assignment 7=1", 1, {"orders": 6}, "name each new partition once: 6 to 7"),
        ("create-partitions orders --partitions 8 --dry-run", 0, {"orders": 6}, "keys go to other partitions"),
        ("create-partitions orders --partitions 6", 0, {"orders": 6}, ""),
        ("create-partitions orders --partitions 5", 1, {"orders": 6}, "it has 6 partitions, and cannot have fewer"),
    ],
)  # fmt: skip
def test_topics_are_created_deleted_and_extended(
    state: FakeCluster, server: str, capsys: Output, call: str, exit_code: int, topics: dict[str, int], reason: str
) -> None:
    """A topic that is not as the verb needs it is a failure, beside the topics that are altered."""
    state.topics = {"orders": state.topics["orders"]}
    assert main(["admin", *call.split(), "-b", server, "--yes"]) == exit_code
    assert {name: len(topic.partitions) for name, topic in state.topics.items()} == topics
    error = capsys.readouterr().err
    assert reason in error
    assert reason or "keys go" not in error


@pytest.mark.parametrize("more", [[], ["--assignment", "6=1"]])
def test_an_absurd_number_of_partitions_is_only_a_number(server: str, more: list[str], capsys: Output) -> None:
    """A list of so many numbers took all memory before the plan was shown."""
    tracemalloc.start()
    try:
        call = ["admin", "create-partitions", "orders", "--partitions", "3000000", *more, "-b", server, "--dry-run"]
        assert main(call) == (1 if more else 0)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 50_000_000
    shown = capsys.readouterr()
    assert ("6 to 2999999" if more else "--allow-many-partitions") in shown.out + shown.err


@pytest.mark.parametrize(
    ("before", "exit_code", "starts", "reason"),
    [
        ("5", 0, [5, 5], ""),
        ("latest", 0, None, ""),
        ("1000000", 1, [0, 0], "orders-1: DeleteRecords: OFFSET_OUT_OF_RANGE (1000000 is beyond the end of the log)"),
        ("orders:0=5,orders:1=1000000", 3, [5, 0], "orders-1: DeleteRecords: OFFSET_OUT_OF_RANGE"),
        ("orders:0=5,orders:3=5", 2, [0, 0], "orders"),
    ],
)
def test_records_are_deleted_up_to_the_end(
    state: FakeCluster, server: str, capsys: Output, before: str, exit_code: int, starts: list[int] | None, reason: str
) -> None:
    """An offset beyond the end of a log is a failure of its partition, and a partition that is not selected is a fault."""
    some = state.topics["orders"].partitions[:2]
    for partition in some:
        partition.log_start_offset = 0
    call = ["admin", "delete-records", "orders:0,1", "-b", server, "--before", before, "--yes"]
    assert main([*call, "--allow-record-deletion"]) == exit_code
    assert [one.log_start_offset for one in some] == (starts or [one.high_watermark for one in some])
    assert reason in capsys.readouterr().err


def test_each_named_partition_is_in_the_plan(server: str, capsys: Output) -> None:
    """A topic may be named once for each of its partitions: none of them is left out of a plan."""
    named = ["orders:0", "orders:1", "orders:2"]
    assert main(["admin", "delete-records", *named, "-b", server, "--before", "5", "--dry-run", "--json"]) == 0
    planned = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [action["resource_name"] for action in planned] == ["orders-0", "orders-1", "orders-2"]
