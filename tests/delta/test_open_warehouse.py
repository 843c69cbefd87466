"""A place is writable and its tables are ours, or one line names the fault."""

import errno
import os
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock, Mock
from uuid import uuid4

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from kafka_lagoon.delta import kernel
from kafka_lagoon.delta import open_warehouse as opening
from kafka_lagoon.delta.java_classes import OBJECT_LOG_STORE
from kafka_lagoon.delta.open_warehouse import at_path, check_writable, find_warehouse, open_warehouse
from kafka_lagoon.errors import ConfigError, TableError
from kafka_lagoon.query.spark_engine import make_available
from kafka_lagoon.settings_sources import load
from kafka_lagoon.tables.schema import TABLES
from tests.clock import CLOCK
from tests.closed import modes_bind
from tests.delta.samples import lag_row, snapshot
from tests.delta.test_publish import publish_once
from tests.effort import first
from tests.java_gateway import java_gateway
from tests.object_store import BUCKET, ObjectStore
from tests.warehouses import settings

BY_NAME = {table.name: table for table in TABLES}


def test_a_busy_store_is_asked_once(spark: SparkSession, bucket: ObjectStore) -> None:
    """A store that stays busy ends the first request for a table, and not its fourth: the file system repeats each for minutes."""
    conf, name = spark.sparkContext._jsc.hadoopConfiguration(), f"busy-{uuid4().hex}"
    given = {option.removeprefix(f"fs.s3a.bucket.{BUCKET}."): value for option, value in bucket.hadoop().items()}
    for option, value in (given | {"attempts.maximum": "1", "retry.throttle.limit": "1"}).items():
        conf.set(f"fs.s3a.bucket.{name}.{option}", value)
    bucket.request("PUT", f"/{name}")
    place = settings(f"warehouse=s3a://{name}/lake")
    before = len(bucket.requests())
    with bucket.refusing(1), pytest.raises(TableError, match=rf"^s3a://{name}/lake/snapshots cannot be read: .*503"):
        find_warehouse(spark, place)
    requests = bucket.requests()[before:]
    assert requests
    assert not [one.path for one in requests if "_last_checkpoint" in one.path]


@pytest.mark.parametrize("name", first(["naïve a'b`c", "with space", "percent%41"]))
def test_any_folder_will_do(spark: SparkSession, tmp_path: Path, name: str) -> None:
    """Tables are made and filled in folders of any name, and found there again."""
    place = settings(f"warehouse={tmp_path / name}")
    publish_once(open_warehouse(spark, place, CLOCK), snapshot(1, lag_row("g", "t", 0)))
    existing = find_warehouse(spark, place)
    assert spark.table(existing.identifiers["consumer_lag"]).count() == 1
    assert {path.name for path in (tmp_path / name).iterdir() if not path.name.startswith(".")} == set(BY_NAME)


def test_a_relative_folder_is_below_the_working_directory(spark: SparkSession) -> None:
    """A relative path is relative to the working directory."""
    assert at_path(spark, "wh").name == f"file:{Path.cwd()}/wh"


def test_a_place_that_cannot_be_written_is_named(spark: SparkSession, tmp_path: Path) -> None:
    """ConfigError names the setting and the place before anything else happens."""
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"^warehouse: file:.*/file/wh cannot be written: "):
        open_warehouse(spark, settings(f"warehouse={tmp_path / 'file' / 'wh'}"), CLOCK)
    with pytest.raises(ConfigError, match=r"^warehouse: nosuch://host/wh: .*nosuch"):
        open_warehouse(spark, settings("warehouse=nosuch://host/wh"), CLOCK)


def test_commits_that_cannot_be_locked_are_named(spark: SparkSession, tmp_path: Path) -> None:
    """A lock file of another user is found before tables are read; other files in its place, too."""
    place = settings(f"warehouse={tmp_path}")
    lock = tmp_path / ".lagoon-commit.lock"
    lock.touch(0)
    with (
        modes_bind(),
        pytest.raises(ConfigError, match=r"^warehouse: .*commit\.lock cannot be locked: Permission denied: "),
    ):
        open_warehouse(spark, place, CLOCK)
    lock.unlink()
    lock.symlink_to("elsewhere")
    with pytest.raises(ConfigError, match=r"^warehouse: .*commit\.lock cannot be locked: it is a symbolic link"):
        open_warehouse(spark, place, CLOCK)


def test_a_store_without_its_jars_is_named(spark: SparkSession) -> None:
    """Hadoop's file systems for object stores are not among Spark's jars: the message names the module with the jar."""
    with pytest.raises(
        ConfigError,
        match=r"^warehouse: abfss://f@a\.dfs\.core\.windows\.net/wh: .* --packages org\.apache\.hadoop:hadoop-azure:3\.",
    ):
        open_warehouse(spark, settings("warehouse=abfss://f@a.dfs.core.windows.net/wh"), CLOCK)


def test_a_url_with_credentials_is_not_shown() -> None:
    """`register` of notebooks takes URLs that no settings have checked; the session is not asked about them."""
    with pytest.raises(ConfigError, match=r"^warehouse: this URL has credentials in it") as raised:
        at_path(Mock(side_effect=AssertionError), "s3a://AKIA:s3cret@bucket/lake")
    assert "s3cret" not in str(raised.value)


def test_a_file_system_that_is_mounted_read_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own user cannot write to it either, so no other user is named as a cure."""
    error = TableError(f"file:{tmp_path} cannot be written: Read-only file system")
    error.__cause__ = OSError(errno.EROFS, "Read-only file system")
    warehouse = Mock()
    warehouse.name = f"file:{tmp_path}"
    warehouse.kernel.storage.write.side_effect = error
    warehouse.kernel.storage.local.return_value = tmp_path
    monkeypatch.setattr(os, "access", lambda *_, **__: False)
    with pytest.raises(ConfigError, match=r"cannot be written: Read-only file system$"):
        check_writable(warehouse)


def test_a_bucket_in_which_nothing_may_be_removed() -> None:
    """The line names files in the warehouse: nobody tried to remove the warehouse."""
    warehouse = Mock()
    warehouse.name = "s3a://bucket/lake"

    def refuse(url: str) -> None:
        raise TableError(f"{url} cannot be removed: {url}: delete on {url}: Access Denied (AccessDeniedException)")

    warehouse.kernel.storage.delete = refuse
    with pytest.raises(
        ConfigError, match=r"^warehouse: files in s3a://bucket/lake cannot be removed: s3a://bucket/lake: "
    ):
        check_writable(warehouse)


def test_a_bucket_that_refuses_a_later_removal() -> None:
    """It is the warehouse that is at fault, too, if the file of the second check is the first that cannot be removed."""
    warehouse, store, error = MagicMock(), MagicMock(), MagicMock(_target_id="o1")
    warehouse.name = "s3a://bucket/lake"
    storage = warehouse.kernel.storage
    storage.conf.get.return_value = OBJECT_LOG_STORE
    setattr(storage.jvm, OBJECT_LOG_STORE, lambda _: store)
    error.getClass.return_value.getSimpleName.return_value = "FileAlreadyExistsException"
    store.write.side_effect = [None, Py4JJavaError("failed", error)]
    warehouse.lock_file.return_value = None

    def refuse(url: str) -> None:
        if store.write.called:
            raise TableError(f"{url} cannot be removed: Access Denied (AccessDeniedException)")

    storage.delete = refuse
    with pytest.raises(
        ConfigError, match=r"^warehouse: files in s3a://bucket/lake cannot be removed: Access Denied \("
    ):
        check_writable(warehouse)


def test_reading_makes_nothing(spark: SparkSession, tmp_path: Path) -> None:
    """Opening an empty place for reading is an error that says there are no tables, and creates none."""
    with pytest.raises(TableError, match="there is no table snapshots at file:"):
        find_warehouse(spark, settings(f"warehouse={tmp_path / 'wh'}"))
    assert not (tmp_path / "wh").exists()


def test_a_closed_folder_is_not_a_missing_one(spark: SparkSession, tmp_path: Path) -> None:
    """A warehouse of another user that this one may not enter has tables, for all we know."""
    (tmp_path / "wh").mkdir(0)
    with modes_bind(), pytest.raises(TableError, match=r"/wh: Permission denied: it belongs to user "):
        find_warehouse(spark, settings(f"warehouse={tmp_path / 'wh'}"))


@pytest.fixture
def bare_jvm() -> Iterator[Any]:
    """Start a JVM without Delta's jars."""
    with java_gateway([]) as gateway:
        yield gateway.jvm


@pytest.mark.java
def test_missing_jars_are_said_with_the_cure(bare_jvm: Any) -> None:
    """Without Delta on the class path one line names the remedy."""
    with pytest.raises(TableError, match=r"on Spark.s class path: give spark-submit --packages io\.delta:"):
        kernel.in_jvm(bare_jvm, None)


def test_a_user_without_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hadoop asks the system for the name of the user before it looks at a folder: the line has the cure."""
    delta = Mock()
    delta.storage.qualified.side_effect = TableError("/lake: Invalid UID")
    monkeypatch.setattr(os, "geteuid", lambda: 54_321)
    with pytest.raises(ConfigError, match=r"^warehouse: /lake: Invalid UID; user 54321 has no name .* /etc/passwd"):
        opening._at_path(None, delta, "/lake")


@pytest.mark.parametrize(("name", "is_refused"), [("ConnectException", True), ("AccessDeniedException", False)])
def test_a_store_that_takes_no_connection_is_one_request(name: str, is_refused: bool) -> None:
    """s3a tries each request for minutes: a run with a wrong endpoint ends after the first one, before anything is written."""
    error = MagicMock(_target_id="o1")
    error.getClass.return_value.getSimpleName.return_value = name
    there = TableError("s3a://bucket/lake cannot be read: refused")
    there.__cause__ = Py4JJavaError("failed", error)
    warehouse = Mock()
    warehouse.kernel.storage.exists.side_effect = there
    warehouse.name = "s3a://bucket/lake"
    place = load(None, {}, ["warehouse=s3a://bucket/lake"], cluster_needed=False)
    with pytest.raises(ConfigError, match=r"^warehouse: s3a://bucket/lake cannot") if is_refused else nullcontext():
        opening._check_creation(warehouse, place)


@pytest.mark.parametrize(
    ("problem", "is_cured"),
    [
        (
            "java.lang.ClassNotFoundException: Class org.apache.hadoop.fs.s3a.S3AFileSystem not found (RuntimeException)",
            True,
        ),
        ('No FileSystem for scheme "gs" (UnsupportedFileSystemException)', True),
        ("software/amazon/awssdk/core/exception/SdkException (NoClassDefFoundError)", True),
        ("bucket is null/empty (IllegalArgumentException)", False),
        ("Invalid configuration value detected for fs.azure.account.key (InvalidConfigurationValueException)", False),
    ],
)
def test_jars_are_named_where_they_are_missing(problem: str, is_cured: bool) -> None:
    """A file system that is there and refuses its settings needs no package."""
    delta = Mock()
    delta.storage.qualified.side_effect = TableError(f"s3a://my_bucket/lake: {problem}")
    with pytest.raises(ConfigError, match=r"^warehouse: s3a://my_bucket/lake: ") as raised:
        opening._at_path(None, delta, "s3a://my_bucket/lake")
    assert ("--packages org.apache.hadoop:hadoop-aws:" in str(raised.value)) == is_cured


@pytest.mark.proof
def test_a_catalog_holds_tables_and_views(spark: SparkSession, tmp_path: Path) -> None:
    """In a schema of a catalog the tables are made by DDL with comments, are filled, and have real views."""
    place = settings("catalog=spark_catalog", "schema=kafka_state")
    with pytest.raises(
        ConfigError, match=r"^catalog, schema: `spark_catalog`\.`kafka_state`\.brokers cannot be created: "
    ):
        open_warehouse(spark, place, CLOCK)
    spark.sql(f"CREATE SCHEMA `kafka_state` LOCATION '{tmp_path}/schema'")
    try:
        publish_once(open_warehouse(spark, place, CLOCK), snapshot(1, lag_row("g", "t", 0)))
        warehouse = find_warehouse(spark, place)
        make_available(warehouse, ["lag_now"])
        assert [one["group_id"] for one in spark.sql("SELECT * FROM `kafka_state`.lag_now").collect()] == ["g"]
        assert spark.catalog.getTable("snapshots").description == BY_NAME["snapshots"].comment
        spark.sql("DROP TABLE `kafka_state`.acls")
        with pytest.raises(
            TableError, match=r"^table acls in `spark_catalog`\.`kafka_state` is not there: the first run"
        ):
            make_available(find_warehouse(spark, place), ["acls_published"])
    finally:
        spark.sql("USE spark_catalog.default")
        spark.sql("DROP SCHEMA `kafka_state` CASCADE")


def test_a_warehouse_that_only_spark_reaches_is_not_created_unasked(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside something else it needs `create`, because a typo would start a second history; in an empty place it does not."""
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))  # paths may be on another file system then
    typo = load(None, {}, [f"warehouse={tmp_path / 'above' / 'laek'}"], cluster_needed=False)
    for prepare in (lambda: None, lambda: (tmp_path / "above" / "lake").mkdir(parents=True)):
        prepare()
        with pytest.raises(ConfigError, match="only --create, or create = true in the settings, creates it"):
            open_warehouse(spark, typo, CLOCK)
    (tmp_path / "above" / "lake").rmdir()
    assert open_warehouse(spark, typo, CLOCK).state("snapshots").version == 0
