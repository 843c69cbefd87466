"""Runs a function for many items on threads and yields the results in the order of the items, with few results in memory.

The caller waits while threads have work and few results wait: a busy caller beside busy threads of Python cost a tenth more
processor time.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from itertools import islice
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def in_order(
    threads: Executor,
    function: Callable[[T], R],
    items: Iterable[T],
    most: int,
    interrupt: Callable[[], None] = lambda: None,
) -> Iterator[tuple[T, R]]:
    """Yield each item with its result, in order. An exception is raised in place of its result, and no item is begun after it.

    The items that run at that moment are waited for; on Ctrl-C `interrupt` is called first, to end them.

    While the caller works, at most `most` items run, and at most as many results wait. While the caller waits for a slow item,
    items that end make room for others.
    """
    waiting = iter(items)
    begun: deque[tuple[T, Future[R]]] = deque()
    running: set[Future[R]] = set()

    def begin(count: int) -> None:
        for item in islice(waiting, count):
            future = threads.submit(function, item)
            begun.append((item, future))
            running.add(future)

    def replace(ended: set[Future[R]]) -> None:
        running.difference_update(ended)
        begin(len(ended))

    begin(most)
    try:
        while begun:
            while running and (not begun[0][1].done() or len(begun) - len(running) < most):
                replace(wait(running, return_when=FIRST_COMPLETED).done)
            while begun and begun[0][1].done():
                item, future = begun.popleft()
                yield item, future.result()
                del future  # with its result
            replace({future for future in running if future.done()})
    except KeyboardInterrupt:
        interrupt()
        raise
    finally:
        wait(running)
