"""Properties of every message in every version."""

import contextlib
import sys
import tracemalloc
from collections.abc import Iterator
from functools import partial
from random import Random
from typing import Any

import pytest

from kafka_lagoon.errors import DecodeError
from kafka_lagoon.wire.reading import decode
from kafka_lagoon.wire.schema import Array, Nested, fields_of
from kafka_lagoon.wire.writing import encode
from tests.effort import examples
from tests.examples import CASES, Case, any_bytes, any_message, each_case, randoms
from tests.wire.reference import Malformed, reference_decode, reference_encode

FLEXIBLE_CASES = [case for case in CASES if case.flexible]
UNKNOWN_TAGS = (4, 127, 9999, 2**31 - 1)
LIKELY_BYTES = (0, 1, 2, 0x7F, 0x80, 0xFF)  # lengths at which the encoding of a length changes
CALLS_PER_BYTE = 6

pytestmark = pytest.mark.examples


def _encoded(random: Random, case: Case) -> bytes:
    return encode(any_message(random, case.cls, case.version), case.version, case.flexible)


@each_case
def test_round_trip(case: Case) -> None:
    """A message is decoded as it was encoded, and its bytes are those of the reference encoder."""
    for random in randoms(case, 12):
        message = any_message(random, case.cls, case.version)
        encoded = encode(message, case.version, case.flexible)
        assert encoded == reference_encode(message, case.version, case.flexible)
        assert decode(case.cls, case.version, case.flexible, encoded) == message


@each_case
def test_defaults(case: Case) -> None:
    """A message of defaults can be encoded in every version and is decoded to defaults."""
    encoded = encode(case.cls(), case.version, case.flexible)
    assert decode(case.cls, case.version, case.flexible, encoded) == case.cls()


@each_case
def test_no_byte_less_no_byte_more(case: Case) -> None:
    """Every truncation and every left-over byte raises DecodeError."""
    for random in randoms(case, 4):
        encoded = _encoded(random, case)
        sizes = random.sample(range(len(encoded)), examples(len(encoded)))
        for wrong in (*(encoded[:size] for size in sizes), encoded + b"\0", encoded + b"\x01"):
            with pytest.raises(DecodeError):
                decode(case.cls, case.version, case.flexible, wrong)


@partial(each_case, cases=FLEXIBLE_CASES)
def test_unknown_tags(case: Case) -> None:
    """Unknown tags in any struct of a message change nothing."""
    for random in randoms(case, 6):
        message = any_message(random, case.cls, case.version)
        several = random.sample(UNKNOWN_TAGS, random.randint(1, len(UNKNOWN_TAGS)))
        tags = {tag: random.choice((b"", b"\0", b"\xff" * 130)) for tag in several}
        encoded = reference_encode(message, case.version, case.flexible, tags)
        assert decode(case.cls, case.version, case.flexible, encoded) == message


def test_large_unknown_tag() -> None:
    """A tag whose size needs several varint bytes is skipped."""
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
        decoded = decode(case.cls, case.version, case.flexible, payload)
        assert decoded == expected or repr(decoded) == repr(expected)  # NaN does not equal itself


@each_case
def test_random_bytes(case: Case) -> None:
    """Random bytes raise only DecodeError, or give the message that the reference decoder reads."""
    for random in randoms(case, 12):
        _same_verdict(
            case, random.choice((any_bytes(random, 60), bytes(random.choices(LIKELY_BYTES, k=random.randrange(60)))))
        )


@each_case
def test_flipped_bytes(case: Case) -> None:
    """A message with a few replaced bytes raises only DecodeError, or gives the message that the reference decoder reads."""
    for random in randoms(case, 12):
        damaged = bytearray(_encoded(random, case))
        for place in random.choices(range(len(damaged)), k=random.randint(1, 3)) if damaged else ():
            damaged[place] = random.choice((random.choice(LIKELY_BYTES), random.randrange(256)))
        _same_verdict(case, bytes(damaged))


def _full(cls: type, version: int) -> Any:
    """Make a message with one item in every array and no null, so that its bytes have every length of the version."""
    values = {}
    for field in fields_of(cls):
        if field.spec.present(version):
            value = _full(field.kind.cls, version) if isinstance(field.kind, Nested) else field.default
            if isinstance(field.kind, Array):
                item = field.kind.item
                value = (_full(item.cls, version) if isinstance(item, Nested) else getattr(item, "zero", ""),)
            values[field.name] = "" if value is None else value
    return cls(**values)


def _overblown(case: Case) -> Iterator[bytes]:
    """Return the bytes of a message with the largest length at each position in turn, and zeros after the message."""
    encoded = encode(_full(case.cls, case.version), case.version, case.flexible)
    huge = b"\xff\xff\xff\xff\x0f" if case.flexible else b"\x7f\xff\xff\xff"
    places = range(len(encoded) + 1)
    for place in Random(str(case)).sample(places, examples(len(places))):
        yield encoded[:place] + huge + encoded[place + 1 :] + bytes(1000)


@contextlib.contextmanager
def _at_most(calls: int) -> Iterator[None]:
    """Fail if Python calls more functions than this; a limit of calls does not depend on the load of the machine."""
    left = calls

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal left
        left -= event in ("call", "c_call")
        assert left >= 0, f"more than {calls} calls"

    sys.setprofile(count)
    try:
        yield
    finally:
        sys.setprofile(None)


def test_work_is_limited() -> None:
    """The limit stops code that would run for long."""

    def work(calls: int) -> None:
        for number in range(calls):
            abs(number)

    with pytest.raises(AssertionError, match="more than 100 calls"), _at_most(100):
        work(1_000_000)


@each_case
def test_no_length_is_believed(case: Case) -> None:
    """A false length of gigabytes in any field costs neither memory nor work: a few calls per received byte."""
    # Composes the reader first.
    decode(case.cls, case.version, case.flexible, encode(case.cls(), case.version, case.flexible))
    tracemalloc.start()
    for payload in _overblown(case):
        with contextlib.suppress(DecodeError), _at_most(CALLS_PER_BYTE * len(payload)):
            decode(case.cls, case.version, case.flexible, payload)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1_000_000


@pytest.mark.parametrize("filler", [b"\0", b"\x01", b"\x02", b"\xff"], ids=["0", "1", "2", "255"])
def test_long_garbage(filler: bytes) -> None:
    """A megabyte of equal bytes is decoded, or raises DecodeError."""
    for case in CASES:
        with contextlib.suppress(DecodeError):
            decode(case.cls, case.version, case.flexible, filler * 1_000_000)
