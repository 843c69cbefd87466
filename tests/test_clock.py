"""Deadlines and pauses, with a clock that tests set."""

from itertools import islice

from kafka_lagoon.clock import Deadline, backoff
from tests.clock import Hands


def test_a_deadline_passes() -> None:
    """The time left decreases with the clock, and is never negative."""
    hands = Hands()
    deadline = Deadline.after(hands.clock(), 1_500)
    assert deadline.remaining() == 1.5
    hands.move(2)
    assert (deadline.remaining(), deadline.passed()) == (0.0, True)


def test_the_earlier_deadline_counts() -> None:
    """A longer budget within a deadline does not extend it."""
    deadline = Deadline.after(Hands().clock(), 1_000)
    assert deadline.within(300).remaining() == 0.3
    assert deadline.within(9_000) is deadline
    assert deadline.half().remaining() == 0.5


def test_a_pause_ends_with_the_deadline() -> None:
    """`pause` waits until the deadline at most, and returns True if time is left."""
    hands = Hands()
    deadline = Deadline.after(hands.clock(), 1_000)
    assert deadline.pause(0.4)
    assert not deadline.pause(5)
    assert hands.seconds == 1.0


def test_pauses_double_to_a_bound() -> None:
    """Pauses double up to the longest, and each varies by a fifth at random."""
    pauses = list(islice(backoff(100, 1_000), 8))
    for pause, expected in zip(pauses, [0.1, 0.2, 0.4, 0.8, 1.0, 1.0, 1.0, 1.0], strict=True):
        assert 0.8 * expected <= pause <= 1.2 * expected
