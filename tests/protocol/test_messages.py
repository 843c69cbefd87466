"""Every message in every version: what all of them must hold, whatever they mean."""

import contextlib
import time
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.errors import DecodeError
from pipeline.wire.reading import decode
from pipeline.wire.schema import Array, Nested, fields_of
from pipeline.wire.writing import encode
from tests.strategies import CASES, Case, any_message
from tests.wire.reference import Malformed, reference_decode, reference_encode

FLEXIBLE_CASES = [case for case in CASES if case.flexible]
UNKNOWN_TAGS = st.dictionaries(
    st.sampled_from((4, 127, 9999, 2**31 - 1)), st.sampled_from((b"", b"\0", b"\xff" * 130)), min_size=1
)
each_case = pytest.mark.parametrize("case", CASES, ids=str)
quick = settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))


@each_case
@quick
@given(data=st.data())
def test_round_trip(case: Case, data: st.DataObject) -> None:
    """What is written is read again, and the bytes are those of the slow twin."""
    message = data.draw(any_message(case.cls, case.version))
    encoded = encode(message, case.version, case.flexible)
    assert encoded == reference_encode(message, case.version, case.flexible)
    assert decode(case.cls, case.version, case.flexible, encoded) == message


@each_case
def test_defaults(case: Case) -> None:
    """A message of defaults can be written in every version and is read as defaults."""
    encoded = encode(case.cls(), case.version, case.flexible)
    assert decode(case.cls, case.version, case.flexible, encoded) == case.cls()


@each_case
@settings(quick, max_examples=4)
@given(data=st.data())
def test_no_byte_less_no_byte_more(case: Case, data: st.DataObject) -> None:
    """Every truncation and every left-over byte is a DecodeError."""
    encoded = encode(data.draw(any_message(case.cls, case.version)), case.version, case.flexible)
    for wrong in (*(encoded[:size] for size in range(len(encoded))), encoded + b"\0", encoded + b"\x01"):
        with pytest.raises(DecodeError):
            decode(case.cls, case.version, case.flexible, wrong)


@pytest.mark.parametrize("case", FLEXIBLE_CASES, ids=str)
@settings(quick, max_examples=6)
@given(data=st.data(), tags=UNKNOWN_TAGS)
def test_unknown_tags(case: Case, data: st.DataObject, tags: dict[int, bytes]) -> None:
    """Tags that we do not know, in every struct of a message, change nothing."""
    message = data.draw(any_message(case.cls, case.version))
    encoded = reference_encode(message, case.version, case.flexible, tags)
    assert decode(case.cls, case.version, case.flexible, encoded) == message


def test_large_unknown_tag() -> None:
    """A tag larger than one varint byte can tell is skipped by its size."""
    for case in FLEXIBLE_CASES:
        encoded = reference_encode(case.cls(), case.version, case.flexible, {9999: bytes(70_000)})
        assert decode(case.cls, case.version, case.flexible, encoded) == case.cls()


def _same_verdict(case: Case, payload: bytes) -> None:
    try:
        expected = reference_decode(case.cls, case.version, case.flexible, payload)
    except Malformed:
        with pytest.raises(DecodeError):
            decode(case.cls, case.version, case.flexible, payload)
    else:
        assert decode(case.cls, case.version, case.flexible, payload) == expected


@each_case
@quick
@given(payload=st.binary(max_size=60))
def test_random_bytes(case: Case, payload: bytes) -> None:
    """Random bytes are a DecodeError and nothing else, or the message that the slow twin reads in them."""
    _same_verdict(case, payload)


@each_case
@quick
@given(data=st.data())
def test_flipped_bytes(case: Case, data: st.DataObject) -> None:
    """A message with a few bytes replaced is a DecodeError and nothing else, or what the slow twin reads in it."""
    damaged = bytearray(encode(data.draw(any_message(case.cls, case.version)), case.version, case.flexible))
    if damaged:
        for place in data.draw(st.sets(st.integers(0, len(damaged) - 1), min_size=1, max_size=3)):
            damaged[place] = data.draw(st.sampled_from((0, 1, 2, 0x7F, 0x80, 0xFF)) | st.integers(0, 255))
    _same_verdict(case, bytes(damaged))


def _full(cls: type, version: int) -> Any:
    """A message with one item in every array and no null, so that every length of the version is in its bytes."""
    values = {}
    for field in fields_of(cls):
        if field.spec.present(version):
            one = _full(field.kind.cls, version) if isinstance(field.kind, Nested) else field.default
            if isinstance(field.kind, Array):
                item = field.kind.item
                one = (_full(item.cls, version) if isinstance(item, Nested) else getattr(item, "zero", ""),)
            values[field.name] = "" if one is None else one
    return cls(**values)


def _overblown(case: Case) -> Iterator[bytes]:
    """Bytes of a message with the largest possible number at every position, and room behind it to be misled by."""
    encoded = encode(_full(case.cls, case.version), case.version, case.flexible)
    huge = b"\xff\xff\xff\xff\x0f" if case.flexible else b"\x7f\xff\xff\xff"
    for place in range(len(encoded) + 1):
        yield encoded[:place] + huge + encoded[place + 1 :] + bytes(1000)


@each_case
def test_no_length_is_believed(case: Case) -> None:
    """A length that claims gigabytes costs neither memory nor time, wherever it stands."""
    decode(
        case.cls, case.version, case.flexible, encode(case.cls(), case.version, case.flexible)
    )  # composes the reader
    started = time.perf_counter()
    tracemalloc.start()
    for payload in _overblown(case):
        with contextlib.suppress(DecodeError):
            decode(case.cls, case.version, case.flexible, payload)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1_000_000
    assert time.perf_counter() - started < 5


@pytest.mark.parametrize("filler", [b"\0", b"\x01", b"\x02", b"\xff"], ids=["0", "1", "2", "255"])
def test_long_garbage(filler: bytes) -> None:
    """A megabyte of the same byte is refused, or read, at a cost that grows with its size only."""
    for case in CASES:
        with contextlib.suppress(DecodeError):
            decode(case.cls, case.version, case.flexible, filler * 1_000_000)
