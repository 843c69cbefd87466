"""Lends connections to both sides of a comparison to one thread at a time."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from queue import Empty, SimpleQueue
from typing import Self

from kafka_lagoon.clock import Clock
from kafka_lagoon.compare.sides import Connection, Source


class Connections:
    """Pairs of connections, at most as many as are used at once. Use it as a context manager."""

    def __init__(self, left: Source, right: Source, clock: Clock) -> None:
        self._sources, self._clock = (left, right), clock
        self._stack = ExitStack()
        self._idle: SimpleQueue[tuple[Connection, Connection]] = SimpleQueue()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @contextmanager
    def lend(self) -> Iterator[tuple[Connection, Connection]]:
        """Lend the caller a connection to the left and one to the right side."""
        try:
            pair = self._idle.get_nowait()
        except Empty:
            left, right = self._sources
            pair = self._connect(left), self._connect(right)
        try:
            yield pair
        finally:
            self._idle.put(pair)

    def _connect(self, of: Source) -> Connection:
        return self._stack.enter_context(of.connect(self._clock))
