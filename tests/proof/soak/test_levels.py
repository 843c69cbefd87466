"""Figures that level off are distinguished from figures that grow, also among runs that faults disturb."""

import random

import pytest

from tests.proof.soak.levels import SHARE, Series, level, levels


def noisy(values: list[float], share: float = 0.05) -> list[float]:
    """Return values with noise, and each seventh of them as a fault leaves it: four times as large."""
    chance = random.Random(1)
    return [
        value * (4 if number % 7 == 3 else 1 + chance.uniform(-share, share)) for number, value in enumerate(values)
    ]


@pytest.mark.parametrize("count", [6, 7, 8, 30, 120])
def test_steady_figures_level_off(count: int) -> None:
    """Noise and outliers are no growth, and neither is what grows in the first third alone."""
    warm = [50.0] * (count // 3) + [200.0] * (count - count // 3)
    for values in ([200.0] * count, noisy([200.0] * max(count, 30)), warm):
        compared = level("memory", Series("MiB", 0, values))
        assert compared
        assert compared.is_level, compared


@pytest.mark.parametrize("count", [6, 12, 60, 120])
def test_a_planted_leak_is_found(count: int) -> None:
    """A figure that grows in each run by a share of what it was at first is named, with both medians."""
    leaking = [200.0 + 200.0 * number * 3 / count for number in range(count)]
    compared = level("memory", Series("MiB", 32, leaking))
    assert compared
    assert not compared.is_level
    assert str(compared).startswith("memory: ")
    assert [one.is_level for one in levels({"a": Series("", 0, leaking), "b": Series("", 0, [1.0] * count)})] == [
        False,
        True,
    ]


def test_the_bound() -> None:
    """The last third may be a quarter larger than the middle one, and what is allowed beside."""
    at_most = 100 * (1 + SHARE) + 10
    for last, is_level in ((at_most, True), (at_most + 0.1, False)):
        compared = level("CPU", Series("s", 10, [1, 1, 100, 100, last, last]))
        assert compared
        assert (compared.middle, compared.bound, compared.is_level) == (100, at_most, is_level)


@pytest.mark.parametrize("count", range(6))
def test_too_few_values(count: int) -> None:
    """A third of one value is compared with nothing."""
    assert level("CPU", Series("s", 1, [1.0] * count)) is None
