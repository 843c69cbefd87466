"""Answers ListPartitionReassignments as on ZooKeeper: the controller knows the moves of a fake cluster, other brokers refuse."""

from typing import Any

from kafka_lagoon.protocol.messages import list_partition_reassignments as messages
from tests.fake.cluster import FakeCluster

NOT_CONTROLLER = 41


def _list(state: FakeCluster, node: int, _version: int, _request: Any) -> Any:
    is_controller = state.controller_id == node
    return messages.ListPartitionReassignmentsResponse(
        error_code=0 if is_controller else NOT_CONTROLLER,
        error_message=None,
        topics=state.reassignments if is_controller else (),
    )


ANSWERS = ((messages.LIST_PARTITION_REASSIGNMENTS, _list),)
