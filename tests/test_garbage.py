"""Pauses of the garbage collector."""

import gc

import pytest

from kafka_lagoon.garbage import gc_paused


def test_the_collector_is_on_again() -> None:
    """The collector is off within the block, also within a nested block, and on again afterwards, also after an error."""
    assert gc.isenabled()
    with pytest.raises(ZeroDivisionError):
        fail_within_two_pauses()
    assert gc.isenabled()


def fail_within_two_pauses() -> None:
    """Raise in a block, after a block inside it has ended."""
    with gc_paused():
        with gc_paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
        1 / 0  # noqa: B018


def test_a_collector_that_is_off_stays_off() -> None:
    """A collector that the caller has switched off stays off."""
    gc.disable()
    try:
        with gc_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_what_was_made_is_not_walked_at_once() -> None:
    """Objects of the block are in the oldest generation when it ends; frozen objects stay frozen."""
    with gc_paused():
        made = [[number] for number in range(5_000)]
    assert gc.get_count()[0] < 1_000
    assert any(one is made for one in gc.get_objects(generation=2))
    assert gc.get_freeze_count() == 0
    gc.freeze()
    try:
        frozen = gc.get_freeze_count()
        with gc_paused():
            pass
        assert gc.get_freeze_count() > frozen // 2, "some may have been released meanwhile"
    finally:
        gc.unfreeze()
