"""Records that we write are read by Kafka's tools, by librdkafka and by ourselves, on real brokers of three releases."""

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from kafka_lagoon.cli.main import run
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import Deadline
from kafka_lagoon.kafka_settings import KafkaSettings
from kafka_lagoon.produce.partitioner import partition_of
from kafka_lagoon.produce.sending import Delivery, send_batches
from kafka_lagoon.produce.sequences import SequenceNumbers, init_producer_id
from kafka_lagoon.protocol.messages.produce import LEADER_ACKS, NO_ACKS, PRODUCE
from kafka_lagoon.records.compressing import CODECS
from kafka_lagoon.records.encoding import Record
from kafka_lagoon.sandbox.kafka import LocalKafka
from kafka_lagoon.topic_partition import TopicPartition
from tests.clock import CLOCK
from tests.integration.dump import DumpedBatch, dump
from tests.integration.producers import ODD, Consumed, any_time, consume, create, folder, java_producers
from tests.integration.state import create_topics

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(300)]

CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"
RELEASES = ("kafka", pytest.param("kafka_392", marks=pytest.mark.proof), "kafka_282")
OURS = [
    Record(one.timestamp_ms, one.key, one.value, [(key.encode(), value) for key, value in one.headers]) for one in ODD
]
KEYS = [b"", b"a", b"21", b"foobar", *(b"key-%d" % number * (number % 5 + 1) for number in range(40))]

Ask = Callable[..., str]


@pytest.fixture(params=RELEASES)
def release(request: pytest.FixtureRequest) -> LocalKafka:
    """Brokers of each release."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def ask(capsys: pytest.CaptureFixture[str]) -> Ask:
    """Return the output of `lagoon kafka ...`, run in this process; it must be complete."""

    def verb(kafka: LocalKafka, *argv: str) -> str:
        code = run(["kafka", *argv, "-b", kafka.bootstrap_servers], {}, CLOCK)
        captured = capsys.readouterr()
        assert (code, captured.err) == (0, "")
        return captured.out

    return verb


def soon() -> Deadline:
    return Deadline.after(CLOCK, 60_000)


def kept(kafka: LocalKafka, topic: str) -> None:
    """Create a topic that accepts records of any time and does not delete them."""
    if kafka.version.startswith("2."):
        create(kafka, topic, retention_ms="-1")
    else:
        any_time(kafka, topic)


@contextmanager
def connected(kafka: LocalKafka, *topics: str) -> Iterator[tuple[Cluster, dict[str, bytes]]]:
    """Return our client, which knows the topics, with their ids if there are any."""
    settings = KafkaSettings(bootstrap_servers=kafka.bootstrap_servers)
    with Cluster.connect(settings, CLOCK, RequestStats(), soon()) as cluster:
        known = cluster.refresh(topics, soon()).topics
        yield cluster, {one.name: one.topic_id for one in known if one.name and any(one.topic_id)}


def dumped(kafka: LocalKafka, topics: Iterable[str]) -> dict[str, list[DumpedBatch]]:
    """Return the batches of each topic's first partition, from Kafka's DumpLogSegments."""
    files = {topic: sorted(folder(kafka, topic).glob("*.log")) for topic in topics}
    segments = dump(kafka.version, [file for some in files.values() for file in some])
    return {topic: [batch for file in some for batch in segments[file].batches] for topic, some in files.items()}


def lagoon(kafka: LocalKafka, *argv: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run `lagoon kafka ...` in a process of its own."""
    command = [sys.executable, "-m", "kafka_lagoon", "kafka", *argv, "-b", kafka.bootstrap_servers]
    return subprocess.run(command, input=given, capture_output=True, check=False, timeout=120)


@pytest.mark.smoke
def test_every_codec_is_read_by_others(release: LocalKafka) -> None:
    """With and without sequence numbers, and with each codec, librdkafka and Kafka's dump read all records unchanged."""
    topics = {codec: f"written-{codec}" for codec in CODECS}
    for topic in topics.values():
        kept(release, topic)
    with connected(release, *topics.values()) as (cluster, ids):
        sequences = init_producer_id(cluster, soon())
        for used, delivery in ((sequences, Delivery(topic_ids=ids)), (SequenceNumbers(), Delivery(acks=LEADER_ACKS))):
            encoded = {
                TopicPartition(name, 0): used.encode(TopicPartition(name, 0), OURS, CODECS[codec])
                for codec, name in topics.items()
            }
            answer = send_batches(cluster, encoded, delivery, soon())
            assert not answer.failures
        spoken = max(
            one.api_version or 0 for (api, _), one in cluster.request_stats.by_api.items() if api == PRODUCE.name
        )
    assert (release.version, spoken, bool(ids)) in {("4.4.0", 13, True), ("3.9.2", 11, True), ("2.8.2", 9, True)}
    expected = [Consumed(offset, one[2], 0, one[0], one[1], one[3]) for offset, one in enumerate([*ODD, *ODD])]
    assert consume(release, dict.fromkeys(topics.values(), 0), "read_uncommitted") == dict.fromkeys(
        topics.values(), expected
    )
    batches = dumped(release, topics.values())
    for codec, topic in topics.items():
        numbered, plain = batches[topic]
        assert (numbered.codec, numbered.magic, numbered.count, numbered.is_valid) == (codec, 2, len(ODD), True)
        assert (numbered.producer_id, numbered.producer_epoch, numbered.base_sequence) == (*sequences.producer[:2], 0)
        assert (plain.producer_id, plain.base_sequence, plain.base_offset) == (-1, -1, len(ODD))
        assert [(one.key, one.value) for one in (*numbered.records, *plain.records)] == [one[3:5] for one in expected]


def test_a_repeated_batch_is_there_once(release: LocalKafka) -> None:
    """A broker recognizes a batch by producer id and sequence number, and returns its offset; without, it writes it again."""
    create(release, "repeated")
    partition = TopicPartition("repeated", 0)
    with connected(release, "repeated") as (cluster, ids):
        numbered = init_producer_id(cluster, soon()).encode(partition, OURS[:2], 0)
        plain = SequenceNumbers().encode(partition, OURS[:2], 0)
        for batch, delivery in (
            (numbered, Delivery(topic_ids=ids)),
            (plain, Delivery(acks=LEADER_ACKS, topic_ids=ids)),
        ):
            offsets = [
                send_batches(cluster, {partition: batch}, delivery, soon()).answers[partition].base_offset
                for _ in range(2)
            ]
            assert offsets == ([0, 0] if batch is numbered else [2, 4])


def test_without_acks(release: LocalKafka) -> None:
    """There is no response, and the connection stays usable: later requests arrive after it."""
    create(release, "unanswered")
    partition = TopicPartition("unanswered", 0)
    with connected(release, "unanswered") as (cluster, ids):
        for value in (b"one", b"two"):
            batch = SequenceNumbers().encode(partition, [Record(CLOCK.now_ms(), None, value)], 0)
            assert (
                send_batches(cluster, {partition: batch}, Delivery(acks=NO_ACKS, topic_ids=ids), soon())
                .answers[partition]
                .base_offset
                == -1
            )
        batch = SequenceNumbers().encode(partition, [Record(CLOCK.now_ms(), None, b"three")], 0)
        assert (
            send_batches(cluster, {partition: batch}, Delivery(acks=LEADER_ACKS), soon()).answers[partition].base_offset
            == 2
        )
    assert [one.value for one in consume(release, {"unanswered": 0}, "read_uncommitted")["unanswered"]] == [
        b"one",
        b"two",
        b"three",
    ]


def test_keys_go_where_others_put_them(kafka: LocalKafka) -> None:
    """Kafka's Java producer, and librdkafka with the same configuration, choose the same partition."""
    create_topics(kafka.bootstrap_servers, [NewTopic("keyed", num_partitions=7, replication_factor=1)])
    ours = {key: partition_of(key, 7) for key in KEYS}
    with java_producers(kafka) as java:
        record = java._jvm.org.apache.kafka.clients.producer.ProducerRecord
        producer = java.producer()
        sent = {key: producer.send(record("keyed", key, b"java")) for key in KEYS}
        assert {key: future.get().partition() for key, future in sent.items()} == ours
    theirs: dict[bytes, int] = {}
    rdkafka = Producer({"bootstrap.servers": kafka.bootstrap_servers, "partitioner": "murmur2_random", "log_level": 0})
    for key in KEYS[1:]:  # librdkafka takes an empty key for a missing one
        rdkafka.produce(
            "keyed", b"c", key, on_delivery=lambda _, message: theirs.update({message.key(): message.partition()})
        )
    assert rdkafka.flush(60) == 0
    assert theirs == {key: ours[key] for key in KEYS[1:]}
    lines = b"\n".join(key + b"\tlagoon" for key in KEYS)
    done = lagoon(kafka, "produce", "keyed", "--key-separator", r"\t", given=lines)
    assert (done.returncode, done.stderr) == (0, b"")
    assert [int(line.split(b":")[0]) for line in done.stdout.splitlines()] == list(ours.values())


def test_console_consumer_reads_what_the_verb_writes(kafka: LocalKafka) -> None:
    """Key, value, headers and time are equal."""
    kept(kafka, "verb")
    options = [
        "--key",
        "k",
        "--header",
        "a=1",
        "--header",
        "b=2",
        "--timestamp",
        "1700000000000",
        "--compression",
        "snappy",
    ]
    assert lagoon(kafka, "produce", "verb", *options, "--value", "grüße").stdout == b"0:0\n"
    shown = [f"print.{what}=true" for what in ("key", "headers", "timestamp", "offset")]
    printed = kafka.tool(
        CONSUMER,
        "--bootstrap-server",
        kafka.bootstrap_servers,
        "--topic",
        "verb",
        "--from-beginning",
        "--max-messages",
        "1",
        *(word for one in shown for word in ("--formatter-property", one)),
    )
    assert printed == "CreateTime:1700000000000\tOffset:0\ta:1,b:2\tk\tgrüße\n"


def test_refusals_of_real_brokers(kafka: LocalKafka, capsys: pytest.CaptureFixture[str]) -> None:
    """Too large batches, and records without key in a compacted topic: one clear line each."""
    create(kafka, "small", max_message_bytes="1000")
    create(kafka, "compacted-by-key", cleanup_policy="compact")

    def refused(*argv: str) -> list[str]:
        assert run(["kafka", "produce", *argv, "-b", kafka.bootstrap_servers], {}, CLOCK) == 3
        captured = capsys.readouterr()
        assert not captured.out
        return captured.err.splitlines()

    assert ": MESSAGE_TOO_LARGE" in refused("small", "--value", "x" * 2_000)[0]
    lines = refused("compacted-by-key", "--value", "no key")
    assert ": INVALID_RECORD" in lines[0]
    assert lines[1].startswith("lagoon: line 1: Produce: INVALID_RECORD (")


def test_copies(kafka: LocalKafka, ask: Ask, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Records go from topic to topic as JSON lines, unchanged."""
    for topic in ("source", "copied"):
        kept(kafka, topic)
    with connected(kafka, "source") as (cluster, ids):
        partition = TopicPartition("source", 0)
        many = [Record(one, b"k%d" % one, b"v" * 100) for one in range(3_000)]
        for records in (OURS, many):
            batch = SequenceNumbers().encode(partition, records, 4)
            assert not send_batches(
                cluster, {partition: batch}, Delivery(acks=LEADER_ACKS, topic_ids=ids), soon()
            ).failures
    lines = tmp_path / "lines"
    lines.write_text(ask(kafka, "fetch", "source", "--json"))
    monkeypatch.setattr("sys.stdin", lines.open())
    done = ask(kafka, "produce", "copied", "--json", "--count", "--compression", "lz4")
    assert json.loads(done) == {"kind": "count", "topic": "copied", "records": len(OURS) + 3_000}
    read = consume(kafka, {"source": 0, "copied": 0}, "read_committed")
    assert read["copied"] == read["source"]


def test_a_pipe_that_closes(kafka: LocalKafka) -> None:
    """`| head` is no error, and raw bytes are unchanged."""
    create(kafka, "raw")
    values = [b"\n\r\0\xff", b"two", *(b"x" * 1000 for _ in range(500))]
    with connected(kafka, "raw") as (cluster, _):
        partition = TopicPartition("raw", 0)
        batch = SequenceNumbers().encode(partition, [Record(CLOCK.now_ms(), None, value) for value in values], 0)
        assert not send_batches(cluster, {partition: batch}, Delivery(acks=LEADER_ACKS), soon()).failures
    words = f"{sys.executable} -m kafka_lagoon kafka fetch raw --format raw --fields value -b {kafka.bootstrap_servers}"
    head = subprocess.run(["bash", "-c", f"{words} | head -3"], capture_output=True, check=False, timeout=120)
    assert (head.returncode, head.stdout, head.stderr) == (0, b"\n\r\0\xff\ntwo\n", b"")


def test_a_pipe_that_pauses_is_written_and_followed(kafka: LocalKafka) -> None:
    """Lines are in the topic before the input ends, and a follower prints them."""
    create(kafka, "slow")
    base = [sys.executable, "-m", "kafka_lagoon", "kafka"]
    servers = ["-b", kafka.bootstrap_servers]
    with ExitStack() as running:
        follow = subprocess.Popen(
            [*base, "fetch", "slow", "-f", "--from", "earliest", "-n", "3", "--fields", "value", *servers],
            stdout=subprocess.PIPE,
        )
        running.callback(follow.kill)
        write = subprocess.Popen([*base, "produce", "slow", *servers], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        running.callback(write.kill)
        assert write.stdin
        assert write.stdout
        for number in range(3):
            write.stdin.write(b"%d\n" % number)
            write.stdin.flush()
            assert write.stdout.readline() == b"0:%d\n" % number
        shown, _ = follow.communicate(timeout=60)
        assert (shown, follow.returncode) == (b"0\n1\n2\n", 0)
        write.stdin.close()
        assert write.wait(60) == 0


def test_following_a_topic_that_is_re_created(kafka: LocalKafka) -> None:
    """It ends with exit code 3 and a line that the topic was deleted."""
    create(kafka, "followed")
    partition, servers = TopicPartition("followed", 0), ["-b", kafka.bootstrap_servers]
    base = [sys.executable, "-m", "kafka_lagoon", "kafka"]
    subprocess.run(
        [*base, "produce", "followed", "--value", "v", *servers], check=True, timeout=60, capture_output=True
    )
    words = [*base, "fetch", "followed", "-f", "--from", "earliest", "--fields", "value", *servers]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as follow:
        assert follow.stdout
        assert follow.stdout.readline() == b"v\n"
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
        admin.delete_topics([partition.topic])[partition.topic].result(30)
        create(kafka, "followed")
        _, complaint = follow.communicate(timeout=60)
    assert follow.returncode == 3
    assert complaint.startswith(
        (b"lagoon: topic followed: Fetch: TOPIC_DELETED (", b"lagoon: topic followed: Fetch: TOPIC_RECREATED (")
    ), complaint


def test_which_offsets_a_time_begins_at(release: LocalKafka, ask: Ask) -> None:
    """`--from TIME` begins at the first record at or after it, and `--last` counts from the end."""
    kept(release, "timed")
    partition, start = TopicPartition("timed", 0), 1_790_000_000_000
    with connected(release, "timed") as (cluster, _):
        for number in range(5):
            batch = SequenceNumbers().encode(partition, [Record(start + 1000 * number, None, b"%d" % number)], 0)
            assert not send_batches(cluster, {partition: batch}, Delivery(acks=LEADER_ACKS), soon()).failures

    fields = ("fetch", "timed", "--fields", "value")
    assert ask(release, *fields, "--from", "2026-09-21T14:13:22.5Z").split() == ["3", "4"]
    assert ask(release, *fields, "--last", "2", "--by-time").split() == ["3", "4"]


@pytest.mark.proof
def test_a_leader_that_dies(kafka: LocalKafka) -> None:
    """The leader is killed during writing: the new leader gets the rest, and every record exists once, in order."""
    create_topics(kafka.bootstrap_servers, [NewTopic("survives", num_partitions=1, replication_factor=3)])
    partition, count = TopicPartition("survives", 0), 400
    with connected(kafka, "survives") as (cluster, ids):
        sequences, leader_id = init_producer_id(cluster, soon()), cluster.leader_of(partition)
        assert leader_id is not None
        killing = threading.Timer(0.3, kafka.kill, (leader_id,))
        killing.start()
        try:
            for number in range(count):
                batch = sequences.encode(partition, [Record(CLOCK.now_ms(), None, b"%d" % number)], 0)
                answer = send_batches(cluster, {partition: batch}, Delivery(topic_ids=ids), soon())
                assert not answer.failures
                sequences.advance(partition, 1)
                if number == count // 2:
                    killing.join()
            assert cluster.leader_of(partition) != leader_id
        finally:
            killing.join()
            kafka.start(leader_id)
    read = consume(kafka, {"survives": 0}, "read_committed")["survives"]
    assert [one.value for one in read] == [b"%d" % number for number in range(count)]
