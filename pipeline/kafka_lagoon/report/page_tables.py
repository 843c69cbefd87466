"""Declares what the page is made of: tables with typed columns, charts, figures, numbers and notes, in sections.

The first rows of a table are HTML, so that the page can be read without JavaScript; all of its rows are data of the page.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any, Generic, TypeVar

from markupsafe import Markup

from kafka_lagoon.frozen import frozen

ScopeT = TypeVar("ScopeT")

TEXT, COUNT, BYTES, RATE, BYTE_RATE = "text", "count", "bytes", "rate", "byte_rate"
DURATION, TIME, RATIO, BADGE, CHART = "duration", "time", "ratio", "badge", "chart"
TIME_LEFT = "time_left"  # milliseconds until something happens; negative if it may have happened
NUMBERS = frozenset({COUNT, BYTES, RATE, BYTE_RATE, DURATION, TIME_LEFT, RATIO})


@frozen
class Column:
    """A column: `source` names table and column that it shows; `unknown` is what stands for null."""

    label: str
    kind: str = TEXT
    source: str
    unknown: str = "-"


@frozen
class Chart:
    """A drawing of a series, and its values, which the page shows where somebody points at it."""

    title: str
    kind: str
    values: Sequence[float | None]
    drawing: Markup


@frozen
class PageTable:
    """A table of the page; `charts` are those of a row, by its number, `left_out` says what the page does not have.

    A folded table shows its caption and the number of its rows until somebody opens it.
    """

    name: str
    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Any]]
    empty: str
    left_out: str = ""
    is_folded: bool = False
    charts: Mapping[int, Sequence[Chart]] = field(default_factory=dict)


@frozen
class Figure:
    """A large chart with what is written around it; `scale` labels its left side from top to bottom."""

    chart: Chart
    now: str
    scale: Sequence[str] = ()
    source: str


@frozen
class Tile:
    """A number at the top of the page, which links to its section.

    `level` is critical, warning, unknown, or empty where nothing is wrong. `when` is a line about time, which may end with
    `since_ms`.
    """

    label: str
    value: str
    note: str = ""
    when: str = ""
    since_ms: int | None = None
    source: str
    level: str = ""
    section: str = ""


@frozen
class Section:
    """A part of the page about one cluster; `problem` says why it could not be made.

    The page gives a section its name, and its title where the section has no own. `lead` is shown beside the title, also
    where the section is folded.
    """

    name: str = ""
    title: str = ""
    lead: str = ""
    is_open: bool = False
    figures: Sequence[Figure] = ()
    tables: Sequence[PageTable] = ()
    notes: Sequence[str] = ()
    source: str
    problem: str = ""


@frozen
class Concern:
    """A line about a problem: its level (critical, warning, info), since when, and the section that has the details."""

    level: str
    text: str
    since_ms: int | None = None
    section: str = ""


@frozen
class Made:
    """A section, its numbers for the top of the page, and its problems."""

    section: Section
    tiles: Sequence[Tile] = ()
    concerns: Sequence[Concern] = ()


@frozen
class DeclaredSection(Generic[ScopeT]):
    """A section of the page: its name and title, the tables and views that it reads, its tiles, and how it is made."""

    name: str
    title: str
    relations: frozenset[str]
    make: Callable[[ScopeT], Made]
    tiles: Sequence[str] = ()  # labels; they are shown as unknown where the section cannot be made
    applies: Callable[[ScopeT], bool] = lambda _: True  # false if the page has no such section
    needs_memory: bool = (
        False  # sections that need much memory are made first, while the engine holds little for others
    )
