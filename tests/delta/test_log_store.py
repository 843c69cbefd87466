"""Each commit on S3 is made once, with any writers and even if responses are lost."""

import math
import re
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from datetime import date
from unittest.mock import MagicMock
from uuid import uuid4

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from kafka_lagoon.delta import log_store
from kafka_lagoon.delta.open_warehouse import at_path, open_warehouse
from kafka_lagoon.delta.publish import publish, snapshot_lock
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.errors import ConfigError, LockHeld, TableError
from kafka_lagoon.notebooks import register
from kafka_lagoon.query import spark_engine
from tests.clock import CLOCK
from tests.delta import other_run
from tests.object_store import BUCKET, SECRET, ObjectStore
from tests.warehouses import settings

FIRST = f"_delta_log/{0:020}.json"
COMMIT = re.compile(rf"/{BUCKET}/.*/_delta_log/\d{{20}}\.json")


def a_lake() -> str:
    """Return a place that no other test uses."""
    return f"s3a://{BUCKET}/{uuid4().hex}"


@pytest.fixture(scope="module")
def lake(spark: SparkSession, bucket: ObjectStore) -> Warehouse:  # noqa: ARG001  reaches the bucket
    """A warehouse in the bucket."""
    return open_warehouse(spark, settings(f"warehouse={a_lake()}"), CLOCK)


@contextmanager
def naming(spark: SparkSession, log_store: str) -> Iterator[None]:
    """Make the session name a log store, as spark-submit --conf would."""
    conf, key = spark.sparkContext._jsc.sc().conf(), "spark.delta.logStore.s3a.impl"
    before = conf.get(key, "")
    conf.set(key, log_store)
    try:
        yield
    finally:
        conf.set(key, before) if before else conf.remove(key)


@pytest.mark.proof
def test_the_server_of_these_tests_excludes(bucket: ObjectStore) -> None:
    """Of four clients that create one object at once, one succeeds: without this the other tests prove nothing."""
    answers: Counter[int] = Counter()

    def create(path: str, content: bytes) -> None:
        signed = {"If-None-Match": "*", "Authorization": "AWS4-HMAC-SHA256 Credential=AKIA/20261122/x/s3/aws4_request"}
        answers[bucket.request("PUT", path, content, **signed)[0]] += 1

    for number in range(20):
        writers = [threading.Thread(target=create, args=(f"/{BUCKET}/race/{number}", b"%d" % one)) for one in range(4)]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
    assert answers == {200: 20, 412: 60}


def test_every_commit_is_conditional(spark: SparkSession, bucket: ObjectStore, lake: Warehouse) -> None:
    """The Kernel and Spark create versions by conditional requests that S3 refuses for existing ones; no setting is needed."""
    with snapshot_lock(lake, "first", CLOCK) as lock:
        publish(lock, other_run.attempt(1))
    table = lake.identifiers["consumer_lag"]
    spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('written.by' = 'Spark')")
    assert spark.sql(f"SELECT count(*) FROM {table}").collect()[0][0] == 3
    puts = [one for one in bucket.requests() if one.method == "PUT" and COMMIT.fullmatch(one.path)]
    assert puts
    assert all(one.is_conditional for one in puts)
    assert max(Counter(one.path for one in puts if one.status == 200).values()) == 1
    assert any("consumer_lag" in one.path and one.path.endswith("2.json") for one in puts)  # Spark's


def test_a_lost_answer_is_no_conflict(bucket: ObjectStore, lake: Warehouse) -> None:
    """A commit whose response was lost, and whose repetition is refused, is ours: the run neither fails nor writes twice."""
    with bucket.losing_answers("_delta_log/"), snapshot_lock(lake, "lost", CLOCK) as lock:
        published = publish(lock, other_run.attempt(5))
    assert published.rows["consumer_lag"] == 3
    lost = [
        one for one in bucket.requests() if one.method == "PUT" and one.status == 412 and COMMIT.fullmatch(one.path)
    ]
    assert len(lost) >= 5


def test_no_run_fails_for_a_lost_answer(spark: SparkSession, bucket: ObjectStore) -> None:
    """Each write is carried out and answered by an error: what is there then tells that it was ours, or another's."""
    with bucket.losing_answers(""):
        lake = open_warehouse(spark, settings(f"warehouse={a_lake()}"), CLOCK)
        with snapshot_lock(lake, "lost", CLOCK) as lock:
            published = publish(lock, other_run.attempt(8))
        assert published.rows["consumer_lag"] == 3
        storage, url = lake.kernel.storage, f"{lake.name}/file"
        assert storage.write(url, b"ours").size == 4
        with pytest.raises(TableError, match="file cannot be written: "):
            storage.write(url, b"another's")
    assert storage.read(url) == b"ours"


@pytest.mark.proof
@pytest.mark.timeout(900)
def test_a_commit_ends_with_the_repetitions_of_the_file_system(spark: SparkSession, bucket: ObjectStore) -> None:
    """Delta Kernel does not make a commit again, 30 times, after s3a has asked a busy store for more than half a minute."""
    conf, name = spark.sparkContext._jsc.hadoopConfiguration(), f"busy-{uuid4().hex}"
    given = {option.removeprefix(f"fs.s3a.bucket.{BUCKET}."): value for option, value in bucket.hadoop().items()}
    given |= {
        "retry.throttle.limit": "2",
        "retry.throttle.interval": "12s",
    }  # twice, after 12 s and 24 s, each give or take a half
    for option, value in given.items():
        conf.set(f"fs.s3a.bucket.{name}.{option}", value)
    bucket.request("PUT", f"/{name}")
    lake = open_warehouse(spark, settings(f"warehouse=s3a://{name}/lake"), CLOCK)
    state, before = lake.state("snapshots"), len(bucket.requests())
    with (
        bucket.refusing(1),
        pytest.raises(TableError, match=rf"^s3a://{name}/lake/snapshots cannot be appended to: .*503"),
    ):
        lake.kernel.append(state, [], ("snapshot_date", date(2026, 11, 30)))
    refused = [one.path for one in bucket.requests()[before:] if one.method == "PUT"]
    sdk_and_s3a = int(given["attempts.maximum"]) + 1, int(given["retry.throttle.limit"]) + 1
    assert 0 < len(refused) <= math.prod(sdk_and_s3a)
    assert lake.state("snapshots").version == state.version


@pytest.mark.proof
def test_what_an_overtaken_run_wrote_is_taken_back(lake: Warehouse) -> None:
    """Without a lock the transaction id decides: the second run is refused, and no table version names its rows."""
    with snapshot_lock(lake, "overtaken", CLOCK) as slow:
        with snapshot_lock(lake, "overtaken", CLOCK) as quick:
            publish(quick, other_run.attempt(6))
        with pytest.raises(LockHeld, match="it published in the meantime"):
            publish(slow, other_run.attempt(7))
    for table in ("consumer_lag", "brokers", "topics", "consumer_groups", "snapshots"):
        paths = {file.path for file in lake.kernel.live_files(lake.state(table))}
        assert any("0192-0006" in path for path in paths), table
        assert not any("0192-0007" in path for path in paths), table
    assert not [name for name in written(lake, "snapshots") if "0192-0007" in name]


def written(warehouse: Warehouse, table: str) -> list[str]:
    """Return the names of the data files in a table's folders."""
    storage, root = warehouse.kernel.storage, warehouse.locations[table]
    days = [name for name in storage.names(root) if "=" in name]
    return [name for day in days for name in storage.names(f"{root}/{day}")]


def test_a_store_that_cannot_exclude_is_refused(spark: SparkSession, bucket: ObjectStore) -> None:
    """A store without If-None-Match would overwrite commits: one line says so before anything is written."""
    with (
        bucket.ignoring_conditions(),
        pytest.raises(ConfigError, match=r"^warehouse: s3a://lake/\w+ ignores the conditions .*logStore\.s3a\.impl"),
    ):
        open_warehouse(spark, settings(f"warehouse={a_lake()}"), CLOCK)
    conf = spark.sparkContext._jsc.hadoopConfiguration()
    conf.set("fs.s3a.bucket.older.create.conditional.enabled", "false")
    for name in ("endpoint", "endpoint.region", "path.style.access", "access.key", "secret.key"):
        conf.set(f"fs.s3a.bucket.older.{name}", bucket.hadoop()[f"fs.s3a.bucket.{BUCKET}.{name}"])
    bucket.request("PUT", "/older")
    with pytest.raises(
        ConfigError, match=r"^warehouse: s3a://older/\w+ does not take commits: .*Conditional Writes Unavailable"
    ):
        open_warehouse(spark, settings(f"warehouse=s3a://older/{uuid4().hex}"), CLOCK)


def test_an_answer_that_breaks_off_is_asked_for_again(bucket: ObjectStore, lake: Warehouse) -> None:
    """No commit and no data file is unreadable because a connection broke within an answer."""
    storage, content = lake.kernel.storage, b"content" * 100_000
    url, version = f"{lake.name}/large", lake.state("topics").version
    storage.write(url, content)
    with bucket.breaking_answers("/large"):
        assert storage.read(url) == content
    with bucket.breaking_answers("/topics/_delta_log/"):
        assert lake.state("topics").version == version


@pytest.mark.proof
def test_a_named_log_store_stays(spark: SparkSession, bucket: ObjectStore) -> None:  # noqa: ARG001  reaches the bucket
    """A class that the user names is used by Spark and the Kernel; Delta's own for S3, which loses commits, is refused."""
    with naming(spark, "io.delta.storage.HDFSLogStore"):
        named = at_path(spark, a_lake())
        assert named.kernel.storage.conf.get("io.delta.kernel.logStore.s3a.impl") == "io.delta.storage.HDFSLogStore"
        # The user's own responsibility.
        log_store.check_exclusion(named.kernel.storage, named.name, f"{named.name}/probe")
    with (
        naming(spark, "io.delta.storage.S3SingleDriverLogStore"),
        pytest.raises(
            ConfigError, match=r"^warehouse: s3a:// loses commits with io\.delta\.storage\.S3Single.*: leave it"
        ),
    ):
        at_path(spark, a_lake())


@pytest.mark.proof
def test_a_session_of_a_user_can_commit_beside_runs(
    spark: SparkSession, bucket: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Delta's own log store for S3 overwrites commits of runs; a session in which the tables are registered has ours."""
    location, conf = a_lake(), spark.sparkContext._jsc.sc().conf()
    monkeypatch.setattr(spark_engine, "make_available", lambda _: None)  # the views cost seconds

    def is_conditional(table: str) -> bool:
        spark.sql(f"CREATE TABLE delta.`{location}/{table}` (id INT) USING delta")
        (commit,) = [one for one in bucket.requests() if one.method == "PUT" and one.path.endswith(f"/{table}/{FIRST}")]
        return commit.is_conditional

    conf.remove("spark.delta.logStore.s3a.impl")
    assert not is_conditional("before")
    register(spark, location)
    assert is_conditional("after")


def test_keys_are_not_stored(bucket: ObjectStore, lake: Warehouse) -> None:
    """No commit has the secret key that it was written with."""
    folder = f"/{BUCKET}/{lake.name.rpartition('/')[2]}/snapshots/_delta_log/"
    paths = {one.path for one in bucket.requests() if one.path.startswith(folder) and COMMIT.fullmatch(one.path)}
    commits = [lake.kernel.storage.read(f"s3a:/{path}") for path in sorted(paths)]
    assert b"commitInfo" in commits[0]
    assert SECRET.encode() not in b"".join(commits)


@pytest.mark.proof
def test_a_schema_in_a_bucket(spark: SparkSession, bucket: ObjectStore) -> None:
    """Tables of Spark's own catalog in a bucket are made and filled by conditional commits, too."""
    location = a_lake()
    spark.sql(f"CREATE SCHEMA in_a_bucket LOCATION '{location}'")
    made = open_warehouse(spark, settings("catalog=spark_catalog", "schema=in_a_bucket"), CLOCK)
    assert made.locations["snapshots"].startswith(location)
    with snapshot_lock(made, "default", CLOCK) as lock:
        publish(lock, other_run.attempt(1))
    assert spark.table("in_a_bucket.consumer_lag").count() == 3
    folder = f"/{BUCKET}/{location.rpartition('/')[2]}/"
    puts = [one for one in bucket.requests() if one.method == "PUT" and one.path.startswith(folder)]
    commits = [one for one in puts if COMMIT.fullmatch(one.path)]
    assert len(commits) > len(made.locations)
    assert all(one.is_conditional for one in commits)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("FileAlreadyExistsException", None), ("SocketTimeoutException", "cannot be shown to keep runs apart: timeout")],
)
def test_only_a_refusal_shows_that_a_store_excludes(name: str, expected: str | None) -> None:
    """A second creation that fails for another reason proves nothing."""
    storage = MagicMock()
    storage.conf.get.return_value = log_store.OBJECT_LOG_STORE
    store = MagicMock()
    setattr(storage.jvm, log_store.OBJECT_LOG_STORE, lambda _: store)
    error = MagicMock(_target_id="o1")
    error.getClass.return_value.getSimpleName.return_value, error.getMessage.return_value = name, "timeout"
    store.write.side_effect = [None, Py4JJavaError("failed", error)]
    with nullcontext() if expected is None else pytest.raises(ConfigError, match=expected):
        log_store.check_exclusion(storage, "s3a://bucket/lake", "s3a://bucket/lake/probe")
    storage.delete.assert_called_once()
