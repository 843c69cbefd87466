"""Local files are read and written without a JVM; tests of other file systems are those of their writers."""

import errno
import os
import resource
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import NoReturn
from unittest.mock import MagicMock

import pyarrow as pa
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from kafka_lagoon.delta.arrow import write_parquet
from kafka_lagoon.delta.storage import Storage, Stored, reason, reason_of
from kafka_lagoon.errors import TableError
from tests.closed import modes_bind
from tests.proof.points.watch import Watch

LOCAL = Storage(jvm=None, conf=None)


def test_a_file_is_written_once(tmp_path: Path) -> None:
    """The file is written with its folders and described by its file system; a second write is refused and changes nothing."""
    url = f"file:{tmp_path}/a b/grün/file"
    stored = LOCAL.write(url, b"content")
    status = (tmp_path / "a b" / "grün" / "file").stat()
    assert stored == Stored(url=url, size=7, modified_at_ms=status.st_mtime_ns // 1_000_000)
    with pytest.raises(TableError, match=r"^file:.*/a b/grün/file cannot be written: File exists$"):
        LOCAL.write(url, b"other")
    (tmp_path / "a b" / "grün" / "folder").mkdir()
    assert (LOCAL.read(url), LOCAL.size(url), LOCAL.listed(f"file:{tmp_path}/a b/grün")) == (b"content", 7, [stored])


def test_a_file_that_is_whole_as_soon_as_it_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its name is never that of a part of it; a second write is refused, also where there are no hard links."""
    (tmp_path / "folder").mkdir()
    for name in ("linked", "renamed"):
        url = f"file:{tmp_path}/folder/{name}.json"
        with Watch(tmp_path) as watch:
            LOCAL.write_whole(url, "content")
        assert [change.kind for change in watch.changes if change.path.endswith(f"/{name}.json")] == ["new"]
        assert LOCAL.read(url) == b"content"
        with pytest.raises(TableError, match=rf"^file:.*/{name}.json cannot be written: File exists$"):
            LOCAL.write_whole(url, "other")
        monkeypatch.setattr(Path, "hardlink_to", _without_links)
    assert sorted(path.name for path in (tmp_path / "folder").iterdir()) == ["linked.json", "renamed.json"]


def test_a_file_is_removed_whatever_its_name(tmp_path: Path) -> None:
    """Hadoop refuses names with a colon, and one such file ended the maintenance of its table."""
    for name in ("part-0.parquet", "a:b.parquet"):
        url = f"file:{tmp_path}/{name}"
        LOCAL.write(url, b"content")
        (tmp_path / f".{name}.crc").touch()
        LOCAL.delete(url)
        LOCAL.delete(url)  # another run may have removed it
    assert not list(tmp_path.iterdir())


def test_a_file_that_cannot_be_removed_is_named(tmp_path: Path) -> None:
    """Hadoop returned false for it, as for a file that does not exist."""
    LOCAL.write(f"file:{tmp_path}/file", b"")
    tmp_path.chmod(0o500)
    with modes_bind(), pytest.raises(TableError, match=r"^file:.*/file cannot be removed: Permission denied$"):
        LOCAL.delete(f"file:{tmp_path}/file")
    tmp_path.chmod(0o700)


def _without_links(path: Path, _: Path) -> None:
    if path.exists():
        raise FileExistsError(errno.EEXIST, "File exists")
    raise OSError(errno.EPERM, "Operation not permitted")


def test_a_link_whose_answer_was_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """NFS repeats the request for a link that it has made, and finds the name taken."""
    real = Path.hardlink_to

    def repeated(path: Path, target: Path) -> None:
        real(path, target)
        real(path, target)

    monkeypatch.setattr(Path, "hardlink_to", repeated)
    LOCAL.write_whole(f"file:{tmp_path}/next.json", "content")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("next.json", "content")]


def test_a_place_that_takes_no_file(tmp_path: Path) -> None:
    """The error is one line that names the file."""
    (tmp_path / "file").write_text("")
    with pytest.raises(TableError, match=r"/file/other cannot be written: (Not a directory|File exists)$"):
        LOCAL.write(f"file:{tmp_path}/file/other", b"")
    with pytest.raises(TableError, match=r"/file/table/_delta_log cannot be created: Not a directory$"):
        LOCAL.make_local_folder(f"file:{tmp_path}/file/table/_delta_log")


def test_a_file_that_does_not_fit(tmp_path: Path) -> None:
    """The part of it that was written is removed; a file of this name that was there before stays."""
    url, path = f"file:{tmp_path}/file", tmp_path / "file"
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (3, limits[1]))
    try:
        with pytest.raises(TableError, match=r"/file cannot be written: File too large$"):
            LOCAL.write(url, b"content")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not path.exists()
    LOCAL.write(url, b"content")
    with pytest.raises(TableError, match="File exists"):
        LOCAL.write(url, b"other")
    assert path.read_bytes() == b"content"


def test_rows_that_do_not_fit(tmp_path: Path) -> None:
    """Rows are written as they are made: nothing of them stays, and the reason is named."""
    rows = pa.table({"value": [os.urandom(100_000) for _ in range(4)]})
    limits, sizes, path = resource.getrlimit(resource.RLIMIT_FSIZE), list[int](), tmp_path / "file"

    def pieces() -> Iterator[pa.Table]:
        for _ in range(9):
            yield rows
            sizes.append(path.stat().st_size)

    resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, limits[1]))
    try:
        with pytest.raises(TableError, match=r"/file cannot be written: File too large$"):
            LOCAL.write_with(f"file:{path}", lambda sink: write_parquet(sink, pieces()))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not path.exists()
    assert 0 < sizes[0] < sizes[-1] <= 2_000_000


def test_folders_are_made_where_there_are_folders(tmp_path: Path) -> None:
    """Making a folder twice is no error, and object stores have none."""
    for _ in range(2):
        LOCAL.make_local_folder(f"file:{tmp_path}/table/_delta_log")
    LOCAL.make_local_folder("s3a://bucket/table/_delta_log")
    assert (tmp_path / "table" / "_delta_log").is_dir()


def test_a_file_that_nobody_can_look_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not gone: commits of a log and rows of a run would be taken for removed ones."""
    url = f"file:{tmp_path}/closed/file"
    for code, text in ((errno.EACCES, "Permission denied"), (errno.EIO, "Input/output error")):
        monkeypatch.setattr(Path, "stat", _failing(code))
        with pytest.raises(TableError, match=rf"/closed/file cannot be read: {text}$"):
            LOCAL.size(url)
    monkeypatch.setattr(Path, "stat", _failing(errno.ENOTDIR))
    assert LOCAL.size(url) == 0


def test_a_file_that_is_gone(tmp_path: Path) -> None:
    """It cannot be read, has no size, and is in no list."""
    url = f"file:{tmp_path}/gone"
    assert (LOCAL.size(url), LOCAL.listed(url)) == (0, [])
    with pytest.raises(TableError, match=r"/gone cannot be read: No such file or directory$"):
        LOCAL.read(url)


def _failing(code: int) -> Callable[..., NoReturn]:
    def stat(*_: object, **__: object) -> NoReturn:
        raise OSError(code, os.strerror(code))

    return stat


def test_a_file_that_cannot_be_listed(tmp_path: Path) -> None:
    """Maintenance lists folders that others can write: the line names the file, and a link to nothing is no file."""
    (tmp_path / "dangling").symlink_to("nothing")
    assert LOCAL.listed(f"file:{tmp_path}") == []
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(TableError, match=f"^{tmp_path}/loop cannot be listed: Too many levels of symbolic links$"):
        LOCAL.listed(f"file:{tmp_path}")


@pytest.mark.parametrize(
    ("name", "is_asked"),
    [("ConnectException", False), ("AWSApiCallTimeoutException", False), ("SocketTimeoutException", True)],
)
def test_a_store_that_does_not_answer_is_not_asked_again(name: str, is_asked: bool) -> None:
    """s3a tries for minutes before it says so. Whether a file was written nevertheless would take as many more."""
    error = MagicMock(_target_id="o1")
    error.getClass.return_value.getSimpleName.return_value, error.getMessage.return_value = name, "refused"
    jvm = MagicMock()
    files = jvm.org.apache.hadoop.fs.Path.return_value.getFileSystem.return_value
    files.createFile.side_effect = Py4JJavaError("failed", error)
    with pytest.raises(TableError, match=rf"^s3a://bucket/file cannot be written: refused \({name}\)$"):
        Storage(jvm=jvm, conf=None).write("s3a://bucket/file", b"content")
    assert files.exists.called == is_asked


@pytest.mark.parametrize(("stored", "is_written"), [(b"content", True), (b"another", False)])
def test_a_store_that_refuses_a_repeated_request(stored: bytes, is_written: bool) -> None:
    """The first request has written the file if the file has these bytes: the same size does not show it."""
    error = MagicMock(_target_id="o1")
    error.getClass.return_value.getSimpleName.return_value = "FileAlreadyExistsException"
    error.getMessage.return_value = "there"
    jvm = MagicMock()
    files = jvm.org.apache.hadoop.fs.Path.return_value.getFileSystem.return_value
    files.createFile.side_effect = Py4JJavaError("failed", error)
    files.getFileStatus.return_value.getLen.return_value = len(stored)
    files.open.return_value.readAllBytes.return_value = stored
    refused = pytest.raises(TableError, match=r"^s3a://bucket/file cannot be written: there")
    with nullcontext() if is_written else refused:
        assert Storage(jvm=jvm, conf=None).write("s3a://bucket/file", b"content").size == 7


def test_a_whole_file_of_a_store_replaces_no_other() -> None:
    """The next offsets of a run are written so: those of another run must stay."""
    jvm = MagicMock()
    store = jvm.io.delta.kernel.defaults.internal.logstore.LogStoreProvider.getLogStore.return_value
    Storage(jvm=jvm, conf=None).write_whole("s3a://bucket/next.json", "content")
    ((_, _, overwrites, _), _) = store.write.call_args
    assert overwrites is False


@pytest.mark.parametrize(("scheme", "failures", "is_written"), [("gs", 3, True), ("gs", 4, False), ("s3a", 1, False)])
def test_googles_store_may_be_busy(scheme: str, failures: int, is_written: bool) -> None:
    """Hadoop's connector for Google makes one attempt at an upload. That of S3 repeats requests itself."""
    error = MagicMock(_target_id="o1")
    error.getClass.return_value.getSimpleName.return_value, error.getMessage.return_value = "IOException", "503"
    jvm = MagicMock()
    files = jvm.org.apache.hadoop.fs.Path.return_value.getFileSystem.return_value
    files.hasPathCapability.return_value = files.exists.return_value = False
    files.getFileStatus.return_value.getLen.return_value = 7
    files.create.return_value.close.side_effect = [*[Py4JJavaError("failed", error)] * failures, None]
    refused = pytest.raises(TableError, match=rf"^{scheme}://bucket/file cannot be written: 503 \(IOException\)$")
    with nullcontext() if is_written else refused:
        assert Storage(jvm=jvm, conf=None).write(f"{scheme}://bucket/file", b"content").size == 7


def test_googles_store_that_stays_busy_is_asked_once() -> None:
    """Hadoop's connector itself repeats what it asks before an upload, for 50 s."""
    error = MagicMock(_target_id="o1")
    error.getClass.return_value.getSimpleName.return_value, error.getMessage.return_value = "StorageException", "503"
    jvm = MagicMock()
    files = jvm.org.apache.hadoop.fs.Path.return_value.getFileSystem.return_value
    files.hasPathCapability.return_value = files.exists.return_value = False
    files.create.side_effect = Py4JJavaError("failed", error)
    with pytest.raises(TableError, match=r"^gs://bucket/file cannot be written: 503 \(StorageException\)$"):
        Storage(jvm=jvm, conf=None).write("gs://bucket/file", b"content")
    files.create.assert_called_once()


def test_a_long_error_of_java() -> None:
    """Delta Kernel quotes a line of a log that a crash has cut off: its begin is enough."""
    quoted = f'Could not parse JSON: {{"domainMetadata":{{"configuration":"{"z" * 3_000_000}\nat some frame'
    java_class = SimpleNamespace(getSimpleName=lambda: "KernelEngineException")
    shortened = reason_of(SimpleNamespace(getMessage=lambda: quoted, getClass=lambda: java_class))
    assert shortened == f"{quoted[:1_000]}... (KernelEngineException)"
    known = SimpleNamespace(getMessage=lambda: "No such file\nat", getClass=lambda: java_class)
    assert reason_of(known) == "No such file (KernelEngineException)"


def test_the_key_of_an_account_is_not_shown() -> None:
    """Hadoop quotes a key that is not in Base64, such as one with a typo, or with quotation marks around it."""
    start, end = "Failure to initialize configuration for a.dfs.core.windows.net key =", ": Invalid configuration value"
    for key, shown in (('"Eby8vdM02xNOc*"', '"..."'), ('""Eby8vdM02xNOc==""', '"..."'), ('"null"', '"null"')):
        error = MagicMock()
        error.getMessage.return_value, error.getClass.return_value = (
            f"{start}{key}{end}",
            class_called("KeyProviderException"),
        )
        assert reason_of(error) == f"{start}{shown}{end} (KeyProviderException)"
        assert reason(PySparkException(f"{start}{key}{end}")) == f"{start}{shown}{end}"


def test_an_error_of_a_file_system_below_another() -> None:
    """A bucket that does not exist, or that may not be listed, is named; Delta Kernel only says that it cannot list the log."""
    of_s3 = SimpleNamespace(getMessage=lambda: "Forbidden", getClass=lambda: class_called("AccessDeniedException"))
    of_kernel = SimpleNamespace(
        getMessage=lambda: "Failed to list the files in delta log",
        getClass=lambda: class_called("UncheckedIOException"),
        getCause=lambda: of_s3,
    )
    assert reason_of(of_kernel) == "Forbidden (AccessDeniedException)"


def test_an_error_of_google_has_its_cause() -> None:
    """Hadoop's connector only says what it could not read: wrong credentials would look like a store that is away."""
    message = "Anonymous caller does not have storage.objects.get access"
    of_google = SimpleNamespace(getMessage=lambda: message, getClass=lambda: class_called("StorageException"))
    of_hadoop = SimpleNamespace(
        getMessage=lambda: "Error accessing gs://bucket/x",
        getClass=lambda: class_called("IOException"),
        getCause=lambda: of_google,
    )
    assert reason_of(of_hadoop) == f"Error accessing gs://bucket/x: {message} (StorageException)"


def test_an_error_of_a_task_of_spark_has_its_cause() -> None:
    """Spark's OPTIMIZE on a full disk only says that it has waited, and that a task has failed."""
    of_disk = SimpleNamespace(
        getMessage=lambda: "No space left on device", getClass=lambda: class_called("IOException")
    )
    failed = "[TASK_WRITE_FAILED] Task failed while writing rows to file:/lake/records. SQLSTATE: 58030"
    error = of_disk
    for message in (failed, failed, "Exception thrown in awaitResult: "):
        error = SimpleNamespace(
            getMessage=lambda message=message: message,
            getClass=lambda: class_called("SparkException"),
            getCause=lambda error=error: error,
        )
    assert reason_of(error) == f"{failed}: No space left on device (IOException)"


def test_an_error_of_the_writer_of_parquet_has_its_cause() -> None:
    """Where the disk is full when the writer closes its file, it only says that it could not."""
    of_disk = SimpleNamespace(
        getMessage=lambda: "java.io.IOException: No space left on device", getClass=lambda: class_called("FSError")
    )
    error = SimpleNamespace(
        getMessage=lambda: "Unable to close resource",
        getClass=lambda: class_called("ParquetCloseResourceException"),
        getCause=lambda: of_disk,
    )
    assert reason_of(error) == "Unable to close resource: java.io.IOException: No space left on device (FSError)"


def class_called(name: str) -> SimpleNamespace:
    """Return a class of Java with this name."""
    return SimpleNamespace(getSimpleName=lambda: name)
