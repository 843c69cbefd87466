"""The jobs on a lake in S3, against other clients of the same brokers and of the same bucket."""

import re
from collections.abc import Sequence
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from confluent_kafka.admin import NewTopic
from pyspark.sql import SparkSession

from kafka_lagoon.cli.desired_files import desired_of
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.sandbox.kafka import LocalKafka
from tests.delta.test_log_store import a_lake
from tests.delta.test_s3_races import assert_each_version_was_made_once, rows
from tests.integration.state import create_topics, produce
from tests.jobs.archived import consumed, digest
from tests.jobs.commands import here, lagoon
from tests.object_store import KEY, SECRET, ObjectStore, object_store

pytestmark = pytest.mark.kafka


@pytest.mark.proof
@pytest.mark.spark
def test_a_lake_in_a_bucket(kafka: LocalKafka, bucket: ObjectStore, tmp_path: Path) -> None:
    """Snapshot, ingest, a query, a restore and a comparison need only the location: no log store, no further credentials."""
    create_topics(kafka.bootstrap_servers, [NewTopic("in-a-bucket", 3, 1)])
    produce(kafka.bootstrap_servers, "in-a-bucket", 1_000)
    location = a_lake()
    of_lake = ["--warehouse", location, "--set", f"kafka.bootstrap_servers={kafka.bootstrap_servers}"]
    log = ["--log-file", str(tmp_path / "log")]
    to_restore = ["--from-cluster", "default", "--to-cluster", "default", "--topics", "in-a-bucket"]
    to_restore += ["--rename", "in-a-bucket=out-of-a-bucket"]
    outputs = [
        here("snapshot", *of_lake, *log),
        here("ingest", *of_lake, "--topics", "in-a-bucket", *log),
        here("sql", "SELECT count(*) AS offsets FROM partition_offsets", "--warehouse", location, "--engine", "spark"),
        here("ingest", *of_lake, "--topics", "in-a-bucket", *log),
        here("restore", "--yes", *of_lake, *to_restore, *log),
        here("compare", "records@default:in-a-bucket", "default:in-a-bucket", *of_lake),
    ]
    for output in outputs:
        assert output.returncode == 0, output.stdout + output.stderr
    assert "1,000 records of" in outputs[1].stdout
    assert re.search(r"\d+", outputs[2].stdout)
    assert outputs[-1].stdout.splitlines()[-1] == "equal"

    read = rows(bucket, location, "records", "topic", "partition", "offset", "key", "value")
    archived = {(topic, partition, offset, digest(key, value)) for topic, partition, offset, key, value in read}
    assert len(archived) == len(read)
    assert archived == consumed(kafka.bootstrap_servers, ["in-a-bucket"]).keys()
    restored = consumed(kafka.bootstrap_servers, ["out-of-a-bucket"])
    assert {key[1:] for key in restored} == {key[1:] for key in archived}
    assert len(rows(bucket, location, "snapshots", "snapshot_id")) == 1
    assert_each_version_was_made_once(bucket, location)

    of_tasks = [one for one in bucket.requests() if "/records/ingest_date=" in one.path and one.method == "POST"]
    assert {one.access_key for one in of_tasks} == {KEY}  # Arrow's uploads; Hadoop's are single PUTs
    assert SECRET not in (tmp_path / "log").read_text() + "".join(one.stdout + one.stderr for one in outputs)


@pytest.mark.java
def test_a_bucket_without_spark(kafka: LocalKafka, tmp_path: Path) -> None:
    """A snapshot starts no session: it finds in Spark's file of settings what a bucket needs."""
    with object_store(tmp_path) as store:
        location = a_lake()
        (done,) = without_spark(store, kafka, location, [("snapshot",)])
        assert len(rows(store, location, "snapshots", "snapshot_id")) == 1
        assert_each_version_was_made_once(store, location)
        assert SECRET not in done.stdout + done.stderr


@pytest.mark.proof
@pytest.mark.java
def test_more_runs_in_a_bucket_without_spark(kafka: LocalKafka, tmp_path: Path) -> None:
    """Neither do ingests and verbs; a mistyped bucket is not created."""
    create_topics(kafka.bootstrap_servers, [NewTopic("without-spark", 3, 1)])
    produce(kafka.bootstrap_servers, "without-spark", 1_000)
    ingest = ("ingest", "--topics", "without-spark")
    verb = ("admin", "create-partitions", "without-spark", "--partitions", "4", "--yes")
    with object_store(tmp_path) as store:
        location = a_lake()
        outputs = without_spark(store, kafka, location, [ingest, ingest, verb])
        read = rows(store, location, "records", "topic", "partition", "offset", "key", "value")
        archived = {(topic, partition, offset, digest(key, value)) for topic, partition, offset, key, value in read}
        assert len(archived) == len(read)
        assert archived == consumed(kafka.bootstrap_servers, ["without-spark"]).keys()
        assert {row[0] for row in rows(store, location, "admin_actions", "kind")} == {"create_partitions"}
        assert_each_version_was_made_once(store, location)
        assert SECRET not in "".join(one.stdout + one.stderr for one in outputs)

        of_kafka = f"kafka.bootstrap_servers={kafka.bootstrap_servers}"
        environ = {"SPARK_CONF_DIR": str(tmp_path / "conf"), "LAGOON_CREATE": "false"}
        mistyped = lagoon("snapshot", "--warehouse", f"{location}-", "--set", of_kafka, **environ)
        assert mistyped.returncode == 2
        assert "a typo would start a second history" in mistyped.stderr


def without_spark(
    store: ObjectStore, kafka: LocalKafka, location: str, commands: Sequence[Sequence[str]]
) -> list[CompletedProcess[str]]:
    """Run commands that cannot start a session of Spark; returns what they wrote."""
    environ = {"SPARK_CONF_DIR": str(store.spark_conf(store.folder / "conf")), "SPARK_HOME": "/no-session-starts"}
    of_lake = ("--warehouse", location, "--set", f"kafka.bootstrap_servers={kafka.bootstrap_servers}")
    outputs = [lagoon(*command, *of_lake, **environ) for command in commands]
    for output in outputs:
        assert output.returncode == 0, output.stdout + output.stderr
    return outputs


@pytest.mark.proof
@pytest.mark.java
def test_records_are_not_stored_without_the_encryption_of_the_settings(kafka: LocalKafka, tmp_path: Path) -> None:
    """Arrow cannot ask for a key, so an ingest writes no file of records."""
    create_topics(kafka.bootstrap_servers, [NewTopic("encrypted", 1, 1)])
    produce(kafka.bootstrap_servers, "encrypted", 10)
    with object_store(tmp_path) as store:
        conf, location = store.spark_conf(tmp_path / "conf"), a_lake()
        with (conf / "spark-defaults.conf").open("a") as defaults:
            defaults.write("spark.hadoop.fs.s3a.encryption.algorithm SSE-KMS\n")
        of_lake = ("--warehouse", location, "--set", f"kafka.bootstrap_servers={kafka.bootstrap_servers}")
        refused = lagoon("ingest", "--topics", "encrypted", *of_lake, SPARK_CONF_DIR=str(conf))
        assert refused.returncode == 2
        assert "fs.s3a.encryption.algorithm is SSE-KMS" in refused.stderr
        assert not [key for key in store.keys("") if key.endswith(".parquet")]


@pytest.mark.proof
def test_a_bucket_with_sessions_of_spark(kafka: LocalKafka, tmp_path: Path) -> None:
    """Runs that need Spark bring Hadoop's jars, too: restores, ingests on executors, queries and maintenance."""
    create_topics(kafka.bootstrap_servers, [NewTopic("with-spark", 3, 1)])
    produce(kafka.bootstrap_servers, "with-spark", 1_000)
    with object_store(tmp_path) as store:
        environ, location = {"SPARK_CONF_DIR": str(store.spark_conf(tmp_path / "conf"))}, a_lake()
        of_lake = ("--warehouse", location)
        of_both = (*of_lake, "--set", f"kafka.bootstrap_servers={kafka.bootstrap_servers}")
        into = ("--from-cluster", "default", "--to-cluster", "default", "--rename", "with-spark=out-of-s3")
        commands = (
            ("snapshot", *of_both),
            ("ingest", "--topics", "with-spark", "--set", "ingest.local_max_bytes=0", *of_both),
            ("restore", "--yes", "--topics", "with-spark", *into, *of_both),
            ("sql", "SELECT topic, count(*) AS records FROM records_now GROUP BY topic", "--format", "csv", *of_lake),
            ("maintain", *of_lake),
        )
        outputs = [lagoon(*command, **environ) for command in commands]
        for output in outputs:
            assert output.returncode == 0, output.stdout + output.stderr
        assert outputs[3].stdout.splitlines() == ["topic,records", "with-spark,1000"]
        restored = consumed(kafka.bootstrap_servers, ["out-of-s3"])
        assert {key[1:] for key in restored} == {key[1:] for key in consumed(kafka.bootstrap_servers, ["with-spark"])}
        assert SECRET not in "".join(one.stdout + one.stderr for one in outputs)


@pytest.mark.proof
@pytest.mark.spark
def test_a_desired_state_in_a_bucket(spark: SparkSession, bucket: ObjectStore) -> None:  # noqa: ARG001  serves it
    """A table of rows is read from a URL; a table with other columns is refused with their names."""
    rows = [("topics", "orders", "partitions", "6"), ("cluster_id", None, None, "MkU3")]
    location = a_lake()
    spark.createDataFrame(rows, "section string, name string, key string, value string").write.format("delta").save(
        location
    )
    desired = desired_of(location, 0)
    assert (desired.cluster_id, desired.topics["orders"].partitions) == ("MkU3", 6)
    spark.range(1).write.format("delta").save(f"{location}-other")
    with pytest.raises(ConfigError, match=r"-other: .*section.*: the columns must be section, name, key, value"):
        desired_of(f"{location}-other", 0)
