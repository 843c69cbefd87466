"""The jobs that a history starts, kills and freezes."""

import signal
from typing import ClassVar

from tests.proof.load import LiveTopic
from tests.proof.play.topics import Topics
from tests.proof.play.world import World


class Runs:
    """Runs of jobs in the background; `restored` are the topics that restores have written, as they were then."""

    verbs: ClassVar = ("ingest", "snapshot", "maintain", "restore", "kill", "freeze", "jobs_end")

    def __init__(self, world: World, topics: Topics) -> None:
        self._world, self._topics = world, topics
        self.restored: dict[str, LiveTopic] = {}

    def ingest(
        self,
        by: str = "lagoon",
        master: str = "local",
        fetch_kb: int = 8192,
        task_mb: int = 256,
        by_executors: int = 1,
    ) -> None:
        """Start an ingest that reads on Spark's executors, or in the process of its driver."""
        options = {"fetch_kb": fetch_kb, "task_mb": task_mb, "by_executors": by_executors}
        self._world.jobs.start("ingest", self._topics.acknowledged(), by, master, **options)

    def snapshot(self, slot: int, by: str = "lagoon") -> None:
        """Start a snapshot."""
        self._world.jobs.start("snapshot", {}, by, "local", slot=slot)

    def maintain(self, keep_hours: int = 168, by: str = "lagoon") -> None:
        """Start maintenance; it keeps no old files only if nothing else runs."""
        jobs = self._world.jobs
        if self._world.place.lake.exists("records") and not (keep_hours == 0 and jobs.is_running()):
            jobs.start("maintain", {}, by, "local", keep_hours=keep_hours)

    def restore(self, topic: str, by: str = "lagoon", master: str = "local", by_executors: int = 1) -> None:
        """Start a restore into another topic; its producer writes what the archive has when it begins."""
        live = self._topics.live
        if topic in live and live[topic].kind not in ("unclean", "short"):
            self.restored.setdefault(topic, live[topic])
            self._world.jobs.start("restore", {}, by, master, topic=live[topic].name, by_executors=by_executors)

    def kill(self, job: str, whom: str, step: str, ms: int) -> None:
        """Kill processes of a job, some time after it began a step."""
        if self._world.jobs.signalled(job, whom, signal.SIGKILL, step, ms, self._world.chance):
            self._world.happened[f"{job}: {whom} killed"] += 1

    def freeze(self, job: str, whom: str, step: str, ms: int) -> None:
        """Stop processes of a job until the round ends."""
        if self._world.jobs.signalled(job, whom, signal.SIGSTOP, step, ms, self._world.chance):
            self._world.happened[f"{job}: {whom} frozen"] += 1

    def jobs_end(self, seconds: int) -> None:
        """Wait until no job runs, or so long, while faults go on."""
        self._world.jobs.wait_beside_faults(seconds)
