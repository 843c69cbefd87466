"""Lists groups and transactions, which only their coordinators know, and notices lists from which some may be missing.

Groups and transactions are stored in partitions of __consumer_offsets and __transaction_state, and the leader of a partition
coordinates what is in it. Brokers report no error while a partition has no leader, or while its leader does not coordinate it
yet: they list the others. After a restart that lasts from the moment at which clients may connect until the broker has become
the leader of all its partitions.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from itertools import islice
from typing import Any, TypeVar

from kafka_lagoon.client.agreement import agreed_metadata, brokers_by_id, by_item
from kafka_lagoon.client.broker import Call
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure, Scope, own_failure, refusal_name
from kafka_lagoon.clock import Deadline, backoff
from kafka_lagoon.errors import BrokerError, ConnectionFailed, DeadlinePassed, PipelineError, WireError
from kafka_lagoon.frozen import frozen
from kafka_lagoon.protocol.error_codes import (
    COORDINATOR_NOT_AVAILABLE,
    GROUP_AUTHORIZATION_FAILED,
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    error_code,
)
from kafka_lagoon.protocol.messages.describe_groups import DESCRIBE_GROUPS, DescribeGroupsRequest
from kafka_lagoon.protocol.messages.describe_transactions import DESCRIBE_TRANSACTIONS, DescribeTransactionsRequest
from kafka_lagoon.protocol.messages.metadata import MetadataResponse
from kafka_lagoon.wire.schema import Api

T = TypeVar("T")

COORDINATOR_MOVED = "COORDINATOR_MOVED"  # coordinators changed during the list, and again when it was repeated
_DENIED = (GROUP_AUTHORIZATION_FAILED, TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
_PREFIX, _FIRST = "lagoon-coordinator-check-", ord("A")
_MOST = 10_000  # partitions that are checked: the topics have 50 by default

_Leaders = Mapping[int, tuple[int, int]]  # leader and leader epoch by partition
_Problem = tuple[str, str]  # name of an error, and message


@frozen
class Coordinated:
    """A topic of Kafka's own in which coordinators keep things, and the request in which they describe these by key."""

    topic: str
    api: Api[Any, Any]
    request: Callable[[tuple[str, ...]], Any]
    codes: Callable[[Any], Iterable[tuple[str, int]]]  # key and error code of each description


GROUPS = Coordinated(
    topic="__consumer_offsets",
    api=DESCRIBE_GROUPS,
    request=lambda keys: DescribeGroupsRequest(groups=keys),
    codes=lambda response: ((one.group_id, one.error_code) for one in response.groups),
)
TRANSACTIONS = Coordinated(
    topic="__transaction_state",
    api=DESCRIBE_TRANSACTIONS,
    request=lambda keys: DescribeTransactionsRequest(transactional_ids=keys),
    codes=lambda response: ((one.transactional_id, one.error_code) for one in response.transaction_states),
)


def list_of_coordinators(
    cluster: Cluster, api: Api[Any, Any], of: Coordinated, deadline: Deadline, list_once: Callable[[], T]
) -> tuple[Sequence[T], Failure | None]:
    """List groups or transactions by `api`, from all brokers; a failure if some may be missing.

    If leaders change during the list, the new one may have answered before the change, and the old one after it. Then the list
    is requested once more, and both lists are returned.
    """
    lists: list[T] = []
    try:
        before, late = _when_coordinated(cluster, of, agreed_metadata(cluster, (of.topic,), deadline), deadline)
        lists.append(list_once())
        after = cluster.refresh_elsewhere((of.topic,), deadline)
        if _leaders(after) == _leaders(before) and brokers_by_id(after) == brokers_by_id(before):
            return lists, _short(cluster, api, late or _offline_partitions(of, before))
        # Where we may describe nothing, a new leader does not show when it begins to coordinate.
        deadline.pause(cluster.settings.retry_backoff_max_ms / 1000)
        again, late = _when_coordinated(cluster, of, after, deadline)
        lists.append(list_once())
        last = agreed_metadata(cluster, (of.topic,), deadline)
    except (ConnectionFailed, WireError, BrokerError) as error:
        lists = lists or [list_once()]
        return lists, _short(cluster, api, (refusal_name(error), f"the leaders of {of.topic} are unknown: {error}"))
    moved = _moved_partitions(of, (before, again, last))
    return lists, _short(cluster, api, moved or late or _offline_partitions(of, last))


def _leaders(metadata: MetadataResponse) -> _Leaders:
    """Leader and leader epoch of each partition of the one topic that was requested.

    It is empty before the first group or transaction, when there is no such topic, and without permission to describe the
    topic (TOPIC_AUTHORIZATION_FAILED). The list is believed then.
    """
    return {
        partition.partition_index: (partition.leader_id, partition.leader_epoch)
        for topic in metadata.topics
        for partition in topic.partitions
    }


def _when_coordinated(
    cluster: Cluster, of: Coordinated, metadata: MetadataResponse, deadline: Deadline
) -> tuple[MetadataResponse, _Problem | None]:
    """Wait until leaders coordinate their partitions; return the metadata by then, and the problem if some still do not.

    For each partition its leader is asked to describe a key that would be stored there. It has an answer, such as that there is
    no such group, only if it coordinates the partition. Brokers that do not answer at all will not list either.
    """
    leaders = _leaders(metadata)
    keys = keys_of_partitions(len(leaders))
    deadline = deadline.within(cluster.settings.default_api_timeout_ms).half()
    if _is_denied(cluster, of, keys, leaders, deadline):
        return metadata, None
    coordinated: dict[int, tuple[int, int]] = {}
    for pause in backoff(cluster.settings.retry_backoff_ms, cluster.settings.retry_backoff_max_ms):
        wanted = {partition: leader for partition, leader in leaders.items() if coordinated.get(partition) != leader}
        late = {
            partition: code
            for partition, code in _codes(cluster, of, keys, wanted, deadline).items()
            if error_code(code).retriable
        }
        if not late or not deadline.pause(pause):
            break
        coordinated |= {partition: leader for partition, leader in wanted.items() if partition not in late}
        metadata = cluster.refresh_elsewhere((of.topic,), deadline)
        leaders = _leaders(metadata)
    return metadata, _late_partitions(of, late, leaders) if late else None


def _is_denied(
    cluster: Cluster, of: Coordinated, keys: Mapping[int, str], leaders: _Leaders, deadline: Deadline
) -> bool:
    """True if we may not describe such a key: the first is requested alone, because brokers log each that they deny."""
    first = dict(islice(((at, leader) for at, leader in leaders.items() if leader[0] in cluster.brokers), 1))
    return any(code in _DENIED for code in _codes(cluster, of, keys, first, deadline).values())


def _codes(
    cluster: Cluster, of: Coordinated, keys: Mapping[int, str], leaders: _Leaders, deadline: Deadline
) -> dict[int, int]:
    """Error codes, by partition, of the descriptions that leaders give of the partitions' keys.

    A broker that is silent here is not waited for as long again by the next requests.
    """
    partitions: defaultdict[int, list[int]] = defaultdict(list)
    for partition, (leader_id, _) in leaders.items():
        if leader_id in cluster.brokers and partition in keys:
            partitions[leader_id].append(partition)
    calls = {
        node_id: [Call(of.api, of.request(tuple(keys[one] for one in some)))] for node_id, some in partitions.items()
    }
    codes: dict[int, int] = {}
    for node_id, (reply,) in cluster.ask_brokers(calls, deadline, is_brief=True):
        if isinstance(reply.outcome, DeadlinePassed):
            cluster.unreachable.add(cluster.brokers[node_id].address)
        elif not isinstance(reply.outcome, PipelineError):
            described = dict(of.codes(reply.outcome))
            codes |= {one: described[key] for one in partitions[node_id] if (key := keys[one]) in described}
    return codes


def keys_of_partitions(partitions: int) -> Mapping[int, str]:
    """Key of a group or transaction that each of so many partitions would store.

    Kafka takes Java's hash of the key modulo the partitions. The last two characters count up the hash, as 31 is its base.
    """
    keys = (
        f"{_PREFIX}{chr(_FIRST + high)}{chr(_FIRST + low)}" for high in range(partitions // 31 + 1) for low in range(31)
    )
    return {_partition(key, partitions): key for key in islice(keys, min(partitions, _MOST))}


def _partition(key: str, partitions: int) -> int:
    """Partition that stores a group or transaction (GroupCoordinator.partitionFor, TransactionStateManager.partitionFor)."""
    unsigned = reduce(lambda value, character: (31 * value + ord(character)) & 0xFFFF_FFFF, key, 0)
    magnitude = min(unsigned, (1 << 32) - unsigned)
    return (0 if magnitude == 1 << 31 else magnitude) % partitions


def _late_partitions(of: Coordinated, late: Mapping[int, int], leaders: _Leaders) -> _Problem:
    code = min(late.values())
    message = (
        f"{len(late)} of {len(leaders)} partitions of {of.topic} are not coordinated by their leaders yet: what is stored in "
        "them may be missing"
    )
    return error_code(code).name, message


def _offline_partitions(of: Coordinated, metadata: MetadataResponse) -> _Problem | None:
    """The problem of a list if partitions have no leader, or one that is not among the brokers."""
    leaders, node_ids = _leaders(metadata), {broker.node_id for broker in metadata.brokers}
    offline = sum(leader_id not in node_ids for leader_id, _ in leaders.values())
    if not offline:
        return None
    message = (
        f"{offline} of {len(leaders)} partitions of {of.topic} have no leader: no broker lists what is stored in them"
    )
    return error_code(COORDINATOR_NOT_AVAILABLE).name, message


def _moved_partitions(of: Coordinated, several: Sequence[MetadataResponse]) -> _Problem | None:
    """The problem of a list if partitions changed their leader during the first list and again during the second.

    A leader that is the same before the first list and after the second did not change: the metadata in between was old.
    """
    leaders = by_item([_leaders(metadata) for metadata in several])
    moved = sum(len(set(some)) == len(several) for some in leaders.values())
    if not moved:
        return None
    message = (
        f"{moved} of {len(leaders)} partitions of {of.topic} changed their leader during the list, and again when it was "
        "repeated: what is stored in them may be missing"
    )
    return COORDINATOR_MOVED, message


def _short(cluster: Cluster, api: Api[Any, Any], problem: _Problem | None) -> Failure | None:
    """Make a failure of the problem, and count it as an item of the API that no broker answered."""
    if problem is None:
        return None
    cluster.request_stats.item_counts[api.name, None].failed += 1
    failure = own_failure(api, Scope.list("the whole list"), *problem)
    return replace(failure, is_required=True)
