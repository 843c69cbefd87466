"""Declares what a desired state may say: a class for each section, entry and one-time action, with its fields.

Keys that are not declared are faults. Fields are read in the order in which they are declared, because later ones depend
on `owns` and `principal_types`.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, Literal, get_args

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    ValidationInfo,
    field_validator,
    model_validator,
)

from kafka_lagoon.apply.desired.document import Path
from kafka_lagoon.apply.desired.fields import (
    Assignments,
    BrokerId,
    BrokerName,
    ByteRate,
    Configs,
    DirectoryId,
    GroupName,
    Level,
    Limit,
    Listener,
    Mechanism,
    Offset,
    OffsetSpec,
    Operation,
    Partition,
    PartitionCount,
    Partitions,
    Password,
    Patterns,
    Principal,
    Replicas,
    ReplicationFactor,
    Shift,
    SubscriptionName,
    Text,
    Texts,
    TopicName,
    UserName,
)
from kafka_lagoon.apply.desired.resources import OWNED, PATTERN_TYPES, PERMISSIONS, RESOURCE_TYPES, Acl, limits_of
from kafka_lagoon.apply.desired.validators import at_next, one_of, reading_of
from kafka_lagoon.apply.kinds.names import DEFAULT, quota_entity, quota_name
from kafka_lagoon.protocol.acls import CLUSTER_NAME, WILDCARD
from kafka_lagoon.protocol.messages.alter_user_scram_credentials import FEWEST_ITERATIONS, MOST_ITERATIONS


class Section(BaseModel):
    """A table with the declared keys."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class Entry(Section):
    """An entry of a list; `path` is its place."""

    _path: Path = PrivateAttr(())

    def model_post_init(self, context: Any, /) -> None:
        """Keep the place."""
        self._path = context.path

    @property
    def path(self) -> Path:
        """The position in the document."""
        return self._path


class Ownership(Section):
    """Patterns of whole names: a resource that they match and the file does not describe is removed."""

    topics: Patterns | None = None
    principals: Patterns | None = None
    groups: Patterns | None = None
    quotas: Patterns | None = None
    brokers: Patterns | None = None
    client_metrics: Patterns | None = None

    def patterns(self, resource_type: str) -> Sequence[re.Pattern[str]] | None:
        """The patterns for resources of a type."""
        owned: Sequence[re.Pattern[str]] | None = getattr(self, OWNED[resource_type])
        return owned

    def is_owned(self, resource_type: str, name: str) -> bool:
        """True if the resource is removed when the file does not describe it."""
        return any(pattern.fullmatch(name) for pattern in self.patterns(resource_type) or ())

    def may_touch(self, resource_type: str, name: str) -> bool:
        """True if an action may be about the resource: any resource, unless patterns say what the file owns."""
        return self.patterns(resource_type) is None or self.is_owned(resource_type, name)


class TopicDefaults(Section):
    """Values for topics that do not have their own."""

    partitions: PartitionCount | None = None
    replication_factor: ReplicationFactor | None = None
    configs: Configs = {}


class DesiredTopic(TopicDefaults):
    """A topic that must exist. A value of None is left as it is; a new topic gets the brokers' default."""

    assignments: Assignments | None = None

    @model_validator(mode="after")
    def _agrees(self) -> "DesiredTopic":
        if self.assignments:
            partitions, factor = len(self.assignments), len(self.assignments[0])
            if self.partitions not in (None, partitions) or self.replication_factor not in (None, factor):
                raise ValueError(
                    f"assignments has {partitions} partitions of {factor} replicas, and another number is written"
                )
        return self

    def completed(self, defaults: TopicDefaults) -> "DesiredTopic":
        """The topic with the numbers of its assignments, or else with the defaults for what it does not say."""
        partitions = self.partitions or defaults.partitions
        factor = self.replication_factor or defaults.replication_factor
        if self.assignments:
            partitions, factor = len(self.assignments), len(self.assignments[0])
        configs = {**defaults.configs, **self.configs}
        return self.model_copy(update={"partitions": partitions, "replication_factor": factor, "configs": configs})


class Defaults(Section):
    """Values for resources that do not have their own."""

    topics: TopicDefaults = TopicDefaults()


class AclEntry(Entry):
    """Rules, one for each operation."""

    permission: Annotated[Text, one_of(PERMISSIONS)] = "ALLOW"
    principal: Principal
    operations: Annotated[list[Operation], Field(min_length=1)] | None = None
    operation: Operation | None = None
    resource_type: Annotated[Text, one_of(RESOURCE_TYPES)]
    resource_name: Text | None = None
    pattern_type: Annotated[Text, one_of(PATTERN_TYPES)] = "LITERAL"
    host: Text = WILDCARD

    @model_validator(mode="after")
    def _is_a_rule(self, info: ValidationInfo) -> "AclEntry":
        if (self.operation is None) == (self.operations is None):
            raise ValueError("needs either operation or operations")
        if self.resource_type != "CLUSTER" and self.resource_name is None:
            raise ValueError("resource_name is missing")
        if self.resource_type == "CLUSTER" and self.resource_name not in (None, CLUSTER_NAME):
            raise ValueError(f"a cluster has the one resource_name {CLUSTER_NAME}")
        for rule in self.rules():
            reading_of(info).check_first(rule, rule.operation)
        return self

    def rules(self) -> list[Acl]:
        """The rule of each operation."""
        operations = self.operations or [self.operation or ""]
        name = self.resource_name or CLUSTER_NAME
        return [
            Acl(self.resource_type, name, self.pattern_type, self.principal, self.host, operation, self.permission)
            for operation in operations
        ]


class QuotaEntry(Entry):
    """Limits of a user, a client, a client of a user, or an address."""

    user: Text | None = None
    client_id: Text | None = None
    ip: Text | None = None
    producer_byte_rate: ByteRate | None = None
    consumer_byte_rate: ByteRate | None = None
    request_percentage: Limit | None = None
    controller_mutation_rate: Limit | None = None
    connection_creation_rate: Limit | None = None

    @model_validator(mode="after")
    def _is_an_entity(self, info: ValidationInfo) -> "QuotaEntry":
        parts = self._parts()
        if not parts or (self.ip and len(parts) > 1):
            raise ValueError("needs user, client_id, or both, or ip alone")
        others = sorted(self.model_fields_set - {"user", "client_id", "ip", *limits_of(parts)})
        if others:
            raise ValueError(f"cannot limit {', '.join(others)}, but {', '.join(limits_of(parts))}")
        reading_of(info).check_first(self.entity, self.entity)
        reading_of(info).check_owned("quota", self.entity)
        return self

    def _parts(self) -> dict[str, str]:
        parts = {"user": self.user, "client-id": self.client_id, "ip": self.ip}
        return {kind: name for kind, name in parts.items() if name is not None}

    @property
    def entity(self) -> str:
        """The entity as a plan names it."""
        parts = self._parts()
        return quota_name(quota_entity({kind: None if name == DEFAULT else name for kind, name in parts.items()}))

    def limits(self) -> dict[str, float]:
        """The limits that are written, by Kafka's names."""
        values = ((key, getattr(self, key)) for key in limits_of(self._parts()))
        return {key: value for key, value in values if value is not None}


class Credential(Section):
    """The credential of a user; without a password it can be compared, but not created."""

    iterations: Annotated[int, Field(ge=FEWEST_ITERATIONS, le=MOST_ITERATIONS)] | None = None
    password: Password | None = None


class OneOff(Entry):
    """A one-time action; it is planned until the cluster shows that it is done, and again when the cluster has moved on."""


class OfPartitions(OneOff):
    """An action on partitions by name, and on topics with all of their partitions. Without both: wherever it applies."""

    topics: Texts = []
    partitions: Partitions = []


class OfChosenPartitions(OfPartitions):
    """An action that names what it is about."""

    @model_validator(mode="after")
    def _has_partitions(self) -> "OfChosenPartitions":
        if not (self.topics or self.partitions):
            raise ValueError("topics or partitions is missing")
        return self


class ElectLeaders(OfPartitions):
    """An election of the preferred leaders, or unclean ones where no replica in sync is left."""

    action: Literal["elect_leaders"]
    election: Literal["preferred", "unclean"] = "preferred"

    @model_validator(mode="after")
    def _names_unclean(self) -> "ElectLeaders":
        if self.election == "unclean" and not (self.topics or self.partitions):
            raise ValueError("an unclean election needs topics or partitions")
        return self


class Reassign(OneOff):
    """Replicas by partition."""

    action: Literal["reassign_partitions"]
    assignments: Annotated[dict[Partition, Replicas], Field(min_length=1)]


class EmptyBroker(OneOff):
    """Move all replicas of a broker, or those of the given topics, to other brokers."""

    action: Literal["empty_broker"]
    broker: BrokerId
    topics: Texts = []

    @cached_property  # each topic of the cluster is looked up in it
    def topic_names(self) -> frozenset[str]:
        """The topics, to be looked up."""
        return frozenset(self.topics)


class CancelReassignments(OfPartitions):
    """Cancel moves that are under way."""

    action: Literal["cancel_reassignments"]


class MoveReplicas(OfChosenPartitions):
    """Move replicas on a broker to another of its log directories."""

    action: Literal["move_replicas"]
    broker: BrokerId
    log_dir: Text


class AddVoter(OneOff):
    """Add a voter to the metadata quorum (KIP-853)."""

    action: Literal["add_voter"]
    voter: BrokerId
    directory_id: DirectoryId
    listeners: Annotated[list[Listener], Field(min_length=1)]


class RemoveVoter(OneOff):
    """Remove a voter from the metadata quorum."""

    action: Literal["remove_voter"]
    voter: BrokerId
    directory_id: DirectoryId


class DeleteRecords(OfChosenPartitions):
    """Delete the records before an offset."""

    action: Literal["delete_records"]
    before: OffsetSpec


class ResetOffsets(OfChosenPartitions):
    """Set a group's offsets: to an offset, or by a number of offsets, negative for back.

    A shift is planned every time, and any other reset again once the group has committed another offset.
    """

    action: Literal["reset_offsets"]
    group: Text
    to: OffsetSpec | None = None
    shift: Shift | None = None

    @model_validator(mode="after")
    def _has_a_target(self) -> "ResetOffsets":
        if (self.to is None) == (self.shift is None):
            raise ValueError("needs either to or shift")
        return self


class DeleteGroup(OneOff):
    """Delete a group with its offsets."""

    action: Literal["delete_group"]
    group: Text


class AbortTransaction(OneOff):
    """Abort a hanging transaction, by the partition and the offset at which it begins."""

    action: Literal["abort_transaction"]
    partition: Partition
    start_offset: Offset


AnyOneOff = (
    ElectLeaders
    | Reassign
    | EmptyBroker
    | CancelReassignments
    | MoveReplicas
    | AddVoter
    | RemoveVoter
    | DeleteRecords
    | ResetOffsets
    | DeleteGroup
    | AbortTransaction
)
ACTIONS: Mapping[str, type[OneOff]] = {
    get_args(one.model_fields["action"].annotation)[0]: one for one in get_args(AnyOneOff)
}


class Sections(Section):
    """A whole file."""

    cluster_id: Text
    owns: Ownership = Ownership()
    principal_types: list[Text] = []
    defaults: Defaults = Defaults()
    topics: dict[TopicName, DesiredTopic] = {}
    broker_configs: dict[BrokerName, Configs] = {}
    group_configs: dict[GroupName, Configs] = {}
    client_metrics: dict[SubscriptionName, Configs] = {}
    acls: list[Annotated[AclEntry, BeforeValidator(at_next)]] = []
    quotas: list[Annotated[QuotaEntry, BeforeValidator(at_next)]] = []
    scram_users: dict[UserName, dict[Mechanism, Credential]] = {}
    features: dict[str, Level] = {}
    actions: list[Annotated[AnyOneOff, Field(discriminator="action"), BeforeValidator(at_next)]] = []

    @field_validator("owns")
    @classmethod
    def _tell_owned(cls, owns: Ownership, info: ValidationInfo) -> Ownership:
        reading_of(info).may_touch = owns.may_touch
        return owns

    @field_validator("principal_types")
    @classmethod
    def _tell_types(cls, types: list[str], info: ValidationInfo) -> list[str]:
        reading_of(info).principal_types += types
        return types
