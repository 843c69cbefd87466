"""Declares the request of a restore."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from kafka_lagoon.frozen import frozen


@frozen
class RestoreRequest:
    """The arguments of `lagoon restore`. Names of clusters are those of the settings; `from_cluster` may be Kafka's id of it.

    `condition` is SQL over the columns of `records`. `partitions`, `renames` and `topic_ids` are by source topic. `at_ms`
    chooses the snapshot for configs, ACLs and offsets; None is the newest. `pattern` is a regular expression for whole names of
    archived topics, beside those of `topics`: the ones that it matches when the restore begins.
    """

    from_cluster: str
    to_cluster: str
    topics: Sequence[str] = ()
    pattern: str | None = None
    partitions: Mapping[str, Sequence[int]] = field(default_factory=dict)
    renames: Mapping[str, str] = field(default_factory=dict)
    topic_ids: Mapping[str, str] = field(default_factory=dict)
    condition: str | None = None
    at_ms: int | None = None
    with_configs: bool = False
    with_acls: bool = False
    with_offsets: bool = False
    replication_factor: int | None = None
    is_transactional: bool = False
    into_existing: bool = False
    accept_changes: bool = False
    is_new: bool = False
    is_dry_run: bool = False

    def target_of(self, topic: str) -> str:
        """The name of a topic in the target."""
        return self.renames.get(topic, topic)

    def is_chosen(self, topic: str, partition: int) -> bool:
        """True unless `partitions` leaves this partition out."""
        return topic not in self.partitions or partition in self.partitions[topic]

    def same_targets(self, topics: Sequence[str]) -> list[str]:
        """List a fault for each name in the target that several of these topics would get."""
        sources: dict[str, list[str]] = {}
        for topic in dict.fromkeys(topics):
            sources.setdefault(self.target_of(topic), []).append(topic)
        return [
            f"--rename: several topics would become {name}: {', '.join(several)}"
            for name, several in sources.items()
            if len(several) > 1
        ]

    def identity(self) -> Mapping[str, Any]:
        """The arguments that decide which records are written where.

        Runs with equal identity continue an unfinished restore.
        """
        return {
            "from_cluster": self.from_cluster,
            "topics": sorted(self.topics),
            "partitions": {topic: sorted(numbers) for topic, numbers in self.partitions.items()},
            "renames": dict(self.renames),
            "topic_ids": dict(self.topic_ids),
            "condition": self.condition,
            "is_transactional": self.is_transactional,
            **({} if self.pattern is None else {"pattern": self.pattern}),  # earlier restores have no such argument
        }
