"""Arguments of the verbs about topics; tests on real brokers are in integration/test_admin_topics.py."""

import json

import pytest

from kafka_lagoon.cli.main import main
from tests.cli.admin.faults import faults
from tests.fake import topic_changes
from tests.fake.answers import SPOKEN
from tests.fake.broker import FakeBroker

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


def test_each_named_partition_is_in_the_plan(
    brokers: dict[int, FakeBroker], monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    """A topic may be named once for each of its partitions: none of them is left out of a plan."""
    for api, answer in topic_changes.ANSWERS:
        monkeypatch.setitem(SPOKEN, api.key, (api, answer))
    server = f"127.0.0.1:{next(iter(brokers.values())).server_address[1]}"
    named = ["orders:0", "orders:1", "orders:2"]
    assert main(["admin", "delete-records", *named, "-b", server, "--before", "5", "--dry-run", "--json"]) == 0
    planned = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [action["resource_name"] for action in planned] == ["orders-0", "orders-1", "orders-2"]
