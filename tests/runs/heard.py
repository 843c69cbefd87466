"""Progress of a run, recorded."""

from dataclasses import dataclass, field


@dataclass
class Heard:
    """Records the progress that a run reports."""

    cluster_id: str | None = None
    restore_id: str | None = None
    steps: list[str] = field(default_factory=list)
    counts: list[tuple[int, ...]] = field(default_factory=list)

    def connected(self, cluster_id: str | None) -> None:
        """Record the id of the cluster."""
        self.cluster_id = cluster_id

    def begun(self, restore_id: str) -> None:
        """Record the id of the restore."""
        self.restore_id = restore_id

    def step(self, name: str, _: int) -> None:
        """Record that a step has begun."""
        self.steps.append(name)

    def advanced(self, *counts: int) -> None:
        """Record the progress of a step."""
        self.counts.append(counts)
