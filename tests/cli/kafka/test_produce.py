"""`lagoon kafka produce`: lines as records, their partitions, and messages about lines that are not written."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafka_lagoon.protocol.messages.init_producer_id import INIT_PRODUCER_ID
from kafka_lagoon.protocol.messages.produce import PRODUCE, BatchIndexAndErrorMessage
from tests.cli.kafka.conftest import Ask
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Altered, Close, Fault
from tests.reference.batches import Record, header, records

Pipe = Callable[[bytes], None]


@pytest.fixture
def pipe(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Pipe:
    """Writes bytes to standard input."""

    def give(content: bytes) -> None:
        path = tmp_path / "input"
        path.write_bytes(content)
        monkeypatch.setattr(sys, "stdin", path.open("rb"))

    return give


@pytest.fixture
def news(state: FakeCluster) -> FakeCluster:
    """The cluster with an empty topic of three partitions."""
    state.add_topic("news", 3, end=0)
    return state


def written(state: FakeCluster, partition: int | None = None) -> list[Record]:
    """Return the records in the topic's partitions, or in one of them."""
    some = state.topics["news"].partitions
    chosen = some if partition is None else [some[partition]]
    return [record for log in chosen for batch in log.log for record in records(header(batch.data))]


def refuse(code: int, **fields: Any) -> Altered:
    def change(response: Any) -> Any:
        for topic in response.responses:
            for answer in topic.partition_responses:
                answer.error_code, answer.base_offset = code, -1  # as brokers do that append nothing
                for name, value in fields.items():
                    setattr(answer, name, value)
        return response

    return Altered(change)


def test_each_line_is_a_value(news: FakeCluster, ask: Ask, pipe: Pipe) -> None:
    """Empty lines, bytes that are not text, and a last line without a line feed are values; all go to one partition."""
    pipe(b"one\n\n\xff\r\nlast")
    done = ask("produce", "news")
    assert (done.code, done.err) == (0, "")
    assert [(record.key, record.value) for record in written(news)] == [
        (None, value) for value in (b"one", b"", b"\xff\r", b"last")
    ]
    partition = done.out.split(":")[0]
    assert done.out.split() == [f"{partition}:{offset}" for offset in range(4)]


def test_keys_go_where_java_puts_them(news: FakeCluster, ask: Ask, pipe: Pipe) -> None:
    """Keys are partitioned as in Java; values begin after the first separator."""
    pipe(b"21\tone\nfoobar\ttwo\tand more\nabc\t\n")
    assert ask("produce", "news", "--key-separator", r"\t").code == 0
    expected = {b"21": (-973932308, b"one"), b"foobar": (-790332482, b"two\tand more"), b"abc": (479470107, b"")}
    for key, (hashed, value) in expected.items():
        assert (key, value) in [(record.key, record.value) for record in written(news, (hashed & 0x7FFFFFFF) % 3)]


def test_one_value(news: FakeCluster, ask: Ask) -> None:
    """The record has the given key, headers, time, codec and partition; standard input is not read."""
    options = ["--value", "v", "--key", "k", "--header", "a=1", "--header", "a=", "--header", "b=x=y"]
    done = ask(
        "produce", "news", *options, "--timestamp", "2026-11-21T06:00:00Z", "--partition", "2", "--compression", "zstd"
    )
    assert (done.code, done.out) == (0, "2:0\n")
    (record,) = written(news, 2)
    assert (record.key, record.value, record.headers) == (b"k", b"v", ((b"a", b"1"), (b"a", b""), (b"b", b"x=y")))
    assert record.timestamp_ms == 1_795_240_800_000
    assert header(news.topics["news"].partitions[2].log[0].data).attributes == 4


def test_json_lines(news: FakeCluster, ask: Ask, pipe: Pipe) -> None:
    """A line has all fields of a record; missing fields come from the options, or are null."""
    pipe(
        b'{"key": "k", "value": {"a": [1, "\\u00fc"]}, "partition": 1, "timestamp": 5}\n'
        b'{"key": null, "value": {"base64": "/wA="}, "headers": [{"key": "h", "value": null}], "partition": 1}\n'
        b'{"partition": 1, "timestamp": "1970-01-01T00:00:01Z", "offset": 7, "kind": "record"}\n'
    )
    done = ask("produce", "news", "--json", "--key", "default", "--header", "d=1", "--timestamp", "9")
    assert done.code == 0
    assert [json.loads(line) for line in done.out.splitlines()] == [
        {"kind": "written", "line": line + 1, "partition": 1, "offset": line} for line in range(3)
    ]
    assert [(record.timestamp_ms, record.key, record.value, record.headers) for record in written(news, 1)] == [
        (5, b"k", '{"a":[1,"ü"]}'.encode(), ((b"d", b"1"),)),
        (9, None, b"\xff\0", ((b"h", None),)),
        (1000, b"default", None, ((b"d", b"1"),)),
    ]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"nonsense", "Expecting value"),
        (b"[1]", "not a JSON object"),
        (b'{"valeu": 1}', "unknown field 'valeu'"),
        (b'{"value": {"base64": "?"}}', "'?' is not base64"),
        (b'{"partition": 3}', "no partition 3: the topic has 3"),
        (b'{"partition": "1"}', "a partition is a number"),
        (b'{"timestamp": -9223372036854775809}', "a timestamp is epoch milliseconds or ISO 8601"),
        (b'{"headers": {"a": "b"}}', "headers are a list"),
        (b'{"headers": [{"value": "b"}]}', "a header is"),
    ],
)
def test_a_line_that_cannot_be_written(news: FakeCluster, ask: Ask, pipe: Pipe, line: bytes, reason: str) -> None:
    """The line is named with its fault; earlier lines are written, later lines are not, and the output says both."""
    pipe(b'{"value": "first"}\n' + line + b'\n{"value": "third"}\n')
    done = ask("produce", "news", "--json")
    assert done.code == 3
    assert done.err.startswith("lagoon: line 2: Produce: BAD_LINE (")
    assert reason in done.err
    assert "1 records were written; nothing after line 2 was" in done.err
    assert [record.value for record in written(news)] == [b"first"]


def test_a_line_without_key(news: FakeCluster, ask: Ask, pipe: Pipe) -> None:
    """With a key separator, a line without it is a fault."""
    pipe(b"a:b\nc\n")
    done = ask("produce", "news", "--key-separator", ":")
    assert (done.code, len(written(news))) == (3, 1)
    assert "line 2: Produce: BAD_LINE (no key separator ':')" in done.err


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (10, "MESSAGE_TOO_LARGE"),
        (18, "RECORD_LIST_TOO_LARGE"),
        (29, "TOPIC_AUTHORIZATION_FAILED"),
        (19, "NOT_ENOUGH_REPLICAS"),
    ],
)
def test_a_refusal_is_one_line(news: FakeCluster, ask: Ask, pipe: Pipe, code: int, name: str) -> None:
    """The line has the broker's own message, and the lines that are not written; smaller batches may be accepted."""
    news.faults.append(Fault(PRODUCE.key, refuse(code, error_message="because"), times=10_000))
    pipe(b"a\nb\n")
    done = ask("produce", "news", "--partition", "0", "--timeout", "0.3")
    assert (done.code, done.out) == (3, "")
    lines = done.err.splitlines()
    assert lines[0] == f"lagoon: news-0: Produce of broker 1: {name} (because)"
    cure = "; a smaller --batch-bytes makes smaller batches" if code in (10, 18) else ""
    assert lines[1:] == [
        f"lagoon: not written to news-0: lines 1 to 2{cure}",
        "lagoon: 0 records were written; nothing after line 2 was",
    ]


def test_a_line_that_is_too_large(news: FakeCluster, ask: Ask) -> None:
    """A batch of one line cannot have fewer: the limit is named."""
    news.faults.append(Fault(PRODUCE.key, refuse(10), times=10_000))
    done = ask("produce", "news", "--value", "v", "--partition", "0")
    limit = "max.message.bytes of topic news is the limit; --compression may make the record smaller"
    assert done.err.splitlines()[1] == f"lagoon: not written to news-0: line 1; {limit}"


def test_refused_records_are_named_by_line(news: FakeCluster, ask: Ask, pipe: Pipe) -> None:
    """INVALID_RECORD: the lines that the broker names are reported, each with its reason."""
    named = (BatchIndexAndErrorMessage(batch_index=1, batch_index_error_message="no key"),)
    news.faults.append(Fault(PRODUCE.key, refuse(87, record_errors=named)))
    pipe(b"a\nb\n")
    done = ask("produce", "news")
    assert "lagoon: line 2: Produce: INVALID_RECORD (no key)" in done.err.splitlines()


def test_a_lost_answer_without_producer_id(news: FakeCluster, ask: Ask, pipe: Pipe) -> None:
    """With acks 1 the failure says that the batch may have been written; with acks all it is written exactly once."""
    for acks, code in (("1", 3), ("all", 0)):
        news.faults.append(Fault(PRODUCE.key, Close()))
        pipe(b"a\n")
        done = ask("produce", "news", "--acks", acks)
        assert done.code == code
        assert ("it may have been written all the same" in done.err) == (acks == "1")
    assert len(written(news)) == 2


def test_no_right_to_a_producer_id(news: FakeCluster, ask: Ask) -> None:
    """One line names the missing permission, or the option that does not need it."""

    def change(response: Any) -> Any:
        response.error_code = 31
        return response

    news.faults.append(Fault(INIT_PRODUCER_ID.key, Altered(change), times=9))
    done = ask("produce", "news", "--value", "v")
    assert done.code == 1
    assert "CLUSTER_AUTHORIZATION_FAILED" in done.err
    assert "it needs WRITE on a topic, on brokers before 2.8 IdempotentWrite on the cluster" in done.err
    assert "--acks 1 does not need it" in done.err


def test_acks_0_knows_no_offsets(news: FakeCluster, ask: Ask) -> None:  # noqa: ARG001
    """It prints the partitions, and no offsets."""
    done = ask("produce", "news", "--value", "v", "--acks", "0", "--partition", "1")
    assert (done.code, done.out) == (0, "1:-\n")


def test_a_count(news: FakeCluster, ask: Ask, pipe: Pipe) -> None:
    """Many lines are written in batches of the requested size, and one line is printed."""
    pipe(b"x" * 99 + b"\n" + b"y\n" * 999)
    done = ask("produce", "news", "--count", "--batch-bytes", "5000", "--partition", "0")
    assert (done.code, done.out) == (0, "1,000 records written\n")
    assert len(written(news)) == 1000
    sizes = [len(batch.data) for batch in news.topics["news"].partitions[0].log]
    assert len(sizes) > 5
    assert max(sizes) < 5200


@pytest.mark.parametrize(
    ("argv", "line"),
    [
        (["absent", "--value", "v"], "absent: no such topic"),
        (["news", "--value", "v", "--partition", "3"], "--partition 3: news has 3 partitions, from 0 on"),
        (["news", "--key", "k", "--key-separator", ":"], "--key and --key-separator: a record has one key"),
        (["news", "--header", "x"], "--header x: not KEY=VALUE"),
        (["news", "--json", "--key-separator", ":"], "--key-separator is for lines of text"),
    ],
)
def test_faults_of_arguments(news: FakeCluster, ask: Ask, argv: list[str], line: str) -> None:  # noqa: ARG001
    """Exit 2 and one line, before anything is written."""
    done = ask("produce", *argv)
    assert (done.code, done.err) == (2, f"lagoon: {line}\n")
