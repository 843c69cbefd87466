"""Snapshots of an age are all kept, or one per hour, one per day, or none; never a part of one."""

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from kafka_lagoon.delta.retention import PublishedSnapshot, StoredRows, ids_with_rows, not_kept, rows_of
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.job_settings import RetentionSettings
from tests.warehouses import settings

TODAY = date(2026, 3, 15)
STEPWISE = RetentionSettings(snapshots_all_days=7, snapshots_hourly_days=14, snapshots_daily_days=30)


def taken(days_ago: int, time: str, cluster: str = "c", *, is_complete: bool = True, **given: Any) -> PublishedSnapshot:
    """Make a snapshot of some days ago, named after its time."""
    day = TODAY - timedelta(days=days_ago)
    moment = datetime.fromisoformat(f"{day}T{time}").replace(tzinfo=UTC)
    values = {"cluster_id": f"id of {cluster}", "stored": None, **given}
    name = f"{cluster} {days_ago} {time}"
    return PublishedSnapshot(
        snapshot_id=name, cluster=cluster, captured_at=moment, day=day, is_complete=is_complete, **values
    )


def kept(snapshots: Sequence[PublishedSnapshot], retention: RetentionSettings, today: date = TODAY) -> list[str]:
    """Return the ids of kept snapshots."""
    removed = not_kept(snapshots, retention, today)
    return [snapshot.snapshot_id for snapshot in snapshots if snapshot.snapshot_id not in removed]


NEWEST = taken(0, "12:00")


@pytest.mark.parametrize(
    ("days_ago", "stay"),
    [
        (0, ["00:10", "00:50", "01:00", "23:59"]),
        (7, ["00:10", "00:50", "01:00", "23:59"]),
        (8, ["00:10", "01:00", "23:59"]),
        (14, ["00:10", "01:00", "23:59"]),
        (15, ["00:10"]),
        (30, ["00:10"]),
        (31, []),
    ],
)
def test_fewer_with_age(days_ago: int, stay: list[str]) -> None:
    """All are kept for a week, the first of each hour for another, the first of each day for a month, then none."""
    of_day = [taken(days_ago, time) for time in ("00:10", "00:50", "01:00", "23:59")]
    later = taken(-1, "00:00")
    assert kept([*of_day, later], STEPWISE) == [*(f"c {days_ago} {time}" for time in stay), later.snapshot_id]


def test_complete_ones_are_preferred() -> None:
    """The first complete snapshot of the hour or day is kept, or the first if none is complete."""
    partial = [taken(10, f"0{hour}:{minute}", is_complete=minute == "30") for hour in (1, 2) for minute in ("00", "30")]
    partial += [taken(10, "03:00", is_complete=False), taken(10, "03:30", is_complete=False), NEWEST]
    assert kept(partial, STEPWISE) == ["c 10 01:30", "c 10 02:30", "c 10 03:00", "c 0 12:00"]


def test_the_last_of_each_cluster_stays() -> None:
    """The last snapshot and the last complete one are kept for ever, so that a deleted cluster can be restored."""
    gone = [
        taken(100, "00:00", "gone"),
        taken(99, "00:00", "gone"),
        taken(98, "00:00", "gone", is_complete=False),
        taken(97, "00:00", "gone", is_complete=False),
        taken(50, "00:00", "gone", cluster_id="another cluster under the same name"),
    ]
    assert kept([*gone, NEWEST], STEPWISE) == ["gone 99 00:00", "gone 97 00:00", "gone 50 00:00", "c 0 12:00"]


@pytest.mark.parametrize(
    ("given_days", "stay"),
    [
        ({}, ["200", "20", "9"]),
        ({"snapshots_all_days": 8}, ["200", "20", "9"]),
        ({"snapshots_all_days": 8, "snapshots_daily_days": 8}, []),
        ({"snapshots_all_days": 8, "snapshots_hourly_days": 30, "snapshots_daily_days": 30}, ["20", "9"]),
    ],
)
def test_steps_may_be_left_out(given_days: dict[str, int], stay: list[str]) -> None:
    """Without any setting all stay; without hours days are thinned at once; without an end one per day stays."""
    snapshots = [taken(200, "00:00"), taken(20, "00:00"), taken(9, "00:00"), NEWEST]
    assert kept(snapshots, RetentionSettings(**given_days)) == [*(f"c {days} 00:00" for days in stay), "c 0 12:00"]


def test_without_settings_nothing_is_thinned() -> None:
    """All snapshots of an hour stay, however old they are."""
    snapshots = [taken(200, "00:00"), taken(200, "00:10"), NEWEST]
    assert not not_kept(snapshots, RetentionSettings(), TODAY)


def test_clusters_that_gave_no_id() -> None:
    """They are a cluster of their own beside one that had the same name and an id: the last of both stays."""
    without = [taken(days, "00:00", cluster_id=None) for days in (90, 80)]
    assert kept([without[0], taken(85, "00:00"), without[1]], STEPWISE) == ["c 85 00:00", "c 80 00:00"]


SNAPSHOTS = st.builds(
    lambda days, minute, cluster, is_complete: taken(
        days, f"{minute // 60:02}:{minute % 60:02}", cluster, is_complete=is_complete
    ),
    st.integers(0, 40),
    st.integers(0, 24 * 60 - 1),
    st.sampled_from("ab"),
    st.booleans(),
)
HISTORIES = st.lists(SNAPSHOTS, max_size=40, unique_by=lambda snapshot: snapshot.snapshot_id)


@given(HISTORIES, st.integers(1, 30))
def test_when_it_is_done_does_not_matter(history: list[PublishedSnapshot], before: int) -> None:
    """Thinning earlier and again now leaves the same snapshots as thinning only now.

    Only the last ones of each cluster are exempt, so each has a newer one here.
    """
    history = [*history, taken(0, "23:59", "a"), taken(0, "23:59", "b")]
    earlier = set(kept(history, STEPWISE, TODAY - timedelta(days=before)))
    assert kept([one for one in history if one.snapshot_id in earlier], STEPWISE) == kept(history, STEPWISE)


@given(HISTORIES)
def test_every_hour_and_day_has_its_own(history: list[PublishedSnapshot]) -> None:
    """One is left of each hour of the second week, and of each day of the rest of the month, if there was any."""

    def periods(snapshots: Sequence[PublishedSnapshot]) -> Iterator[tuple[object, ...]]:
        for snapshot in snapshots:
            age = (TODAY - snapshot.day).days
            if 7 < age <= 30:
                yield snapshot.cluster, snapshot.day, snapshot.captured_at.hour if age <= 14 else None

    history = [*history, taken(0, "23:59", "a"), taken(0, "23:59", "b")]
    stay = set(kept(history, STEPWISE))
    left = list(periods([one for one in history if one.snapshot_id in stay]))
    assert sorted(map(str, left)) == sorted(map(str, set(periods(history))))


def test_rows_that_others_refer_to_are_needed() -> None:
    """Rows under the id of a removed snapshot count once; a snapshot without table states adds no number."""
    first = taken(9, "00:00", stored={"acls": StoredRows("gone", 5), "brokers": StoredRows("c 9 00:00", 3)})
    second = taken(9, "01:00", stored={"acls": StoredRows("gone", 5), "brokers": StoredRows("c 9 01:00", 4)})
    assert ids_with_rows([first, second], "acls") == {"gone", "c 9 00:00", "c 9 01:00"}
    assert (rows_of([first, second], "acls"), rows_of([first, second], "brokers"), rows_of([], "acls")) == (5, 7, 0)
    assert ids_with_rows([first, taken(9, "02:00")], "coverage") == {"c 9 00:00", "c 9 02:00"}
    assert rows_of([first, taken(9, "02:00")], "acls") is None
    assert rows_of([first], "coverage") is None


@pytest.mark.parametrize(
    ("given_days", "complaint"),
    [
        ({"snapshots_hourly_days": 3}, "snapshots_hourly_days: snapshots_all_days must be set, too"),
        ({"snapshots_all_days": 3, "snapshots_daily_days": 2}, "each must be at least as many as the one before"),
        (
            {"snapshots_all_days": 3, "snapshots_hourly_days": 9, "snapshots_daily_days": 8},
            "each must be at least as many as the one before",
        ),
    ],
)
def test_settings_that_contradict_each_other(given_days: dict[str, int], complaint: str) -> None:
    """Each number must be at least the one before it, and the message names the first."""
    with pytest.raises(ValidationError, match=complaint):
        RetentionSettings(**given_days)


@pytest.mark.parametrize("limit", ["slot_max_age_ms", "deadline_ms"])
def test_slots_that_may_be_asked_for_are_kept(limit: str) -> None:
    """Otherwise a slot could be published again, or a run could lose rows that it refers to."""
    chosen = (f"snapshot.{limit}={8 * 86_400_000}", "warehouse=w")
    with pytest.raises(ConfigError, match="snapshots_all_days must be as long as"):
        settings(*chosen, "retention.snapshots_all_days=7")
    assert settings(*chosen, "retention.snapshots_all_days=8").retention.snapshots_all_days == 8
