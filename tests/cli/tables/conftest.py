"""Runs commands over a warehouse of a few snapshots, at a time when the newest of them is eleven minutes old."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from kafka_lagoon.cli.main import main
from kafka_lagoon.tables import cluster_rows, group_rows
from kafka_lagoon.tables.snapshot_rows import CoverageRow
from tests.clock import CLOCK
from tests.delta.lake import make_lake
from tests.delta.samples import HOSTILE, HOUR_MS, NOON_MS, lag_row, row, snapshot

NOW_MS = NOON_MS + 2 * HOUR_MS + 11 * 60_000


@dataclass(frozen=True, slots=True)
class Shown:
    """The output of a command, and its exit code."""

    code: int
    out: str
    err: str

    def rows(self, kind: str) -> list[dict[str, Any]]:
        """Return the rows of one kind, from the JSON output of a command."""
        return [one for one in map(json.loads, self.out.splitlines()) if one["kind"] == kind]


Ask = Callable[..., Shown]


def group(group_id: str, **values: Any) -> group_rows.ConsumerGroupRow:
    return row(group_rows.ConsumerGroupRow, group_id=group_id, **values)


def topics(leader_id: int | None, isr: tuple[int, ...], *names: str) -> list[object]:
    """Make topic orders with one partition, topics without any, and the coverage that proves a complete list."""
    leaderless, short = leader_id is None, len(isr) < 2
    partition = row(
        cluster_rows.PartitionRow,
        topic="orders",
        topic_id="O",
        partition=0,
        leader_id=leader_id,
        replicas=(1, 2),
        isr=isr,
        is_leaderless=leaderless,
        is_under_replicated=short,
        is_under_min_isr=short,
        is_at_min_isr=False,
    )
    listed = [
        row(cluster_rows.TopicRow, topic=name, topic_id=name[:1].upper(), partitions=1) for name in ("orders", *names)
    ]
    coverage = row(CoverageRow, api="Metadata", requests=1, answered=1, expected=1, visibility="complete")
    return [partition, *listed, coverage]


SNAPSHOTS = (
    snapshot(
        1,
        *topics(1, (1, 2), "gone"),
        group("billing"),
        lag_row("billing", "orders", 0, lag=5),
        topics=2,
        status="complete",
    ),
    snapshot(
        2,
        *topics(None, (2,), "new"),
        group("billing", state="Stable", members=1),
        group("lost"),
        group("idle"),
        group(HOSTILE),
        lag_row("billing", "orders", 0, lag=1500, time_lag_ms=60_000, records_lost=0),
        lag_row("billing", "orders", 1, lag=9, time_lag_ms=7_200_000, records_lost=0),
        lag_row("billing", "payments", 0, lag_basis="log_start"),
        lag_row("lost", "orders", 0, lag=20, time_lag_ms=1, records_lost=3),
        lag_row("idle", "orders", 0, lag=0, records_lost=0),
        lag_row(HOSTILE, "orders", 0, lag=-2, records_lost=0),
        topics=2,
        status="complete",
    ),
    snapshot(
        3,
        group("other", state="Empty"),
        lag_row("other", "orders", 0, lag=70, records_lost=0),
        lag_row("other", "orders", 2, lag=0, records_lost=0),
        lag_row("other", "orders", 1, problem="LEADER_NOT_AVAILABLE"),
        cluster="second",
        status="partial",
        failures=2,
    ),
)


@pytest.fixture(scope="session")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two snapshots of one cluster, and an incomplete one of another."""
    return make_lake(tmp_path_factory.mktemp("tables"), SNAPSHOTS)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Run a command; its options name the warehouse."""
    monkeypatch.setattr("kafka_lagoon.clock.SYSTEM_CLOCK", replace(CLOCK, now_ms=lambda: NOW_MS))

    def command(*argv: str) -> Shown:
        code = main(list(argv))
        return Shown(code, *capsys.readouterr())

    return command


@pytest.fixture
def ask(lake: Path, run: Ask) -> Ask:
    """Run a command over the warehouse."""
    return lambda *argv: run(*argv, "--warehouse", str(lake))
