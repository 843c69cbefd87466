"""Delta Kernel runs in a JVM without a Spark session, and the JVM ends with it."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark import SparkContext
from pyspark.sql import SparkSession

from kafka_lagoon.delta.jvm_start import ended, started
from kafka_lagoon.delta.kernel import Kernel, in_jvm
from kafka_lagoon.delta.plain_jvm import plain_kernel
from kafka_lagoon.delta.storage import Storage
from kafka_lagoon.errors import TableError
from kafka_lagoon.tables.schema import ADMIN_ACTIONS
from kafka_lagoon.warehouse_urls import local_folder


@pytest.fixture(scope="module")
def hadoop() -> Iterator[Storage]:
    """Hadoop's file systems in a JVM of their own."""
    gateway, process = started(())
    with ended(gateway, process):
        yield in_jvm(gateway.jvm, gateway.jvm.org.apache.hadoop.conf.Configuration()).storage


def test_no_java_is_an_error_in_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The error names the places where Java was searched."""
    monkeypatch.setattr(SparkContext, "_gateway", None)  # the JVM of other tests
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(TableError, match="no JVM for Delta Kernel: no java in JAVA_HOME"), plain_kernel("/lake"):
        pass


def test_the_jvm_of_a_session_is_used(spark: SparkSession) -> None:
    """PySpark would take exceptions of another JVM for its own."""
    with plain_kernel("/lake") as kernel:
        assert kernel.storage.jvm is spark.sparkContext._jvm
    assert spark.range(1).count() == 1


def test_a_jvm_that_has_ended(tmp_path: Path) -> None:
    """Whoever asks it then gets one line, as when the system has killed it for its memory."""
    gateway, process = started(())
    with ended(gateway, process):
        kernel = in_jvm(gateway.jvm, gateway.jvm.org.apache.hadoop.conf.Configuration())
        assert kernel.storage.local(f"file:{tmp_path}") == tmp_path
        process.kill()
        process.wait()
        for ask in (
            lambda: kernel.storage.local(f"file:{tmp_path}"),
            lambda: kernel.storage.names(f"file:{tmp_path}"),
            lambda: kernel.load(f"file:{tmp_path}"),
        ):
            with pytest.raises(TableError, match=r"^the JVM that reads and writes the tables has ended$"):
                ask()


def test_a_jvm_that_ends_within_a_run(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Each call is one line about the JVM: it was a traceback, or said that a call of o12.build failed."""
    gateway, process = started(())
    with ended(gateway, process):
        kernel = in_jvm(gateway.jvm, gateway.jvm.org.apache.hadoop.conf.Configuration())
        fields = [
            {"name": name, "type": "date", "nullable": True, "metadata": dict[str, str]()} for name in ("day", "due")
        ]
        kernel.create(f"file:{tmp_path}/t", {"type": "struct", "fields": fields}, "day", {})
        state = kernel.load(f"file:{tmp_path}/t")
        assert state
        process.kill()
        process.wait()
        for _ in range(3):  # the first call breaks a connection, others cannot make one
            with pytest.raises(TableError, match=r"the JVM that reads and writes the tables has ended$"):
                kernel.last_transaction(state, "app")
    assert caplog.messages == []


@pytest.mark.parametrize("form", ["{}/50%25 off/x", "file:{}/50%25 off", "file://{}/a//b/", "{}/link/../lake"])
def test_readers_find_the_folder_of_the_writers(hadoop: Storage, tmp_path: Path, form: str) -> None:
    """Writers open the URL that Hadoop makes of a place, readers without a JVM the folder of the place or of that URL."""
    (tmp_path / "elsewhere" / "folder").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere" / "folder")
    place = form.format(tmp_path)
    url = hadoop.qualified(place)
    hadoop.write(f"{url}/file", b"content")
    for named in (place, url):
        folder = local_folder(named)
        assert folder is not None
        assert (folder / "file").read_bytes() == b"content"


@pytest.mark.parametrize("root", ["hdfs://localhost:1", "hdfs://localhost:1/", "hdfs://localhost:1//"])
def test_tables_at_the_root_of_a_store(hadoop: Storage, root: str) -> None:
    """A slash after the name of a bucket or host is not doubled by the names of tables, which Arrow would refuse."""
    assert hadoop.qualified(root) == "hdfs://localhost:1"


def test_a_java_that_does_not_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The line names it, and not what our code made of its silence."""
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\nexit 1\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(TableError, match=f"no JVM for Delta Kernel: {java} did not start"):
        started(())


def _created(kernel: Kernel, folder: Path) -> str:
    """Make a table without rows; returns its URL."""
    location = kernel.storage.qualified(str(folder))
    kernel.create(location, ADMIN_ACTIONS.delta_schema(), ADMIN_ACTIONS.partition_by, {})
    return location


@pytest.mark.java
def test_a_checkpoint_that_fails_leaves_nothing(tmp_path: Path) -> None:
    """Its codec cannot be unpacked: the Kernel renames four bytes to a checkpoint, and the table could not be read any more."""
    gateway, process = started((f"-Djava.io.tmpdir={tmp_path / 'nowhere'}",))
    with ended(gateway, process):
        kernel = in_jvm(gateway.jvm, gateway.jvm.org.apache.hadoop.conf.Configuration())
        location = _created(kernel, tmp_path / "table")
        kernel.checkpoint(location)
        state = kernel.load(location)
    assert state is not None
    assert state.version == 0
    assert [path.name for path in (tmp_path / "table" / "_delta_log").iterdir()] == [f"{0:020}.json"]


@pytest.mark.java
def test_temporary_files_are_where_tmpdir_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Java would take /tmp, which may be full or closed; what JAVA_TOOL_OPTIONS name is theirs."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    for options, expected in (("", str(tmp_path)), ("-Djava.io.tmpdir=/named", "/named")):
        monkeypatch.setenv("JAVA_TOOL_OPTIONS", options)
        gateway, process = started(())
        with ended(gateway, process):
            assert gateway.jvm.java.lang.System.getProperty("java.io.tmpdir") == expected
