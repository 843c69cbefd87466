"""Our classes in Delta's class loader are built from their sources, and the local log store excludes other writers."""

import os
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from kafka_lagoon.delta import java_classes
from kafka_lagoon.delta.java_classes import LOCAL_LOG_STORE, defined
from kafka_lagoon.delta.kernel import start
from tests.java_classes import LOG_STORES, compiled

WRITERS = 4


@pytest.fixture(scope="module")
def log_store(spark: SparkSession) -> Any:
    """Make a log store as the Kernel does."""
    kernel = start(spark)
    assert kernel.storage.conf.get("io.delta.kernel.logStore.file.impl") == LOCAL_LOG_STORE
    return kernel.classes.defaults.internal.logstore.LogStoreProvider.getLogStore(kernel.storage.conf, "file")


@pytest.mark.parametrize("made", sorted(LOG_STORES.glob("*.class")), ids=lambda path: path.stem)
def test_class_files_are_what_their_sources_say(spark: SparkSession, made: Path) -> None:
    """`python -m tests.java_classes` builds them again."""
    (code,) = compiled(spark.sparkContext._jvm, made.with_suffix(".java")).values()
    assert made.read_bytes() == code


def test_a_class_is_defined_once(spark: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A second kernel finds the class; a JVM that refuses such classes is distinguished from one that has it."""
    jvm = spark.sparkContext._jvm
    assert defined(jvm, LOCAL_LOG_STORE)
    assert defined(jvm, LOCAL_LOG_STORE)
    (tmp_path / "NoClass.class").write_bytes(b"no class")
    monkeypatch.setattr(java_classes, "_FOLDER", tmp_path)
    assert not defined(jvm, "io.delta.storage.NoClass")


def drained(files: Any) -> Iterator[Any]:
    """Return the items of a Java iterator."""
    while files.hasNext():
        yield files.next()


def test_a_log_is_listed_as_by_hadoop(log_store: Any, spark: SparkSession, tmp_path: Path) -> None:
    """From a name on, in order, with lengths and times; hidden files are none, and a missing folder is an error."""
    jvm = spark.sparkContext._jvm
    conf = jvm.org.apache.hadoop.conf.Configuration()
    log = tmp_path / "a b" / "_delta_log"
    (log / "_sidecars").mkdir(parents=True)
    for version in (0, 10, 2, 9, 11):
        (log / f"{version:020}.json").write_text("x" * version)
    others = (
        "_last_checkpoint",
        f".{9:020}.json.tmp",
        f".{10:020}.json.crc",
        f"{9:020}.checkpoint.parquet",
        "copy 1:2",
    )
    for name in others:
        (log / name).write_text(name)
    for path in log.iterdir():
        os.utime(path, (1_795_000_000, 1_795_000_000.25))

    def listed(store: Any, name: str) -> list[tuple[str, int, bool, int]]:
        files = store.listFrom(jvm.org.apache.hadoop.fs.Path(f"file:{log}/{name}"), conf)
        return [
            (str(file.getPath()), file.getLen(), file.isDirectory(), file.getModificationTime())
            for file in drained(files)
        ]

    hadoop = jvm.io.delta.storage.HDFSLogStore(conf)
    for first in (f"{0:020}.", f"{9:020}.", f"{10:020}.json", "a"):
        assert listed(log_store, first) == [
            file for file in listed(hadoop, first) if not file[0].rpartition("/")[2].startswith(".")
        ]
    assert len(listed(log_store, f"{9:020}.")) == 7
    with pytest.raises(Py4JError, match="FileNotFoundException"):
        log_store.listFrom(jvm.org.apache.hadoop.fs.Path(f"file:{tmp_path}/none/x"), conf)


@pytest.mark.proof
def test_one_of_several_writers_wins(log_store: Any, spark: SparkSession, tmp_path: Path) -> None:
    """A version is written once and whole, other writers get an error, and no other file is left in the folder."""
    jvm = spark.sparkContext._jvm
    conf = jvm.org.apache.hadoop.conf.Configuration()

    def write(version: int, writer: int) -> int | None:
        lines = jvm.java.util.List.of(f"grün {writer}", "x" * 100_000).iterator()
        try:
            log_store.write(jvm.org.apache.hadoop.fs.Path(f"file:{tmp_path}/a b/{version}.json"), lines, False, conf)
        except Py4JError as error:
            return None if "FileAlreadyExistsException" in str(error) else -1
        return writer

    (tmp_path / "a b").mkdir()
    with ThreadPoolExecutor(WRITERS) as threads:
        for version in range(20):
            wins = Counter(threads.map(lambda writer, version=version: write(version, writer), range(WRITERS)))
            (winner,) = (writer for writer in wins if writer is not None)
            assert wins == {winner: 1, None: WRITERS - 1}
            assert (tmp_path / "a b" / f"{version}.json").read_text("utf-8") == f"grün {winner}\n{'x' * 100_000}\n"
    assert len(list((tmp_path / "a b").iterdir())) == 20


def test_what_is_overwritten_is_read_by_hadoop(log_store: Any, spark: SparkSession, tmp_path: Path) -> None:
    """Hadoop has written `_last_checkpoint` with a checksum file, which is outdated after the overwrite."""
    jvm = spark.sparkContext._jvm
    conf = jvm.org.apache.hadoop.conf.Configuration()
    path = jvm.org.apache.hadoop.fs.Path(f"file:{tmp_path}/_last_checkpoint")
    stream = path.getFileSystem(conf).create(path, False)
    stream.write(bytearray(b"old"))
    stream.close()
    assert (tmp_path / "._last_checkpoint.crc").exists()
    log_store.write(path, jvm.java.util.List.of("new").iterator(), True, conf)
    stream = path.getFileSystem(conf).open(path)
    assert bytes(stream.readAllBytes()) == b"new\n"
    stream.close()
    assert [file.name for file in tmp_path.iterdir()] == ["_last_checkpoint"]
