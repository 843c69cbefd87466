"""A history: steps in their order, a plain value that is printed and parsed as text, a line per step.

    history 7-12
    topic name=a kind=plain partitions=3
    load topic=a records=2000 size=100 seconds=2
    ingest by=lagoon
    kill job=ingest whom=driver step=read ms=250

Every step stands alone: without the steps before it, it may have nothing to do, but it is no error. So steps can be left out.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Self

Value = int | str


@dataclass(frozen=True, slots=True)
class Step:
    """A verb and its options."""

    verb: str
    options: tuple[tuple[str, Value], ...] = ()

    @classmethod
    def of(cls, verb: str, **options: Value) -> Self:
        """Make a step of a verb and named options."""
        return cls(verb, tuple(options.items()))

    @classmethod
    def parse(cls, line: str) -> Self:
        """Read a step from its line."""
        verb, *words = line.split()
        pairs = (word.partition("=") for word in words)
        return cls(verb, tuple((name, _value(text)) for name, _, text in pairs))

    def named(self) -> Mapping[str, Value]:
        """Return the options by name."""
        return dict(self.options)

    def __str__(self) -> str:
        return " ".join([self.verb, *(f"{name}={value}" for name, value in self.options)])


@dataclass(frozen=True, slots=True)
class History:
    """A name, and the steps."""

    name: str
    steps: tuple[Step, ...]

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a history from its text; empty lines and lines that begin with # are left out."""
        lines = list(_lines(text))
        if not lines or not lines[0].startswith("history "):
            raise ValueError("a history begins with a line `history NAME`")
        return cls(lines[0].removeprefix("history ").strip(), tuple(map(Step.parse, lines[1:])))

    def with_steps(self, steps: Iterable[Step]) -> Self:
        """Return a history of the same name with other steps."""
        return type(self)(self.name, tuple(steps))

    def __str__(self) -> str:
        return "\n".join([f"history {self.name}", *map(str, self.steps), ""])


def _value(text: str) -> Value:
    return int(text) if text.lstrip("-").isdecimal() else text


def _lines(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if (stripped := line.strip()) and not stripped.startswith("#"):
            yield stripped
