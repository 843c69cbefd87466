"""Results in the order of the items, few of them in memory, and no slow item holds up the others."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Lock

import pytest

from kafka_lagoon.client.ordered_threads import in_order

MOST = 4
WAIT_S = 30


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    """As many threads as items may run."""
    with ThreadPoolExecutor(MOST) as pool:
        yield pool


def test_the_order_of_items(threads: ThreadPoolExecutor) -> None:
    """Every item has its result, in order, however many there are."""
    for count in (0, 1, MOST, 50):
        assert list(in_order(threads, str, range(count), MOST)) == [(item, str(item)) for item in range(count)]


def test_results_that_wait_are_few(threads: ThreadPoolExecutor) -> None:
    """While the caller works on a result, nothing is begun beside what runs already, even if all of that ends."""
    begun, go_on = list[int](), Event()

    def work(item: int) -> bool:
        begun.append(item)
        return item < MOST or go_on.wait(WAIT_S)

    results = in_order(threads, work, range(100), MOST)
    assert next(results) == (0, True)
    go_on.set()
    for _ in range(3):
        threads.submit(str).result(WAIT_S)  # after all that was begun
    assert sorted(begun) == list(range(2 * MOST))
    assert list(results) == [(item, True) for item in range(1, 100)]


def test_a_slow_item(threads: ThreadPoolExecutor) -> None:
    """All other items are done while the first one still runs."""
    others, lock, all_others = set[int](), Lock(), Event()

    def work(item: int) -> bool:
        if item == 0:
            return all_others.wait(WAIT_S)
        with lock:
            others.add(item)
            if len(others) == 49:
                all_others.set()
        return True

    assert list(in_order(threads, work, range(50), MOST)) == [(item, True) for item in range(50)]


def test_an_exception(threads: ThreadPoolExecutor) -> None:
    """It is raised in the item's place, after the results before it; nothing runs any more then."""
    running = set[int]()

    def work(item: int) -> int:
        running.add(item)
        try:
            return 6 // (item - 2)
        finally:
            running.discard(item)

    taken: list[tuple[int, int]] = []
    with pytest.raises(ZeroDivisionError):
        taken.extend(in_order(threads, work, range(100), MOST))
    assert running == set()
    results = in_order(threads, work, range(100), MOST)
    assert [next(results), next(results)] == [(0, -3), (1, -6)]


def test_a_caller_that_stops(threads: ThreadPoolExecutor) -> None:
    """Items that were begun end before the generator is closed, so that connections are free again."""
    ended: list[int] = []
    results = in_order(threads, ended.append, range(100), MOST)
    next(results)
    results.close()
    count = len(ended)
    assert MOST <= count <= 3 * MOST
    assert threads.submit(str, 1).result(WAIT_S) == "1"
    assert len(ended) == count
