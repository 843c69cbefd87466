"""The live line and the events of a long step."""

from dataclasses import replace

import pytest

from kafka_lagoon import log
from kafka_lagoon.cli import progress as module
from kafka_lagoon.cli.outcome import INGEST, RunOutcome
from kafka_lagoon.cli.progress import MeasuredProgress
from kafka_lagoon.runs.ingest import STEPS
from tests.clock import CLOCK


def test_a_long_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seconds until there are numbers, then share, bytes, rate and the estimated rest; an event per minute; 100 % at most."""
    shown: list[str | None] = []
    events: list[dict[str, object]] = []
    now = 100.0
    monkeypatch.setattr(module, "show_live", lambda _, text: shown.append(text))
    monkeypatch.setattr(log, "info", lambda event, **values: events.append({"event": event, **values}))
    clock = replace(CLOCK, monotonic=lambda: now)
    progress = MeasuredProgress(RunOutcome(job=INGEST, cluster="prod"), STEPS, clock)
    progress.step("read", 1_000_000)
    progress.advanced()
    now = 110.0
    progress.advanced()
    assert shown == ["step 2 of 3, read (1,000,000), 0s", "step 2 of 3, read (1,000,000), 10s"]
    progress.advanced(250_000, 240_000, 1_234_567_890)
    assert shown[2:] == ["step 2 of 3, read: 25 % of 1,000,000 offsets, 1.2 GB, 24,000 records/s, 30s left"]
    now = 165.0
    progress.advanced(1_100_000, 1_100_000, 2_000_000_000)
    assert shown[-1] == "step 2 of 3, read: 100 % of 1,000,000 offsets, 2.0 GB, 16,923 records/s, 0s left"
    assert [one["event"] for one in events] == ["step", "progress"]
    assert (events[1]["offsets"], events[1]["seconds_left"]) == (1_100_000, 0)
