"""Spelling of bytes and durations for people."""

import pytest

from kafka_lagoon.units import byte_count, duration


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (1234, "1.2 kB"),
        (99_949, "99.9 kB"),
        (99_950, "100 kB"),
        (999_499, "999 kB"),
        (999_500, "1.0 MB"),
        (1_200_000_000, "1.2 GB"),
        (2**63 - 1, "9.2 EB"),
        (-1500, "-1.5 kB"),
    ],
)
def test_bytes(value: int, text: str) -> None:
    """Bytes are powers of 1000, with two or three digits."""
    assert byte_count(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0s"),
        (250, "250ms"),
        (999, "999ms"),
        (1000, "1s"),
        (59_999, "59s"),
        (60_000, "1m"),
        (312_000, "5m12s"),
        (7_200_000, "2h"),
        (7_500_000, "2h05m"),
        (86_400_000, "1d"),
        (86_459_000, "1d"),
        (273_600_000, "3d04h"),
        (-312_000, "-5m12s"),
    ],
)
def test_durations(value: int, text: str) -> None:
    """Durations have their two largest units, without a smaller unit that is 0."""
    assert duration(value) == text
