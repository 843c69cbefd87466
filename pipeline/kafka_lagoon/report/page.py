"""Makes the page: sections of each cluster, their data as JSON, style and script, in one HTML document that asks for nothing.

What is in the tables is data: Jinja escapes it in HTML, and `island` in JSON. The policy in the page's head allows its own
style and script by their hashes, and nothing else.
"""

import base64
import gzip
import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup

from kafka_lagoon import __version__
from kafka_lagoon.errors import TableError
from kafka_lagoon.frozen import frozen
from kafka_lagoon.query.history import PREDECESSORS, is_ahead, late_after_ms
from kafka_lagoon.report import cluster_section, finding_sections, group_section, run_sections, topic_sections
from kafka_lagoon.report.charts import time_axis
from kafka_lagoon.report.groups import STATUS
from kafka_lagoon.report.page_tables import (
    CHART,
    DURATION,
    NUMBERS,
    TEXT,
    Concern,
    DeclaredSection,
    Made,
    PageTable,
    Section,
    Tile,
)
from kafka_lagoon.report.scope import PublishedSnapshot, Scope
from kafka_lagoon.report.timeline import Timeline
from kafka_lagoon.report.values import cell, severity_count, short_time_html, time_html
from kafka_lagoon.text import duration, printable

STATIC_ROWS = 100  # rows of a table that are written as HTML
MOST_DATA = 1_500_000  # bytes of data of one table: mail takes the page, and a browser sorts it at once
_SAFELY = 0.97  # rows are not equally long
_SECOND_MS = 1_000
_LONG = 20  # characters of a text
_CONCERNS = 8  # the others are folded away
_COMPRESSED_FROM = 100_000  # characters of data
_EXACT = 2**53  # what JavaScript's numbers hold
_LEVELS = ("critical", "warning", "info")

SECTIONS: Sequence[DeclaredSection[Scope]] = (  # in the order of the page
    group_section.GROUPS,
    finding_sections.LOSS,
    finding_sections.HEALTH,
    topic_sections.TOPICS,
    topic_sections.DISKS,
    finding_sections.CHANGES,
    cluster_section.DIFFERENCES,
    run_sections.COVERAGE,
)
RELATIONS = frozenset({"snapshots", PREDECESSORS}.union(*(section.relations for section in SECTIONS)))
RECENT_RELATIONS = frozenset({STATUS})  # of the last snapshots only


@frozen
class ClusterPage:
    """The page of one cluster."""

    snapshot: PublishedSnapshot
    axis: Timeline
    sections: Sequence[Section]
    tiles: Sequence[Tile]
    concerns: Sequence[Concern]

    @property
    def problems(self) -> list[str]:
        """Sections that could not be made, and why."""
        return [f"{one.title}: {one.problem}" for one in self.sections if one.problem]


def cluster_page(scope: Scope) -> ClusterPage:
    """All sections; one that cannot be read says so, and the others are there."""
    wanted = [declared for declared in SECTIONS if declared.applies(scope)]
    in_order = sorted(wanted, key=lambda declared: not declared.needs_memory)
    by_name = {declared.name: _made(scope, declared) for declared in in_order}
    made = [by_name[declared.name] for declared in wanted]
    concerns = [concern for one in made for concern in one.concerns]
    return ClusterPage(
        snapshot=scope.snapshot,
        axis=scope.axis,
        sections=[one.section for one in made],
        tiles=[_seen(scope.snapshot, tile) for one in made for tile in one.tiles],
        concerns=sorted(concerns, key=lambda concern: _LEVELS.index(concern.level)),
    )


def _seen(snapshot: PublishedSnapshot, tile: Tile) -> Tile:
    """Zero in a snapshot that is not complete may be a number that nobody saw."""
    if tile.level or snapshot.status == "complete":
        return tile
    return replace(tile, note="the snapshot is incomplete", level="unknown")


def age_tile(page: ClusterPage, now_ms: int) -> Tile:
    """The age of the snapshot when the page is made; page.js does the same for the time when somebody reads it."""
    age_ms, usual_ms = now_ms - page.snapshot.captured_ms, page.axis.usual_ms
    return Tile(
        label="Age of the snapshot",
        value=duration(age_ms - age_ms % _SECOND_MS),
        note=f"usually one every {duration(usual_ms)}" if usual_ms else "",
        when="taken",
        since_ms=page.snapshot.captured_ms,
        source="snapshots.captured_at",
        level="warning" if age_ms > late_after_ms(usual_ms) or is_ahead(age_ms) else "",
        section=run_sections.COVERAGE.name,
    )


def verdict(concerns: Sequence[Concern]) -> str:
    """The number of problems, in a few words."""
    levels = [one.level for one in concerns]
    return ", ".join(severity_count(levels, level) for level in ("critical", "warning") if level in levels)


def _made(scope: Scope, declared: DeclaredSection[Scope]) -> Made:
    name, title = declared.name, declared.title
    try:
        made = declared.make(scope)
    except TableError as error:
        return Made(
            section=Section(name=name, title=title, is_open=True, source="", problem=str(error)),
            tiles=[
                Tile(label=label, value="unknown", note="cannot be read", source="", level="unknown", section=name)
                for label in declared.tiles
            ],
            concerns=[Concern(level="warning", text=f"{title}: cannot be read", section=name)],
        )
    section = replace(made.section, name=name, title=made.section.title or title)
    return Made(
        section=section,
        tiles=[replace(tile, section=name) for tile in made.tiles],
        concerns=[replace(concern, section=name) for concern in made.concerns],
    )


def render(clusters: Sequence[ClusterPage], title: str, made_at_ms: int, missing: Sequence[str] = ()) -> str:
    """The HTML document; `missing` are clusters without a snapshot."""
    style, script = _text("page.css"), _text("page.js")
    return _template().render(
        clusters=list(enumerate(clusters)),
        missing=missing,
        title=printable(title),
        made_at_ms=made_at_ms,
        version=__version__,
        style=Markup(style),  # noqa: S704  our own file
        script=Markup(script),  # noqa: S704  our own file
        policy=f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; base-uri 'none'; form-action 'none'",
    )


def fitted(table: PageTable) -> PageTable:
    """The table with as many of its rows as MOST_DATA allows, and a line that says so if some are left out."""
    kept = table
    while kept.rows and len(data := island(kept)) > MOST_DATA:
        kept = replace(kept, rows=kept.rows[: int(len(kept.rows) * MOST_DATA / len(data) * _SAFELY)])
    if len(kept.rows) == len(table.rows):
        return table
    return replace(
        kept, left_out=f"The page has the first {len(kept.rows):,} of {len(table.rows):,} rows: more would not fit."
    )


def island(table: PageTable) -> Markup:
    """A table's data: JSON that cannot end its element, compressed where it is large."""
    text = json.dumps(_data(table), ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    if len(text) < _COMPRESSED_FROM:
        return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))  # noqa: S704  escaped
    return Markup(base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode())  # noqa: S704  letters and digits


def _data(table: PageTable) -> dict[str, Any]:
    """Columns of values; whole numbers that JavaScript would round are text."""
    columns = [
        {"label": one.label, "kind": one.kind, "source": one.source, "unknown": one.unknown} for one in table.columns
    ]
    values = [
        [_plain(column.kind, value) for value in of_column]
        for column, of_column in zip(table.columns, zip(*table.rows, strict=True), strict=True)
    ]
    charts = {row: [(one.title, one.kind, one.values) for one in of_row] for row, of_row in table.charts.items()}
    return {"columns": columns, "values": values, "rows": len(table.rows), "charts": charts}


def _plain(kind: str, value: Any) -> Any:
    """Round to the digits that are shown."""
    if isinstance(value, str):
        return printable(value)
    if kind == DURATION and value is not None and value >= _SECOND_MS:
        return value - value % _SECOND_MS
    if isinstance(value, int) and abs(value) > _EXACT:
        return str(value)
    return float(f"{value:.6g}") if isinstance(value, float) else value


def _static_rows(table: PageTable) -> Iterator[list[Markup]]:
    for number, row in enumerate(table.rows[:STATIC_ROWS]):
        yield [
            _drawings(table, number) if column.kind == CHART else cell(column, value)
            for column, value in zip(table.columns, row, strict=True)
        ]


def _drawings(table: PageTable, row: int) -> Markup:
    """The first chart of a row; the others are shown with it where the row is opened."""
    drawings = [one.drawing for one in table.charts.get(row, ())]
    others = Markup('<span hidden="">{}</span>').format(Markup("").join(drawings[1:])) if drawings[1:] else Markup("")
    return Markup("").join(drawings[:1]) + others


def _classes(table: PageTable) -> list[str]:
    return ["number" if one.kind in NUMBERS else one.kind for one in table.columns]


def _is_long(table: PageTable, column: int) -> bool:
    """True for texts that would be broken into many lines if the column were as narrow as its longest word."""
    texts = (str(row[column] or "") for row in table.rows[:STATIC_ROWS])
    return table.columns[column].kind == TEXT and column > 0 and any(len(text) > _LONG for text in texts)


def _harmless(value: Any) -> Any:
    """Escape every text: names come from others, and direction marks would turn the text after them."""
    return printable(value) if type(value) is str else value  # Markup is ours


@cache
def _template() -> Template:
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, finalize=_harmless
    )
    environment.globals.update(
        island=island,
        fitted=fitted,
        static_rows=_static_rows,
        classes=_classes,
        is_long=_is_long,
        static_limit=STATIC_ROWS,
        time_axis=time_axis,
        age_tile=age_tile,
        late_after_ms=late_after_ms,
        verdict=verdict,
        most_concerns=_CONCERNS,
    )
    environment.filters.update(time=time_html, short_time=short_time_html, duration=duration, printable=printable)
    return environment.from_string(_text("page.html"))


def _text(name: str) -> str:
    return (files("kafka_lagoon.report") / name).read_text("utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
