"""Aborts hanging transactions, and fences producers.

- `abort_transaction`, resource `open_transaction`, named `TOPIC-PARTITION producer ID`: {producer_epoch, start_offset,
  coordinator_epoch} -> None. It writes the marker that no coordinator will write; what the transaction wrote is never
  returned to readers of committed records.
- `fence_producer`, resource `transactional_id`: {producer_id, transaction_timeout_ms} -> {"fenced": true}. The coordinator
  aborts what is open and refuses whoever had the id. Epochs are left out: a producer that works has a new one with each
  transaction.
"""

from collections.abc import Mapping, Sequence

from kafka_lagoon.admin.transactions import (
    GONE,
    OpenTransaction,
    abort_transactions,
    describe_producers,
    describe_transactions,
    fence_producers,
    list_transactions,
)
from kafka_lagoon.apply.action import Action, ActionKind, Answered, Resource, State, never
from kafka_lagoon.apply.kinds.names import parse_partition
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure, Scope, failure_of
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import PipelineError
from kafka_lagoon.protocol.messages.describe_producers import NO_TRANSACTION, ProducerState
from kafka_lagoon.protocol.messages.describe_transactions import DescribedTransaction
from kafka_lagoon.protocol.messages.metadata import METADATA
from kafka_lagoon.topic_partition import TopicPartition

_PRODUCER = " producer "


def transaction_resource(partition: TopicPartition, producer_id: int) -> Resource:
    """A producer's transaction in a partition."""
    return Resource("open_transaction", f"{partition}{_PRODUCER}{producer_id}")


def parse_transaction(name: str) -> tuple[TopicPartition, int]:
    """Partition and producer id of a resource's name; ValueError if one is missing."""
    partition, _, producer_id = name.rpartition(_PRODUCER)
    return parse_partition(partition), int(producer_id)


def transaction_state(producer: ProducerState) -> State:
    """The state of a producer's open transaction; None if it has none."""
    if producer.current_txn_start_offset == NO_TRANSACTION:
        return None
    return {
        "producer_epoch": producer.producer_epoch,
        "start_offset": producer.current_txn_start_offset,
        "coordinator_epoch": producer.coordinator_epoch,
    }


def abort_transaction(partition: TopicPartition, producer: ProducerState, source: str | None = None) -> Action:
    """The action that aborts a producer's open transaction in a partition."""
    resource = transaction_resource(partition, producer.producer_id)
    before = transaction_state(producer)
    return Action(kind="abort_transaction", resource=resource, before=before, after=None, source=source)


def fence_producer(transactional_id: str, before: State) -> Action:
    """The action that fences the producers with a transactional id."""
    resource = Resource("transactional_id", transactional_id)
    return Action(kind="fence_producer", resource=resource, before=before, after={"fenced": True})


def read_open_transactions(
    cluster: Cluster, partitions: Sequence[TopicPartition], deadline: Deadline
) -> tuple[dict[Resource, State], dict[TopicPartition, Failure]]:
    """Read every open transaction of these partitions; failures of the others."""
    try:
        cluster.refresh({partition.topic for partition in partitions}, deadline)
    except PipelineError as error:
        return {}, {one: failure_of(METADATA, Scope.of_partition(*one), error) for one in partitions}
    producers = describe_producers(cluster, partitions, deadline)
    states = {
        transaction_resource(partition, producer.producer_id): transaction_state(producer)
        for partition, answer in producers.answers.items()
        for producer in answer.active_producers
    }
    return states, dict(producers.failures)


def read_transactional_ids(
    cluster: Cluster, transactional_ids: Sequence[str], deadline: Deadline
) -> Mapping[str, State | Failure]:
    """The producers of transactional ids; None for an id that no coordinator lists."""
    listings = list_transactions(cluster, deadline)
    listed = {one.transactional_id for answer in listings.answers.values() for one in answer.transaction_states}
    described = describe_transactions(cluster, [one for one in transactional_ids if one in listed], deadline)
    unknown = next(iter(listings.failures.values()), None)
    states: dict[str, State | Failure] = {}
    for transactional_id in transactional_ids:
        failure = described.failures.get(transactional_id)
        if transactional_id in described.answers:
            states[transactional_id] = _producer_state(described.answers[transactional_id])
        elif failure and failure.name != GONE:
            states[transactional_id] = failure
        else:
            states[transactional_id] = None if transactional_id in listed else unknown
    return states


def _producer_state(described: DescribedTransaction) -> State:
    return {
        "producer_id": described.producer_id,
        "transaction_timeout_ms": described.transaction_timeout_ms,
    }


def _read_transactions(
    cluster: Cluster, actions: Sequence[Action], deadline: Deadline
) -> Mapping[Resource, State | Failure]:
    partitions = {action.resource: parse_transaction(action.resource.name)[0] for action in actions}
    states, failures = read_open_transactions(cluster, list(dict.fromkeys(partitions.values())), deadline)
    return {resource: failures.get(one) or states.get(resource) for resource, one in partitions.items()}


def _abort(
    cluster: Cluster, actions: Sequence[Action], _validate_only: bool, deadline: Deadline
) -> Mapping[Resource, Failure]:
    resources = {_open(action): action.resource for action in actions}
    gathered = abort_transactions(cluster, list(resources), deadline)
    return {resources[one]: failure for one, failure in gathered.failures.items()}


def _open(action: Action) -> OpenTransaction:
    before = action.before or {}
    partition, producer_id = parse_transaction(action.resource.name)
    return OpenTransaction(partition, producer_id, before["producer_epoch"], before["coordinator_epoch"])


def _read_ids(cluster: Cluster, actions: Sequence[Action], deadline: Deadline) -> Mapping[Resource, State | Failure]:
    states = read_transactional_ids(cluster, [action.resource.name for action in actions], deadline)
    return {action.resource: states[action.resource.name] for action in actions}


def _fence(
    cluster: Cluster, actions: Sequence[Action], _validate_only: bool, deadline: Deadline
) -> Mapping[Resource, Failure | Answered]:
    timeouts = {action.resource.name: (action.before or {})["transaction_timeout_ms"] for action in actions}
    gathered = fence_producers(cluster, timeouts, deadline)
    resources = {action.resource.name: action.resource for action in actions}
    fenced = {
        resources[one]: Answered(values={"producer_id": answer.producer_id, "producer_epoch": answer.producer_epoch})
        for one, answer in gathered.answers.items()
    }
    return {**fenced, **{resources[one]: failure for one, failure in gathered.failures.items()}}


def _is_over(action: Action, live: State) -> bool:
    """True if that transaction has ended; the same producer may have begun another."""
    return live is None or live["start_offset"] != (action.before or {}).get("start_offset")


ABORT_TRANSACTION = ActionKind(
    name="abort_transaction",
    title="abort hanging transaction",
    read=_read_transactions,
    send=_abort,
    is_done=_is_over,
)
FENCE_PRODUCER = ActionKind(
    name="fence_producer",
    title="fence producer",
    read=_read_ids,
    send=_fence,
    is_done=never,  # other clients fence producers, too
)
