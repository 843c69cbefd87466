"""Elects leaders of partitions (ElectLeaders, KIP-183 and KIP-460): the preferred replica, or any live replica.

An unclean election loses the records that the new leader lacks. A partition that has the leader already is a success.
"""

from collections.abc import Iterator, Mapping, Sequence

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure, Scope
from kafka_lagoon.client.routes import ByController
from kafka_lagoon.client.routing import ShardedRequest, gather
from kafka_lagoon.clock import Deadline
from kafka_lagoon.protocol.error_codes import (
    ELECTION_NOT_NEEDED,
    ELIGIBLE_LEADERS_NOT_AVAILABLE,
    PREFERRED_LEADER_NOT_AVAILABLE,
)
from kafka_lagoon.protocol.messages.elect_leaders import (
    ELECT_LEADERS,
    UNCLEAN,
    ElectionTopic,
    ElectLeadersRequest,
    ElectLeadersResponse,
)
from kafka_lagoon.topic_partition import TopicPartition
from kafka_lagoon.wire.schema import LATEST, Versions

_WITH_TYPES = Versions(1, LATEST)  # KIP-460; before, every election is of the preferred replica
_CHUNK = 5_000  # each partition is a record of the metadata log, of which the controller takes 10,000 at once


def elect_leaders(
    cluster: Cluster, partitions: Sequence[TopicPartition], election_type: int, deadline: Deadline
) -> Mapping[TopicPartition, Failure]:
    """Elect PREFERRED or UNCLEAN leaders, and return the failures by partition."""

    def build(items: Sequence[TopicPartition]) -> ElectLeadersRequest:
        topics: dict[str, list[int]] = {}
        for topic, partition in items:
            topics.setdefault(topic, []).append(partition)
        return ElectLeadersRequest(
            election_type=election_type,
            topic_partitions=tuple(ElectionTopic(topic=name, partitions=tuple(some)) for name, some in topics.items()),
            timeout_ms=cluster.settings.request_timeout_ms,
        )

    # Once: another unclean election after the first would move the leader, and lose records, a second time.
    sharded: ShardedRequest[TopicPartition, None] = ShardedRequest(
        api=ELECT_LEADERS,
        items=partitions,
        build=build,
        read=_read,
        chunk=_CHUNK,
        within=_WITH_TYPES if election_type == UNCLEAN else None,
        once=True,
        final=frozenset({PREFERRED_LEADER_NOT_AVAILABLE, ELIGIBLE_LEADERS_NOT_AVAILABLE}),  # until a broker is started
    )
    return gather(cluster, ByController(cluster, scope_of), [sharded], deadline)[0].failures


def scope_of(partition: TopicPartition) -> Scope:
    """The scope of a failure about a partition."""
    return Scope.of_partition(partition.topic, partition.partition)


def _read(
    response: ElectLeadersResponse, items: Sequence[TopicPartition]
) -> Iterator[tuple[TopicPartition, int, None, str | None]]:
    if response.error_code:
        yield from ((item, response.error_code, None, None) for item in items)
    for topic in response.replica_election_results:
        for result in topic.partition_result:
            code = 0 if result.error_code == ELECTION_NOT_NEEDED else result.error_code
            yield TopicPartition(topic.topic, result.partition_id), code, None, result.error_message
