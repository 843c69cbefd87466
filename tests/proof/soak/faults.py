"""The fault machine of a soak: one fault after the other, drawn from a seed, each of which ends after some seconds."""

import random
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from confluent_kafka import KafkaException

from kafka_lagoon.errors import PipelineError
from tests.proof.draw_faults import DrawnFaults
from tests.proof.history import Step
from tests.proof.play.player import Player
from tests.proof.soak.bounds import Period

# Kind of fault, and how often it is drawn: kinds of draw_faults.py, of which only `driver` differs, because here the lanes start jobs.
_KINDS = {"driver": 5, "broker": 4, "network": 5, "controller": 1, "leaders": 2, "coordinators": 1}
_PAUSE_S, _LASTS_S = (20.0, 60.0), (2.0, 15.0)
_WAITS_FOR_JOB_S = 90.0
_STEPS = {
    "snapshot": ("start", "cluster", "groups", "producers"),
    "ingest": ("start", "plan", "read", "commit"),
    "maintain": ("start",),
    "restore": ("topics", "write", "check"),
}
_JOBS = ("snapshot", "snapshot", "ingest", "ingest", "maintain", "restore")


@dataclass(slots=True)
class Faults:
    """Faults on a player's cluster and jobs; `periods` are the times at which there was one."""

    player: Player
    chance: random.Random
    topics: Sequence[str]
    periods: list[Period]

    def run(self, ends: threading.Event) -> None:
        """Draw faults until the event is set; the last one is mended."""
        drawn = DrawnFaults(self.chance, dict.fromkeys(self.topics, "plain"))
        while not ends.wait(self.chance.uniform(*_PAUSE_S)):
            kind = self.chance.choices(list(_KINDS), list(_KINDS.values()))[0]
            if kind == "driver":
                self._kill(ends)
                continue
            start_ms = _now_ms()
            self._do([step for step in drawn.of_kind(kind) if step.verb != "wait"])
            ends.wait(self.chance.uniform(*_LASTS_S))
            self.player.mend()
            self.periods.append(Period(start_ms, _now_ms()))

    def _do(self, steps: Sequence[Step]) -> None:
        for step in steps:
            # A cluster that still recovers from the last fault may not say who its controller is.
            with suppress(KafkaException, PipelineError, AssertionError):
                self.player.do(step)

    def _kill(self, ends: threading.Event) -> None:
        """Kill a driver, its JVM, or all processes of a job."""
        job = self.chance.choice(_JOBS)
        until = time.monotonic() + _WAITS_FOR_JOB_S
        while not self.player.world.jobs.is_running(job):
            if ends.wait(0.1) or time.monotonic() > until:
                return
        start_ms = _now_ms()
        whom, step = self.chance.choice(("group", "group", "driver", "jvm")), self.chance.choice(_STEPS[job])
        self.player.runs.kill(job, whom, step, self.chance.randrange(4_000))
        self.periods.append(Period(start_ms, _now_ms()))


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
