"""Draws random values of message classes, and lists all messages in all versions.

A value holds only what the version can carry: fields that it lacks keep their default, null stands where it may. Plain
chance and not Hypothesis, which takes ten times as long over a message as all that is asked of it; extremes are likely, and
the seed is the name of the case, so that a failure comes again.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import wraps
from inspect import signature
from itertools import groupby
from random import Random
from typing import Any

import pytest

from kafka_lagoon.protocol.apis import APIS
from kafka_lagoon.wire.schema import Api, Array, Blob, Field, Kind, Nested, Scalar, Text, fields_of
from tests.effort import examples

MakesText = Callable[[Random], str]

_BITS = {"b": 8, "h": 16, "i": 32, "q": 64}
_UNSIGNED_BITS = {"H": 16, "I": 32}
_ODD_FLOATS = (0.0, -0.0, 1.0, -1.5, 0.1, 1e16, 5e-324, 1.7976931348623157e308, float("inf"), float("-inf"))
_ODD_TEXTS = ("", "\0", "ü", "\U0001f600", "\u202e.txt", "a.b-c_d", "x" * 127, "y" * 300)
_ALPHABETS = (range(128), range(0x80, 0xD800), range(0xE000, 0x10000), range(0x10000, 0x110000))  # without surrogates
_LENGTHS, _LENGTHS_ARE = (0, 1, 2, 3), (3, 4, 2, 1)


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
        """Return True if the body has compact lengths and tag sections."""
        return self.api.is_flexible(self.version)


CASES = [Case(api, v, cls) for api in APIS.values() for v in api.versions for cls in (api.request, api.response)]


def each_case(test: Callable[..., None], cases: Sequence[Case] = CASES) -> Callable[..., None]:
    """Run a test of a `case` for every version in one test per API: 640 tests per property take longer than the properties."""

    @wraps(test)
    def every_version(api_cases: Sequence[Case], **fixtures: Any) -> None:
        for case in api_cases:
            try:
                test(case=case, **fixtures)
            except BaseException as error:
                error.add_note(f"in {case}")
                raise

    given = signature(test)
    parameters = [one.replace(name="api_cases") if one.name == "case" else one for one in given.parameters.values()]
    every_version.__signature__ = given.replace(parameters=parameters)  # type: ignore[attr-defined]
    by_api = {name: list(several) for name, several in groupby(cases, lambda case: case.api.name)}
    return pytest.mark.parametrize("api_cases", by_api.values(), ids=by_api)(every_version)


def randoms(seed: object, count: int) -> Iterator[Random]:
    """Make random generators, one for each example, the same in every run; `count` of them in `make proof`."""
    return (Random(f"{seed} {number}") for number in range(examples(count)))


def any_text(random: Random) -> str:
    """Draw text: short, odd or empty."""
    if random.random() < 0.4:
        return random.choice(_ODD_TEXTS)
    return "".join(chr(random.choice(random.choice(_ALPHABETS))) for _ in range(random.randrange(7)))


def any_string(random: Random) -> str:
    """Draw a string; bytes that are not UTF-8 are lone surrogates, and must be encoded as the same bytes."""
    return any_bytes(random).decode("utf-8", "surrogateescape") if random.random() < 0.2 else any_text(random)


def any_bytes(random: Random, most: int = 6) -> bytes:
    """Draw a few bytes or none."""
    return random.randbytes(random.randrange(most + 1))


def any_message(random: Random, cls: type, version: int, text: MakesText = any_string) -> Any:
    """Draw a value of `cls` that `version` can carry, with strings by `text`."""
    present = [field for field in fields_of(cls) if field.spec.present(version)]
    return cls(**{field.name: _value(random, field, version, text) for field in present})


def _value(random: Random, field: Field, version: int, text: MakesText) -> Any:
    if field.nullable(version) and random.random() < 0.25:
        return None
    return _of_kind(random, field.kind, version, text)


def _of_kind(random: Random, kind: Kind, version: int, text: MakesText) -> Any:
    match kind:
        case Scalar():
            return _scalar(random, kind.code)
        case Text():
            return text(random)
        case Blob():
            return any_bytes(random)
        case Array():
            (count,) = random.choices(_LENGTHS, _LENGTHS_ARE)
            return tuple(_of_kind(random, kind.item, version, text) for _ in range(count))
        case Nested():
            return any_message(random, kind.cls, version, text)


def _scalar(random: Random, code: str) -> Any:
    match code:
        case "?":
            return random.random() < 0.5
        case "d":
            return random.choice((random.choice(_ODD_FLOATS), random.uniform(-1e6, 1e6)))
        case "16s":
            return random.choice((bytes(16), random.randbytes(16)))
    return _integer(random, code)


def _integer(random: Random, code: str) -> int:
    """Draw an integer: half of the time an extreme, else of any magnitude."""
    if code in _UNSIGNED_BITS:
        bits = _UNSIGNED_BITS[code]
        return random.choice((0, 1, 2**bits - 1, random.getrandbits(random.randint(1, bits))))
    bits = _BITS[code] - 1
    number = random.getrandbits(random.randint(1, bits))
    return random.choice((-(2**bits), -1, 0, 1, 2**bits - 1, number, -number, ~number))
