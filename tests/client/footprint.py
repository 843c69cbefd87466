"""Measures the memory of an object, with all objects that only it refers to."""

import gc
import sys
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

_SHARED = (type, ModuleType, FunctionType, BuiltinFunctionType)  # belongs to the program, not to the measured object


def footprint(kept: object) -> int:
    """Return the bytes of the object and of all that it refers to, without classes, functions and modules."""
    seen: set[int] = set()
    to_visit: list[Any] = [kept]
    size = 0
    while to_visit:
        visited = to_visit.pop()
        if id(visited) not in seen and not isinstance(visited, _SHARED):
            seen.add(id(visited))
            size += sys.getsizeof(visited)
            to_visit += gc.get_referents(visited)
    return size
