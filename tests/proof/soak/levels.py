"""Decides from figures in the order of time whether they level off: the last third of a run is compared with the middle third.

The first third is left out: tables are new then, and caches are filled. Medians, because single runs meet faults and other work.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

SHARE = 0.25
FEWEST = 2  # values in a third: fewer say nothing


@dataclass(frozen=True, slots=True)
class Series:
    """Values of a figure in the order of time, and the growth that is allowed beside `SHARE`."""

    unit: str
    allowed: float
    values: Sequence[float]


@dataclass(frozen=True, slots=True)
class Level:
    """Medians of the middle and of the last third of a run, and the largest that the last may be."""

    name: str
    unit: str
    middle: float
    last: float
    bound: float

    @property
    def is_level(self) -> bool:
        """True if the figure has not grown beyond its bound."""
        return self.last <= self.bound

    def __str__(self) -> str:
        return f"{self.name}: {self.middle:.1f} {self.unit}, then {self.last:.1f}, at most {self.bound:.1f}"


def level(name: str, series: Series) -> Level | None:
    """Compare the thirds; None if there are too few values."""
    third = len(series.values) // 3
    if third < FEWEST:
        return None
    middle, last = median(series.values[-2 * third : -third]), median(series.values[-third:])
    bound = middle * (1 + SHARE) + series.allowed
    return Level(name=name, unit=series.unit, middle=middle, last=last, bound=bound)


def levels(figures: Mapping[str, Series]) -> Iterator[Level]:
    """Compare all figures that have enough values."""
    for name, series in sorted(figures.items()):
        if compared := level(name, series):
            yield compared
