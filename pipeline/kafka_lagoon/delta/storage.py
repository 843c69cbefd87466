"""Reads and writes files on any file system that Hadoop supports.

HDFS, S3 and Azure are reached through Hadoop; files on this machine are read and written by Python, without a JVM.
"""

import io
import os
import re
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from stat import S_ISDIR
from typing import IO, Any, TypeVar

import pyarrow as pa
from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError
from pyspark.errors import PySparkException, PythonException

from kafka_lagoon.delta.files import DataFile, parquet_bytes, statistics_of
from kafka_lagoon.errors import TableError
from kafka_lagoon.folders import is_folder
from kafka_lagoon.frozen import frozen

T = TypeVar("T")

_LOCAL = "file:"
_WRITTEN_AT_ONCE = 8 << 20  # bytes per call: a call into the JVM holds them there three times
_LONGEST_REASON = 1_000  # characters of an error of Java in a message
_CONDITIONAL = "fs.option.create.conditional.overwrite"  # also in java/LagoonObjectLogStore.java
# At an upload, and at what Hadoop's connector sends as a batch: the status of an object, and its removal. It makes one attempt,
# and gives up when the store is busy once; those of S3 and Azure make several. Other requests it repeats itself, for 50 s.
_GOOGLE_ATTEMPTS = 4
_OF_REQUEST = (400, 401, 403, 404, 412)  # answers that will be the same again
_UNREACHABLE = (
    "ConnectException",
    "ConnectTimeoutException",
    "AWSApiCallTimeoutException",  # eight times a minute without an answer
    "InvalidAbfsRestOperationException",  # of Azure's: no request had an answer
    "NoRouteToHostException",
    "UnknownHostException",
)
# What Hadoop's connector for Google, Spark's tasks and the writer of Parquet say without a reason; their cause has it.
_WITHOUT_REASON = ("Error accessing gs://", "[TASK_WRITE_FAILED]", "[FAILED_READ_FILE", "Unable to close resource")
_SPARK_WAITED = "Exception thrown in awaitResult"  # of another thread's exception
_QUOTED_KEY = re.compile(r'\bkey ="(?!null").*"')
# Exceptions of Java as py4j or PySpark raise them, and those of a JVM that is gone.
JAVA_ERRORS = (Py4JError, PySparkException, ConnectionRefusedError)
_CALLING = "An error occurred while calling "
JVM_ENDED = "the JVM that reads and writes the tables has ended"


@frozen
class Stored:
    """A file in its file system's listing: URL, size in bytes and time of modification."""

    url: str
    size: int
    modified_at_ms: int


@frozen
class Storage:
    """The file systems of a session; `conf` is its Hadoop configuration."""

    jvm: Any
    conf: Any

    def qualified(self, location: str) -> str:
        """`location` with its scheme, relative to the working directory; TableError if no file system serves it.

        The root of a bucket has no slash at its end: Arrow refuses the empty name in `s3a://bucket//records`.
        """
        try:
            path = self._path(location)
            url = str(path.getFileSystem(self.conf).makeQualified(path).toString())
        except JAVA_ERRORS as error:
            raise TableError(f"{location}: {reason(error)}") from error
        return url.rstrip("/") if "://" in url else url

    def write_rows(self, url: str, rows: pa.Table) -> DataFile:
        """Write a new data file with these rows, and describe it for Delta's log; TableError as `write`."""
        stored = self.write(url, parquet_bytes(rows))
        return DataFile(url=url, size=stored.size, modified_at_ms=stored.modified_at_ms, statistics=statistics_of(rows))

    def write(self, url: str, data: bytes) -> Stored:
        """Write a new file; TableError if it cannot be written, exists, or then does not have all of the bytes.

        Elsewhere than on this machine a file that has these bytes already counts as written.
        """
        return self.write_with(url, lambda sink: sink.write(data))[0]

    def write_with(self, url: str, fill: Callable[[IO[bytes]], T]) -> tuple[Stored, T]:
        """Write a new file as `write`; on this machine what `fill` writes is in memory only until it is written."""
        if url.startswith(_LOCAL):
            stored, size, result = _filled_local(url, fill)
        else:
            sink = io.BytesIO()
            result = fill(sink)
            stored, size = self._written(url, sink.getvalue()), sink.tell()
        if stored.size != size:
            raise TableError(f"{url} has {stored.size} bytes of {size} that were written")
        return stored, result

    def write_whole(self, url: str, text: str) -> None:
        """Write a new file of which others see nothing or all, whenever this process dies; TableError as `write`.

        Commits are written so, too: elsewhere than on this machine by the log store of the file system.
        """
        if url.startswith(_LOCAL):
            _write_local_whole(url, text.encode())
            return
        stores, scheme = self.jvm.io.delta.kernel.defaults.internal.logstore.LogStoreProvider, url.partition(":")[0]
        path = self._path(url)
        try:
            write_by(stores.getLogStore(self.conf, scheme), self, path, text)
        except JAVA_ERRORS as error:
            raise TableError(f"{url} cannot be written: {reason(error)}") from error

    def _written(self, url: str, data: bytes) -> Stored:
        path = self._path(url)
        try:
            files = path.getFileSystem(self.conf)
            for left in reversed(range(_GOOGLE_ATTEMPTS if url.startswith("gs:") else 1)):
                stream = None
                try:
                    stream = _created(files, path)
                    _fill(stream, data)
                    break
                except JAVA_ERRORS as error:
                    # The answer to a request may be lost that the store has carried out; it then refuses the repeated one.
                    if not is_unreachable(error) and self._has(url, data):
                        break
                    if stream is None or not left:
                        raise
            status = _repeated(url, lambda: files.getFileStatus(path))
        except JAVA_ERRORS as error:
            raise TableError(f"{url} cannot be written: {reason(error)}") from error
        return Stored(url=url, size=status.getLen(), modified_at_ms=status.getModificationTime())

    def _has(self, url: str, data: bytes) -> bool:
        """True if there is a file with these bytes."""
        with suppress(TableError):
            return self.size(url) == len(data) and self.read(url) == data
        return False

    def read(self, url: str) -> bytes:
        """A whole file; TableError if it cannot be read."""
        if url.startswith(_LOCAL):
            return _read_local(url)
        path = self._path(url)
        try:
            stream = path.getFileSystem(self.conf).open(path)
            try:
                return bytes(stream.readAllBytes())
            finally:
                stream.close()
        except JAVA_ERRORS as error:
            raise TableError(f"{url} cannot be read: {reason(error)}") from error

    def size(self, url: str) -> int:
        """Size of a file in bytes, 0 if it does not exist."""
        if url.startswith(_LOCAL):
            return _local_size(url)
        path = self._path(url)
        try:
            files = path.getFileSystem(self.conf)
            if not _repeated(url, lambda: files.exists(path)):
                return 0
            return int(_repeated(url, lambda: files.getFileStatus(path)).getLen())
        except JAVA_ERRORS as error:
            raise TableError(f"{url} cannot be read: {reason(error)}") from error

    def exists(self, url: str) -> bool:
        """True if there is a file or folder of this name; a store without folders has one where it has files below."""
        if url.startswith(_LOCAL):
            return _local_status(url) is not None
        path = self._path(url)
        try:
            files = path.getFileSystem(self.conf)
            return bool(_repeated(url, lambda: files.exists(path)))
        except JAVA_ERRORS as error:
            raise TableError(f"{url} cannot be read: {reason(error)}") from error

    def names(self, url: str) -> list[str]:
        """Names in a folder, sorted; none if there is no such folder."""
        path = self._path(url)
        try:
            files = path.getFileSystem(self.conf)
            entries = files.listStatus(path) if _repeated(url, lambda: files.exists(path)) else []
            return sorted(str(entry.getPath().getName()) for entry in entries)
        except JAVA_ERRORS as error:
            raise TableError(f"{url} cannot be listed: {reason(error)}") from error

    def listed(self, url: str) -> list[Stored]:
        """Files in a folder, without the folders in it; none if it is a file itself, or does not exist."""
        if url.startswith(_LOCAL):
            return list(_local_files(url))
        path = self._path(url)
        try:
            files = path.getFileSystem(self.conf)
            entries = files.listStatus(path) if _repeated(url, lambda: files.exists(path)) else []
            return [
                Stored(
                    url=f"{url}/{entry.getPath().getName()}",
                    size=size,
                    modified_at_ms=entry.getModificationTime(),
                )
                for entry in entries
                # Only where the size is 0 is a folder possible, so that other files cost no further call.
                if entry.getPath() != path and ((size := entry.getLen()) or entry.isFile())
            ]
        except JAVA_ERRORS as error:
            raise TableError(f"{url} cannot be listed: {reason(error)}") from error

    def is_link(self, url: str) -> bool:
        """True for a symbolic link on this machine."""
        return url.startswith(_LOCAL) and Path(url.removeprefix(_LOCAL)).is_symlink()

    def delete(self, url: str) -> None:
        """Remove a file, or a folder with everything in it; nothing if there is none. TableError if it cannot be removed."""
        if url.startswith(_LOCAL) and not Path(url.removeprefix(_LOCAL)).is_dir():
            _delete_local_file(url)
            return
        path = self._path(url)
        try:
            files = path.getFileSystem(self.conf)
            _repeated(url, lambda: files.delete(path, True))
        except JAVA_ERRORS as error:
            raise TableError(f"{url} cannot be removed: {reason(error)}") from error

    def make_local_folder(self, url: str) -> None:
        """Create a folder on this machine without the chmod that Hadoop would start; does nothing elsewhere.

        TableError if it fails.
        """
        if url.startswith(_LOCAL):
            try:
                Path(url.removeprefix(_LOCAL)).mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise TableError(f"{url} cannot be created: {error.strerror}") from error

    def local(self, url: str) -> Path | None:
        """The path on this machine, None for another file system."""
        uri = self._path(url).toUri()
        return Path(uri.getPath()) if uri.getScheme() == "file" else None

    def _path(self, location: str) -> Any:
        with live_jvm():
            return self.jvm.org.apache.hadoop.fs.Path(location)


@contextmanager
def live_jvm() -> Iterator[None]:
    """Raise TableError for a call into a JVM that has ended; exceptions of Java pass.

    py4j would report that the class does not exist, for example if the JVM was killed because it used too much memory.
    """
    try:
        yield
    except Py4JJavaError:
        raise
    except (Py4JError, ConnectionRefusedError) as error:
        raise TableError(JVM_ENDED) from error


def _repeated(url: str, request: Callable[[], Any]) -> Any:
    """Make a request again that Google's store was too busy for, or did not answer, and that its connector makes once."""
    for attempt in range(1, _GOOGLE_ATTEMPTS if url.startswith("gs:") else 1):
        try:
            return request()
        except Py4JJavaError as error:
            if not is_java(error, "StorageException") or error.java_exception.getCode() in _OF_REQUEST:
                raise
            time.sleep(2 ** (attempt - 1))
    return request()


def _created(files: Any, path: Any) -> Any:
    """Create a file; stores that check first and write later are asked to refuse the second of two writers."""
    if not files.hasPathCapability(path, _CONDITIONAL):
        return files.create(path, False)
    return files.createFile(path).create().recursive().overwrite(False).must(_CONDITIONAL, True).build()


def write_by(store: Any, storage: Storage, path: Any, text: str) -> None:
    """Let a log store write a new file, whose folder need not be there."""
    if store.isPartialWriteVisible(path, storage.conf):  # it renames, so there are folders
        path.getFileSystem(storage.conf).mkdirs(path.getParent())
    store.write(path, storage.jvm.java.util.List.of(text).iterator(), False, storage.conf)


def _fill(stream: Any, data: bytes) -> None:
    try:
        for start in range(0, len(data), _WRITTEN_AT_ONCE):
            stream.write(bytearray(data[start : start + _WRITTEN_AT_ONCE]))
    finally:
        stream.close()


def _filled_local(url: str, fill: Callable[[IO[bytes]], T]) -> tuple[Stored, int, T]:
    """Create a file on this machine. Hadoop would start chmod for the file, its checksum and each new folder.

    Returns also the number of bytes that were written, and what `fill` returned.
    """
    path = Path(url.removeprefix(_LOCAL))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("xb")
        try:
            with file:
                result = fill(file)
                size = file.tell()
            status = path.stat()
        except BaseException:
            path.unlink(missing_ok=True)  # it is incomplete
            raise
    except OSError as error:
        raise TableError(f"{url} cannot be written: {error.strerror}") from error
    return _stored(url, status), size, result


def _write_local_whole(url: str, data: bytes) -> None:
    """Link a file that is complete to its name; where there are no hard links it gets the name, as in the log store."""
    path = Path(url.removeprefix(_LOCAL))
    part = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")  # as log stores name it
    try:
        _filled_local(f"{_LOCAL}{part}", lambda file: file.write(data))
        try:
            path.hardlink_to(part)
        except FileExistsError:
            if not path.samefile(part):  # NFS may refuse a link that it has just made
                raise
        except OSError:
            part.rename(path)
    except OSError as error:
        raise TableError(f"{url} cannot be written: {error.strerror}") from error
    finally:
        part.unlink(missing_ok=True)


def _delete_local_file(url: str) -> None:
    """Remove a file and Hadoop's checksum of it. Hadoop itself refuses names with a colon, and hides some failures."""
    path = Path(url.removeprefix(_LOCAL))
    try:
        path.unlink(missing_ok=True)
        path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
    except OSError as error:
        raise TableError(f"{url} cannot be removed: {error.strerror}") from error


def _read_local(url: str) -> bytes:
    """Read a file on this machine: 0.1 ms, where the JVM takes several."""
    try:
        return Path(url.removeprefix(_LOCAL)).read_bytes()
    except OSError as error:
        raise TableError(f"{url} cannot be read: {error.strerror}") from error


def _local_files(url: str) -> Iterator[Stored]:
    folder = Path(url.removeprefix(_LOCAL))
    try:
        for path in folder.iterdir() if is_folder(folder) else ():
            with suppress(FileNotFoundError):
                status = path.stat()
                if not S_ISDIR(status.st_mode):
                    yield _stored(f"{url}/{path.name}", status)
    except OSError as error:  # a folder that may only be entered, a link to itself, or a stale handle of NFS
        raise TableError(f"{error.filename or folder} cannot be listed: {error.strerror}") from error


def _stored(url: str, status: os.stat_result) -> Stored:
    return Stored(url=url, size=status.st_size, modified_at_ms=status.st_mtime_ns // 1_000_000)


def _local_size(url: str) -> int:
    status = _local_status(url)
    return status.st_size if status else 0


def _local_status(url: str) -> os.stat_result | None:
    """The status of a file or folder on this machine, None if there is none."""
    try:
        return Path(url.removeprefix(_LOCAL)).stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise TableError(f"{url} cannot be read: {error.strerror}") from error


def reason(error: Exception) -> str:
    """The first line of an error of Java, of Spark, or of Python in a task; Java's with the class, which may say more."""
    if isinstance(error, PythonException):
        return _raised(str(error))
    if has_no_answer(error):
        return JVM_ENDED
    if not isinstance(error, Py4JJavaError):
        return _without_key(str(error).strip().partition("\n")[0])
    return reason_of(error.java_exception)


def has_no_answer(error: BaseException) -> bool:
    """True if the JVM has ended before or within a call. An answer that is an error has Java's trace."""
    if isinstance(error, Py4JNetworkError | ConnectionRefusedError):
        return True
    if isinstance(error, Py4JJavaError):  # its text is another call
        return False
    return isinstance(error, Py4JError) and str(error).startswith(_CALLING) and "\n" not in str(error)


def is_java(error: Exception, name: str) -> bool:
    """True for an exception of Java of this class, without its package."""
    return isinstance(error, Py4JJavaError) and error.java_exception.getClass().getSimpleName() == name


def is_unreachable(error: BaseException | None) -> bool:
    """True for an exception of Java about a store that does not answer: s3a and abfs try for minutes at each request."""
    return isinstance(error, Exception) and any(is_java(error, name) for name in _UNREACHABLE)


def reason_of(exception: Any) -> str:
    """The first line of a Java exception, with its class; its begin, if the line is long.

    Delta Kernel quotes the whole of a commit's line that it cannot parse, and next offsets are a line of megabytes. Of a log
    that it cannot list it says only that; the error of the file system is the cause. Hadoop's connector for Google and Spark's
    tasks name only what they could not read or write; the answer of the store, wrong credentials or a full disk are the cause.
    """
    if exception.getClass().getSimpleName() == "UncheckedIOException":
        exception = exception.getCause()
    if _repeats_its_cause(exception):
        return reason_of(exception.getCause())
    if str(exception.getMessage()).startswith(_WITHOUT_REASON) and exception.getCause() is not None:
        return f"{_first_line(exception)}: {reason_of(exception.getCause())}"
    message = _first_line(exception)
    if len(message) > _LONGEST_REASON:
        message = f"{message[:_LONGEST_REASON]}..."
    return f"{message} ({exception.getClass().getSimpleName()})".strip()


def _repeats_its_cause(exception: Any) -> bool:
    """True if an exception says nothing that its cause does not say: Spark wraps that of a task twice."""
    message = str(exception.getMessage())
    if not message.startswith((_SPARK_WAITED, *_WITHOUT_REASON)) or exception.getCause() is None:
        return False
    return message.startswith(_SPARK_WAITED) or message == str(exception.getCause().getMessage())


def _first_line(exception: Any) -> str:
    return _without_key(str(exception.getMessage() or "").partition("\n")[0])


def _without_key(message: str) -> str:
    """A message without the key of an account of Azure, which Hadoop quotes if it is not in Base64."""
    return _QUOTED_KEY.sub('key ="..."', message)


def _raised(text: str) -> str:
    """The exception below a traceback, whose frames are indented."""
    lines = text.strip().splitlines()
    last_frame = max((number for number, line in enumerate(lines) if line.startswith(" ")), default=-1)
    return lines[last_frame + 1] if last_frame + 1 < len(lines) else lines[0]
