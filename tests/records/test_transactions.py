"""Exactly the batches of aborted transactions are found, in any history of transactions."""

from hypothesis import given
from hypothesis import strategies as st

from kafka_lagoon.records.transactions import ABORT, AbortedTransactions

COMMIT = 1


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["data", "commit", "abort"])), max_size=40), st.randoms())
def test_exactly_the_aborted(events, random):
    """For any producers, a batch is aborted if and only if its transaction ends with an abort."""
    open_: dict[int, list[int]] = {}
    expected, aborted = set(), []
    for offset, (producer, event) in enumerate(events):
        if event == "data":
            open_.setdefault(producer, []).append(offset)
        else:
            offsets = open_.pop(producer, [])
            if event == "abort" and offsets:
                aborted.append((producer, offsets[0]))
                expected.update(offsets)
    random.shuffle(aborted)
    followed = AbortedTransactions(aborted)
    aborted_offsets = set()
    for offset, (producer, event) in enumerate(events):
        if event != "data":
            followed.end(producer, offset, ABORT if event == "abort" else COMMIT)
        elif followed.holds(producer, offset):
            aborted_offsets.add(offset)
    assert aborted_offsets == expected
    assert not followed.may_be_open


def test_a_commit_ends_nothing():
    """Only an abort marker ends an aborted transaction, as in Kafka's consumer."""
    followed = AbortedTransactions([(1, 0)])
    assert followed.holds(1, 4)
    followed.end(1, 5, COMMIT)
    assert followed.holds(1, 6)
    followed.end(1, 7, ABORT)
    assert not followed.holds(1, 8)


def test_markers_nobody_asked_for():
    """A second abort marker, or a marker without a transaction in the list, changes nothing."""
    followed = AbortedTransactions([(1, 2)])
    followed.end(1, 1, ABORT)
    followed.end(9, 3, ABORT)
    assert followed.holds(1, 4)
    for _ in range(2):
        followed.end(1, 5, ABORT)
    assert not followed.holds(1, 6)


def test_the_same_producer_twice():
    """A producer's second aborted transaction begins at its own offset, not where the first one ended."""
    followed = AbortedTransactions([(1, 10), (1, 0)])
    assert followed.holds(1, 0)
    followed.end(1, 1, ABORT)
    assert not followed.holds(1, 9)
    assert followed.holds(1, 10)


def test_an_aborted_transaction_of_which_nothing_is_left():
    """Compaction may remove all of its records: its marker ends it all the same, and what its producer commits next counts."""
    followed = AbortedTransactions([(1, 2)])
    followed.end(1, 5, ABORT)
    assert not followed.holds(1, 6)
    assert not followed.may_be_open


def test_an_unreadable_batch():
    """It may hold the marker that ends an aborted transaction, or the first records of one, also where it begins there."""
    followed = AbortedTransactions([(1, 10)])
    assert [followed.may_be_open_at(last_offset) for last_offset in (9, 10, 11)] == [False, True, True]
    assert followed.holds(1, 10)
    assert followed.may_be_open_at(12)
    followed.end(1, 13, ABORT)
    assert not followed.may_be_open_at(14)
