"""Lends connections to both sides of a comparison to one thread at a time, and ends these threads together."""

from collections.abc import Generator, Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from queue import Empty, SimpleQueue
from typing import Self

from kafka_lagoon.clock import Clock
from kafka_lagoon.compare.reading import Chunk
from kafka_lagoon.compare.result import PARTITIONS_AT_ONCE
from kafka_lagoon.compare.sides import Connection, Reader, Source


class Connections:
    """Pairs of connections, at most as many as are used at once. Use it as a context manager."""

    def __init__(self, left: Source, right: Source, clock: Clock) -> None:
        self._sources, self._clock = (left, right), clock
        self._stack = ExitStack()
        self._idle: SimpleQueue[tuple[Connection, Connection]] = SimpleQueue()
        self._is_over = False

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

    @contextmanager
    def threads(self) -> Iterator[ThreadPoolExecutor]:
        """Threads for the partitions. After an error or Ctrl-C in the block they stop reading at their next chunk."""
        with ThreadPoolExecutor(PARTITIONS_AT_ONCE, thread_name_prefix="partition") as threads:
            try:
                yield threads
            except BaseException:
                self._is_over = True
                raise

    def chunks(self, reader: Reader) -> Generator[Chunk, None, None]:
        """The chunks of a reader; CancelledError if the comparison is over: a partition may have hours left to read."""
        with closing(reader.chunks()) as chunks:
            for chunk in chunks:
                if self._is_over:
                    raise CancelledError
                yield chunk

    def _connect(self, of: Source) -> Connection:
        return self._stack.enter_context(of.connect(self._clock))
