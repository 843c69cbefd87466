"""Names every durable effect of a job, in a log that all its processes share, and stops the job before one of them.

A durable effect is a file below EFFECTS_ROOT that is created, written, linked, renamed or removed, or a request to a broker
that changes something. It is called VERB OBJECT by the function of ours that wants it: `delta.publish._write:commit snapshots`,
with the number of its occurrence in the job. `EFFECTS_STOP=NAME#NUMBER` makes the process wait before that effect, and with it all
threads that come to another effect: the state of the warehouse and of the brokers is then that of a process that dies there, and
the runner kills it, or lets it go on by a file beside the log. `EFFECTS_STOP=worker NAME#NUMBER` kills the one process that comes there.

All effects go through few functions: those of `os` and `io`, Arrow's files as record_files.py opens them, py4j's calls into the
JVM, and a session's frames. Nothing is imported here that a process does not import itself: modules are changed when they have
been imported. EFFECTS_WITHOUT names a function that is left out, to show that the check of the runner finds that.
"""

import atexit
import builtins
import fcntl
import io
import os
import re
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from importlib.machinery import ModuleSpec
from threading import Event, local
from time import sleep
from types import FrameType, ModuleType
from typing import Any, Self

_OURS = "kafka_lagoon."
# Modules and functions through which others reach files and brokers: an effect is named after their caller.
_PASSED_ON = tuple(
    f"{_OURS}{name}" for name in ("delta.storage", "delta.kernel", "delta.lock", "delta.log_store", "client.")
)
_PASSING = {"Warehouse.exclusively", "Warehouse.write_rows"}
_POLL_S = 0.05
CHANGING = {
    *(
        "Produce",
        "InitProducerId",
        "AddPartitionsToTxn",
        "AddOffsetsToTxn",
        "TxnOffsetCommit",
        "EndTxn",
        "WriteTxnMarkers",
    ),
    *("CreateTopics", "DeleteTopics", "CreatePartitions", "DeleteRecords", "IncrementalAlterConfigs", "AlterConfigs"),
    *(
        "CreateAcls",
        "DeleteAcls",
        "OffsetCommit",
        "OffsetDelete",
        "DeleteGroups",
        "LeaveGroup",
        "JoinGroup",
        "SyncGroup",
    ),
    *(
        "AlterClientQuotas",
        "AlterUserScramCredentials",
        "AlterPartitionReassignments",
        "AlterReplicaLogDirs",
        "ElectLeaders",
    ),
    *("CreateDelegationToken", "RenewDelegationToken", "ExpireDelegationToken", "UpdateFeatures", "UnregisterBroker"),
    *("AddRaftVoter", "RemoveRaftVoter", "UpdateRaftVoter", "AlterShareGroupOffsets", "DeleteShareGroupOffsets"),
}
_STATEMENTS = ("OPTIMIZE", "ALTER", "CREATE", "INSERT", "DELETE", "MERGE", "VACUUM", "RESTORE", "UPDATE")

# Calls of these methods of Java by these functions, and the variable of the caller that has the URL or state.
_JVM_CALLS = {
    ("kafka_lagoon.delta.kernel", "create", "commit"): ("commit", "location"),
    ("kafka_lagoon.delta.kernel", "append", "commit"): ("commit", "state"),
    ("kafka_lagoon.delta.kernel", "replace", "commit"): ("commit", "state"),
    ("kafka_lagoon.delta.kernel", "set_properties", "commit"): ("commit", "state"),
    ("kafka_lagoon.delta.kernel", "checkpoint", "writeCheckpoint"): ("checkpoint", "location"),
    ("kafka_lagoon.delta.storage", "delete", "delete"): ("remove", "url"),
    ("kafka_lagoon.delta.storage", "_put", "close"): ("put", "url"),
    ("kafka_lagoon.delta.storage", "write_whole", "write"): ("put", "url"),
    ("kafka_lagoon.delta.log_store", "check_exclusion", "write"): ("put", "probe"),
    ("pyspark.sql.session", "sql", "sql"): ("sql", "sqlQuery"),
    ("pyspark.sql.readwriter", "save", "save"): ("save", "path"),
    ("delta.tables", "delete", "delete"): ("delete", "condition"),
}
_ID = re.compile(r"^[0-9a-f]+(?=\.)")
_METHODS = {method for _, _, method in _JVM_CALLS}


class Effects:
    """The log, and the effect before which this process stops."""

    def __init__(self, log: str, root: str, stop: str, without: str) -> None:
        self.root, self.without = root, without
        self._log, self._stop = log, stop
        self._stopped = Event()
        self.is_driver = not any("pyspark" in argument for argument in sys.orig_argv[:4])
        self._flock, self._open = fcntl.flock, os.open

    def below_root(self, path: Any) -> str | None:
        """The path of a file or descriptor relative to the warehouse; None if it is elsewhere."""
        with suppress(OSError, TypeError, ValueError):
            if isinstance(path, int):
                path = os.readlink(f"/proc/self/fd/{path}")  # noqa: PTH115  no import of pathlib
            text = os.fsdecode(path).removeprefix("file:")
            full = text if "://" in text else os.path.abspath(text)  # noqa: PTH100  no import of pathlib
            if full == self.root:
                return "."
            if full.startswith(f"{self.root}/"):
                return full[len(self.root) + 1 :]
        return None

    def run(self, verb: str, path: str, act: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call a function that has an effect on a file, and log it before and after."""
        effect = self.begin(f"{asker()}:{verb} {kind_of(path)}", path)
        try:
            result = act(*args, **kwargs)
        except BaseException:
            self.write("failed", *effect)
            raise
        self.write("nothing" if result is False else "after", *effect)
        return result

    def begin(self, name: str, path: str) -> tuple[str, int, str]:
        """Log that an effect begins; does not return if the job stops here."""
        if self._stopped.is_set():
            self._wait()
        number = self.write("before", name, 0, path)
        if self._stop == f"worker {name}#{number}":
            self.write("stopped", name, number, path)
            os.kill(os.getpid(), signal.SIGKILL)
        if self._stop == f"{name}#{number}":
            self._stopped.set()
            self.write("stopped", name, number, path)
            self._wait()
        return name, number, path

    def _wait(self) -> None:
        while not os.path.exists(f"{self._log}.resumed"):  # noqa: PTH110  no import of pathlib
            sleep(_POLL_S)

    def write(self, what: str, name: str, number: int, path: str) -> int:
        """Append a line; the number of an effect that begins is counted over all processes of the job."""
        handle = self._open(self._log, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            self._flock(handle, fcntl.LOCK_EX)
            if not number:
                content = os.pread(handle, os.fstat(handle).st_size, 0).decode()
                number = content.count(f"{what}\t{name}\t") + 1
            os.write(
                handle,
                f"{what}\t{name}\t{number}\t{path}\t{os.getpid()}\t{'driver' if self.is_driver else 'worker'}\n".encode(),
            )
        finally:
            os.close(handle)
        return number


_thread = local()


def asker() -> str:
    """The innermost function of ours that is not one through which others reach files and brokers.

    In a thread of a pool, the function that gave the pool its work.
    """
    frame: FrameType | None = sys._getframe(1)
    outermost = "process"
    while frame is not None:
        module, function = frame.f_globals.get("__name__", ""), frame.f_code.co_qualname
        if module.startswith(_OURS):
            outermost = f"{module.removeprefix(_OURS)}.{function}".partition(".<locals>")[0]
            if not module.startswith(_PASSED_ON) and function not in _PASSING:
                return outermost
        frame = frame.f_back
    return getattr(_thread, "asker", None) or outermost


def _install_pools(_: Effects, module: Any) -> None:
    """Let the threads of pools know for which function they work."""
    submit = module.ThreadPoolExecutor.submit

    def submitted(self: Any, work: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        name = asker()

        def done() -> Any:
            _thread.asker = name
            return work(*args, **kwargs)

        return submit(self, done)

    module.ThreadPoolExecutor.submit = submitted


def kind_of(path: str) -> str:
    """The kind of a file: names of tables and folders without ids, days and versions."""
    parts = path.split("/")
    name = parts[-1]
    if name.startswith(".lagoon-"):
        return f"{'lock' if name.endswith('.lock') else 'file'} {name.split('-')[1].removesuffix('.lock')}"
    if len(parts) == 1:
        return name
    if parts[0].startswith("_"):  # a folder of staged files, by cluster
        return f"{parts[0]} {_without_ids(name) if len(parts) > 2 else 'folder'}"
    if parts[1].startswith("_"):  # in a table; its folder of pending files is divided by cluster
        return f"{parts[0]} {_without_ids(name) if len(parts) > 3 else parts[1]}"
    return f"{parts[0]} {'day' if len(parts) == 2 else 'file'}"


def _without_ids(name: str) -> str:
    """A name of ours without the day, or the numbers and ids before its last part."""
    name, part, _ = name.removesuffix(".tmp").partition(".json.")
    if "=" in name:
        return "day"
    return _ID.sub("", name.lstrip(".").rpartition("-")[2]) + (".json part" if part else "")


def install() -> None:
    """Change the functions through which effects go, now or when their module has been imported."""
    effects = Effects(
        os.environ["EFFECTS_LOG"],
        os.environ.get("EFFECTS_ROOT", "/nowhere"),
        os.environ.get("EFFECTS_STOP", ""),
        os.environ.get("EFFECTS_WITHOUT", ""),
    )
    _install_files(effects)
    later = {
        "concurrent.futures.thread": _install_pools,
        "py4j.java_gateway": _install_java,
        "kafka_lagoon.delta.record_files": _install_arrow,
        "kafka_lagoon.client.session": _install_requests,
        "kafka_lagoon.delta.java_classes": _install_classes,
    }
    sys.meta_path.insert(0, _Later({name: partial(change, effects) for name, change in later.items()}))  # type: ignore[arg-type]
    atexit.register(_at_exit, effects)


class _Later:
    """A finder that changes modules once they have been imported."""

    def __init__(self, changes: dict[str, Callable[[ModuleType], None]]) -> None:
        self._changes = changes

    def find_spec(self, name: str, path: Any, target: Any = None) -> ModuleSpec | None:
        """Find the module as the other finders do, and change what its loader executes."""
        change = self._changes.pop(name, None)
        if change is None:
            return None
        others = (finder.find_spec(name, path, target) for finder in sys.meta_path if finder is not self)
        spec = next((spec for spec in others if spec is not None), None)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, change)  # type: ignore[assignment]
        return spec


class _Loader:
    """A loader that changes its module after it has executed it; one loader may serve all modules of a zip."""

    def __init__(self, loader: Any, change: Callable[[ModuleType], None]) -> None:
        self._loader, self._change = loader, change

    def exec_module(self, module: ModuleType) -> None:
        """Execute the module, and change it."""
        self._loader.exec_module(module)
        self._change(module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)


def _install_files(effects: Effects) -> None:
    for name, verb, place in (
        ("mkdir", "mkdir", 0),
        ("rmdir", "remove", 0),
        ("unlink", "remove", 0),
        ("remove", "remove", 0),
        ("rename", "rename", 1),
        ("replace", "rename", 1),
        ("link", "link", 1),
        ("symlink", "link", 1),
        ("truncate", "write", 0),
        ("ftruncate", "write", 0),
        ("pwrite", "write", 0),
        ("fchmod", "mode", 0),
        ("chmod", "mode", 0),
    ):
        if effects.without != f"os.{name}":
            _replace(effects, os, name, verb, place)
    if effects.without != "os.open":
        os.open = _opening(effects, os.open)  # type: ignore[assignment]
    if effects.without != "io.open":
        io.open = builtins.open = _opening_file(effects, io.open)  # type: ignore[assignment]
    fcntl.flock = _waiting(effects, fcntl.flock)  # type: ignore[assignment]


def _replace(effects: Effects, module: ModuleType, name: str, verb: str, place: int) -> None:
    real = getattr(module, name)

    def called(*args: Any, **kwargs: Any) -> Any:
        path = effects.below_root(args[place]) if len(args) > place else None
        return real(*args, **kwargs) if path is None else effects.run(verb, path, real, *args, **kwargs)

    setattr(module, name, called)


def _opening(effects: Effects, real: Callable[..., int]) -> Callable[..., int]:
    def called(path: Any, flags: int, *args: Any, **kwargs: Any) -> int:
        place = effects.below_root(path) if flags & (os.O_CREAT | os.O_TRUNC) else None
        if place is None or (os.path.lexists(path) and not flags & os.O_TRUNC):
            return real(path, flags, *args, **kwargs)
        result: int = effects.run("create", place, real, path, flags, *args, **kwargs)
        return result

    return called


def _opening_file(effects: Effects, real: Callable[..., Any]) -> Callable[..., Any]:
    def called(path: Any, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
        place = effects.below_root(path) if not isinstance(path, int) and set(mode) & set("wax+") else None
        if place is None:
            return real(path, mode, *args, **kwargs)
        return _File(
            effects, place, effects.run("create", place, real, path, mode, *args, **kwargs), {"write": "write"}
        )

    return called


def _waiting(effects: Effects, real: Callable[..., None]) -> Callable[..., None]:
    """Log that a lock is held by another process, once for each lock."""
    known = set[str]()

    def called(handle: Any, operation: int) -> None:
        try:
            real(handle, operation)
        except BlockingIOError:
            path = effects.below_root(handle)
            if path and path not in known:
                known.add(path)
                effects.write("waiting", "lock", 1, path)
            raise

    return called


class _File:
    """A file or a writer whose methods in `verbs` are effects."""

    def __init__(self, effects: Effects, path: str, real: Any, verbs: dict[str, str]) -> None:
        self._effects, self._path, self._real, self._verbs = effects, path, real, verbs

    def __enter__(self) -> Self:
        self._real.__enter__()
        return self

    def __exit__(self, *error: object) -> Any:
        return self._real.__exit__(*error)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._real)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._real, name)
        if name not in self._verbs:
            return method

        def called(*args: Any, **kwargs: Any) -> Any:
            result = method(*args, **kwargs)
            if hasattr(self._real, "flush"):
                with suppress(ValueError):  # it is closed
                    self._real.flush()
            return result

        return lambda *args, **kwargs: self._effects.run(self._verbs[name], self._path, called, *args, **kwargs)


class _Folder:
    """One of Arrow's file systems, whose changes are effects."""

    def __init__(self, effects: Effects, real: Any, prefix: str) -> None:
        self._effects, self._real, self._prefix = effects, real, prefix

    __class__ = property(lambda self: type(self._real))  # type: ignore[assignment]  # record_files.py asks for it

    def create_dir(self, path: str, *, recursive: bool = True) -> None:
        """Create a folder; an effect unless it exists."""
        place = self._effects.below_root(self._prefix + path)
        if place is None or os.path.isdir(path):  # noqa: PTH112  no import of pathlib
            self._real.create_dir(path, recursive=recursive)
        else:
            self._effects.run("mkdir", place, self._real.create_dir, path, recursive=recursive)

    def open_output_stream(self, path: str) -> Any:
        """Create a file."""
        return self._run("create", path, self._real.open_output_stream)

    def delete_file(self, path: str) -> Any:
        """Remove a file."""
        return self._run("remove", path, self._real.delete_file)

    def _run(self, verb: str, path: str, act: Callable[[str], Any]) -> Any:
        place = self._effects.below_root(self._prefix + path)
        return act(path) if place is None else self._effects.run(verb, place, act, path)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


def _install_arrow(effects: Effects, module: Any) -> None:
    if effects.without == "arrow":
        return
    real, create = module.file_system, module.RecordFiles._create

    def file_system(url: str, access: Any = None) -> tuple[Any, str]:
        files, folder = real(url, access)
        return _Folder(effects, files, url.removesuffix(folder)), folder

    def created(self: Any, first: Any) -> Any:
        made = create(self, first)
        url = f"{self._folder_url}/{self._name}"
        place = effects.below_root(url)
        if place is not None:
            made.writer = _File(effects, place, made.writer, {"write_table": "write", "close": "finish"})
            if "://" in url:  # an object exists once its upload is completed
                made.sink = _File(effects, place, made.sink, {"close": "put"})
        return made

    module.file_system, module.RecordFiles._create = file_system, created


def _install_java(effects: Effects, module: Any) -> None:
    if effects.without == "java":
        return
    real = module.JavaMember.__call__

    def called(self: Any, *args: Any) -> Any:
        if self.name not in _METHODS:
            return real(self, *args)
        frame = sys._getframe(1)
        by = frame.f_globals.get("__name__", ""), frame.f_code.co_name, self.name
        if by not in _JVM_CALLS or effects.without == ".".join(by):
            return real(self, *args)
        verb, variable = _JVM_CALLS[by]
        value = frame.f_locals.get(variable)
        text = str(getattr(value, "location", value))
        if verb == "sql" and not text.lstrip().upper().startswith(_STATEMENTS):
            return real(self, *args)
        path = effects.below_root(text)
        if path is None:  # a statement, or a frame that is written where its options say
            path = _table_of(text, effects.root)
        return effects.run(verb, path, real, self, *args)

    module.JavaMember.__call__ = called


def _install_classes(_: Effects, module: Any) -> None:
    """Take the class of a log store that logs its own effects."""
    if folder := os.environ.get("EFFECTS_JAVA"):
        from pathlib import Path  # noqa: PLC0415  the module has imported it

        module._FOLDER = Path(folder)


def _table_of(statement: str, root: str) -> str:
    """The first table that a statement names by its location; `warehouse` if it names none."""
    _, named, rest = statement.partition(f"{root}/")
    return rest.partition("`")[0] if named else "warehouse"


def _install_requests(effects: Effects, module: Any) -> None:
    if effects.without == "requests":
        return
    frame, unanswered, record = module.Session.frame, module.Session.unanswered_frame, module.Session.record

    def begun(self: Any, api: Any) -> None:
        if api.name in CHANGING:
            waiting = self.__dict__.setdefault("durable_effects", [])
            waiting.append(effects.begin(f"{asker()}:{api.name}", api.name))

    def framed(self: Any, api: Any, version: int, request: object) -> Any:
        begun(self, api)
        return frame(self, api, version, request)

    def framed_unanswered(self: Any, api: Any, version: int, request: object) -> Any:
        begun(self, api)
        return unanswered(self, api, version, request)

    def recorded(self: Any, answer: Any, sent: float) -> None:
        record(self, answer, sent)
        if answer.request.api.name in CHANGING and self.__dict__.get("durable_effects"):
            effects.write("after", *self.__dict__["durable_effects"].pop(0))

    module.Session.frame, module.Session.unanswered_frame, module.Session.record = framed, framed_unanswered, recorded


def _at_exit(effects: Effects) -> None:
    """Log the end of a driver: a point after its last effect."""
    if effects.is_driver and "kafka_lagoon" in sys.modules:
        effects.write("after", *effects.begin("process:exit", "."))
