"""`lagoon compare`: output for people and scripts, exit codes, and refused arguments."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count

import pytest

from kafka_lagoon.cli.main import main, run
from kafka_lagoon.records.encoding import Record
from tests.clock import CLOCK
from tests.compare.logs import append, record
from tests.fake.broker import fake_cluster
from tests.fake.cluster import FakeCluster
from tests.plain_lines import python_in

LOG = [record(number) for number in range(50)]


@pytest.fixture
def state() -> Iterator[FakeCluster]:
    """Topics that are equal, that differ in every way, and that have different numbers of partitions."""
    state = FakeCluster()
    for topic, records in (
        ("orders", LOG),
        ("copy", LOG),
        (
            "bad",
            [
                *LOG[:5],
                *LOG[7:20],
                *LOG[10:30],
                record(30, value=b"x"),
                *LOG[31:40],
                LOG[41],
                LOG[40],
                *LOG[42:],
                record(99),
            ],
        ),
        ("later", [Record(sent.timestamp_ms + 1, sent.key, sent.value) for sent in LOG]),
    ):
        append(state.add_topic(topic, 1, end=0).partitions[0], records)
    wide = state.add_topic("wide", 2, end=0).partitions
    for log, part in zip(wide, (LOG[1::2], LOG[:40:2]), strict=True):
        append(log, part)
    with fake_cluster(state):
        yield state


@pytest.fixture
def compare(state: FakeCluster, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, list[str], list[str]]]:
    """Return exit code and lines of a comparison of clusters a and b, which are the same cluster."""
    servers = ",".join(f"{host}:{port}" for host, port in state.addresses.values())
    values = [
        f"clusters.{name}.{pair}"
        for name in "ab"
        for pair in (f"bootstrap_servers={servers}", "request_timeout_ms=500")
    ]

    def shown(*argv: str) -> tuple[int, list[str], list[str]]:
        code = run(["compare", *argv, *(word for value in values for word in ("--set", value))], {}, CLOCK)
        output = capsys.readouterr()
        return code, output.out.splitlines(), output.err.splitlines()

    return shown


def test_equal(compare: Callable[..., tuple[int, list[str], list[str]]]) -> None:
    """Two lines and exit 0; order and fields can be ignored."""
    counts = "a:orders: 50 records; b:copy: 50"
    assert compare("a:orders", "b:copy") == (0, [counts, "equal"], [])
    assert compare("a:orders", "b:copy", "--ignore", "order")[1] == [f"{counts}, without regard to order", "equal"]
    assert compare("a:orders", "b:later", "--ignore", "timestamp")[0] == 0
    assert compare("a:orders", "b:later")[0] == 3


def test_equal_times(capsys: pytest.CaptureFixture[str]) -> None:
    """A start and an end that are written alike are the same time, however long reading the arguments takes."""
    ticks = count(1_800_000_000_000)
    clock = replace(CLOCK, now_ms=lambda: next(ticks))
    words = ["compare", "a:orders", "b:copy", "--from", "1h ago", "--until", "1h ago"]
    servers = [f"clusters.{name}.bootstrap_servers=127.0.0.1:1" for name in "ab"]
    assert run([*words, *(word for value in servers for word in ("--set", value))], {}, clock) == 2
    assert "--from: is not before --until" in capsys.readouterr().err


def test_different(compare: Callable[..., tuple[int, list[str], list[str]]]) -> None:
    """A line for each range, with the names of the clusters, then sums; exit 3."""
    code, lines, warnings = compare("a:orders", "b:bad")
    assert (code, warnings) == (3, [])
    assert [line.split() for line in lines] == [
        ["partition", "what", "records", "a", "b"],
        ["0", "missing", "in", "b", "2", "5", "to", "6", "at", "5"],
        ["0", "doubled", "in", "b", "10", "at", "20", "18", "to", "27"],
        ["0", "altered", "1", "30", "38"],
        ["0", "reordered", "1", "40", "49"],
        ["0", "only", "in", "b", "1", "at", "50", "58"],
        [],
        ["a:orders:", "50", "records;", "b:bad:", "59"],
        [
            "different:",
            "2",
            "missing",
            "in",
            "b,",
            "1",
            "only",
            "in",
            "b,",
            "10",
            "doubled",
            "in",
            "b,",
            "1",
            "altered,",
            "1",
            "reordered",
        ],
    ]
    assert [line.split()[:3] for line in compare("a:orders", "a:bad", "-n", "1")[1]][1:4] == [
        ["0", "missing", "in"],
        [],
        ["4", "more", "ranges:"],
    ]


def test_other_partitions(compare: Callable[..., tuple[int, list[str], list[str]]]) -> None:
    """Each side has its own partitions, and the summary says that order is ignored."""
    code, lines, warnings = compare("a:wide", "b:orders")
    assert code == 3
    assert warnings == ["lagoon: a:wide has 2 partitions, b:orders 1: compared as a whole, without order"]
    assert [line.split() for line in lines][1:2] == [["0", "only", "in", "b", "1", "-", "40"]]
    assert lines[-1] == "different: 5 only in b"


def test_json(compare: Callable[..., tuple[int, list[str], list[str]]]) -> None:
    """Each range is an object, then each partition, then the summary; nothing else is printed."""
    code, lines, warnings = compare("a:orders", "b:bad", "--json")
    rows = [json.loads(line) for line in lines]
    assert (code, warnings) == (3, [])
    assert [row["kind"] for row in rows] == ["difference"] * 5 + ["partition", "summary"]
    assert rows[0] == {
        "kind": "difference",
        "partition": 0,
        "what": "missing",
        "records": 2,
        "left_first": 5,
        "left_last": 6,
        "right_first": 5,
        "right_last": None,
    }
    assert rows[-2]["equal"] == 46
    assert rows[-1]["counts"] == {"missing": 2, "extra": 1, "doubled_right": 10, "altered": 1, "reordered": 1}
    rows = [json.loads(line) for line in compare("a:wide", "b:orders", "--json")[1]]
    assert rows[0]["right_partition"] == 0
    assert rows[0]["left_partition"] is None


def test_what_cannot_be_read(state: FakeCluster, compare: Callable[..., tuple[int, list[str], list[str]]]) -> None:
    """Exit 1, and no line says that the topics are equal."""
    broken = state.topics["copy"].partitions[0].log[2]
    broken.data = broken.data[:-1] + b"?"
    code, lines, warnings = compare("a:orders", "b:copy")
    assert code == 1
    assert lines[-1].startswith("different: 10 missing")
    assert warnings == ["lagoon: copy-0: Fetch: CORRUPT_BATCH (b: checksum)"]
    assert json.loads(compare("a:orders", "b:copy", "--json")[1][-1])["is_equal"] is False


@pytest.mark.parametrize(
    ("argv", "faults"),
    [
        (["orders", "b:copy"], ["orders: not CLUSTER:TOPIC"]),
        (["a:orders", "c:copy"], ["c:copy: no cluster c in the settings (a, b)"]),
        (
            ["x:", "c:copy", "--from", "soon", "--ignore", "timestamp,key,value,headers"],
            ["--from: ", "--ignore: nothing is left", "x:: not CLUSTER:TOPIC", "c:copy: no cluster c"],
        ),
        (["a:orders", "b:copy", "--from", "orders:0=5"], ["--from: the same for all partitions"]),
        (["a:orders", "b:copy", "--until", "2999-01-01"], ["--until: this time is in the future"]),
        (["a:orders", "b:copy", "--from", "2h ago", "--until", "1970-01-03"], ["--from: is not before --until"]),
        (["a:orders", "b:copy", "--from", "9", "--until", "9"], ["--from: is not before --until"]),
        (["a:orders", "b:copy", "--ignore", "time"], ["--ignore: time: there are timestamp, key"]),
        (["a:orders", "b:copy", "--partitions", "x"], ["--partitions: 'x' is not a list of numbers"]),
    ],
)
def test_faults_of_arguments(argv: list[str], faults: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """All faults are listed, with exit 2, before anything is connected."""
    values = [f"clusters.{name}.bootstrap_servers=127.0.0.1:1" for name in "ab"]
    assert main(["compare", *argv, *(word for value in values for word in ("--set", value))]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == len(faults)
    assert all(fault in line for fault, line in zip(faults, lines, strict=True))
    assert not any(map(python_in, lines))


def test_the_help_says_that_archives_take_no_times(capsys: pytest.CaptureFixture[str]) -> None:
    """`--from` and `--until` list times, which are refused where a side is an archive."""
    with pytest.raises(SystemExit):
        main(["compare", "--help"])
    assert "With an archive --from and --until take no time." in " ".join(capsys.readouterr().out.split())
