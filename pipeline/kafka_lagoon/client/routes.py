"""Routes requests: which broker answers for a partition, a group, a broker, or a change of the cluster.

An API alone does not decide that: DescribeConfigs goes to any broker except for a broker's own settings. So the caller of
`gather` passes a route (`Route` in client/routing.py).
"""

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from typing import Any

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure, Scope, failure_of
from kafka_lagoon.clock import Deadline
from kafka_lagoon.protocol.error_codes import (
    BROKER_NOT_AVAILABLE,
    COORDINATOR_NOT_AVAILABLE,
    LEADER_NOT_AVAILABLE,
    NOT_CONTROLLER,
    error_code,
)
from kafka_lagoon.protocol.messages.find_coordinator import FIND_COORDINATOR, GROUP, TRANSACTION
from kafka_lagoon.topic_partition import TopicPartition

_NAMES = 8  # most answers in a row about the controller: brokers on ZooKeeper go on naming one that fails


class ByLeader:
    """Routes to the leaders of partitions."""

    unroutable_code, unroutable_rounds = LEADER_NOT_AVAILABLE, 3

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.node_of = cluster.leader_of

    def scope_of(self, item: TopicPartition) -> Scope:
        """The partition."""
        return Scope.of_partition(item.topic, item.partition)

    def refresh(self, items: Sequence[TopicPartition], deadline: Deadline) -> Mapping[Any, Failure]:
        """Ask for the metadata of these partitions' topics."""
        self._cluster.refresh_elsewhere({item.topic for item in items}, deadline)
        return {}


class ByCoordinator:
    """Routes to the coordinators of groups, transactional ids or shares."""

    unroutable_code, unroutable_rounds = COORDINATOR_NOT_AVAILABLE, 1 << 30

    def __init__(self, cluster: Cluster, key_type: int = GROUP) -> None:
        self._cluster, self._key_type = cluster, key_type

    def node_of(self, item: str) -> int | None:
        """The last known coordinator."""
        node_id = self._cluster.coordinator_of(item, self._key_type)
        return node_id if node_id in self._cluster.brokers else None

    def scope_of(self, item: str) -> Scope:
        """The group or the transactional id."""
        return self._scope_of_key(item)

    def refresh(self, items: Sequence[str], deadline: Deadline) -> Mapping[Any, Failure]:
        """Ask another broker than last time for the brokers, whose addresses may have changed, and for the coordinators.

        Refused for good are ids without permission, for example, and ids that brokers do not allow.
        """
        asked_before = {self._cluster.answered_by}
        self._cluster.refresh((), deadline, asked_before)
        return self._refused(self._cluster.find_coordinators(items, deadline, self._key_type, asked_before))

    def find_unknown(self, keys: Collection[str], deadline: Deadline) -> Mapping[str, Failure]:
        """Ask for coordinators that are not known yet, for a request that need not wait for its first retry then.

        Returns the ids that are refused for good, which are left out of the request: it would ask for them again.
        """
        unknown = [key for key in keys if self._cluster.coordinator_of(key, self._key_type) is None]
        return self._refused(self._cluster.find_coordinators(unknown, deadline, self._key_type)) if unknown else {}

    def _refused(self, codes: Mapping[str, int]) -> Mapping[str, Failure]:
        return {
            key: failure_of(FIND_COORDINATOR, self._scope_of_key(key), code)
            for key, code in codes.items()
            if not error_code(code).retriable
        }

    def _scope_of_key(self, key: str) -> Scope:
        return Scope.transaction(key) if self._key_type == TRANSACTION else Scope.group(key)


class ByAny:
    """Routes to one broker where all would answer alike, and to another broker after it fails.

    `scope` says what a failure of an item is about.
    """

    unroutable_code, unroutable_rounds = BROKER_NOT_AVAILABLE, 3

    def __init__(self, cluster: Cluster, scope: Callable[[Any], Scope]) -> None:
        self._cluster = cluster
        self.scope_of = scope
        self._node_id: int | None = None
        self._node_id = self._chosen()

    def node_of(self, item: Hashable) -> int | None:  # noqa: ARG002  the same for all
        """The broker that was chosen."""
        return self._node_id

    def refresh(self, items: Sequence[Hashable], deadline: Deadline) -> Mapping[Any, Failure]:  # noqa: ARG002
        """Ask for the brokers, and choose again."""
        self._cluster.refresh((), deadline)
        self._node_id = self._chosen()
        return {}

    def _chosen(self) -> int | None:
        """The next broker that did not fail last time, or else the next one: the same broker may not know an item yet."""
        brokers, unreachable, before = self._cluster.brokers, self._cluster.unreachable, self._node_id

        def rank(node_id: int) -> tuple[bool | int, ...]:
            is_behind = before is not None and node_id < before
            broker = brokers[node_id]
            return broker.address in unreachable, broker.failing, node_id == before, is_behind, node_id

        return min(brokers, key=rank, default=None)


class ByController:
    """Routes to the controller, which changes the cluster; under KRaft any broker forwards to it (KIP-590).

    `scope` says what a failure of an item is about; without it, about the cluster.
    """

    unroutable_code, unroutable_rounds = NOT_CONTROLLER, 1 << 30

    def __init__(self, cluster: Cluster, scope: Callable[[Any], Scope] = lambda _: Scope.cluster()) -> None:
        self._cluster = cluster
        self.scope_of = scope

    def node_of(self, item: Hashable) -> int | None:  # noqa: ARG002  the same for all
        """The last known controller."""
        node_id = self._cluster.controller_id
        return node_id if node_id in self._cluster.brokers else None

    def refresh(self, items: Sequence[Hashable], deadline: Deadline) -> Mapping[Any, Failure]:  # noqa: ARG002
        """Ask for the controller, and again if that broker failed last time: under KRaft each answer names any broker."""
        for _ in range(_NAMES):
            self._cluster.refresh_elsewhere((), deadline)
            node_id = self._cluster.controller_id
            if node_id not in self._cluster.brokers or not self._cluster.brokers[node_id].failing:
                break
        return {}


class ByBroker:
    """Routes to each broker, about itself."""

    unroutable_code, unroutable_rounds = BROKER_NOT_AVAILABLE, 0

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def node_of(self, item: int) -> int | None:
        """The broker itself, while it is in the metadata."""
        return item if item in self._cluster.brokers else None

    def scope_of(self, item: int) -> Scope:
        """The broker."""
        return Scope.broker(item)

    def refresh(self, items: Sequence[int], deadline: Deadline) -> Mapping[Any, Failure]:  # noqa: ARG002  one request for all
        """Ask for the brokers that exist now."""
        self._cluster.refresh((), deadline)
        return {}
