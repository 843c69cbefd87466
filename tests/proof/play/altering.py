"""Alterations of a history: files of desired state about topics of their own, and changes to these by somebody else."""

import time
from collections.abc import Sequence
from typing import ClassVar

from tests.proof.alterations import CONFIG
from tests.proof.evidence import Alteration, TopicState
from tests.proof.play.world import World

APPLY = "apply"


class Altering:
    """Runs of `apply`; no ingest and no snapshot reads the topics that they are about."""

    verbs: ClassVar = ("apply", "drift")

    def __init__(self, world: World) -> None:
        self._world = world
        self.prefix = f"applied-{world.prefix}"
        self.wanted: dict[str, TopicState] | None = None  # by the last file
        self.drifts: list[Alteration] = []
        self._files = 0

    def apply(self, topics: str, by: str = "lagoon") -> None:
        """Start a run that makes the topics what `NAME:PARTITIONS:BYTES,...` says, and deletes all others of this prefix."""
        self.wanted = dict(map(self._named, topics.split(",")))
        self._world.jobs.start(APPLY, {}, by, "local", file=self.file())

    def _named(self, text: str) -> tuple[str, TopicState]:
        name, partitions, limit = text.split(":")
        return f"{self.prefix}{name}", TopicState(int(partitions), limit if int(limit) else None)

    def file(self) -> str:
        """Write the last desired state into a file of its own."""
        assert self.wanted is not None
        self._files += 1
        path = self._world.place.folder / f"desired-{self._files}.toml"
        lines = [f'cluster_id = "{self._world.cluster_id}"', "[owns]", f'topics = ["{self.prefix}.*"]']
        for name, state in self.wanted.items():
            lines += [f"[topics.{name}]", f"partitions = {state.partitions}", "replication_factor = 3"]
            lines += [f'configs = {{ "{CONFIG}" = {state.max_message_bytes} }}'] if state.max_message_bytes else []
        path.write_text("\n".join(lines) + "\n", "utf-8")
        return str(path)

    def drift(self, topic: str, limit: int) -> None:
        """Set a config of an applied topic, unless a run may alter it at the same time."""
        name = f"{self.prefix}{topic}"
        if self._world.jobs.is_running(APPLY) or self._world.brokers.down:
            return
        if name in self._world.reader.applied(self.prefix):
            self._world.alter(name, CONFIG, str(limit))
            self.drifts.append(
                Alteration(
                    run_id="",
                    at_ms=time.time_ns() // 1_000_000,
                    kind="alter_configs",
                    topic=name,
                    after={CONFIG: str(limit)},
                    outcome="done",
                )
            )
            self._world.happened["drifts"] += 1

    def names(self) -> Sequence[str]:
        """Return the topics of this prefix that exist."""
        listed = self._world.admin.list_topics(timeout=30).topics
        return [name for name in listed if name.startswith(self.prefix)]
