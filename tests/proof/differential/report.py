"""Counts what is compared, and keeps each difference with the command that repeats its case."""

import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from kafka_lagoon.errors import PipelineError

_MOST_OF_A_TEXT = 3_000


@dataclass(frozen=True, slots=True)
class Cases:
    """Numbers of cases of a piece: a case is drawn from the seed and its number, whatever the other cases are."""

    seed: int
    numbers: range

    def seed_of(self, piece: str, number: int) -> str:
        """The seed of one case."""
        return f"{piece} {self.seed} {number}"

    def after(self, count: int) -> "Cases":
        """The cases without the first ones."""
        return Cases(self.seed, self.numbers[count:])

    def in_steps(self, size: int) -> Iterator["Cases"]:
        """All of them, so many at a time."""
        for first in range(0, len(self.numbers), size):
            yield Cases(self.seed, self.numbers[first : first + size])


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A difference to another program, in one case of a piece."""

    piece: str
    seed: int
    number: int
    text: str

    def __str__(self) -> str:
        return (
            f"DIFFERENCE in {self.piece}, seed {self.seed}, case {self.number}: {self.text[:_MOST_OF_A_TEXT]}\n"
            f"again: python -m tests.proof.differential --only {self.piece} --seed {self.seed} --first {self.number} --cases 1"
        )


@dataclass
class Report:
    """Counts of cases, of what was compared and of what happened, and the differences, which are printed at once."""

    seed: int
    cases: Counter[str] = field(default_factory=Counter)  # by piece
    compared: Counter[str] = field(default_factory=Counter)
    happened: Counter[str] = field(default_factory=Counter)
    differences: list[Difference] = field(default_factory=list)

    def differ(self, piece: str, number: int, text: str) -> None:
        """Keep and print a difference."""
        difference = Difference(piece=piece, seed=self.seed, number=number, text=text)
        self.differences.append(difference)
        print(difference, flush=True)

    @contextmanager
    def judging(self, piece: str, number: int) -> Iterator[None]:
        """Count a failed assertion, or an error of the product, as a difference of this case."""
        try:
            yield
        except (AssertionError, PipelineError) as error:
            self.differ(piece, number, f"{type(error).__name__}: {error}")

    @contextmanager
    def folder(self, piece: str) -> Iterator[Path]:
        """A folder for logs and tables, which stays only if the piece has found a difference."""
        path, before = Path(tempfile.mkdtemp(prefix=f"differential-{piece}-")), len(self.differences)
        try:
            yield path
        finally:
            if len(self.differences) > before:
                print(f"{piece}: logs and tables are in {path}", flush=True)
            else:
                shutil.rmtree(path, ignore_errors=True)

    def line(self) -> str:
        """The counts as text."""
        counts = [f"{count:,} {name}" for name, count in self.compared.items()]
        return f"{', '.join(counts) or 'nothing'} compared, {len(self.differences)} differences"


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One of the comparisons; `cases` is the number of cases at scale 1, and `step` of those whose figures are kept together."""

    run: Callable[[Cases, Report], None]
    cases: int
    step: int

    def cases_at(self, scale: float, seed: int, first: int, count: int | None) -> Cases:
        """The cases at a scale, at least one, or `count` of them, from the first on."""
        number = max(1, round(self.cases * scale)) if count is None else count
        return Cases(seed, range(first, first + number))
