"""Loads compiled kernels: from a file that the environment or an earlier process kept, else by compiling them with numba.

Object code is only run if it was made of these sources, by these versions, for this processor, and if nobody else can have
written it. If the cache is missing, foreign, broken or full, kernels are compiled; it is never an error.

The key is made of the contents of the sources, not of their paths: Spark copies archives of Python code to new paths for
every application, and two versions can live side by side. To find and load object code takes 0.05 s of processor time, of
which 0.04 are llvmlite's; with numba and its own cache it was 0.3 s. A call through ctypes takes 1 us and releases the GIL.
"""

import fcntl
import hashlib
import os
import pkgutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from ctypes import CFUNCTYPE, c_int64
from dataclasses import astuple
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding as llvm

from kafka_lagoon import log
from kafka_lagoon.owned_files import ROOT, belongs_to
from kafka_lagoon.records.host import Host, this_host

Kernel = Callable[..., int]

SOURCES = ("walk_kernel", "decode_kernel", "digest_kernel", "encode_kernel")
_SHARED_SOURCES = ("compiler.py", "fields.py", "layout.py", "encode_layout.py")
_CHECKSUM_SIZE = 32

_COMPILING = (
    "lagoon: compiling the decoder for this machine, which takes about ten seconds, once; "
    "lagoon path kernels does it beforehand"
)
_said: list[bool] = []  # whether this process has said that it compiles

_loaded: list[Any] = []  # LLVM unloads code when nothing refers to it


def load_kernels(source: str, parameters: Mapping[str, int]) -> dict[str, Kernel]:
    """The kernels of a module of this package, by name.

    `parameters` has the number of each kernel's parameters; parameters and results are int64.
    """
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    host = this_host()
    key = _key(source, host)
    object_code = _kept(environment_folder() / _name(source, key), key)
    if object_code is None:
        object_code = _from_cache(source, key, lambda: _compiled(source, parameters, host))
    return _linked(object_code, parameters)


def kept_in(source: str) -> Path | None:
    """The folder that has the compiled kernels of a module of this package for this machine; None if they must be compiled."""
    llvm.initialize_native_target()
    key = _key(source, this_host())
    folders = [environment_folder()]
    with suppress(OSError):
        folders.append(cache_folder())
    return next((folder for folder in folders if _kept(folder / _name(source, key), key) is not None), None)


def _from_cache(source: str, key: bytes, compiled: Callable[[], bytes]) -> bytes:
    """The object code that an earlier process has kept, else newly compiled code.

    Of the workers that an executor starts at once, one compiles and the others wait for it.
    """
    try:
        folder = cache_folder()
    except OSError:  # no folder that this user may write to
        return compiled()
    path = folder / _name(source, key)
    object_code = _kept(path, key)
    if object_code is None:
        with _alone_in(folder):
            object_code = _kept(path, key)
            if object_code is None:
                object_code = compiled()
                _keep(path, key, object_code)
    return object_code


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Keep other processes of this machine out of a folder, if its file system has locks."""
    handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _key(source: str, host: Host) -> bytes:
    """Distinguishes object code of these sources, whether they are in a folder or in an archive, from every other."""
    sources = [pkgutil.get_data(__package__, name) or b"" for name in (*_SHARED_SOURCES, f"{source}.py")]
    makers = [_numba_version(), llvmlite.__version__, sys.version, *astuple(host)]
    return hashlib.sha256(b"\0".join([*sources, *(maker.encode() for maker in makers)])).digest()


def _numba_version() -> str:
    try:
        return version("numba")
    except PackageNotFoundError:  # an archive without the metadata that an installer adds
        return str(import_module("numba").__version__)


def _name(source: str, key: bytes) -> str:
    return f"{source}-{key.hex()[:16]}.o"


def _compiled(source: str, names: Mapping[str, int], host: Host) -> bytes:
    _say_once()
    compiler, module = import_module("kafka_lagoon.records.compiler"), import_module(f"kafka_lagoon.records.{source}")
    object_code: bytes = compiler.object_code([getattr(module, name) for name in names], host)
    return object_code


def _say_once() -> None:
    """Show at a terminal why it takes time; log collectors get an event."""
    if _said:
        return
    _said.append(True)
    log.info("compiling_kernels")
    if sys.stderr.isatty():
        print(_COMPILING, file=sys.stderr, flush=True)  # noqa: T201  imports compile, and nothing above them could say it


def _linked(object_code: bytes, parameters: Mapping[str, int]) -> dict[str, Kernel]:
    builder = llvm.JITLibraryBuilder().add_object_img(object_code).add_current_process()  # which has memcpy
    for name in parameters:
        builder.export_symbol(name)
    linker = llvm.create_lljit_compiler()
    library = builder.link(linker, "kernels")
    _loaded.extend([linker, library])
    return {name: CFUNCTYPE(c_int64, *[c_int64] * count)(library[name]) for name, count in parameters.items()}


def _kept(path: Path, key: bytes) -> bytes | None:
    """The object code in a file, if it is whole and only this user, root or the user who installed us can have written it."""
    try:
        with path.open("rb") as file:
            status, kept = os.fstat(file.fileno()), file.read()
    except OSError:
        return None
    if not belongs_to(status, {os.getuid(), ROOT, _installer()}):
        return None
    object_code = kept[_CHECKSUM_SIZE:]
    return object_code if _checksum(key, object_code) == kept[:_CHECKSUM_SIZE] else None


def _installer() -> int:
    """The owner of this package's files, whose code runs here in any case."""
    try:
        return Path(__file__).stat().st_uid
    except OSError:  # in an archive
        return os.getuid()


def _keep(path: Path, key: bytes, object_code: bytes) -> None:
    """Write object code for later processes, all of it or nothing."""
    with suppress(OSError):  # no space, or a read-only file system
        handle, part = tempfile.mkstemp(dir=path.parent)
        try:
            with open(handle, "wb") as file:  # noqa: PTH123  a handle has no path
                file.write(_checksum(key, object_code) + object_code)
            Path(part).replace(path)
        except OSError:
            Path(part).unlink()


def _checksum(key: bytes, object_code: bytes) -> bytes:
    return hashlib.sha256(key + object_code).digest()


def environment_folder() -> Path:
    """The folder for kernels that an environment or image brings along (`lagoon path kernels`); processes only read it."""
    return Path(sys.prefix) / "share" / "kafka-lagoon" / "kernels"


def compile_for_environment() -> Path:
    """Compile all kernels for processors as this machine's, into `environment_folder`. OSError if it cannot be written."""
    folder = environment_folder()
    made = [folder, *(parent for parent in folder.parents if not parent.exists())]
    _own_folder(folder)
    for path in made:
        path.chmod(0o755)  # whatever the umask: other users run the kernels of an image
    os.environ["NUMBA_CACHE_DIR"] = str(folder)
    for module in ("kernels", "encode_kernels"):
        import_module(f"kafka_lagoon.records.{module}")
    for path in folder.glob("*.o"):
        path.chmod(0o644)
    return folder


def cache_folder() -> Path:
    """The folder for compiled kernels, made if it is missing. OSError if there is none that only this user can write to.

    `NUMBA_CACHE_DIR`, else `LAGOON_CACHE`, else the user's cache folder, else a folder of the user's among temporary ones.
    """
    named = os.environ.get("NUMBA_CACHE_DIR")
    if named:
        return _own_folder(Path(named).resolve())
    for parent in _candidates():
        with suppress(OSError, RuntimeError):
            return _own_folder(parent() / "kernels")
    raise OSError("no folder for compiled kernels")


def _candidates() -> Iterator[Callable[[], Path]]:
    if os.environ.get("LAGOON_CACHE"):
        yield lambda: Path(os.environ["LAGOON_CACHE"])
    yield lambda: Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kafka-lagoon"
    yield lambda: _own_folder(Path(tempfile.gettempdir()) / f"kafka-lagoon-{os.getuid()}")  # may be another's


def _own_folder(folder: Path) -> Path:
    """The folder, if it is this user's alone and not a link: its content is run as code."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = folder.lstat()
    is_ours = stat.S_ISDIR(status.st_mode) and belongs_to(status, {os.getuid()})
    if not is_ours or not os.access(folder, os.W_OK):
        raise PermissionError(f"others can write to {folder}")
    return folder
