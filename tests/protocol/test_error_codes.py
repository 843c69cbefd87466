"""The meaning of error codes."""

import pytest

from kafka_lagoon.protocol import error_codes
from kafka_lagoon.protocol.error_codes import ERROR_CODES, ErrorCode, Refresh, error_code


def test_no_gap() -> None:
    """Every code from -1 to 136 has a name of its own."""
    assert sorted(ERROR_CODES) == list(range(-1, 137))
    assert len({one.name for one in ERROR_CODES.values()}) == len(ERROR_CODES)


def test_only_what_is_asked_again_needs_a_refresh() -> None:
    """A final code never refreshes metadata or coordinators."""
    assert not [one for one in ERROR_CODES.values() if one.refresh is not Refresh.NOTHING and not one.retriable]


@pytest.mark.parametrize(
    ("code", "refresh"),
    [
        (2, Refresh.NOTHING),
        (3, Refresh.METADATA),
        (5, Refresh.METADATA),
        (6, Refresh.METADATA),
        (7, Refresh.NOTHING),
        (8, Refresh.METADATA),
        (14, Refresh.NOTHING),  # the coordinator is right, but still loading
        (15, Refresh.COORDINATOR),
        (16, Refresh.COORDINATOR),
        (41, Refresh.METADATA),
        (74, Refresh.METADATA),
        (75, Refresh.NOTHING),  # the broker has old metadata, not we
        (78, Refresh.NOTHING),
        (88, Refresh.NOTHING),
        (89, Refresh.NOTHING),
        (100, Refresh.METADATA),
    ],
)
def test_asked_again(code: int, refresh: Refresh) -> None:
    """Transient errors are retriable; stale metadata or coordinators are looked up first."""
    assert (error_code(code).retriable, error_code(code).refresh) == (True, refresh)


@pytest.mark.parametrize("code", [-1, 0, 1, 17, 29, 30, 31, 35, 42, 58, 69, 84, 129])
def test_final(code: int) -> None:
    """Errors that would be the same in every attempt are final."""
    assert not error_code(code).retriable


@pytest.mark.parametrize("code", [-2, 137, 32767])
def test_unknown(code: int) -> None:
    """An unknown code keeps its number, is final and refreshes nothing."""
    assert error_code(code) == ErrorCode(code, f"UNKNOWN_CODE_{code}", retriable=False, refresh=Refresh.NOTHING)


def test_constants() -> None:
    """A code that has a constant has the name of the constant."""
    constants = {name: value for name, value in vars(error_codes).items() if name.isupper() and type(value) is int}
    assert constants
    assert {name: error_code(code).name for name, code in constants.items()} == {name: name for name in constants}
