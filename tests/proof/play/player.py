"""Plays a history step by step, then its end, when every fault is over and the jobs run until exit 0."""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar

from confluent_kafka import IsolationLevel, KafkaException

from kafka_lagoon.cli.terminal import LOCKED
from tests.integration import every_broker
from tests.proof.draw_faults import RETAINS_AFTER
from tests.proof.evidence import Evidence, Partition
from tests.proof.history import History, Step
from tests.proof.jobs import SINK
from tests.proof.judge import judge
from tests.proof.load import LiveTopic
from tests.proof.play.altering import APPLY, Altering
from tests.proof.play.cluster import Cluster3
from tests.proof.play.collecting import Collector
from tests.proof.play.faults import Faults
from tests.proof.play.runs import Runs
from tests.proof.play.sinking import Sinking
from tests.proof.play.tables import RETENTION, Tables
from tests.proof.play.topics import Topics
from tests.proof.play.world import World
from tests.proof.verdict import Verdict

_LAST_RUNS = 8
_KEPT_OUT_S = 720  # an apply that is killed keeps others out for ten minutes where its warehouse is an object store


@dataclass(slots=True)
class Outcome:
    """The faults that happened in a history, its evidence, and the verdict of the judge."""

    history: History
    verdict: Verdict
    happened: Counter[str]
    acknowledged: int
    evidence: Evidence
    names: Mapping[str, str]  # of topics, by id
    recovery_s: float  # from the end of the faults until the jobs ended with exit 0
    seconds: float = 0.0


def play(on: Cluster3, history: History) -> Outcome:
    """Play a history to its end, and judge it. The cluster is whole before and after."""
    started = time.monotonic()
    player = Player(on, history)
    player.topics.prepare()
    for step in history.steps:
        player.do(step)
    evidence = player.end()
    outcome = Outcome(
        history=history,
        verdict=judge(evidence),
        happened=player.world.happened,
        acknowledged=player.world.known.acknowledged,
        evidence=evidence,
        names=player.topics.names,
        recovery_s=player.recovery_s,
        seconds=time.monotonic() - started,
    )
    player.remove_topics()
    return outcome


class Player:
    """A history that is played."""

    verbs: ClassVar = ("wait", "rest")

    def __init__(self, on: Cluster3, history: History) -> None:
        self.world = World(on, history)
        self.topics = Topics(self.world)
        self.runs = Runs(self.world, self.topics)
        self.tables = Tables(self.world, self.topics)
        self.faults = Faults(self.world, self.topics)
        self.altering = Altering(self.world)
        self.sinking = Sinking(self.world)
        parts = (self.topics, self.runs, self.tables, self.faults, self.altering, self.sinking, self)
        self._parts = {verb: part for part in parts for verb in part.verbs}
        self.recovery_s = 0.0
        self.last_slot = 0.0  # of the first snapshot after all faults; further ones are a minute later each
        self._is_complete = True

    def do(self, step: Step) -> None:
        """Do a step."""
        VERBS[step.verb](self._parts[step.verb], **step.named())

    def wait(self, ms: int) -> None:
        """Let time pass."""
        time.sleep(ms / 1000)

    def mend(self) -> None:
        """End every fault, while jobs go on."""
        self.world.jobs.thaw()
        self.world.brokers.mend()
        self.faults.mend()

    def rest(self) -> None:
        """End every fault, and wait until no job runs."""
        self.mend()
        self._is_complete &= self.world.jobs.wait()
        self.tables.observe()

    def end(self) -> Evidence:
        """End every fault, run jobs until they have nothing to report, and collect the evidence."""
        self.rest()
        self.world.loads.wait()
        topics = [*self.topics.live.values(), *self.sinking.topics()]
        every_broker.wait_until(lambda: self._is_whole(topics), "a replica is not in sync, or a transaction is open")
        whole_at = time.monotonic()
        self.tables.prepare_end()
        codes = [self._ingest(), self._last("snapshot", {})]
        self.recovery_s = time.monotonic() - whole_at
        # A topic that was re-created since its restore began has another archive: that would be another restore.
        self.runs.restored = {
            name: one for name, one in self.runs.restored.items() if self.topics.live[name].topic_id == one.topic_id
        }
        codes += [self._last("restore", {}, topic=topic.name) for topic in self.runs.restored.values()]
        if self.tables.retains:  # a run of it that was killed has left something to remove
            self.tables.begin_retention()
            codes.append(self._last("maintain", {}, days_later=RETAINS_AFTER, settings=(f"{RETENTION}=1",)))
            self.tables.observe()
        if self.altering.wanted is not None:
            codes.append(self._last(APPLY, {}, file=self.altering.file()))
        codes += [self._last(SINK, {}, **options) for options in self.sinking.unfinished()]
        self._is_complete &= not any(codes)
        return Collector(self.world, self.topics, self.runs, self.tables, self.altering, self.sinking).evidence(
            is_complete=self._is_complete
        )

    def _ingest(self) -> int:
        """Repair a RESTORE if there was one, then run ingests until there is nothing to report."""
        for _ in range(_LAST_RUNS):
            if way := self.tables.after_restore:
                self.world.jobs.undisturbed("ingest", self.topics.acknowledged(), after_restore=way)
                self.tables.observe()
        return self._last("ingest", self.topics.acknowledged())

    def _last(self, job: str, acknowledged: Mapping[Partition, int], **options: Any) -> int:
        """Run a job until it ends with exit 0; one that a dead run keeps out is waited for, in all longer than the dead run can."""
        code = -1
        for number in range(_LAST_RUNS):
            code = self.world.jobs.undisturbed(job, acknowledged, slot=self.last_slot - number, **options).exit_code
            if code == 0:
                break
            if code == LOCKED:
                time.sleep(_KEPT_OUT_S / _LAST_RUNS)
        return code

    def _is_whole(self, topics: Sequence[LiveTopic]) -> bool:
        """Return True if all replicas are in sync and no transaction is open."""
        reader = self.world.reader
        with suppress(KafkaException):
            described = reader.describe([topic.name for topic in topics]).values()
            in_sync = all(len(one.isr) == len(one.replicas) for topic in described for one in topic.partitions)
            stable = reader.ends(topics, IsolationLevel.READ_COMMITTED)
            is_over = time.monotonic() > self.topics.markers_until
            return is_over and in_sync and stable == reader.ends(topics, IsolationLevel.READ_UNCOMMITTED)
        return False

    def remove_topics(self) -> None:
        """Delete the topics, so that the next history finds an empty cluster."""
        names = [topic.name for topic in self.topics.live.values()]
        names += [*self.altering.names(), *(topic.name for topic in self.sinking.topics())]
        self.topics.delete([*names, *(self.world.place.restored(one.name) for one in self.runs.restored.values())])


VERBS: Mapping[str, Callable[..., None]] = {
    verb: getattr(part, verb)
    for part in (Topics, Runs, Tables, Faults, Altering, Sinking, Player)
    for verb in part.verbs
}
