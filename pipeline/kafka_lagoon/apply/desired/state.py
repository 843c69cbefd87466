"""Declares the desired state of a cluster: what must be there, what the file is responsible for, and what to do once."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from kafka_lagoon.apply.desired.document import Document, Path
from kafka_lagoon.client.cluster import TopicPartition
from kafka_lagoon.fetch.offset_specs import OffsetSpec
from kafka_lagoon.secret import Secret

DEFAULT = "<default>"  # as Kafka's tools print it
# Sections of configs, by the resource type of their actions.
CONFIG_SECTIONS: Mapping[str, str] = {
    "broker": "broker_configs",
    "group": "group_configs",
    "client_metrics": "client_metrics",
}
# What a file can be responsible for, by the resource types of actions.
OWNED: Mapping[str, str] = {
    "topic": "topics",
    "acl": "principals",
    "scram_user": "principals",
    "group": "groups",
    "quota": "quotas",
    "broker": "brokers",
    "client_metrics": "client_metrics",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DesiredTopic:
    """A topic that must be there. What is None is left as it is, and to the brokers' defaults where it is created."""

    partitions: int | None
    replication_factor: int | None
    assignments: Mapping[int, tuple[int, ...]] | None
    configs: Mapping[str, str]


class Acl(NamedTuple):
    """An access rule, by the names of Kafka's tools."""

    resource_type: str
    resource_name: str
    pattern_type: str
    principal: str
    host: str
    operation: str
    permission: str


class ScramUser(NamedTuple):
    """A user and a mechanism: each user has credentials by mechanism."""

    name: str
    mechanism: str

    def __str__(self) -> str:
        return f"{self.name} {self.mechanism}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Credential:
    """How a user logs in; without a password it can only be compared, not created."""

    iterations: int | None
    password: Secret | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """Partitions by name, and topics with all of their partitions. None of both: wherever the action applies."""

    topics: Sequence[str] = ()
    partitions: Sequence[TopicPartition] = ()

    def __bool__(self) -> bool:
        return bool(self.topics or self.partitions)


@dataclass(frozen=True, slots=True, kw_only=True)
class OneOff:
    """Something to do once; it is planned as long as the cluster shows that it is not done. `path` is where it is written."""

    path: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class ElectLeaders(OneOff):
    """An election of the preferred leaders, or unclean ones where no replica in sync is left."""

    chosen: Chosen
    election: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reassign(OneOff):
    """Replicas by partition."""

    assignments: Mapping[TopicPartition, tuple[int, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class EmptyBroker(OneOff):
    """All replicas of a broker, or those of some topics, are moved to others."""

    broker_id: int
    topics: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelReassignments(OneOff):
    """Moves under way are given up."""

    chosen: Chosen


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveReplicas(OneOff):
    """Replicas on a broker are moved to another of its log directories."""

    chosen: Chosen
    broker_id: int
    log_dir: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeVoter(OneOff):
    """A voter of the metadata quorum (KIP-853); `verb` is add or remove."""

    verb: str
    voter_id: int
    directory_id: str
    listeners: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteRecords(OneOff):
    """Records before an offset."""

    chosen: Chosen
    before: OffsetSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetOffsets(OneOff):
    """Where a group goes on: at an offset, or so many offsets further (`shift`, negative for back)."""

    group_id: str
    chosen: Chosen
    to: OffsetSpec | None
    shift: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteGroup(OneOff):
    """A group with its offsets."""

    group_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AbortTransaction(OneOff):
    """A hanging transaction, by the partition and the offset at which it begins."""

    partition: TopicPartition
    start_offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DesiredState:
    """What a file says. `owns` are patterns of whole names by section; without them nothing is ever deleted or unset."""

    cluster_id: str
    owns: Mapping[str, Sequence[re.Pattern[str]]]
    topics: Mapping[str, DesiredTopic]
    configs: Mapping[str, Mapping[str, Mapping[str, str]]]  # by resource type and name
    acls: Mapping[Acl, Path]
    quotas: Mapping[str, Mapping[str, float]]  # by the entity as a plan names it
    quota_paths: Mapping[str, Path]
    scram_users: Mapping[ScramUser, Credential]
    features: Mapping[str, int]
    actions: Sequence[OneOff]
    document: Document

    def is_owned(self, resource_type: str, name: str) -> bool:
        """Whether the file is responsible for it: what it does not say of it is to be removed."""
        return any(pattern.fullmatch(name) for pattern in self.owns.get(OWNED[resource_type], ()))

    def may_touch(self, resource_type: str, name: str) -> bool:
        """Whether an action may be about it: all that is written, unless patterns say what the file is responsible for."""
        return OWNED[resource_type] not in self.owns or self.is_owned(resource_type, name)

    def fault(self, path: Path, reason: str) -> str:
        """A line about what is wrong with what is written there."""
        return self.document.fault(path, reason)
