"""Alters recorded answers: each field of each answer in every way that its class allows, by some brokers, once or for ever.

An alteration has a name, by which it is made again: `snapshot ListOffsets[-1] topics.partitions.offset = -1 (one, once)`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any

from kafka_lagoon.errors import DecodeError, EncodeError
from kafka_lagoon.protocol.messages.describe_configs import DESCRIBE_CONFIGS
from kafka_lagoon.protocol.messages.list_offsets import LIST_OFFSETS
from kafka_lagoon.wire.reading import decode
from kafka_lagoon.wire.schema import Array, Nested, Scalar, fields_of
from kafka_lagoon.wire.writing import encode
from tests.fake.mutations import Mutation, mutations
from tests.proof.answers.replay import Request

ONE, ALL = "one", "all"
ONCE, FOR_EVER = "once", "for ever"
_ERRORS = (3, 6, 14, 15, 16, 29, 35, 41, 78, 87, 100)


@dataclass(frozen=True, slots=True)
class Alteration:
    """A mutation of the answers to one kind of request."""

    scenario: str
    kind: str  # the API, and in brackets what tells its requests apart
    mutation: Mutation
    who: str
    how_often: str
    broker: str  # the address of the broker that alters, if one does

    @property
    def api(self) -> str:
        """Name of the API."""
        return self.kind.partition("[")[0]

    def __str__(self) -> str:
        return f"{self.scenario} {self.kind} {self.mutation} ({self.who}, {self.how_often})"


def kind_of(request: Request) -> str:
    """Name the kind of a request: answers to other kinds of the same API have other meanings."""
    api = request.api
    if api is LIST_OFFSETS:
        message = request.message()
        stamps = {one.timestamp for topic in message.topics for one in topic.partitions}
        reported = str(min(stamps)) if len(stamps) == 1 and min(stamps) < 0 else "time"
        return f"{api.name}[{reported}{' committed' if message.isolation_level else ''}]"
    if api is DESCRIBE_CONFIGS:
        types = sorted({one.resource_type for one in request.message().resources})
        return f"{api.name}[{','.join(map(str, types))}]"
    return api.name


def alterations(scenario: str, answered: Mapping[Request, bytes]) -> Iterator[Alteration]:
    """Generate the alterations of the longest answer of each kind, by the broker that gave it or by all."""
    longest: dict[str, tuple[Request, bytes]] = {}
    brokers: dict[str, set[str]] = {}
    for request, answer in answered.items():
        kind = kind_of(request)
        brokers.setdefault(kind, set()).add(request.address)
        if len(answer) > len(longest.get(kind, (None, b""))[1]):
            longest[kind] = request, answer
    for kind, (request, answer) in sorted(longest.items()):
        message, tried = decoded(request, answer), set[str]()
        for mutation in (*mutations(message), *_more(message)):
            if str(mutation) in tried:
                continue
            tried.add(str(mutation))
            if _applied(mutation, request, answer) in (None, answer):
                continue
            for who in (ONE, ALL):
                for how_often in (ONCE, FOR_EVER):
                    yield Alteration(scenario, kind, mutation, who, how_often, request.address)


def _more(message: Any, path: tuple[str, ...] = ()) -> Iterator[Mutation]:
    """Generate neighbouring values, the order of lists, and more error codes."""
    for field in fields_of(type(message)):
        value, here = getattr(message, field.name), (*path, field.name)
        match field.kind:
            case Scalar(code=code) if field.name == "error_code":
                for error in _ERRORS:
                    for everywhere in (False, True):
                        yield Mutation(here, f"= {error}", lambda _, error=error: error, everywhere=everywhere)
            case Scalar(code=code) if code in "bhiq":
                yield Mutation(here, "one higher", lambda number: number + 1)
                yield Mutation(here, "one lower", lambda number: number - 1)
                yield Mutation(here, "a million higher", lambda number: number + 1_000_000)
            case Array(item=item):
                yield Mutation(here, "reversed", lambda items: None if items is None else tuple(items)[::-1])
                if isinstance(item, Nested) and value:
                    yield from _more(max(value, key=lambda one: len(repr(one))), here)
            case Nested() if value is not None:
                yield from _more(value, here)


class Alterer:
    """Applies an alteration to the answers of a run; `has_altered` tells whether any answer was."""

    def __init__(self, alteration: Alteration) -> None:
        self._alteration, self._done = alteration, set[str]()
        self._lock = Lock()

    @property
    def has_altered(self) -> bool:
        """True if an answer was altered."""
        return bool(self._done)

    def __call__(self, request: Request, answer: bytes) -> bytes:
        """Return the answer as the client receives it."""
        wanted = self._alteration
        if request.api.name != wanted.api or kind_of(request) != wanted.kind:
            return answer
        if wanted.who == ONE and request.address != wanted.broker:
            return answer
        if wanted.how_often == ONCE and request.address in self._done:
            return answer
        altered = _applied(wanted.mutation, request, answer)
        if altered in (None, answer):
            return answer
        self._done.add(request.address)
        return altered or answer


def _applied(mutation: Mutation, request: Request, answer: bytes) -> bytes | None:
    """The altered answer; None if no broker could send it: the version lacks the field, or a value is not allowed."""
    try:
        return _encoded(request, answer, mutation.apply(decoded(request, answer)))
    except (EncodeError, DecodeError, UnicodeEncodeError, OverflowError, TypeError):
        return None


def decoded(request: Request, answer: bytes) -> Any:
    """The message, with tuples of messages where the product reads columns."""
    flexible = request.api.is_flexible(request.version)
    position = 1 if _has_tags(request) else 0
    return _plain(decode(request.api.response, request.version, flexible, answer, position))


def _encoded(request: Request, answer: bytes, message: Any) -> bytes:
    prefix = answer[:1] if _has_tags(request) else b""
    return prefix + encode(message, request.version, request.api.is_flexible(request.version))


def _has_tags(request: Request) -> bool:
    return request.api.is_flexible(request.version) and request.api.flexible_response_header


def _plain(value: Any) -> Any:
    """A copy: the decoder shares structs of equal bytes."""
    if hasattr(type(value), "__wire__"):
        return type(value)(**{field.name: _plain(getattr(value, field.name)) for field in fields_of(type(value))})
    if isinstance(value, memoryview):
        return bytes(value)
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        return tuple(map(_plain, value))
    return value


Wanted = Callable[[Alteration], bool]
