"""Keeps the answers to a request about many items, a response at a time, with the broker that gave each.

Every requested item has an answer or a refusal: an item that a response leaves out is refused, too.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Generic, TypeAlias, TypeVar

from kafka_lagoon.errors import Contradiction
from kafka_lagoon.frozen import frozen

I = TypeVar("I", bound=Hashable)  # noqa: E741  an item: a partition, a group, a broker
A = TypeVar("A")


@frozen(kw_only=False)
class Source:
    """The broker that answered, and when its response was received (epoch milliseconds)."""

    node_id: int
    read_at_ms: int


# (item, error code, answer or None), perhaps with the broker's message.
ItemAnswer: TypeAlias = tuple[I, int | Contradiction, A | None] | tuple[I, int | Contradiction, A | None, str | None]

# A broker's error code, an answer that contradicts itself, or None for an item that the answer leaves out.
Refusal = int | Contradiction | None


class Intake(ABC, Generic[I, A]):
    """Keeps the answers to one sharded request, a response at a time."""

    answers: Mapping[I, A]
    sources: Mapping[I, Source]
    messages: Mapping[I, str | None] = MappingProxyType({})  # the brokers' words about items without an answer

    @abstractmethod
    def take(self, response: Any, items: Sequence[I], source: Source) -> Mapping[I, Refusal]:
        """Keep the answers about some items; returns the items without an answer, and why."""


class AnswersByItem(Intake[I, A]):
    """Keeps the answer to each item in a dictionary."""

    def __init__(self, read: Callable[[Any, Sequence[I]], Iterable[ItemAnswer[I, A]]]) -> None:
        self._read = read
        self.answers: dict[I, Any] = {}
        self.sources: dict[I, Source] = {}
        self.messages: dict[I, str | None] = {}

    def take(self, response: Any, items: Sequence[I], source: Source) -> Mapping[I, Refusal]:
        """Sort one response into answers and refusals; items that were not requested are passed over."""
        open_, refused = set(items), dict[I, Refusal]()
        wanted = frozenset(open_)
        for item, code, answer, *message in self._read(response, items):
            if item not in open_:
                is_other = refused.get(item, 0) != code or (not code and self.answers.get(item) != answer)
                if item in wanted and is_other:
                    self.answers.pop(item, None)
                    refused[item] = Contradiction()
                continue
            open_.discard(item)
            if code:
                refused[item] = code
                self.messages[item] = message[0] if message else None
            else:
                self.answers[item] = answer
                self.sources[item] = source
        return {**refused, **dict.fromkeys(open_)} if refused or open_ else refused
