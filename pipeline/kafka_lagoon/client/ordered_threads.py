"""Runs a function for many items on threads and yields the results in the order of the items, with few results in memory."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from itertools import islice
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def in_order(threads: Executor, function: Callable[[T], R], items: Iterable[T], most: int) -> Iterator[tuple[T, R]]:
    """Yield each item with its result; an exception is raised in its place, and nothing is begun after it.

    While the caller works, at most `most` items run or have a result that it has not taken. While it waits for an item that
    takes long, those that end make room for others, so that one slow item does not hold up the rest.
    """
    waiting = iter(items)
    begun: deque[tuple[T, Future[R]]] = deque()
    running: set[Future[R]] = set()

    def begin(count: int) -> None:
        for item in islice(waiting, max(0, count)):
            future = threads.submit(function, item)
            begun.append((item, future))
            running.add(future)

    begin(most)
    try:
        while begun:
            item, future = begun.popleft()
            while not future.done():
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                running.difference_update(done)
                begin(len(done))
            yield item, future.result()
            del future  # with its result
            begin(most - len(begun))
    finally:
        wait(running)
