"""Message classes in, Hypothesis strategies for their values out; and the list of all messages in all versions.

A strategy yields only what the version can carry: fields that it lacks keep their default, null stands where it may.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

from hypothesis import strategies as st

from pipeline.protocol.apis import APIS
from pipeline.wire.schema import Api, Array, Blob, Field, Kind, Nested, Scalar, Text, fields_of

_INTS = {"b": (-(2**7), 2**7 - 1), "h": (-(2**15), 2**15 - 1), "i": (-(2**31), 2**31 - 1), "q": (-(2**63), 2**63 - 1)}
_UINTS = {"H": (0, 2**16 - 1), "I": (0, 2**32 - 1)}

_ODD_TEXTS = ("", "\0", "ü", "\U0001f600", "\u202e.txt", "a.b-c_d", "x" * 127, "y" * 300)
TEXTS = st.sampled_from(_ODD_TEXTS) | st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
# Bytes that are not UTF-8 arrive as lone surrogates and must leave as the same bytes.
ALL_TEXTS = TEXTS | st.binary(max_size=6).map(lambda raw: raw.decode("utf-8", "surrogateescape"))


@dataclass(frozen=True, slots=True)
class Case:
    """One side of one API in one version."""

    api: Api[Any, Any]
    version: int
    cls: type

    def __str__(self) -> str:
        return f"{self.cls.__name__}-v{self.version}"

    @property
    def flexible(self) -> bool:
        """Whether the body has compact lengths and tag sections."""
        return self.api.is_flexible(self.version)


CASES = [Case(api, v, cls) for api in APIS.values() for v in api.versions for cls in (api.request, api.response)]


@cache
def any_message(cls: type, version: int, texts: st.SearchStrategy[str] = ALL_TEXTS) -> st.SearchStrategy[Any]:
    """Values of `cls` that `version` can carry, with `texts` as strings."""
    present = [field for field in fields_of(cls) if field.spec.present(version)]
    return st.builds(cls, **{field.name: _values(field, version, texts) for field in present})


def _values(field: Field, version: int, texts: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    values = _of_kind(field.kind, version, texts)
    return st.none() | values if field.nullable(version) else values


def _of_kind(kind: Kind, version: int, texts: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    match kind:
        case Scalar():
            return _scalars(kind.code)
        case Text():
            return texts
        case Blob():
            return st.binary(max_size=6)
        case Array():
            return st.lists(_of_kind(kind.item, version, texts), max_size=3).map(tuple)
        case Nested():
            return any_message(kind.cls, version, texts)


@cache
def _scalars(code: str) -> st.SearchStrategy[Any]:
    match code:
        case "?":
            return st.booleans()
        case "d":
            return st.floats(allow_nan=False)
        case "16s":
            return st.just(bytes(16)) | st.binary(min_size=16, max_size=16)
    lowest, highest = (_INTS | _UINTS)[code]
    edges = [edge for edge in (lowest, -1, 0, 1, highest) if edge >= lowest]
    return st.sampled_from(edges) | st.integers(lowest, highest)
