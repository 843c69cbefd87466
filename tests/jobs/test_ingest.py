"""The ingest job as a user starts it, against the records that another client reads from the same brokers."""

import os
import re
import shutil
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from kafka_lagoon.sandbox.kafka import LocalKafka
from tests.effort import first
from tests.integration.state import create_topics, delete_topics, produce
from tests.jobs.archived import archived, assert_tiled, consumed
from tests.jobs.commands import ROOT, here, lagoon, rows, run, submit
from tests.librdkafka import wait_until_stable
from tests.metrics.parsed import in_file, value

pytestmark = [pytest.mark.kafka, pytest.mark.spark]


# Runs the job, and ends like `kill -9` before the report of the commit.
KILLED_AT_ITS_LINE = """
import os, signal, sys
from kafka_lagoon.cli import ingest, main
ingest.say = lambda line: os.kill(os.getpid(), signal.SIGKILL)
main.main(["ingest", *sys.argv[1:]])
"""


def arguments(kafka: LocalKafka, warehouse: Path, *more: str) -> list[str]:
    return [
        *("--warehouse", str(warehouse)),
        *("--set", f"kafka.bootstrap_servers={kafka.bootstrap_servers}"),
        *more,
    ]


def in_transactions(bootstrap_servers: str, topic: str, records: int) -> None:
    """Write a committed transaction, then an aborted one, of this many records each."""
    producer = Producer({"bootstrap.servers": bootstrap_servers, "transactional.id": f"{topic}-writer", "linger.ms": 5})
    producer.init_transactions(30)
    for end in (producer.commit_transaction, producer.abort_transaction):
        producer.begin_transaction()
        for number in range(records):
            producer.produce(topic, key=str(number).encode(), value=b"" if number % 7 else None)
        producer.flush(30)
        end(30)
    wait_until_stable(bootstrap_servers, [topic])


def delete_records(admin: AdminClient, topic: str, before: int) -> None:
    """Delete the records of a topic's partition 0 before an offset."""
    futures = admin.delete_records([TopicPartition(topic, 0, before)])
    for future in futures.values():
        future.result(30)


@pytest.mark.usefixtures("spark")
def test_ingest_by_spark_submit(kafka: LocalKafka, tmp_path: Path) -> None:
    """A run by spark-submit, one after more load, and one without: each record of a consumer once; ranges without gaps."""
    names = ["ingest-plain", "ingest-tx", "ingest-empty"]
    create_topics(kafka.bootstrap_servers, [NewTopic(name, 3, 3) for name in names])
    produce(kafka.bootstrap_servers, names[0], 5_000)
    in_transactions(kafka.bootstrap_servers, names[1], 300)
    options = arguments(kafka, tmp_path, "--pattern", "ingest-.*")

    first = submit("ingest", *options)
    assert first.returncode == 0, first.stdout + first.stderr
    assert re.search(r"default \(\S+\): 3 topics, 5,300 records of \d+ partitions", first.stdout), first.stdout
    produce(kafka.bootstrap_servers, names[0], 1_000)
    create_topics(kafka.bootstrap_servers, [NewTopic("ingest-later", 1, 3)])
    produce(kafka.bootstrap_servers, "ingest-later", 10)
    (tmp_path / "metrics").mkdir()
    second = here("ingest", *options, "--set", f"metrics.folder={tmp_path / 'metrics'}")
    assert second.returncode == 0, second.stdout + second.stderr
    assert "4 topics, 1,010 records" in second.stdout
    samples = in_file(tmp_path / "metrics" / "lagoon-run-ingest-default.prom")
    assert value(samples, "lagoon_run_records", lagoon_job="ingest", kafka_cluster="default") == 1010

    assert archived(tmp_path) == consumed(kafka.bootstrap_servers, [*names, "ingest-later"])
    assert_tiled(tmp_path)
    ranges = rows(tmp_path, "record_ranges")
    assert sum(row["aborted"] for row in ranges) == 300
    assert sum(row["control"] for row in ranges) > 0
    assert {row["cluster"] for table in ("records", "record_ranges") for row in rows(tmp_path, table)} == {"default"}

    third = here("ingest", *options)
    assert third.returncode == 0, third.stderr
    assert "0 records" in third.stdout
    assert len(rows(tmp_path, "record_ranges")) == len(ranges)


@pytest.mark.proof
@pytest.mark.usefixtures("spark")
def test_by_sparks_own_writer(kafka: LocalKafka, tmp_path: Path) -> None:
    """Records and ranges are the same if Spark writes the tables; the staging folder has no data afterwards."""
    create_topics(kafka.bootstrap_servers, [NewTopic("staged", 2, 3)])
    warehouse, staging = tmp_path / "lake", tmp_path / "staging"
    options = arguments(kafka, warehouse, "--topics", "staged", "--set", "records.writer=spark")
    options += ["--set", f"records.staging={staging}"]
    for records in (500, 200):
        produce(kafka.bootstrap_servers, "staged", records)
        done = here("ingest", *options)
        assert done.returncode == 0, done.stderr
    assert archived(warehouse) == consumed(kafka.bootstrap_servers, ["staged"])
    assert_tiled(warehouse)
    assert not list(staging.rglob("*.parquet"))


@pytest.mark.proof
def test_two_at_once(kafka: LocalKafka, tmp_path: Path) -> None:
    """The second ends with exit 4, or starts late and finds nothing new; nothing is doubled."""
    create_topics(kafka.bootstrap_servers, [NewTopic("at-once", 2, 3)])
    produce(kafka.bootstrap_servers, "at-once", 2_000)
    options = arguments(kafka, tmp_path, "--topics", "at-once")
    with ThreadPoolExecutor(2) as threads:
        runs = list(threads.map(lambda _: lagoon("ingest", *options), range(2)))
    codes = sorted(one.returncode for one in runs)
    assert codes in ([0, 0], [0, 4]), [one.stderr for one in runs]
    assert archived(tmp_path) == consumed(kafka.bootstrap_servers, ["at-once"])
    assert_tiled(tmp_path)


@pytest.mark.proof
@pytest.mark.usefixtures("spark")
def test_loss_and_change_are_facts(kafka: LocalKafka, tmp_path: Path) -> None:
    """Records deleted before they were read, a re-created topic, and a deleted one: rows with the reason, and exit 3.

    What a run was killed before it could say, the next one says.
    """
    create_topics(kafka.bootstrap_servers, [NewTopic(name, 1, 3) for name in ("overtaken", "re-created", "gone")])
    for name in ("overtaken", "re-created", "gone"):
        produce(kafka.bootstrap_servers, name, 100)
    options = arguments(kafka, tmp_path, "--pattern", "overtaken|re-created|gone")
    assert here("ingest", *options).returncode == 0

    produce(kafka.bootstrap_servers, "overtaken", 100)
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    delete_records(admin, "overtaken", 150)
    delete_topics(kafka.bootstrap_servers, ["re-created", "gone"])
    create_topics(kafka.bootstrap_servers, [NewTopic("re-created", 1, 3)])
    produce(kafka.bootstrap_servers, "re-created", 30)

    second = here("ingest", *options)
    assert second.returncode == 3, second.stdout + second.stderr
    assert "50 LOST" in second.stdout
    assert_tiled(tmp_path)
    ranges_of_topics = {
        (row["topic"], row["from_offset"], row["to_offset"], row["lost"], row["problem"])
        for row in rows(tmp_path, "record_ranges")
    }
    assert ranges_of_topics == {
        ("overtaken", 0, 100, 0, None),
        ("overtaken", 100, 200, 50, "LOST"),
        ("re-created", 0, 100, 0, None),
        ("re-created", 100, 100, 0, "TOPIC_RECREATED"),
        ("re-created", 0, 30, 0, None),
        ("gone", 0, 100, 0, None),
        ("gone", 100, 100, 0, "TOPIC_DELETED"),
    }
    assert len({row["topic_id"] for row in rows(tmp_path, "records") if row["topic"] == "re-created"}) == 2

    delete_records(admin, "re-created", 30)
    produce(kafka.bootstrap_servers, "re-created", 5)
    delete_records(admin, "re-created", 33)
    assert run([sys.executable, "-c", KILLED_AT_ITS_LINE, *options], PYTHONPATH=str(ROOT)).returncode == -signal.SIGKILL
    late = here("ingest", *options)
    assert late.returncode == 3, late.stdout + late.stderr
    assert "died before it could report that it had 3 LOST" in late.stdout
    assert here("ingest", *options).returncode == 0
    assert_tiled(tmp_path)

    produce(kafka.bootstrap_servers, "re-created", 5)
    delete_records(admin, "re-created", 37)
    accepted = here("ingest", *options, "--accept-loss")
    assert accepted.returncode == 0, accepted.stdout + accepted.stderr
    assert "2 LOST" in accepted.stdout


@pytest.mark.proof
@pytest.mark.usefixtures("spark")
def test_where_topics_begin_and_runs_end(kafka: LocalKafka, tmp_path: Path) -> None:
    """From an offset up to a time, then a limit, then the rest: each run continues at the end of the one before."""
    create_topics(kafka.bootstrap_servers, [NewTopic("begin", 2, 3, config={"retention.ms": "-1"})])  # old timestamps
    in_order = {"max.in.flight.requests.per.connection": 1}
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, **in_order})
    for number in range(200):
        producer.produce(
            "begin", value=b"%d" % number, partition=number % 2, timestamp=1_700_000_000_000 + number * 1000
        )
    assert producer.flush(30) == 0

    def ingested(*more: str) -> list[tuple[int, int]]:
        done = here("ingest", *arguments(kafka, tmp_path, "--topics", "begin", *more))
        assert done.returncode == 0, done.stdout + done.stderr
        assert_tiled(tmp_path)
        archived_rows = rows(tmp_path, "records", "partition", "offset")
        return sorted((row["partition"], row["offset"]) for row in archived_rows)

    assert ingested("--from", "begin:0=90", "--until", "2023-11-14T22:15:00Z") == [(1, n) for n in range(50)]
    assert len(ingested("--set", "ingest.max_offsets_per_run=30")) == 80
    assert ingested() == [(0, n) for n in range(90, 100)] + [(1, n) for n in range(100)]


@pytest.mark.parametrize(
    ("more", "code", "expected"),
    first(
        [
            (["--topics", "orderz"], 2, "there is no topic orderz"),
            ([], 2, "no topics: give --topics or --pattern"),
            (["--pattern", "("], 2, "ingest.pattern: '(' is not a regular expression"),
            (
                ["--topics", "known", "--from", "known:0=99999"],
                2,
                "known:0=99999 is outside of its log, which has 0 to",
            ),
            (["--topics", "known", "--from", "2999-01-01"], 2, "ingest.start: this time is in the future"),
            (["--topics", "known", "--until", "2999-01-01"], 2, "--until: this time is in the future"),
            (
                ["--topics", "known", "--from", "2026-11-10", "--until", "2026-11-01"],
                2,
                "ingest.start: is not before --until",
            ),
            (["--topics", "known", "--set", "records.writer=spark"], 2, "records.staging"),
        ]
    ),
)
@pytest.mark.usefixtures("spark")
def test_bad_input(
    kafka: LocalKafka, new_lake: Path, tmp_path: Path, more: list[str], code: int, expected: str
) -> None:
    """One clear line, the right exit code, no traceback, and no record anywhere."""
    shutil.copytree(new_lake, tmp_path / "lake")
    if "known" in more:
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
        if "known" not in admin.list_topics(timeout=30).topics:
            create_topics(kafka.bootstrap_servers, [NewTopic("known", 1, 3)])
    refused = here("ingest", *arguments(kafka, tmp_path / "lake", *more))
    assert refused.returncode == code, refused.stdout + refused.stderr
    complaints = [line for line in refused.stderr.splitlines() if line.startswith("lagoon: ")]
    assert len(complaints) == 1
    assert expected in complaints[0]
    assert "Traceback" not in refused.stderr
    assert not list((tmp_path / "lake").rglob("records/**/*.parquet"))


@pytest.mark.proof
@pytest.mark.usefixtures("spark")
def test_a_full_disk(kafka: LocalKafka, tmp_path: Path) -> None:
    """One line, exit 1, nothing committed and no file left; the next run completes."""
    create_topics(kafka.bootstrap_servers, [NewTopic("full", 2, 3)])
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "linger.ms": 20})
    for number in range(30_000):
        producer.produce("full", value=os.urandom(150), partition=number % 2)
    assert producer.flush(60) == 0
    options = arguments(kafka, tmp_path, "--topics", "full")
    files_below_2_mb = ["bash", "-c", 'ulimit -f 2048; exec "$@"', "-", "lagoon", "ingest", *options]
    refused = run(files_below_2_mb)
    assert refused.returncode == 1, refused.stdout + refused.stderr
    complaints = [line for line in refused.stderr.splitlines() if line.startswith("lagoon: ")]
    assert len(complaints) == 1
    assert re.search(r"records/\S+\.parquet cannot be written: File too large", complaints[0])
    assert rows(tmp_path, "record_ranges") == []
    assert not list((tmp_path / "records").rglob("*.parquet"))
    done = here("ingest", *options)
    assert done.returncode == 0, done.stderr
    assert archived(tmp_path) == consumed(kafka.bootstrap_servers, ["full"])


@pytest.mark.proof
@pytest.mark.usefixtures("spark")
def test_an_unreadable_table(kafka: LocalKafka, tmp_path: Path) -> None:
    """A log of table records that is no JSON: one line names the table, and nothing is changed."""
    create_topics(kafka.bootstrap_servers, [NewTopic("unread", 1, 3)])
    options = arguments(kafka, tmp_path, "--topics", "unread")
    assert here("ingest", *options).returncode == 0
    log = tmp_path / "records" / "_delta_log" / f"{0:020d}.json"
    log.write_text("this is not a log\n")
    (log.parent / f".{log.name}.crc").unlink(missing_ok=True)
    refused = here("ingest", *options)
    assert refused.returncode == 1, refused.stdout + refused.stderr
    assert "records cannot be read" in refused.stderr
    assert "Traceback" not in refused.stderr


NO_SPARK = {"PYSPARK_SUBMIT_ARGS": "--no-such-option pyspark-shell"}  # a session of Spark cannot be started


def test_a_small_run_reads_in_its_own_process(kafka: LocalKafka, tmp_path: Path) -> None:
    """Without a session of Spark: new topics, transactions, later records, and a run that finds nothing new."""
    names = ["driver-plain", "driver-tx"]
    create_topics(kafka.bootstrap_servers, [NewTopic(name, 3, 3) for name in names])
    produce(kafka.bootstrap_servers, names[0], 2_000)
    in_transactions(kafka.bootstrap_servers, names[1], 300)
    options = arguments(kafka, tmp_path, "--pattern", "driver-.*")
    runs = [lagoon("ingest", *options, **NO_SPARK)]
    produce(kafka.bootstrap_servers, names[0], 1_000)
    runs += [lagoon("ingest", *options, **NO_SPARK), lagoon("ingest", *options, **NO_SPARK)]
    assert [run.returncode for run in runs] == [0, 0, 0], runs
    counts = [int(re.search(r"topics, ([0-9,]+) records", run.stdout)[1].replace(",", "")) for run in runs]  # type: ignore[index]
    assert counts == [2_300, 1_000, 0]
    assert archived(tmp_path) == consumed(kafka.bootstrap_servers, names)
    assert_tiled(tmp_path)


@pytest.mark.usefixtures("spark")
def test_a_large_run_starts_spark(kafka: LocalKafka, tmp_path: Path) -> None:
    """More bytes than ingest.local_max_bytes are read by executors, by the plan that was made before; Spark is needed then."""
    create_topics(kafka.bootstrap_servers, [NewTopic("driver-large", 2, 3)])
    produce(kafka.bootstrap_servers, "driver-large", 2_000)
    options = arguments(kafka, tmp_path, "--topics", "driver-large", "--set", "ingest.local_max_bytes=100")
    refused = lagoon("ingest", *options, **NO_SPARK)
    assert refused.returncode == 1
    assert not archived(tmp_path)
    done = here("ingest", *options)
    assert done.returncode == 0, done.stderr
    assert archived(tmp_path) == consumed(kafka.bootstrap_servers, ["driver-large"])
    assert_tiled(tmp_path)
