"""Archived records are restored to another cluster, whose consumers then read the same as those of the source."""

import json
import re
import shutil
import time
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from kafka_lagoon.restore.progress import Progress, ProgressStore
from kafka_lagoon.sandbox.kafka import LocalKafka
from tests.integration.producers import ODD, by_librdkafka
from tests.integration.state import commit, create_topics
from tests.integration.state import produce as fill
from tests.jobs.commands import here, lagoon, rows
from tests.jobs.test_ingest import NO_SPARK
from tests.librdkafka import messages, wait_until_stable

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.smoke, pytest.mark.timeout(300)]
ANY_TIME = {"retention.ms": "-1", "message.timestamp.after.max.ms": str(2**63 - 1)}
GROUPS = 7
Read = dict[int, list[tuple[Any, ...]]]


def read_all(kafka: LocalKafka, topic: str) -> tuple[Read, dict[int, list[int]]]:
    """Return the records without offsets, and the offsets that librdkafka's read_committed consumer reads of each partition."""
    partitions = AdminClient({"bootstrap.servers": kafka.bootstrap_servers}).list_topics(topic).topics[topic].partitions
    records: Read = defaultdict(list)
    offsets: dict[int, list[int]] = defaultdict(list)
    for message in messages(kafka.bootstrap_servers, [TopicPartition(topic, number, 0) for number in partitions]):
        partition, headers = message.partition() or 0, tuple(message.headers() or ())
        records[partition].append((message.key(), message.value(), headers, message.timestamp()))
        offsets[partition].append(message.offset() or 0)
    return dict(records), dict(offsets)


def produce(kafka: LocalKafka, topic: str, partitions: int, count: int) -> None:
    """Produce records to every partition, some of them in aborted transactions."""
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "transactional.id": f"fills-{topic}"})
    producer.init_transactions()
    now_ms = time.time_ns() // 1_000_000 - 60_000
    for number, ends in enumerate(
        (producer.commit_transaction, producer.abort_transaction, producer.commit_transaction)
    ):
        producer.begin_transaction()
        for record in range(count):
            producer.produce(
                topic,
                key=b"k%d" % record if record % 3 else None,
                value=b"%d of %d" % (record, number) if record % 7 else None,
                partition=record % partitions,
                timestamp=now_ms + record * (-1) ** record,
                headers=[("n", b"%d" % record)] if record % 2 else None,
            )
        producer.flush(30)  # a transaction without records cannot be aborted (KIP-890)
        ends()
    wait_until_stable(kafka.bootstrap_servers, [topic])


def arguments(lake: Path, source: LocalKafka, target: LocalKafka, *more: str) -> list[str]:
    """Make the arguments of a restore from one cluster into the other."""
    return [
        *("restore", "--yes", "--warehouse", str(lake), "--from-cluster", "old", "--to-cluster", "new"),
        *("--set", f"clusters.old.bootstrap_servers={source.bootstrap_servers}"),
        *("--set", f"clusters.new.bootstrap_servers={target.bootstrap_servers}"),
        *more,
    ]


def ingest(lake: Path, kafka: LocalKafka, topics: Sequence[str]) -> None:
    """Archive topics of the source."""
    done = here(
        *("ingest", "--warehouse", str(lake), "--topics", ",".join(topics)),
        *("--set", f"clusters.old.bootstrap_servers={kafka.bootstrap_servers}"),
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def lake(kafka: LocalKafka, new_lake: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make an archive of two topics of three brokers: one with transactions, one with every odd record."""
    folder = shutil.copytree(new_lake, tmp_path_factory.mktemp("restore") / "lake")
    create_topics(
        kafka.bootstrap_servers, [NewTopic("drill", 3, 1, config=ANY_TIME), NewTopic("odd", 1, 1, config=ANY_TIME)]
    )
    produce(kafka, "drill", 3, 3_000)
    by_librdkafka(kafka, "odd", ODD)
    for number in range(GROUPS):
        offsets = {("drill", partition): 300 * number + 7 * partition for partition in range(3)}
        commit(kafka.bootstrap_servers, f"group-{number}", offsets)
    ingest(folder, kafka, ["drill", "odd"])
    done = here(
        *("snapshot", "--warehouse", str(folder)),
        *("--set", f"clusters.old.bootstrap_servers={kafka.bootstrap_servers}"),
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize("form", ["plain", pytest.param("transactional", marks=pytest.mark.proof)])
def test_consumers_read_the_same(kafka: LocalKafka, kafka_392: LocalKafka, lake: Path, form: str) -> None:
    """Keys, values, headers, times and order equal the source's, in a cluster of another size and release."""
    renames = {"drill": f"drill-{form}", "odd": f"odd-{form}"}
    options = ["--transactional"] if form == "transactional" else ["--with-offsets"]
    options += [part for old, new in renames.items() for part in ("--rename", f"{old}={new}")]
    done = here(*arguments(lake, kafka, kafka_392, "--topics", "drill,odd", "--with-configs", *options))
    assert done.returncode == 0, done.stdout + done.stderr
    for old, new in renames.items():
        assert read_all(kafka_392, new)[0] == read_all(kafka, old)[0]
    receipts = [row for row in rows(lake, "restore_receipts") if row["target_topic"] in renames.values()]
    assert len(receipts) == 4
    assert all(row["problem"] is None and row["digest"] == row["digest_read_back"] for row in receipts)
    check_map(lake, kafka, kafka_392, "drill", renames["drill"])
    if form == "plain":
        for number in range(GROUPS):
            assert next_records(kafka_392, renames["drill"], f"group-{number}") == next_records(
                kafka, "drill", f"group-{number}"
            )


@pytest.mark.parametrize("form", ["plain", pytest.param("transactional", marks=pytest.mark.proof)])
def test_a_small_restore_starts_no_spark(kafka: LocalKafka, kafka_392: LocalKafka, lake: Path, form: str) -> None:
    """Without a session of Spark: the same records and offsets, a good receipt, and a second run that finds it finished."""
    new = f"small-{form}"
    more = ["--transactional"] if form == "transactional" else ["--with-offsets"]
    options = ["--topics", "drill", "--rename", f"drill={new}", "--with-configs", *more]
    command = arguments(lake, kafka, kafka_392, *options)
    planned = lagoon(*command, "--dry-run", **NO_SPARK)
    assert "6,000 records of 3 partitions would be restored" in planned.stdout, planned.stderr
    done = lagoon(*command, **NO_SPARK)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 of 3 partitions are equal to the archive when read back" in done.stdout
    assert read_all(kafka_392, new)[0] == read_all(kafka, "drill")[0]
    check_map(lake, kafka, kafka_392, "drill", new)
    if form == "plain":
        assert [next_records(kafka_392, new, f"group-{number}") for number in range(GROUPS)] == [
            next_records(kafka, "drill", f"group-{number}") for number in range(GROUPS)
        ]
    repeated = lagoon(*arguments(lake, kafka, kafka_392, *options[:5]), **NO_SPARK)
    assert repeated.returncode == (0 if form == "plain" else 2), repeated.stdout + repeated.stderr
    assert read_all(kafka_392, new)[0] == read_all(kafka, "drill")[0]


@pytest.mark.proof
def test_a_large_restore_starts_spark(kafka: LocalKafka, kafka_392: LocalKafka, lake: Path) -> None:
    """More bytes than restore.local_max_bytes are restored by executors; nothing is sent before Spark has started."""
    options = ["--topics", "drill", "--rename", "drill=large", "--set", "restore.local_max_bytes=100"]
    command = arguments(lake, kafka, kafka_392, *options)
    refused = lagoon(*command, **NO_SPARK)
    assert refused.returncode == 1
    assert "large" not in AdminClient({"bootstrap.servers": kafka_392.bootstrap_servers}).list_topics(timeout=30).topics
    done = lagoon(*command)
    assert done.returncode == 0, done.stderr
    assert read_all(kafka_392, "large")[0] == read_all(kafka, "drill")[0]


def next_records(kafka: LocalKafka, topic: str, group_id: str) -> dict[int, Any]:
    """Return the record that a group reads next in each partition; None at the end."""
    consumer = Consumer(
        {
            "bootstrap.servers": kafka.bootstrap_servers,
            "group.id": group_id,
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
            "auto.offset.reset": "error",
        }
    )
    results: dict[int, Any] = {}
    try:
        consumer.assign([TopicPartition(topic, partition) for partition in range(3)])
        while len(results) < 3:
            message: Any = consumer.poll(30)
            assert message is not None
            if message.error() and message.error().code() != KafkaError._PARTITION_EOF:
                raise AssertionError(message.error())
            results.setdefault(message.partition(), None if message.error() else (message.key(), message.value()))
    finally:
        consumer.close()
    return results


def check_map(lake: Path, source: LocalKafka, target: LocalKafka, old: str, new: str) -> None:
    """Check that the ranges have the place of every record."""
    ranges: list[Any] = [row for row in rows(lake, "restore_map") if row["target_topic"] == new]
    (_, before), (_, after) = read_all(source, old), read_all(target, new)
    for partition, offsets in before.items():
        mapped = {
            row["source_offset"] + number: row["target_offset"] + number
            for row in ranges
            if row["source_partition"] == partition
            for number in range(row["records"])
        }
        assert [mapped[offset] for offset in offsets] == after[partition]
        assert len(mapped) == len(offsets)


def test_a_dry_run_names_what_clashes(kafka: LocalKafka, kafka_392: LocalKafka, lake: Path) -> None:
    """All are listed: retention that would delete records, refused times, topics with records or too few partitions."""
    fits = {"message.timestamp.type": "LogAppendTime"}
    create_topics(
        kafka_392.bootstrap_servers,
        [
            NewTopic("one", 1, 1, config=fits),
            NewTopic("full", 1, 1, config={"message.timestamp.after.max.ms": "3600000"}),
        ],
    )
    fill(kafka_392.bootstrap_servers, "full", 5)
    more = ["--rename", "drill=one", "--rename", "odd=full", "--topics", "drill,odd", "--dry-run"]
    done = here(*arguments(lake, kafka, kafka_392, *more))
    assert done.returncode == 2
    for words in (
        "topic one has 1 partitions, and partition 2 of drill",
        "topic one: message.timestamp.type=LogAppendTime",
        "topic full has records in 1 of 1 partitions",
        "topic full: retention.ms=604800000 deletes",
        "topic full: message.timestamp.after.max.ms=3600000 refuses",
    ):
        assert words in done.stderr
    done = here(*arguments(lake, kafka, kafka_392, "--topics", "drill", "--rename", "drill=not-yet", "--dry-run"))
    assert done.returncode == 0
    assert "+ topic not-yet" in done.stdout
    assert "6,000 records of 3 partitions would be restored; nothing was changed" in done.stdout


@pytest.mark.proof
def test_some_records_of_some_partitions(kafka: LocalKafka, kafka_392: LocalKafka, lake: Path) -> None:
    """Records that meet a condition are restored in the order of the source."""
    some = ["--topics", "drill", "--rename", "drill=some", "--partitions", "drill:0,2", "--with-configs"]
    some += ["--where", "key IS NOT NULL AND offset % 2 = 0 AND len(headers) = 0"]
    done = here(*arguments(lake, kafka, kafka_392, *some))
    assert done.returncode == 0, done.stderr
    records, offsets = read_all(kafka, "drill")
    kept = {
        partition: [
            record
            for record, offset in zip(records[partition], offsets[partition], strict=True)
            if record[0] is not None and offset % 2 == 0 and not record[2]
        ]
        for partition in (0, 2)
    }
    assert read_all(kafka_392, "some")[0] == {partition: some for partition, some in kept.items() if some}


@pytest.mark.parametrize("moment", ["before", pytest.param("after", marks=pytest.mark.proof)])
def test_a_run_that_dies_at_a_commit_goes_on(
    kafka: LocalKafka, kafka_392: LocalKafka, lake: Path, moment: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Written records that are missing in restore_map are found by their producer id; nothing is doubled or missing.

    The events of both runs have the id of the restore.
    """
    new, log = f"drill-{moment}", tmp_path / "log"
    options = ["--topics", "drill", "--rename", f"drill={new}", "--with-configs", "--log-file", str(log)]
    command = arguments(lake, kafka, kafka_392, *options)
    real, calls = ProgressStore.commit, iter(range(10))

    def dies(store: ProgressStore, progress: Progress, results: Any) -> Progress:
        if next(calls) != 1:
            return real(store, progress, results)
        if moment == "after":
            real(store, progress, results)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(ProgressStore, "commit", dies)
        assert here(*command).returncode == 130
    assert read_all(kafka_392, new)[0] == read_all(kafka, "drill")[0]
    done = here(*command)
    assert done.returncode == 0, done.stderr
    assert "0 records written to 3 partitions, 6,000 with those of earlier runs" in done.stdout
    assert read_all(kafka_392, new)[0] == read_all(kafka, "drill")[0]
    events = [json.loads(line) for line in log.read_text().splitlines() if "run_finished" in line]
    assert [event["restore_id"] for event in events] == [
        done.stdout.partition(": restore ")[2].split(maxsplit=1)[0].rstrip(",:")
    ] * 2
    check_map(lake, kafka, kafka_392, "drill", new)


@pytest.mark.proof
def test_a_finished_restore_is_not_repeated(kafka: LocalKafka, kafka_392: LocalKafka, lake: Path) -> None:
    """The same command reports that it has finished, with any options; another one names the restore of existing records.

    Where the records are gone they are written again.
    """
    of_topic = ["--topics", "drill", "--rename", "drill=again", "--with-configs"]
    command = arguments(lake, kafka, kafka_392, *of_topic)
    first = here(*command)
    assert first.returncode == 0, first.stderr
    for more in ([], ["--into-existing"], ["--dry-run"]):
        done = here(*command, *more)
        assert done.returncode == 0, done.stderr
        assert re.search(r"restore \S+ finished on 20\S+, receipts good, 0 records written", done.stdout)
    checked = here(*command, "--with-offsets")
    assert checked.returncode == 0, checked.stderr
    assert "0 records written to 3 partitions, 6,000 with those of earlier runs, 3 of 3 partitions" in checked.stdout
    assert read_all(kafka_392, "again")[0] == read_all(kafka, "drill")[0]
    other = here(*arguments(lake, kafka, kafka_392, *of_topic, "--where", "true"))
    assert other.returncode == 2
    ids = {row["restore_id"] for row in rows(lake, "restore_receipts") if row["target_topic"] == "again"}
    assert any(f"restore {one} wrote to it" in other.stderr for one in ids)
    delete_topic(kafka_392, "again")
    done = here(*command)
    assert done.returncode == 0, done.stderr
    assert "6,000 records written to 3 partitions" in done.stdout
    assert read_all(kafka_392, "again")[0] == read_all(kafka, "drill")[0]


def delete_topic(kafka: LocalKafka, topic: str) -> None:
    """Delete a topic, and wait until no broker knows it."""
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    for deleted in admin.delete_topics([topic], operation_timeout=30).values():
        deleted.result(30)
    deadline = time.monotonic() + 30
    while topic in admin.list_topics(timeout=10).topics:
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.mark.proof
def test_by_pattern_from_a_time_on(kafka: LocalKafka, kafka_392: LocalKafka, lake: Path) -> None:
    """Matching topics are restored from this time on; the same command then reports that it has finished."""
    chosen = ["--pattern", "dr.*", "--rename", "drill=from-a-time", "--with-configs", "--topics", "drill"]
    records = read_all(kafka, "drill")[0]
    times = sorted(record[3][1] for some in records.values() for record in some)
    start_ms = times[len(times) // 2]
    begin = datetime.fromtimestamp(start_ms / 1000, tz=UTC).isoformat(timespec="milliseconds")
    command = arguments(lake, kafka, kafka_392, *chosen, "--from", begin)
    done = here(*command)
    assert done.returncode == 0, done.stderr
    expected = {partition: [one for one in some if one[3][1] >= start_ms] for partition, some in records.items()}
    assert read_all(kafka_392, "from-a-time")[0] == {partition: some for partition, some in expected.items() if some}
    again = here(*command)
    assert (again.returncode, "receipts good, 0 records written" in again.stdout) == (0, True)
    unmatched = here(*arguments(lake, kafka, kafka_392, "--pattern", "ill"))
    assert (unmatched.returncode, "--pattern: no topic" in unmatched.stderr) == (2, True)


@pytest.mark.proof
def test_two_warehouses_at_once(
    kafka: LocalKafka, kafka_392: LocalKafka, lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second restore into initially empty topics reports the records of the first: exit 3, and in the receipts."""
    second_lake = shutil.copytree(lake, tmp_path / "lake")
    of_topic = ["--topics", "drill", "--rename", "drill=twice", "--with-configs"]
    create_topics(kafka_392.bootstrap_servers, [NewTopic("twice", 3, 1, config=ANY_TIME)])
    real, first = ProgressStore.begin, list[int]()

    def meanwhile(store: ProgressStore, plan: Any) -> Progress:
        progress = real(store, plan)
        with monkeypatch.context() as patch:
            patch.setattr(ProgressStore, "begin", real)
            first.append(here(*arguments(lake, kafka, kafka_392, *of_topic)).returncode)
        return progress

    monkeypatch.setattr(ProgressStore, "begin", meanwhile)
    done = here(*arguments(second_lake, kafka, kafka_392, *of_topic))
    assert (first, done.returncode) == ([0], 3), done.stdout + done.stderr
    assert done.stdout.count("others wrote 2,000 records in between, at offsets 0-1999") == 3
    receipts = [row for row in rows(second_lake, "restore_receipts") if row["target_topic"] == "twice"]
    assert [(row["problem"], row["other_records"], row["other_offsets"]) for row in receipts] == [
        ("OTHER_RECORDS", 2_000, "0-1999")
    ] * 3
    source, target = read_all(kafka, "drill")[0], read_all(kafka_392, "twice")[0]
    assert target == {partition: [*records, *records] for partition, records in source.items()}


def test_who_says_no_writes_nothing(
    kafka: LocalKafka, kafka_392: LocalKafka, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A restore that is not confirmed creates no topic, and is not begun."""
    command = [
        word
        for word in arguments(lake, kafka, kafka_392, "--topics", "drill", "--rename", "drill=asked")
        if word != "--yes"
    ]
    unasked = here(*command)
    assert (unasked.returncode, "no terminal to ask on: give --yes" in unasked.stderr) == (2, True)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda: "no")
    for _ in range(2):
        declined = here(*command)
        assert (declined.returncode, "nothing was written" in declined.stderr) == (1, True)
        assert "drill to asked: at most 6,000 records in 3 partitions" in declined.stdout
    assert "asked" not in AdminClient({"bootstrap.servers": kafka_392.bootstrap_servers}).list_topics(timeout=30).topics
