"""The names of kernels in, functions out: compiled once per machine and version, then loaded without numba.

Guards two rules. What is run was made of these sources, by these versions, for this processor, and nobody else could have
written it. And a cache that is missing, foreign, broken or full never keeps anybody from decoding.

What is kept goes by the contents of the sources, not by their paths: Spark copies archives of Python code to new ones for
every application, and two versions can live side by side. To find and load it takes 0.05 s of processor time, of which
0.04 are for llvmlite; with numba and its own cache it was 0.3 s. Calling by ctypes takes 1 us, and lets go of the GIL.
"""

import hashlib
import os
import pkgutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from ctypes import CFUNCTYPE, c_int64
from dataclasses import astuple, dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding as llvm

Kernel = Callable[..., int]

_SHARED_SOURCES = ("compiler.py", "fields.py", "layout.py")
_FOREIGN = stat.S_IWGRP | stat.S_IWOTH
_CHECKSUM_SIZE = 32

_loaded: list[Any] = []  # code is unloaded when nobody refers to it


@dataclass(frozen=True, slots=True)
class Host:
    """What machine code is made for, in LLVM's words. Machines that share a file system may differ."""

    triple: str
    cpu: str
    features: str


def kernels(source: str, parameters: Mapping[str, int]) -> dict[str, Kernel]:
    """Kernels of a module of this package by name, each with a number of parameters; all numbers are int64."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    host = _host()
    key = _key(source, host)
    path = None
    with suppress(OSError):  # no folder that we may write to
        path = cache_folder() / _name(source, key)
    object_code = _kept(path, key) if path else None
    if object_code is None:
        object_code = _compiled(source, parameters, host)
        if path:
            _keep(path, key, object_code)
    return _linked(object_code, parameters)


def _host() -> Host:
    features = ""
    with suppress(RuntimeError):  # LLVM cannot tell on every system
        features = llvm.get_host_cpu_features().flatten()
    return Host(llvm.get_process_triple(), llvm.get_host_cpu_name(), features)


def _key(source: str, host: Host) -> bytes:
    """What distinguishes object code of these sources, in a folder or in an archive, from every other."""
    sources = [pkgutil.get_data(__package__, name) or b"" for name in (*_SHARED_SOURCES, f"{source}.py")]
    makers = [_numba_version(), llvmlite.__version__, sys.version, *astuple(host)]
    return hashlib.sha256(b"\0".join([*sources, *(one.encode() for one in makers)])).digest()


def _numba_version() -> str:
    try:
        return version("numba")
    except PackageNotFoundError:  # packed without what an installer adds
        return str(import_module("numba").__version__)


def _name(source: str, key: bytes) -> str:
    return f"{source}-{key.hex()[:16]}.o"


def _compiled(source: str, names: Mapping[str, int], host: Host) -> bytes:
    compiler, module = import_module("kafka_lagoon.records.compiler"), import_module(f"kafka_lagoon.records.{source}")
    found: bytes = compiler.object_code([getattr(module, name) for name in names], host)
    return found


def _linked(object_code: bytes, parameters: Mapping[str, int]) -> dict[str, Kernel]:
    builder = llvm.JITLibraryBuilder().add_object_img(object_code).add_current_process()  # which has memcpy
    for name in parameters:
        builder.export_symbol(name)
    linker = llvm.create_lljit_compiler()
    library = builder.link(linker, "kernels")
    _loaded.extend([linker, library])
    return {name: CFUNCTYPE(c_int64, *[c_int64] * count)(library[name]) for name, count in parameters.items()}


def _kept(path: Path, key: bytes) -> bytes | None:
    """What an earlier process kept, if only we or root can have written it, and if it is whole."""
    try:
        with path.open("rb") as file:
            found, kept = os.fstat(file.fileno()), file.read()
    except OSError:
        return None
    if found.st_uid not in {os.getuid(), 0} or found.st_mode & _FOREIGN:
        return None
    object_code = kept[_CHECKSUM_SIZE:]
    return object_code if _checksum(key, object_code) == kept[:_CHECKSUM_SIZE] else None


def _keep(path: Path, key: bytes, object_code: bytes) -> None:
    """Keep it for later processes, whole or not at all."""
    with suppress(OSError):  # full, or only to be read
        handle, part = tempfile.mkstemp(dir=path.parent)
        try:
            with open(handle, "wb") as file:  # noqa: PTH123 - a handle has no path
                file.write(_checksum(key, object_code) + object_code)
            Path(part).replace(path)
        except OSError:
            Path(part).unlink()


def _checksum(key: bytes, object_code: bytes) -> bytes:
    return hashlib.sha256(key + object_code).digest()


def cache_folder() -> Path:
    """Where compiled kernels are kept; made if it is missing. OSError if there is no place that only we can write to.

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
    yield lambda: _own_folder(Path(tempfile.gettempdir()) / f"kafka-lagoon-{os.getuid()}")  # anybody could have made it


def _own_folder(folder: Path) -> Path:
    """The folder, which is ours alone and no link: what lies in it is run as code."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = folder.lstat()
    is_ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & _FOREIGN
    if not is_ours or not os.access(folder, os.W_OK):
        raise PermissionError(f"others can write to {folder}")
    return folder
