"""Makes the report: chooses snapshots, reads the tables, and renders the page."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from kafka_lagoon.frozen import frozen
from kafka_lagoon.query.history import WHY_AHEAD, is_ahead, late_after_ms
from kafka_lagoon.query.statements import Ask
from kafka_lagoon.report.page import ClusterPage, cluster_page, render
from kafka_lagoon.report.page_tables import Concern
from kafka_lagoon.report.run_sections import COVERAGE
from kafka_lagoon.report.scope import Scope, scopes, without_snapshot
from kafka_lagoon.text import duration


@frozen
class ReportOptions:
    """Options of a page; `slot_ms` None means the newest snapshot, `clusters` None all of them.

    The page names those of the `configured` clusters that have no snapshot.
    """

    clusters: Sequence[str] | None = None
    configured: Collection[str] = ()
    slot_ms: int | None = None
    hours: int = 24
    title: str | None = None


@frozen
class Report:
    """The page, the snapshots that it is made of, and the clusters of the settings that have no snapshot for it."""

    html: str
    clusters: Sequence[ClusterPage]
    missing: Sequence[str] = ()

    @property
    def problems(self) -> list[str]:
        """Parts that could not be read, and clusters without a snapshot."""
        unread = [f"{page.snapshot.cluster}: {problem}" for page in self.clusters for problem in page.problems]
        return [*unread, *(f"{cluster}: there is no snapshot of it for this page" for cluster in self.missing)]


def chosen_scopes(ask: Ask, options: ReportOptions) -> list[Scope]:
    """The snapshots that a page is about, from table `snapshots` alone; TableError if there is none for it."""
    return scopes(ask, options.clusters, options.slot_ms, options.hours, options.configured)


def make_report(chosen: Sequence[Scope], options: ReportOptions, now_ms: int) -> Report:
    """Make the page of these snapshots."""
    missing = without_snapshot(chosen, options.clusters, options.configured)
    pages = [cluster_page(scope) for scope in chosen]
    if options.slot_ms is None:
        pages = [_aged(page, now_ms) for page in pages]
    title = options.title or f"Kafka report: {', '.join([*(page.snapshot.cluster for page in pages), *missing])}"
    return Report(html=render(pages, title, now_ms, missing), clusters=pages, missing=missing)


def _aged(page: ClusterPage, now_ms: int) -> ClusterPage:
    """Put a late snapshot before everything that it says: after it nothing is known. So is one in the future."""
    age_ms = now_ms - page.snapshot.captured_ms
    if is_ahead(age_ms):
        text = f"The snapshot is {duration(-age_ms)} ahead of the clock of this page: {WHY_AHEAD}"
    elif age_ms > late_after_ms(page.axis.usual_ms):
        text = f"Last seen {duration(age_ms)} ago: nothing is known of the time since then"
    else:
        return page
    return replace(page, concerns=[Concern(level="critical", text=text, section=COVERAGE.name), *page.concerns])
