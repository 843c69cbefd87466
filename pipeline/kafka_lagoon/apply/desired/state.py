"""Declares the desired state of a cluster: the resources that it must have, those that the file owns, and one-time actions."""

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
# Sections of `owns`, by the resource types of actions.
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
    """A topic that must exist. A value of None is left as it is; a new topic gets the brokers' default."""

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
    """The credential of a user; without a password it can be compared, but not created."""

    iterations: int | None
    password: Secret | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """Partitions by name, and topics with all of their partitions. If both are empty: wherever the action applies."""

    topics: Sequence[str] = ()
    partitions: Sequence[TopicPartition] = ()

    def __bool__(self) -> bool:
        return bool(self.topics or self.partitions)


@dataclass(frozen=True, slots=True, kw_only=True)
class OneOff:
    """A one-time action; it is planned until the cluster shows that it is done. `path` is its place in the file."""

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
    """Move all replicas of a broker, or those of the given topics, to other brokers."""

    broker_id: int
    topics: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelReassignments(OneOff):
    """Cancel moves that are under way."""

    chosen: Chosen


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveReplicas(OneOff):
    """Move replicas on a broker to another of its log directories."""

    chosen: Chosen
    broker_id: int
    log_dir: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeVoter(OneOff):
    """Add or remove (`verb`) a voter of the metadata quorum (KIP-853)."""

    verb: str
    voter_id: int
    directory_id: str
    listeners: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteRecords(OneOff):
    """Delete the records before an offset."""

    chosen: Chosen
    before: OffsetSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetOffsets(OneOff):
    """Set a group's offsets: to an offset, or by `shift` offsets (negative for back)."""

    group_id: str
    chosen: Chosen
    to: OffsetSpec | None
    shift: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteGroup(OneOff):
    """Delete a group with its offsets."""

    group_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AbortTransaction(OneOff):
    """Abort a hanging transaction, by the partition and the offset at which it begins."""

    partition: TopicPartition
    start_offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DesiredState:
    """The content of a file. `owns` are patterns of whole names by section; without them nothing is ever deleted or unset."""

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
        """True if the file owns the resource: it is removed if the file does not describe it."""
        return any(pattern.fullmatch(name) for pattern in self.owns.get(OWNED[resource_type], ()))

    def may_touch(self, resource_type: str, name: str) -> bool:
        """True if an action may be about the resource: any resource, unless patterns say what the file owns."""
        return OWNED[resource_type] not in self.owns or self.is_owned(resource_type, name)

    def fault(self, path: Path, reason: str) -> str:
        """A message about a faulty value."""
        return self.document.fault(path, reason)
