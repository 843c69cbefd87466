"""Differences of clocks, with the uncertainty of a round trip; tests on real controllers are in integration/test_secured.py."""

import pytest

from kafka_lagoon.doctor.clocks import compared
from kafka_lagoon.doctor.results import Check


@pytest.mark.parametrize(
    ("ahead_ms", "uncertain_ms", "status", "words"),
    [
        (0, 1, "ok", "0 ms behind this machine, give or take 1 ms"),
        (4_000, 10, "ok", "4000 ms ahead of this machine, give or take 10 ms"),
        (-61_000, 10, "warning", "61000 ms behind this machine, give or take 10 ms"),
        (6_000, 2_000, "ok", "6000 ms ahead of this machine, give or take 2000 ms"),
    ],
)
def test_clocks(ahead_ms: int, uncertain_ms: int, status: str, words: str) -> None:
    """A difference that a slow response can explain is no warning."""
    result = compared(Check("clock", "controller"), ahead_ms, uncertain_ms)
    assert (result.status, result.observed) == (status, words)
