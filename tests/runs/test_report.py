"""The run of a report makes one document with the pages of all clusters."""

from pathlib import Path

import pytest

from kafka_lagoon.query.duckdb_engine import opened
from kafka_lagoon.report.page import RELATIONS, age_tile, render
from kafka_lagoon.runs.report import ReportOptions, chosen_scopes, make_report
from tests.delta.lake import make_lake
from tests.delta.samples import HOUR_MS, NOON_MS, snapshot

pytestmark = pytest.mark.long


def test_one_page_for_all_clusters(tmp_path: Path) -> None:
    """Clusters are in the order of their names; the title has the names unless another title is given."""
    lake = make_lake(
        tmp_path, [snapshot(1, cluster="b", status="complete"), snapshot(2, cluster="a", status="complete")]
    )
    with opened(lake, RELATIONS) as ask:
        made = make_report(chosen_scopes(ask, ReportOptions()), ReportOptions(), NOON_MS)
    assert [page.snapshot.cluster for page in made.clusters] == ["a", "b"]
    assert "<title>Kafka report: a, b</title>" in made.html
    assert made.problems == []
    assert render(made.clusters, "Ours & yours", NOON_MS).count("<title>Ours &amp; yours</title>") == 1


def test_an_only_snapshot_is_late_after_two_days(tmp_path: Path) -> None:
    """No interval between snapshots is known; the page names the age for its script, too."""
    lake = make_lake(tmp_path, [snapshot(0, status="complete")])
    with opened(lake, RELATIONS) as ask:
        in_time, late = (
            make_report(chosen_scopes(ask, ReportOptions()), ReportOptions(), NOON_MS + hours * HOUR_MS)
            for hours in (48, 49)
        )
    assert not any(one.text.startswith("Last seen") for one in in_time.clusters[0].concerns)
    assert late.clusters[0].concerns[0].text == "Last seen 2d01h ago: nothing is known of the time since then"
    assert f'data-late-after="{48 * HOUR_MS}"' in late.html


def test_a_late_snapshot_needs_attention(tmp_path: Path) -> None:
    """The first thing that a page of the newest snapshots says of a late one is its age; a page of a past slot does not."""
    lake = make_lake(tmp_path, [snapshot(hour, status="complete") for hour in range(3)])
    with opened(lake, RELATIONS) as ask:
        in_time, late, past = (
            make_report(
                chosen_scopes(ask, ReportOptions(slot_ms=slot_ms)),
                ReportOptions(slot_ms=slot_ms),
                NOON_MS + now * HOUR_MS,
            )
            .clusters[0]
            .concerns
            for slot_ms, now in ((None, 4), (None, 77), (NOON_MS + HOUR_MS, 77))
        )
    assert late[0].text == "Last seen 3d03h ago: nothing is known of the time since then"
    assert not any(one.text.startswith("Last seen") for one in (*in_time, *past))


def test_a_snapshot_in_the_future_needs_attention(tmp_path: Path) -> None:
    """It hides the snapshots that follow: the page of a clock that was five minutes ahead says so first, and in its tile."""
    lake = make_lake(tmp_path, [snapshot(hour, status="complete") for hour in range(3)])
    with opened(lake, RELATIONS) as ask:
        near, ahead = (
            make_report(chosen_scopes(ask, ReportOptions()), ReportOptions(), NOON_MS + 2 * HOUR_MS - ahead_ms)
            for ahead_ms in (300_000, 301_000)
        )
    assert not any("ahead of the clock" in one.text for one in near.clusters[0].concerns)
    worst = ahead.clusters[0].concerns[0]
    assert (worst.level, worst.text.partition(":")[0]) == (
        "critical",
        "The snapshot is 5m01s ahead of the clock of this page",
    )
    assert age_tile(ahead.clusters[0], NOON_MS + 2 * HOUR_MS - 301_000).level == "warning"
