"""Makes the report: chooses snapshots, reads the tables, and renders the page."""

from collections.abc import Sequence
from dataclasses import dataclass

from kafka_lagoon.query.statements import Ask
from kafka_lagoon.report.page import ClusterPage, cluster_page, render
from kafka_lagoon.report.scope import Scope, scopes


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOptions:
    """Options of a page; `slot_ms` None means the newest snapshot, `clusters` None all of them."""

    clusters: Sequence[str] | None = None
    slot_ms: int | None = None
    hours: int = 24
    title: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The page, and the snapshots that it is made of."""

    html: str
    clusters: Sequence[ClusterPage]

    @property
    def problems(self) -> list[str]:
        """Parts that could not be read."""
        return [f"{page.snapshot.cluster}: {problem}" for page in self.clusters for problem in page.problems]


def chosen_scopes(ask: Ask, options: ReportOptions) -> list[Scope]:
    """The snapshots that a page is about, from table `snapshots` alone; TableError if there is none for it."""
    return scopes(ask, options.clusters, options.slot_ms, options.hours)


def make_report(chosen: Sequence[Scope], options: ReportOptions, now_ms: int) -> Report:
    """Make the page of these snapshots."""
    pages = [cluster_page(scope) for scope in chosen]
    title = options.title or f"Kafka report: {', '.join(page.snapshot.cluster for page in pages)}"
    return Report(html=render(pages, title, now_ms), clusters=pages)
