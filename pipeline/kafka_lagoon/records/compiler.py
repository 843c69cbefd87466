"""Compiles Python functions to object code with numba, and gives them loads and stores on raw addresses.

Only a process that compiles imports this, because numba alone takes 0.3 s; all others load what kernel_cache.py keeps.
"""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar, cast

import llvmlite.binding as llvm
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from kafka_lagoon.records.host import Host

_Function = TypeVar("_Function", bound=Callable[..., Any])

_njit: Any = njit  # its types do not name all options
_WITHOUT_PYTHON = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def kernel(signature: str) -> Callable[[_Function], _Function]:
    """Compile a function of int64 for `object_code`; it cannot be called from Python, so it links to nothing of Python."""
    return cast("Callable[[_Function], _Function]", _njit(signature, **_WITHOUT_PYTHON, boundscheck=False))


def inlined(function: _Function) -> _Function:
    """Mark a function that kernels call: LLVM inlines it, so it costs no call."""
    return cast("_Function", njit(nogil=True, forceinline=True, boundscheck=False)(function))


def object_code(kernels: Iterable[Any], host: Host) -> bytes:
    """An object file with a C function of each kernel's name that takes and returns int64."""
    whole = llvm.parse_assembly("")
    for compiled in kernels:
        (signature,) = compiled.overloads
        whole.link_in(llvm.parse_assembly(compiled.inspect_llvm(signature) + _entry_point(compiled)))
    machine = llvm.Target.from_triple(host.triple).create_target_machine(
        cpu=host.cpu, features=host.features, opt=3, codemodel="jitdefault", jit=True
    )
    return cast("bytes", machine.emit_object(whole))


def _entry_point(compiled: Any) -> str:
    """A plain function around numba's, which returns a status and writes the result, or what to raise, through pointers.

    Kernels raise nothing. The result of a kernel that raised would be -1.
    """
    ((signature, overload),) = compiled.overloads.items()
    numbers = ", ".join(f"i64 %number{index}" for index in range(len(signature)))
    return f"""
        define i64 @{compiled.__name__}({numbers}) {{
            %result = alloca i64
            %raised = alloca ptr
            store i64 -1, ptr %result
            call i32 @"{overload.fndesc.llvm_func_name}"(ptr %result, ptr %raised, {numbers})
            %value = load i64, ptr %result
            ret i64 %value
        }}
    """


# Loads and stores. Arrays as arguments make numba count references and mind negative indices: a quarter of the speed.

_WORD: Any = types.int64
_BITS, _BYTE = 64, 8
_copy: Any = cgutils.raw_memcpy
_declared: Any = cgutils.get_or_insert_function


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

        return types.void(_WORD, _WORD), generate  # words: ok, a type of LLVM

    return store


@_intrinsic
def copy(_context: Any, _target: Any, _source: Any, _size: Any) -> Any:
    """Copy `_size` bytes between addresses that do not overlap."""

    def generate(target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        to, source = _pointer(builder, arguments[0], 8), _pointer(builder, arguments[1], 8)
        _copy(builder, to, source, arguments[2], 1)
        return target.get_dummy_value()

    return types.void(_WORD, _WORD, _WORD), generate  # words: ok, a type of LLVM


@_intrinsic
def prefetch(_context: Any, _address: Any) -> Any:
    """Ask the processor to load what is at an address, which need not be one that may be read."""

    def generate(target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        pointer, word = _pointer(builder, arguments[0], 8), ir.IntType(32)
        nothing = ir.VoidType()  # words: ok, a type of LLVM
        hint = _declared(builder.module, ir.FunctionType(nothing, [pointer.type, word, word, word]), "llvm.prefetch.p0")
        builder.call(hint, [pointer, *(ir.Constant(word, number) for number in (0, 3, 1))])  # to read, to keep, data
        return target.get_dummy_value()

    return types.void(_WORD), generate  # words: ok, a type of LLVM


_Load = Callable[[int], int]
_Store = Callable[[int, int], None]

load8: _Load = _loader(8)
load32: _Load = _loader(32)
load64: _Load = _loader(64)
load16_big: _Load = _loader(16, is_big_endian=True)
load32_big: _Load = _loader(32, is_big_endian=True)
load64_big: _Load = _loader(64, is_big_endian=True)
store8: _Store = _storer(8)
store16: _Store = _storer(16)
store32: _Store = _storer(32)
store64: _Store = _storer(64)
