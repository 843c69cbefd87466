"""An item in, the broker that answers for it out: partitions, groups, brokers, and what only the controller does.

Guards one rule: how a stale answer is looked up again stands beside how it was found.
"""

from collections.abc import Hashable, Sequence
from typing import Protocol, TypeVar

from kafka_lagoon.client.cluster import Cluster, TopicPartition
from kafka_lagoon.client.failures import Scope
from kafka_lagoon.clock import Deadline
from kafka_lagoon.protocol.error_codes import (
    BROKER_NOT_AVAILABLE,
    COORDINATOR_NOT_AVAILABLE,
    LEADER_NOT_AVAILABLE,
    NOT_CONTROLLER,
)
from kafka_lagoon.protocol.messages.find_coordinator import GROUP, TRANSACTION

J = TypeVar("J", contravariant=True)


class Route(Protocol[J]):
    """Knows which broker answers for an item, and finds out anew when it was wrong."""

    unroutable_code: int  # the error of an item that no broker answers for
    unroutable_rounds: int  # how often such an item is looked up again before that is its answer

    def node_of(self, item: J) -> int | None:
        """The broker to ask about the item."""

    def scope_of(self, item: J) -> Scope:
        """What a failure of the item is about."""

    def refresh(self, items: Sequence[J], deadline: Deadline) -> None:
        """Look up these items' brokers again."""


class ByLeader:
    """Partitions are answered for by their leaders."""

    unroutable_code, unroutable_rounds = LEADER_NOT_AVAILABLE, 3

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.node_of = cluster.leader_of

    def scope_of(self, item: TopicPartition) -> Scope:
        """The partition."""
        return Scope.of_partition(item.topic, item.partition)

    def refresh(self, items: Sequence[TopicPartition], deadline: Deadline) -> None:
        """Ask for the metadata of these partitions' topics."""
        self._cluster.refresh({item.topic for item in items}, deadline)


class ByCoordinator:
    """Groups, transactional ids and shares are answered for by their coordinators, until those have moved."""

    unroutable_code, unroutable_rounds = COORDINATOR_NOT_AVAILABLE, 1 << 30

    def __init__(self, cluster: Cluster, key_type: int = GROUP) -> None:
        self._cluster, self._key_type = cluster, key_type

    def node_of(self, item: str) -> int | None:
        """The coordinator as last heard."""
        node_id = self._cluster.coordinator_of(item, self._key_type)
        return node_id if node_id in self._cluster.brokers else None

    def scope_of(self, item: str) -> Scope:
        """The group or the transactional id."""
        return Scope.transaction(item) if self._key_type == TRANSACTION else Scope.group(item)

    def refresh(self, items: Sequence[str], deadline: Deadline) -> None:
        """Ask any broker who coordinates these now; the brokers' addresses may be news too."""
        self._cluster.refresh((), deadline)
        self._cluster.find_coordinators(items, deadline, self._key_type)


class ByController:
    """What changes a cluster is asked of its controller; under KRaft any broker passes it on (KIP-590)."""

    unroutable_code, unroutable_rounds = NOT_CONTROLLER, 1 << 30

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def node_of(self, item: Hashable) -> int | None:  # noqa: ARG002  one broker for all
        """The controller as last heard."""
        node_id = self._cluster.controller_id
        return node_id if node_id in self._cluster.brokers else None

    def scope_of(self, item: Hashable) -> Scope:  # noqa: ARG002
        """The cluster."""
        return Scope.cluster()

    def refresh(self, items: Sequence[Hashable], deadline: Deadline) -> None:  # noqa: ARG002
        """Ask who the controller is now."""
        self._cluster.refresh((), deadline)


class ByBroker:
    """Brokers answer for themselves."""

    unroutable_code, unroutable_rounds = BROKER_NOT_AVAILABLE, 0

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def node_of(self, item: int) -> int | None:
        """The broker itself, while the cluster knows it."""
        return item if item in self._cluster.brokers else None

    def scope_of(self, item: int) -> Scope:
        """The broker."""
        return Scope.broker(item)

    def refresh(self, items: Sequence[int], deadline: Deadline) -> None:  # noqa: ARG002  brokers are all one question
        """Ask for the brokers that are there now."""
        self._cluster.refresh((), deadline)
