"""Progress of a run, written down."""

from dataclasses import dataclass, field


@dataclass
class Heard:
    """The reports of a run so far."""

    cluster_id: str | None = None
    steps: list[str] = field(default_factory=list)
    counts: list[tuple[int, ...]] = field(default_factory=list)

    def connected(self, cluster_id: str | None) -> None:
        """The cluster has answered."""
        self.cluster_id = cluster_id

    def step(self, name: str, _: int) -> None:
        """A step begins."""
        self.steps.append(name)

    def advanced(self, *counts: int) -> None:
        """Some of a step is done."""
        self.counts.append(counts)
