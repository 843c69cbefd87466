"""The page: its structure, names as text, no requests, its size, and texts for unknown values."""

import base64
import hashlib
import importlib
import pkgutil
import random
import re
from dataclasses import replace
from pathlib import Path

import pytest

from kafka_lagoon import report as sections
from kafka_lagoon.errors import TableError
from kafka_lagoon.query.duckdb_engine import opened
from kafka_lagoon.query.statements import Ask, Rows, mentioned
from kafka_lagoon.report import groups, page
from kafka_lagoon.report.group_section import _table
from kafka_lagoon.report.groups import Group, GroupHistory
from kafka_lagoon.report.page import ClusterPage, age_tile, cluster_page, render, verdict
from kafka_lagoon.report.page_tables import DeclaredSection, PageTable, Section
from kafka_lagoon.report.scope import Scope, scopes
from kafka_lagoon.runs.report import Report
from kafka_lagoon.tables.snapshot_rows import CoverageRow
from kafka_lagoon.text import printable
from tests.delta.lake import make_lake
from tests.delta.samples import HOUR_MS, NOON_MS, row, snapshot
from tests.documents import documents
from tests.effort import first
from tests.report.history import CLOSING, HUGE, LAST, RIGHT_TO_LEFT, SCRIPT
from tests.report.parsed_page import Page, data_of, rows_of

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def parsed(report: Report) -> Page:
    return Page(report.html)


def test_the_page_has_a_part_for_each_question(parsed: Page) -> None:
    """Each cluster has all sections, under a heading with its name, and links to them."""
    names = ("groups", "loss", "health", "topics", "disks", "changes", "coverage")
    for number, shown in enumerate(
        ((*names[:-1], "differences", names[-1]), names)
    ):  # the first is compared with the second
        article = parsed.with_id(f"c{number}")
        assert [one.attributes["href"] for one in article.all("nav")[0].all("a")] == [
            f"#c{number}-{name}" for name in shown
        ]
        for name in shown:
            section = parsed.with_id(f"c{number}-{name}")
            assert all(parsed.with_id(label).text for label in section.attributes["aria-labelledby"].split())
            assert section.children[0].name == "details"  # a section folds


def test_every_declared_section_is_on_the_page() -> None:
    """Each section of a module of report/ is in the list of the page, and docs/report.md says what it shows."""
    modules = [
        importlib.import_module(f"{sections.__name__}.{module.name}")
        for module in pkgutil.iter_modules(sections.__path__)
    ]
    declared = [value for module in modules for value in vars(module).values() if isinstance(value, DeclaredSection)]
    assert sorted(one.name for one in declared) == sorted(one.name for one in page.SECTIONS), "report/page.py: SECTIONS"
    for section in page.SECTIONS:
        assert f"\n| {section.title} |" in documents()["docs/report.md"], f"docs/report.md: {section.title}"


def test_names_are_text_and_never_markup(parsed: Page, report: Report) -> None:
    """A group with markup in its name is shown literally; control characters and direction marks are escaped."""
    assert [one.attributes.get("type") for one in parsed.all("script")].count(None) == 1
    assert not parsed.all("img")
    shown = [row[0] for row in rows_of(parsed.with_id("c0-table-groups"))]
    assert {SCRIPT, CLOSING, printable(RIGHT_TO_LEFT)} <= set(shown)
    assert "\u202e" not in report.html
    assert "\x1b" not in report.html
    scripts = [one.text for one in parsed.all("script") if one.attributes.get("type") == "application/json"]
    assert scripts
    assert not any("<" in text for text in scripts)


def test_the_page_asks_for_nothing(parsed: Page, report: Report) -> None:
    """The page has no external address, and a policy that allows only its own style and script, by their hashes."""
    assert not re.search(r"""(?:src|href|action|url\()\s*=?\s*["']?(?:https?:|//|data:)""", report.html)
    assert not parsed.all("link")
    (policy,) = [
        one.attributes["content"] for one in parsed.all("meta") if "Content-Security-Policy" in one.attributes.values()
    ]
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    (style,) = parsed.all("style")
    (script,) = [one for one in parsed.all("script") if "type" not in one.attributes]
    for element in (style, script):
        digest = base64.b64encode(hashlib.sha256(element.text.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert " style=" not in report.html  # the policy would block it


def test_tables_are_tables(parsed: Page) -> None:
    """Tables have a caption, column headings that name the source of the numbers, and a heading for each row."""
    for table in parsed.all("table"):
        assert table.all("caption")[0].text.strip()
        assert all(
            one.attributes["scope"] == "col" and one.attributes["title"] for one in table.all("thead")[0].all("th")
        )
        assert all(row.children[0].attributes["scope"] == "row" for row in table.all("tbody")[0].all("tr"))
    assert all(one.attributes["role"] == "img" and one.attributes["aria-label"] for one in parsed.all("svg"))


def test_rows_of_the_page_are_its_data(parsed: Page) -> None:
    """The script has the same rows as the page without it; integers that JavaScript would round are text."""
    table = parsed.with_id("c0-table-groups")
    data = data_of(table)
    assert [row[0] for row in rows_of(table)] == data["values"][0]
    lags = dict(zip(data["values"][0], data["values"][2], strict=True))
    assert (lags["huge"], lags["unknown"], lags["fresh"]) == (str(HUGE), 4, "")
    lag = {row[0]: row[2] for row in rows_of(table)}
    assert (lag["huge"], lag["billing"]) == (f"{HUGE:,}", "1,717")


def test_what_needs_attention(report: Report) -> None:
    """The worst come first: losses, groups without progress, broker failures; unknown values are reported, too."""
    concerns = [(one.level, one.text) for one in report.clusters[0].concerns]
    assert concerns[0][0] == "critical"
    assert "billing" in concerns[0][1]
    assert ("critical", f"3 records were deleted before {SCRIPT} read them") in concerns
    assert ("warning", "fenced brokers: broker 2") in concerns
    assert ("warning", "lag is not known of unknown: LEADER_NOT_AVAILABLE") in concerns
    assert ("warning", "snapshots are missing: 1 gap in the history") in concerns
    assert ("warning", "lists may be short, for permissions are missing: ListGroups") in concerns
    assert ("warning", "the volume of /data on broker 1 is 95% full") in concerns
    assert concerns == sorted(concerns, key=lambda concern: ("critical", "warning", "info").index(concern[0]))


def test_tiles_say_what_is_wrong_since_when_and_of_whom(report: Report) -> None:
    """A tile with trouble names its groups or topics and a time; zero is quiet where all of it is known, and only there."""
    made = report.clusters[0]
    tiles = {one.label: one for one in made.tiles}
    stalled, under = tiles["Stalled groups"], tiles["Under-replicated partitions"]
    assert (stalled.level, stalled.value, stalled.section) == ("critical", "5", "groups")
    assert stalled.since_ms == NOON_MS + LAST * (HOUR_MS - 60_000)  # its oldest record is as many minutes old
    assert (under.level, under.value, under.note) == ("warning", "4", f"{SCRIPT}, orders")
    assert under.since_ms == NOON_MS + 9 * HOUR_MS
    assert (tiles["Offline partitions"].level, tiles["Offline partitions"].value) == ("", "0")
    losing = tiles["Groups about to lose data"]
    assert (losing.level, losing.value, losing.note) == ("unknown", "0", "no estimate for 6 partitions")
    assert verdict(made.concerns).startswith("2 critical, ")


def test_zero_of_an_incomplete_snapshot_is_not_quiet(ask: Ask) -> None:
    """Nobody may have seen what is wrong."""
    made = cluster_page(scopes(ask, ["default"], NOON_MS + 3 * HOUR_MS, 24)[0])
    (offline,) = [one for one in made.tiles if one.label == "Offline partitions"]
    assert (offline.level, offline.note) == ("unknown", "the snapshot is incomplete")


@pytest.mark.parametrize(("visibility", "is_known"), [("complete", True), ("filtered", False), ("unknown", False)])
def test_an_empty_list_that_may_be_hidden_is_a_concern(tmp_path: Path, visibility: str, is_known: bool) -> None:
    """Zero of everything is no good news if permissions may hide all of it."""
    listed = [row(CoverageRow, api=api, requests=1, visibility=visibility) for api in ("Metadata", "ListGroups")]
    make_lake(tmp_path, (snapshot(1, *listed, status="complete"),))
    with opened(tmp_path, page.RELATIONS) as ask:
        concerns = cluster_page(scopes(ask, ["default"], None, 24)[0]).concerns
    lines = [one.text.rpartition(": ")[2] for one in concerns if one.text.startswith("lists ")]
    assert lines == ([] if is_known else ["ListGroups, Metadata"])


def test_the_age_of_the_snapshot(report: Report) -> None:
    """Its tile is quiet until a snapshot should have followed."""
    made = report.clusters[0]
    fresh, old = (age_tile(made, made.snapshot.captured_ms + minutes * 60_000) for minutes in (119, 121))
    assert (fresh.value, fresh.level, fresh.note) == ("1h59m", "", "usually one every 1h")
    assert (old.value, old.level, old.section) == ("2h01m", "warning", "coverage")


def test_many_problems_are_folded(report: Report) -> None:
    """The first eight are shown, the others are in a part that opens."""
    made = report.clusters[0]
    concerns = [replace(made.concerns[0], text=f"problem {number}") for number in range(11)]
    html = Page(render([replace(made, concerns=concerns)], "", NOON_MS))
    (shown, folded) = next(
        one.all("details") for one in html.with_id("c0").all("section") if "concerns" in one.attributes.values()
    )
    assert len(shown.all("li")) == 11
    assert (len(folded.all("li")), folded.all("summary")[0].text) == (3, "3 more")


def test_a_short_history_is_said(report: Report, ask: Ask) -> None:
    """A cluster with one snapshot has charts of one point, and a line about its short history."""
    second = report.clusters[1]
    assert any(
        one.text.startswith("the history is short: it begins at 2025-11-22 05:00:00 UTC") for one in second.concerns
    )
    assert not scopes(ask, ["default"], None, 12)[0].axis.is_short


def test_a_page_of_a_past_time(ask: Ask) -> None:
    """The page has the snapshot of that time: an incomplete one is marked and has its failures; later ones are left out."""
    made = cluster_page(scopes(ask, ["default"], NOON_MS + 3 * HOUR_MS, 24)[0])
    html = Page(render([made], "Then", NOON_MS))
    assert any(one.text.startswith("the snapshot is incomplete: 1 failure, so") for one in made.concerns)
    assert [row[2] for row in rows_of(html.with_id("c0-table-failures"))] == [CLOSING]
    assert {row[0]: row[2] for row in rows_of(html.with_id("c0-table-groups"))}["billing"] == "303"
    assert not any("fenced" in one.text for one in made.concerns)


def test_a_part_that_cannot_be_read_says_so(scope: Scope) -> None:
    """The other sections are shown."""

    def ask(statement: str, *values: int | str) -> Rows:
        if "health_findings" in statement:
            raise TableError("the table <gone>")
        return scope.ask(statement, *values)

    made = cluster_page(replace(scope, ask=ask))
    assert made.problems == ["Health: the table <gone>"]
    html = Page(render([made], "", 0))
    assert "This part cannot be read: the table <gone>" in html.with_id("c0-health").text
    assert rows_of(html.with_id("c0-table-groups"))
    unread = [(tile.label, tile.value) for tile in made.tiles if tile.level == "unknown" and tile.section == "health"]
    assert unread == [
        ("Offline partitions", "unknown"),
        ("Under min.insync.replicas", "unknown"),
        ("Under-replicated partitions", "unknown"),
    ]


def _many(number: int, name: str) -> Group:
    """Make a group; every second group has no lag."""
    values = random.Random(number)
    is_behind = number % 2
    return Group(
        group_id=name,
        group_type="classic",
        state=values.choice(("Stable", "Empty")),
        members=values.randrange(20),
        partitions=values.randrange(1, 99),
        lag=is_behind * values.randrange(10**7),
        time_lag_ms=is_behind * values.randrange(10**9),
        records_lost=0,
        unknown_lags=0,
        unknown_times=0,
        uncommitted=0,
        worst_partition=f"topic-{values.randrange(1000)}-{values.randrange(99)}" if is_behind else None,
        lag_problem=None,
        time_problem=None,
        problem=None,
        earlier_lag=values.randrange(10**7),
    )


def large_page(scope: Scope, number: int) -> str:
    """A page with 50,000 groups, which are not in the order of their names."""
    numbers = random.Random(0).sample(range(10**6), number)
    many = [_many(other, f"team-{other % 89}.service-{other % 1_009}.consumer-{other}") for other in numbers]
    history = histories_like(scope)
    table = _table(scope, many, {one.group_id: history for one in many[: groups.WATCHED]}, {})
    return page_of(scope, table)


def page_of(scope: Scope, table: PageTable) -> str:
    """A page with a single table."""
    section = Section(name="groups", title="Consumer groups", is_open=True, tables=[table], source="consumer_lag")
    made = ClusterPage(snapshot=scope.snapshot, axis=scope.axis, sections=[section], tiles=[], concerns=[])
    return render([made], "Large", NOON_MS)


def histories_like(scope: Scope) -> GroupHistory:
    (history,) = groups.histories(scope, [one for one in groups.groups_of(scope) if one.group_id == "billing"]).values()
    return history


@pytest.mark.proof
def test_fifty_thousand_groups_are_less_than_two_megabytes(scope: Scope) -> None:
    """All of them are on the page: the worst hundred as HTML, all as data."""
    html = large_page(scope, 50_000)
    assert len(html.encode()) < 2_000_000
    table = Page(html).with_id("c0-table-groups")
    assert len(rows_of(table)) == page.STATIC_ROWS
    assert len(set(data_of(table)["values"][0])) == 50_000
    assert "(the first 100 of 50,000)" in table.text


def test_what_does_not_fit_is_left_out_and_said(scope: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
    """The worst groups are kept, and the page says how many groups there are."""
    monkeypatch.setattr(page, "MOST_DATA", 50_000)
    table = Page(large_page(scope, 5_000)).with_id("c0-table-groups")
    kept = data_of(table)["rows"]
    assert 500 < kept < 5_000
    assert f"The page has the first {kept:,} of 5,000 rows: more would not fit." in table.text


def test_every_text_of_the_page_is_harmless() -> None:
    """Control characters and direction marks are escaped in everything that a template shows, such as notes and reasons."""
    shown = (
        page._template()
        .environment.from_string("{{ note }}|{{ note | upper }}")
        .render(note="<\x1b[2J\u202eb\u2028\x85")
    )
    assert shown == "&lt;\\u001b[2J\\u202eb\\u2028\\u0085|&lt;\\u001b[2J\\u202eB\\u2028\\u0085"


@pytest.mark.parametrize("declared", first(page.SECTIONS, 3), ids=[section.name for section in page.SECTIONS])
def test_a_section_declares_what_it_reads(declared: DeclaredSection[Scope], lake: Path, scope: Scope) -> None:
    """A section can be made from its declared relations alone, and its statements name each of them."""
    named: set[str] = set()
    with opened(lake, declared.relations) as ask:

        def watched(statement: str, *values: int | str) -> Rows:
            named.update(mentioned(statement))
            return ask(statement, *values)

        made = declared.make(replace(scope, ask=watched, recent=watched))
    assert made.section.source, "where does the page say what the section shows?"
    assert declared.relations <= named
