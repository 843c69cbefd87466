"""Python functions in, machine code out: numba's compiler, its cache, and loads and stores on raw addresses.

Guards one rule: a kernel is compiled once per machine and version, and a cache that is missing, foreign, broken or full
never keeps anybody from decoding.

numba's own cache knows a source file by its path. Spark copies archives of Python code to new paths for every application,
so ours knows it by its contents, which also lets two versions live side by side.
"""

import hashlib
import os
import pickle
import pkgutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

from llvmlite import ir
from numba import njit, types
from numba.core import caching, cgutils
from numba.extending import intrinsic

_Function = TypeVar("_Function", bound=Callable[..., Any])

_SOURCES = ("compiled.py", "fields.py", "layout.py", "scan.py")
_UNREADABLE = (OSError, EOFError, AttributeError, ImportError, ValueError, pickle.PickleError)
_FOREIGN = stat.S_IWGRP | stat.S_IWOTH


def kernel(signature: str) -> Callable[[_Function], _Function]:
    """Compile a function for one signature, or take what an earlier process compiled; it runs without the GIL."""

    def compiled(function: _Function) -> _Function:
        dispatcher: Any = njit(nogil=True, boundscheck=False)(function)
        with suppress(OSError):  # no folder that we may write to
            dispatcher._cache = _new_cache(function)  # noqa: SLF001 - numba has no other way to choose one
        dispatcher.compile(signature)
        dispatcher.disable_compile()
        return cast("_Function", dispatcher)

    return compiled


def inlined(function: _Function) -> _Function:
    """For what kernels call: LLVM puts it where it is called, so it costs no call."""
    return cast("_Function", njit(nogil=True, forceinline=True, boundscheck=False)(function))


def cache_folder() -> Path:
    """Where compiled kernels are kept; made if it is missing. OSError if there is no place that only we can write to.

    `NUMBA_CACHE_DIR`, else `LAGOON_CACHE`, else the user's cache folder, else a folder of the user's among temporary ones.
    """
    named = os.environ.get("NUMBA_CACHE_DIR")
    if named:
        return _own_folder(Path(named))
    for parent in _candidates():
        with suppress(OSError, RuntimeError):
            return _own_folder(parent / "kernels")
    raise OSError("no folder for compiled kernels")


def _candidates() -> Iterator[Path]:
    if os.environ.get("LAGOON_CACHE"):
        yield Path(os.environ["LAGOON_CACHE"])
    with suppress(RuntimeError):  # no home
        yield Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kafka-lagoon"
    yield Path(tempfile.gettempdir()) / f"kafka-lagoon-{os.getuid()}"


def _own_folder(folder: Path) -> Path:
    """The folder, which is ours alone: what lies in it is run as code."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = folder.stat()
    if found.st_uid != os.getuid() or found.st_mode & _FOREIGN or not os.access(folder, os.W_OK):
        raise PermissionError(f"others can write to {folder}")
    return folder


@cache
def _revision() -> str:
    """What distinguishes these sources from every other version, in a folder or in an archive."""
    sources = [pkgutil.get_data(__package__, name) or b"" for name in _SOURCES]
    return hashlib.sha256(b"\0".join(sources)).hexdigest()


class _ByContents(caching._CacheLocator):  # noqa: SLF001 - as above
    """Says where a function's machine code is kept, and what it was made of."""

    def __init__(self) -> None:
        self._folder = str(cache_folder() / _revision()[:16])

    @classmethod
    def from_function(cls, _function: Callable[..., Any], _path: str) -> "_ByContents":
        return cls()

    def get_cache_path(self) -> str:
        return self._folder

    def get_source_stamp(self) -> str:
        return _revision()

    def get_disambiguator(self) -> str:
        return "0"


class _Kept(caching.CompileResultCacheImpl):
    _locator_classes = [_ByContents]  # type: ignore[list-item]  # noqa: RUF012 - numba chose the type


class _Cache(caching.FunctionCache):
    """numba's cache of one function, but what cannot be read or written is compiled again instead."""

    _impl_class = _Kept

    @contextmanager
    def _guard_against_spurious_io_errors(self) -> Iterator[None]:
        with suppress(*_UNREADABLE):
            yield


_new_cache: Any = _Cache

# Loads and stores. Arrays as arguments make numba count references and mind negative indices: a quarter of the speed.

_WORD: Any = types.int64
_BITS, _BYTE = 64, 8
_copy: Any = cgutils.raw_memcpy


def _intrinsic(function: Callable[..., Any]) -> Any:
    return intrinsic(function)


def _pointer(builder: Any, address: Any, bits: int) -> Any:
    return builder.inttoptr(address, ir.IntType(bits).as_pointer())


def _loader(bits: int, *, is_big_endian: bool = False) -> Any:
    """A function that loads a signed number (a byte: an unsigned one) from an address."""

    @_intrinsic
    def load(_context: Any, _address: Any) -> Any:
        def generate(_target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            loaded = builder.load(_pointer(builder, arguments[0], bits), align=1)
            if is_big_endian:
                loaded = builder.bswap(loaded)
            if bits == _BITS:
                return loaded
            return (builder.zext if bits == _BYTE else builder.sext)(loaded, ir.IntType(_BITS))

        return _WORD(_WORD), generate

    return load


def _storer(bits: int) -> Any:
    """A function that stores the lowest bits of a number at an address."""

    @_intrinsic
    def store(_context: Any, _address: Any, _value: Any) -> Any:
        def generate(target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            value = arguments[1] if bits == _BITS else builder.trunc(arguments[1], ir.IntType(bits))
            builder.store(value, _pointer(builder, arguments[0], bits), align=1)
            return target.get_dummy_value()

        return types.void(_WORD, _WORD), generate

    return store


@_intrinsic
def copy(_context: Any, _target: Any, _source: Any, _size: Any) -> Any:
    """Copy `_size` bytes between addresses that do not overlap."""

    def generate(target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        to, source = _pointer(builder, arguments[0], 8), _pointer(builder, arguments[1], 8)
        _copy(builder, to, source, arguments[2], 1)
        return target.get_dummy_value()

    return types.void(_WORD, _WORD, _WORD), generate


_Load = Callable[[int], int]
_Store = Callable[[int, int], None]

load8: _Load = _loader(8)
load64: _Load = _loader(64)
load16_big: _Load = _loader(16, is_big_endian=True)
load32_big: _Load = _loader(32, is_big_endian=True)
load64_big: _Load = _loader(64, is_big_endian=True)
store8: _Store = _storer(8)
store32: _Store = _storer(32)
store64: _Store = _storer(64)
