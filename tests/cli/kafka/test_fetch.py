"""`lagoon kafka fetch`: selection, order and format of the shown records, and messages about records that are not shown."""

import io
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kafka_lagoon.cli.kafka import fetch, reading
from kafka_lagoon.cli.kafka.fetch_ranges import FetchRange, Missing
from kafka_lagoon.clock import Deadline
from kafka_lagoon.protocol.messages.fetch import FETCH
from kafka_lagoon.protocol.messages.list_offsets import LIST_OFFSETS
from kafka_lagoon.records.encoding import Record, encode_batch
from kafka_lagoon.topic_partition import TopicPartition
from tests.cli.kafka.conftest import Ask
from tests.clock import Hands
from tests.fake.batches import aborted, marker
from tests.fake.cluster import FakeBatch, FakeCluster, FakePartition
from tests.fake.faults import Close, Fault

ODD = (
    Record(1_000, b"key", b"value", ((b"a", b"1"), (b"a", None), (b"b", b"\xff"))),
    Record(-1, None, None),
    Record(2_000, b"", b"tab\tline\nescape\x1b[0m \xff \\n \xe2\x80\xae"),
    Record(3_000, b'{"id": 1}', b'{"big": 12345678901234567890, "a": "\xc3\xbc"}'),
)


def append(log: FakePartition, *records: Record) -> None:
    """Append a batch to a partition's log."""
    base, data = log.high_watermark, encode_batch(records, codec=1)
    log.append(FakeBatch(base, base + len(records) - 1, base.to_bytes(8, "big") + data[8:]))


@pytest.fixture
def news(state: FakeCluster) -> list[FakePartition]:
    """A topic of three partitions with records one second apart, whose times interleave."""
    logs = state.add_topic("news", 3, end=0).partitions
    for number in range(9):
        append(logs[number % 3], Record(1_000 * number, None, b"%d" % number))
    return logs


@pytest.fixture
def odd(state: FakeCluster) -> FakePartition:
    """The log of a topic of one partition with records of every kind."""
    (log,) = state.add_topic("odd", 1, end=0).partitions
    append(log, *ODD)
    return log


def test_the_rest_after_a_timeout() -> None:
    """The note has the next offset of every partition, and not only of the one whose record came too late."""
    hands, missing = Hands(), Missing()
    ranges = {TopicPartition("news", number): FetchRange(10 * number, 100, 100) for number in range(3)}
    arriving = iter([(0, 4), (1, 12), (1, 13), (0, 7)])

    def rows() -> Iterator[dict[str, Any]]:
        for partition, offset in arriving:
            yield {"partition": partition, "offset": offset}
            hands.clock().sleep(0.3)

    until = Deadline.after(hands.clock(), 800)
    assert len(list(fetch._in_time(rows(), until, "news", ranges, missing))) == 3
    assert missing.notes == ["--timeout: not all is read; the rest: --from news:0=5,news:1=14,news:2=20"]


def test_arguments_are_read_at_once() -> None:
    """The decoder of records is imported only when records are read, and not before faults of arguments are reported."""
    code = "import sys, kafka_lagoon.cli.kafka.fetch, kafka_lagoon.cli.kafka.produce; print(*{'numba', 'numpy', 'pyarrow'} & {*sys.modules})"
    assert not subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout.strip()


@pytest.mark.usefixtures("odd")
def test_a_record_is_a_line(ask: Ask) -> None:
    """Tabs, line feeds and escapes are escaped, null is a dash, and missing headers are left out."""
    done = ask("fetch", "odd")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines() == [
        "0\t0\t1970-01-01T00:00:01.000Z\tkey\tvalue\ta=1\ta=-\tb=\\xff",
        "0\t1\t-\t-\t-",
        "0\t2\t1970-01-01T00:00:02.000Z\t\ttab\\tline\\nescape\\x1b[0m \\xff \\n \\u202e",
        '0\t3\t1970-01-01T00:00:03.000Z\t{"id": 1}\t{"big": 12345678901234567890, "a": "ü"}',
    ]


def test_raw_is_the_bytes_in_every_locale(
    ask: Ask, state: FakeCluster, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A terminal of Latin-1 changed the bytes of a letter, and ended the command at one that it lacks."""
    value = "é€".encode() + b"\xff"
    append(state.add_topic("raw", 1, end=0).partitions[0], Record(1_000, None, value))
    with capsys.disabled():
        output = io.BytesIO()
        monkeypatch.setattr("sys.stdout", io.TextIOWrapper(output, encoding="latin-1"))
        assert ask("fetch", "raw", "--format", "raw", "--fields", "value").code == 0
        assert output.getvalue() == value + b"\n"


@pytest.mark.usefixtures("odd")
def test_json_says_everything(ask: Ask) -> None:
    """JSON has every field, and different bytes stay different."""
    first, second, third, _ = ask("fetch", "odd", "--json").rows("record")
    assert first == {
        "kind": "record",
        "topic": "odd",
        "partition": 0,
        "offset": 0,
        "timestamp_ms": 1_000,
        "timestamp_type": 0,
        "key": "key",
        "value": "value",
        "headers": [{"key": "a", "value": "1"}, {"key": "a", "value": None}, {"key": "b", "value": {"base64": "/w=="}}],
        "leader_epoch": None,
        "producer_id": None,
        "producer_epoch": None,
        "is_transactional": False,
        "is_aborted": False,
    }
    assert (second["timestamp_ms"], second["key"], second["value"]) == (-1, None, None)
    assert set(third["value"]) == {"base64"}


@pytest.mark.usefixtures("odd")
@pytest.mark.parametrize(
    ("wanted", "people", "script"),
    [
        ("hex", ["6b6579", "76616c7565"], ["6b6579", "76616c7565"]),
        ("base64", ["a2V5", "dmFsdWU="], [{"base64": "a2V5"}, {"base64": "dmFsdWU="}]),
        ("json", ["key", "value"], ["key", "value"]),
    ],
)
def test_formats(ask: Ask, wanted: str, people: list[str], script: list[Any]) -> None:
    """Keys and values have the requested format; bytes that are not JSON are shown as text."""
    argv = ("fetch", "odd", "-n", "1", "--format", wanted)
    assert ask(*argv, "--fields", "key,value").out.split() == people
    (row,) = ask(*argv, "--json").rows("record")
    assert [row["key"], row["value"]] == script


@pytest.mark.usefixtures("odd")
def test_json_in_json(ask: Ask) -> None:
    """Values that are JSON become part of the line, with exact numbers; keys have their own format."""
    argv = ("fetch", "odd", "--from", "3", "--format", "json")
    (row,) = ask(*argv, "--json", "--key-format", "text").rows("record")
    assert (row["key"], row["value"]) == ('{"id": 1}', {"big": 12345678901234567890, "a": "ü"})
    assert ask(*argv, "--fields", "value").out == '{"big":12345678901234567890,"a":"ü"}\n'


@pytest.mark.usefixtures("news")
@pytest.mark.parametrize(
    ("argv", "values"),
    [
        (["news"], "036147258"),
        (["news:1"], "147"),
        (["news:2,0"], "258036"),
        (["news", "-n", "4"], "0361"),
        (["news", "-n", "0"], ""),
        (["news", "--from", "2"], "678"),
        (["news", "--from", "latest"], ""),
        (["news", "--last", "1"], "678"),
        (["news", "--from", "latest-1"], "678"),
        (["news", "--from", "news:0=2,news:1=1"], "647258"),
        (["news", "--last", "2", "--by-time"], "345678"),
        (["news", "--by-time"], "012345678"),
        (["news", "--by-time", "-n", "5"], "01234"),
    ],
)
def test_which_records_in_which_order(ask: Ask, argv: list[str], values: str) -> None:
    """Records are in the order of partitions, or of time over all partitions, from the given position on."""
    done = ask("fetch", *argv, "--fields", "value")
    assert (done.code, done.err) == (0, "")
    assert done.out.split() == list(values)


def test_from_a_time(ask: Ask, news: list[FakePartition]) -> None:
    """Each partition starts at its first record at or after the time, if it has one."""
    for number, log in enumerate(news[:2]):
        log.times = ((1_000 * number, 0), (3_000 + 1_000 * number, 1))
    assert ask("fetch", "news", "--from", "1970-01-01T00:00:02", "--fields", "value").out.split() == list("3647")
    before = ask("fetch", "news", "--from", "1969-12-31T23:59:59.999Z", "--fields", "value").out.split()
    assert before == ask("fetch", "news", "--fields", "value").out.split() != []


def test_an_offset_outside_of_the_log(ask: Ask, news: list[FakePartition]) -> None:
    """A note says where reading begins: at the start of the log after an earlier offset, nowhere after a later one."""
    done = ask("fetch", "news:0", "--from", "9")
    assert (done.code, done.out) == (0, "")
    assert done.err == "lagoon: news-0: offset 9 is outside of 0 to 3: nothing to read\n"
    news[0].log_start_offset = 1
    done = ask("fetch", "news:0", "--from", "0", "--fields", "value")
    assert (done.code, done.out.split()) == (0, ["3", "6"])
    assert done.err == "lagoon: news-0: offset 0 is outside of 1 to 3: read from 1\n"


def test_transactions(state: FakeCluster, ask: Ask) -> None:
    """Aborted records are left out, or shown and marked with read_uncommitted."""
    (log,) = state.add_topic("txn", 1, end=0).partitions
    log.append(aborted(0, [b"no"], 7), marker(1, 7))
    append(log, Record(0, None, b"yes"))
    assert [row["value"] for row in ask("fetch", "txn", "--json").rows("record")] == ["yes"]
    everything = ask("fetch", "txn", "--json", "--isolation-level", "read_uncommitted").rows("record")
    assert [(row["value"], row["is_transactional"], row["producer_id"]) for row in everything] == [
        ("no", True, 7),
        ("yes", False, None),
    ]


def test_open_transactions_end_it(state: FakeCluster, ask: Ask) -> None:
    """Readers of committed records get no record after the last stable offset."""
    (log,) = state.add_topic("open", 1, end=0).partitions
    append(log, Record(0, None, b"stable"))
    append(log, Record(0, None, b"open"))
    log.last_stable_offset = 1
    assert ask("fetch", "open", "--fields", "value").out.split() == ["stable"]
    uncommitted = ask("fetch", "open", "--fields", "value", "--isolation-level", "read_uncommitted")
    assert uncommitted.out.split() == ["stable", "open"]


def test_a_corrupt_batch(ask: Ask, news: list[FakePartition]) -> None:
    """Its records are lost, its offsets are named, and the exit code is 3."""
    damaged = bytearray(news[0].log[1].data)
    damaged[-1] ^= 1
    news[0].log[1].data = bytes(damaged)
    done = ask("fetch", "news:0", "--fields", "value")
    assert (done.code, done.out.split()) == (3, ["0", "6"])
    assert done.err.startswith("lagoon: news-0 offsets 1 to 1: Fetch: CORRUPT_BATCH (checksum)")


def test_a_partition_without_leader(ask: Ask, news: list[FakePartition]) -> None:
    """It is a failure, and the other partitions are read."""
    news[1].leader_id = -1
    done = ask("fetch", "news", "--fields", "value")
    assert (done.code, done.out.split()) == (3, list("036258"))
    assert done.err == "lagoon: news-1: ListOffsets: LEADER_NOT_AVAILABLE\n"


def test_following(ask: Ask, news: list[FakePartition]) -> None:
    """Records that are written later are shown until the timeout; without a start position reading starts at the end."""
    append(news[0], Record(9_000, None, b"9"))
    assert ask("fetch", "news", "-f", "--last", "1", "-n", "3", "--fields", "value").out.split() == list("978")
    done = ask("fetch", "news", "-f", "--timeout", "0.5")
    assert (done.code, done.out, done.err) == (0, "", "")


def test_following_says_at_once_what_is_not_read(
    ask: Ask, news: list[FakePartition], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading may go on for days, and Ctrl-C ends it without the lines of the end."""
    lines: list[str] = []
    monkeypatch.setattr("kafka_lagoon.cli.kafka.reading.warn", lines.append)
    news[1].leader_id = -1
    done = ask("fetch", "news", "-f", "--from", "earliest", "--fields", "value", "--timeout", "5")
    assert lines == ["news-1: ListOffsets: LEADER_NOT_AVAILABLE"]
    assert (done.code, done.out.split()) == (3, list("036258"))
    assert done.err == "lagoon: news-1: ListOffsets: LEADER_NOT_AVAILABLE\n"


def when_read(state: FakeCluster, change: Callable[[], object]) -> None:
    """Run a function once all partitions were fetched and their end offsets are requested again."""

    def wait() -> None:
        while True:
            keys = [key for _, key, _ in list(state.requests)]
            fetched = [number for number, key in enumerate(keys) if key == FETCH.key]
            if len(state.fetches) >= 3 and LIST_OFFSETS.key in keys[fetched[-1] :]:
                break
            time.sleep(0.01)
        change()

    threading.Thread(target=wait, daemon=True).start()


def test_following_from_a_time_in_an_open_transaction(state: FakeCluster, ask: Ask) -> None:
    """Reading waits for the record: earlier records are older than the time, although the readable log ends before it."""
    (log,) = state.add_topic("open", 1, end=0).partitions
    append(log, Record(0, None, b"older"))
    append(log, Record(5_000, None, b"in time"))
    log.times, log.last_stable_offset = ((0, 0), (5_000, 1)), 1

    def commit() -> None:
        asked_before = state.count(LIST_OFFSETS.key)
        while state.count(LIST_OFFSETS.key) < asked_before + 9:
            time.sleep(0.01)
        log.last_stable_offset = None

    threading.Thread(target=commit, daemon=True).start()
    from_time = ("--from", "1970-01-01T00:00:05", "--fields", "value", "--timeout", "30")
    assert ask("fetch", "open", *from_time).out == ""
    assert ask("fetch", "open", "-f", "-n", "1", *from_time).out == "in time\n"


def test_following_a_topic_that_is_deleted(state: FakeCluster, ask: Ask, news: list[FakePartition]) -> None:
    """It ends with one line that says so."""
    assert news
    when_read(state, lambda: state.topics.pop("news"))
    done = ask("fetch", "news", "-f", "--from", "earliest", "--fields", "value", "--timeout", "5")
    assert (done.code, sorted(done.out.split())) == (3, list("012345678"))
    assert done.err == "lagoon: topic news: Fetch: TOPIC_DELETED (it was deleted meanwhile)\n"


@pytest.mark.parametrize("records", [0, 1, 5])
def test_following_a_topic_that_is_re_created(
    state: FakeCluster, ask: Ask, news: list[FakePartition], records: int
) -> None:
    """It ends with a line that says so, if the new log is shorter or longer than the offsets that were read."""

    def recreate() -> None:
        topic = state.topics["news"]
        for log in news:
            log.log, log.high_watermark, log.leader_epoch = [], 0, 0
            append(log, *[Record(0, None, b"new")] * records) if records else None
        topic.topic_id = b"another topic id"

    for log in news:
        log.leader_epoch = 5
    when_read(state, recreate)
    done = ask("fetch", "news", "-f", "--from", "earliest", "--fields", "value", "--timeout", "5")
    assert (done.code, sorted(done.out.split())) == (3, list("012345678"))
    reason = "Fetch: TOPIC_RECREATED (it was deleted and created again meanwhile; fetch it again to read the new topic)"
    (line,) = done.err.splitlines()
    assert line.startswith(("lagoon: topic news", "lagoon: news-")), line
    assert line.endswith(f": {reason}"), line


@pytest.mark.parametrize(
    ("argv", "line"),
    [
        (["absent"], "absent: no such topic"),
        (["news:3"], "news:3: news has 3 partitions, from 0 on"),
        (["news:x"], "news:x: not TOPIC or TOPIC:PARTITION,..."),
        (
            ["news", "--from", "soon"],
            "--from: 'soon' is not a time like 2026-11-21T06:00:00Z, 14:05, 2h ago or yesterday",
        ),
        (["news:0", "--from", "news:1=1"], "--from: news:1 is not among the partitions to read"),
        (["news", "--from", "1", "--last", "1"], "--from and --last exclude each other"),
        (["news", "--fields", "key", "--json"], "--fields and --json exclude each other: objects have all fields"),
        (
            ["news", "-f", "--by-time"],
            "--by-time and --follow exclude each other, because new records cannot be put before printed ones",
        ),
        (["news", "-n", "-1"], "-n and --last: must not be below 0"),
    ],
)
@pytest.mark.usefixtures("news")
def test_faults_of_arguments(ask: Ask, argv: list[str], line: str) -> None:
    """Exit 2 and one line."""
    done = ask("fetch", *argv)
    assert (done.code, done.err) == (2, f"lagoon: {line}\n")


@pytest.mark.usefixtures("odd")
def test_what_fetch_prints_produce_takes(
    state: FakeCluster, ask: Ask, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Records are copied unchanged as JSON lines from topic to topic: times, nulls, bytes, headers and their order."""
    (copy,) = state.add_topic("copy", 1, end=0).partitions
    path = tmp_path / "lines"
    path.write_text(ask("fetch", "odd", "--json").out)
    monkeypatch.setattr("sys.stdin", path.open())
    assert ask("produce", "copy", "--json").code == 0
    assert copy.high_watermark == len(ODD)
    copied, original = (ask("fetch", topic, "--json").rows("record") for topic in ("copy", "odd"))
    for row in (*copied, *original):
        del row["topic"], row["producer_id"], row["producer_epoch"]
    assert json.dumps(copied) == json.dumps(original)


@pytest.mark.long
def test_connections_that_every_fetch_ends(
    state: FakeCluster, ask: Ask, news: list[FakePartition], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reason is shown while waiting, all partitions share the time, and no message blames a working listener."""
    assert news
    monkeypatch.setattr(reading, "_QUIET_S", 0.5)
    state.faults.append(Fault(FETCH.key, Close(), times=100_000))
    started = time.monotonic()
    shown = ask("fetch", "news")
    assert (shown.code, shown.out) == (3, "")
    assert time.monotonic() - started < 8
    assert "nothing was read for 0.5 s; still trying, for 2 s in all" in shown.err
    assert "SASL" not in shown.err
    assert "closed by the peer" in shown.err
