"""Real logs, record by record: our decoded records equal those of Kafka's DumpLogSegments and of librdkafka."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise, product
from typing import Any

import pyarrow as pa
import pytest

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import Deadline
from kafka_lagoon.fetch.reader import SplitReader
from kafka_lagoon.fetch.small_partitions import SmallPartitions, Unread
from kafka_lagoon.fetch.split import READ_COMMITTED, READ_UNCOMMITTED, ReadOptions, Split
from kafka_lagoon.fetch.stalls import Limits
from kafka_lagoon.kafka_settings import KafkaSettings
from kafka_lagoon.records.batches import find_batches
from kafka_lagoon.records.buffers import DECODED
from kafka_lagoon.records.columns import Decoding, decode
from kafka_lagoon.records.decoding import DecodeOptions
from kafka_lagoon.sandbox.kafka import LocalKafka
from kafka_lagoon.wire.primitives import uuid_text
from tests.clock import CLOCK
from tests.integration.dump import UNPRINTED
from tests.integration.logs import Log, logs
from tests.integration.producers import (
    CODECS,
    ODD,
    ODD_FOR_JAVA,
    OLD_CODECS,
    Consumed,
    Sent,
    any_time,
    by_librdkafka,
    compacted,
    compacted_messages,
    create,
    delete_records,
    java_producers,
    plain,
    transactions,
    wait_for_cleaner,
)

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(300)]

SENT = (*ODD, *plain(40))
SENT_OLD = [record._replace(headers=()) for record in SENT]

LIBRDKAFKA = [f"dump-librdkafka-{codec}" for codec in CODECS]
TRANSACTIONS = [f"dump-transactions-{codec}" for codec in CODECS]
COMPACTED = [f"dump-compacted-{codec}" for codec in ("none", "lz4")]
APPEND_TIME = [f"dump-append-time-{codec}" for codec in ("none", "zstd")]
DELETED = "dump-deleted"
OLD = [f"dump-magic-{magic}-{codec}" for magic, codec in product((0, 1), OLD_CODECS)]
OLD_APPEND_TIME = "dump-magic-1-append-time"
OLD_COMPACTED = [f"dump-magic-1-compacted-{codec}" for codec in ("none", "gzip")]
FORMATS = ("0.9.0", "0.10.0")

NEW_TOPICS = [*LIBRDKAFKA, *TRANSACTIONS, *COMPACTED, *APPEND_TIME, DELETED]
OLD_TOPICS = [*OLD, OLD_APPEND_TIME, *OLD_COMPACTED]


@pytest.fixture(scope="module")
def new_logs(kafka: LocalKafka) -> Iterator[Mapping[str, Log]]:
    """Logs of Kafka 4.4.0; the JVM with open transactions lives until the tests end."""
    with java_producers(kafka) as java:
        for topic, codec in zip(COMPACTED, ("none", "lz4"), strict=True):
            compacted(kafka, java, topic, codec)
        for topic, codec in zip(LIBRDKAFKA, CODECS, strict=True):
            any_time(kafka, topic)
            by_librdkafka(kafka, topic, SENT, compression_type=codec)
            by_librdkafka(kafka, topic, SENT, compression_type=codec, enable_idempotence="true")
        for topic, codec in zip(TRANSACTIONS, CODECS, strict=True):
            any_time(kafka, topic)
            transactions(java, topic, codec)
        for topic, codec in zip(APPEND_TIME, ("none", "zstd"), strict=True):
            create(kafka, topic, message_timestamp_type="LogAppendTime")
            by_librdkafka(kafka, topic, SENT, compression_type=codec)
        any_time(kafka, DELETED)
        by_librdkafka(kafka, DELETED, plain(40), compression_type="zstd")
        delete_records(kafka, DELETED, 17)
        wait_for_cleaner(kafka, *COMPACTED)
        yield logs(kafka, NEW_TOPICS)


@pytest.fixture(scope="module")
def old_logs(kafka_282: LocalKafka) -> Mapping[str, Log]:
    """Logs of Kafka 2.8.2 in the formats before headers: some converted by the broker, some as librdkafka writes them."""
    for topic, codec in zip(OLD_COMPACTED, ("none", "gzip"), strict=True):
        compacted_messages(kafka_282, topic, codec)
    for topic, (message_format, codec) in zip(OLD, product(FORMATS, OLD_CODECS), strict=True):
        create(kafka_282, topic, message_format_version=message_format, retention_ms="-1")
        by_librdkafka(kafka_282, topic, SENT_OLD, compression_type=codec)
        old_ways = {"api_version_request": "false", "broker_version_fallback": message_format}
        by_librdkafka(kafka_282, topic, SENT_OLD, compression_type=codec, **old_ways)
    create(kafka_282, OLD_APPEND_TIME, message_format_version="0.10.0", message_timestamp_type="LogAppendTime")
    for codec in OLD_CODECS:
        by_librdkafka(kafka_282, OLD_APPEND_TIME, plain(20), compression_type=codec)
    wait_for_cleaner(kafka_282, *OLD_COMPACTED)
    return logs(kafka_282, OLD_TOPICS)


@pytest.fixture(params=[*NEW_TOPICS, *(pytest.param(topic, marks=pytest.mark.proof) for topic in OLD_TOPICS)])
def log(request: pytest.FixtureRequest) -> Log:
    """Yields each of the logs."""
    return request.getfixturevalue("new_logs" if request.param in NEW_TOPICS else "old_logs")[request.param]


def decoded(log: Log, *, read_committed: bool) -> tuple[list[dict[str, Any]], Decoding]:
    """Decode the log's bytes from its start on, in small Arrow batches, as far as the isolation level allows."""
    decoding = decode(
        find_batches(log.data),
        from_offset=log.start,
        to_offset=log.stable_end if read_committed else log.end,
        aborted=log.aborted,
        read_committed=read_committed,
        stable_end=log.stable_end,
        options=DecodeOptions(expanded_bytes=10_000),
    )
    return pa.Table.from_batches(list(decoding)).to_pylist(), decoding


def rows_of_dump(log: Log) -> list[dict[str, Any]]:
    """Return the records of the dump, with the names of our columns, without fields that it does not print."""
    return [
        {
            "offset": record.offset,
            "timestamp_ms": record.timestamp_ms,
            "timestamp_type": record.timestamp_type,
            "key": record.key,
            "value": record.value,
            "header_keys": record.header_keys,
            "leader_epoch": None if batch.leader_epoch < 0 else batch.leader_epoch,
            "producer_id": None if batch.producer_id < 0 else batch.producer_id,
            "producer_epoch": None if batch.producer_epoch < 0 else batch.producer_epoch,
            "is_transactional": batch.is_transactional,
            "is_aborted": log.is_aborted(batch),
        }
        for batch, record in log.records()
    ]


def as_dumped(row: dict[str, Any], dumped: dict[str, Any]) -> dict[str, Any]:
    """Return one of our rows with only the fields that the dump prints."""
    shown = {name: row[name] for name in dumped if name != "header_keys"}
    joined = ",".join(header["key"] for header in row["headers"])
    has_headers = dumped["header_keys"] is not None
    assert has_headers or not row["headers"]
    key = UNPRINTED if dumped["key"] == UNPRINTED else row["key"]
    return {**shown, "key": key, "header_keys": joined if has_headers else None}


def as_consumed(row: dict[str, Any]) -> Consumed:
    """Return one of our rows as librdkafka returns a record: the Python client ends a header's key at a NUL."""
    headers = tuple((header["key"].split("\0")[0], header["value"]) for header in row["headers"])
    printed = (row[name] for name in ("offset", "timestamp_ms", "timestamp_type", "key", "value"))
    return Consumed(*printed, headers)


def as_sent(row: dict[str, Any]) -> Sent:
    """Return one of our rows as a record is passed to a producer."""
    headers = tuple((header["key"], header["value"]) for header in row["headers"])
    return Sent(row["key"], row["value"], row["timestamp_ms"], headers)


def test_each_record_is_as_dumped(log: Log) -> None:
    """Every record of the log, including aborted and open ones, equals its line in the dump, field by field."""
    dumped = rows_of_dump(log)
    rows, decoding = decoded(log, read_committed=False)
    assert [as_dumped(row, line) for row, line in zip(rows, dumped, strict=True)] == dumped
    assert not decoding.problems
    assert all(batch.is_valid for batch in log.batches)


def test_committed_records_are_as_consumed(log: Log) -> None:
    """Records that are not aborted or open equal those that librdkafka reads with read_committed, including headers."""
    rows, decoding = decoded(log, read_committed=True)
    assert [as_consumed(row) for row in rows] == log.committed
    assert not decoding.problems


@pytest.mark.parametrize("read_committed", [True, False])
def test_every_offset_is_accounted_for(log: Log, read_committed: bool) -> None:
    """Counts equal those of the dump, and add up."""
    _, decoding = decoded(log, read_committed=read_committed)
    counts, end = decoding.counts, log.stable_end if read_committed else log.end
    seen = [batch for batch in log.batches if log.start <= batch.last_offset and batch.base_offset < end]
    assert decoding.next_offset == end
    assert counts.offsets() == end - log.start
    assert counts.control == sum(batch.last_offset - batch.base_offset + 1 for batch in seen if batch.is_control)
    assert counts.corrupt == counts.lost == 0
    assert counts.codecs == {batch.codec for batch in seen if not batch.is_control}
    if read_committed:
        aborted = [batch for batch in seen if not batch.is_control and log.is_aborted(batch)]
        assert counts.aborted == sum(batch.last_offset - batch.base_offset + 1 for batch in aborted)


@pytest.mark.parametrize("isolation_level", [READ_COMMITTED, READ_UNCOMMITTED])
def test_reader_gets_the_same(log: Log, isolation_level: str) -> None:
    """Rows and counts that are read from the broker, in several responses, equal those of the files."""
    read_committed = isolation_level == READ_COMMITTED
    rows, decoding = decoded(log, read_committed=read_committed)
    with cluster_of(log) as cluster:
        split = Split(
            topic=log.topic,
            topic_id=None,
            partition=0,
            from_offset=log.start,
            to_offset=log.stable_end if read_committed else log.end,
            stable_end=log.stable_end,
        )
        reader = SplitReader(cluster, split, ReadOptions(isolation_level=isolation_level, fetch_bytes=2_000))
        read = pa.Table.from_batches(list(reader.batches()), DECODED).to_pylist()
    assert reader.outcome.failure is None
    assert read == rows
    counts = reader.outcome.counts
    for name in ("records", "control", "aborted", "compacted", "lost", "corrupt"):
        assert getattr(counts, name) == getattr(decoding.counts, name), name


@pytest.mark.parametrize("isolation_level", [READ_COMMITTED, READ_UNCOMMITTED])
@pytest.mark.parametrize("release", ["new_logs", pytest.param("old_logs", marks=pytest.mark.proof)])
def test_small_partitions_together_are_the_same(
    request: pytest.FixtureRequest, release: str, isolation_level: str
) -> None:
    """Rows of logs that are fetched and decoded together equal those of the files; plain logs are not read alone."""
    logs_of: Mapping[str, Log] = request.getfixturevalue(release)
    read_committed = isolation_level == READ_COMMITTED
    options = ReadOptions(isolation_level=isolation_level, fetch_bytes=1 << 20)
    expected = {topic: decoded(log, read_committed=read_committed) for topic, log in logs_of.items()}
    rows: dict[str, list[dict[str, Any]]] = {topic: [] for topic in logs_of}
    with cluster_of(*logs_of.values()) as cluster:
        ids = {topic.name: uuid_text(topic.topic_id) for topic in cluster.refresh(set(logs_of), soon()).topics}
        splits = [
            Split(
                topic=log.topic,
                topic_id=ids[log.topic],
                partition=0,
                from_offset=log.start,
                to_offset=log.stable_end if read_committed else log.end,
                stable_end=log.stable_end,
                expected_bytes=len(log.data),
            )
            for log in logs_of.values()
        ]
        small = SmallPartitions(cluster, options, Limits.of(CLOCK, options))
        outcomes, alone = [], set[str]()
        for part in small.read(splits):
            if isinstance(part, Unread):
                alone.add(part.split.topic)
                reader = SplitReader(cluster, part.split, options, answer=part.answer)
                rows[part.split.topic] += pa.Table.from_batches(list(reader.batches()), DECODED).to_pylist()
                outcomes.append(reader.outcome)
            else:
                read, first = part.batch.to_pylist(), 0
                for split, count in part.rows:
                    rows[split.topic] += read[first : first + count]
                    first += count
    for outcome in (*outcomes, *small.outcomes):
        topic, counts = outcome.split.topic, outcome.counts
        own, decoding = expected[topic]
        assert (rows[topic], outcome.failure) == (own, None)
        for name in ("records", "control", "aborted", "compacted", "lost", "corrupt", "codecs"):
            assert getattr(counts, name) == getattr(decoding.counts, name), (topic, name)
    assert len(outcomes) + len(small.outcomes) == len(logs_of)
    small_ones = [topic for topic in (*LIBRDKAFKA, *APPEND_TIME, DELETED) if not topic.endswith("none")]
    assert alone.isdisjoint(small_ones)  # an uncompressed log is too large here


def soon() -> Deadline:
    return Deadline.after(CLOCK, 60_000)


@contextmanager
def cluster_of(*some: Log) -> Iterator[Cluster]:
    """Connect to the brokers that have the logs."""
    deadline = soon()
    cluster = Cluster.connect(
        KafkaSettings(bootstrap_servers=some[0].kafka.bootstrap_servers), CLOCK, RequestStats(), deadline
    )
    try:
        cluster.refresh({log.topic for log in some}, deadline)
        yield cluster
    finally:
        cluster.close()


def test_logs_hold_what_was_sent(new_logs: Mapping[str, Log], old_logs: Mapping[str, Log]) -> None:
    """The sent records are read back, from plain and idempotent producers; old formats drop unsupported fields."""
    for topic in LIBRDKAFKA:
        rows, _ = decoded(new_logs[topic], read_committed=True)
        assert tuple(map(as_sent, rows)) == SENT * 2
    for topic in TRANSACTIONS:
        rows, _ = decoded(new_logs[topic], read_committed=True)
        assert tuple(map(as_sent, rows))[: len(ODD_FOR_JAVA)] == ODD_FOR_JAVA
    for topic in OLD:
        has_time = "magic-1" in topic
        expected = [one if has_time else one._replace(timestamp_ms=-1) for one in SENT_OLD]
        rows, _ = decoded(old_logs[topic], read_committed=True)
        assert list(map(as_sent, rows)) == expected * 2


def test_logs_are_of_every_kind(new_logs: Mapping[str, Log], old_logs: Mapping[str, Log]) -> None:
    """The logs have the codecs, formats and times of their topics: otherwise the other tests would prove less."""
    for topic, codec in zip([*LIBRDKAFKA, *TRANSACTIONS], [*CODECS, *CODECS], strict=True):
        assert kinds(new_logs[topic]) == ({2}, {codec})
    for topic, (magic, codec) in zip(OLD, product((0, 1), OLD_CODECS), strict=True):
        assert kinds(old_logs[topic]) == ({magic}, {codec})
    for log in (*(new_logs[topic] for topic in APPEND_TIME), old_logs[OLD_APPEND_TIME]):
        assert {record.timestamp_type for _, record in log.records()} == {1}


def kinds(log: Log) -> tuple[set[int], set[str]]:
    """Return magics and codecs of the data; producers do not compress a batch that would become larger."""
    data = [batch for batch in log.batches if not batch.is_control]
    assert len(data) > 5
    return {batch.magic for batch in data}, {batch.codec for batch in data} - {"none"} or {"none"}


def test_logs_have_gone_through_it(new_logs: Mapping[str, Log], old_logs: Mapping[str, Log]) -> None:
    """Transactions ended in every way, compaction left gaps in and between batches, and a log starts within a batch."""
    for log in (new_logs[topic] for topic in TRANSACTIONS):
        assert {one.marker for one in log.transactions} == {"COMMIT", "ABORT", None}
        assert log.start < log.stable_end < log.end
    for batches in (new_logs[topic].batches for topic in COMPACTED):
        assert any(0 < batch.count <= batch.last_offset - batch.base_offset for batch in batches)
        assert any(batch.count == 0 for batch in batches)
        assert any(after.base_offset > before.last_offset + 1 for before, after in pairwise(batches))
    for log in (old_logs[topic] for topic in OLD_COMPACTED):
        assert sum(1 for _ in log.records()) < log.end - log.start
    assert any(batch.base_offset < new_logs[DELETED].start <= batch.last_offset for batch in new_logs[DELETED].batches)


def test_markers_tell_what_the_index_tells(new_logs: Mapping[str, Log]) -> None:
    """The aborted transactions from the dump's markers equal those of the broker's own index."""
    for topic in TRANSACTIONS:
        indexed = [one for segment in new_logs[topic].segments for one in segment.aborted]
        assert sorted(indexed) == sorted(new_logs[topic].aborted)
        assert len(indexed) > 2
