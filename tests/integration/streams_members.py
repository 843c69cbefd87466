"""Members of a streams group (KIP-1071) that join, take their tasks and commit, without Kafka Streams.

They speak by our own messages, which the oracle compares with Kafka's; Kafka's own tool shows what the broker makes of them.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from kafka_lagoon.client.broker import Broker
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import Deadline
from kafka_lagoon.kafka_settings import KafkaSettings
from kafka_lagoon.protocol.messages.offset_commit import (
    BY_NAME,
    OFFSET_COMMIT,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafka_lagoon.protocol.messages.streams_group_heartbeat import (
    JOIN,
    LEAVE,
    STREAMS_GROUP_HEARTBEAT,
    UNCHANGED,
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
    StreamsSubtopology,
    StreamsTaskIds,
    StreamsTopicInfo,
    StreamsTopology,
)
from tests.clock import CLOCK

_TIMEOUT_S = 60
_LOADING = 14  # COORDINATOR_LOAD_IN_PROGRESS


def topology(group_id: str, source: str) -> StreamsTopology:
    """Make a topology: one part reads the source and writes with another key, the other reads a topic of two partitions."""
    between = f"{group_id}-by-key-repartition"
    internal = StreamsTopicInfo(name=between, partitions=2, replication_factor=1, topic_configs=())
    return StreamsTopology(
        epoch=0,
        subtopologies=(
            _part("0", source_topics=(source,), repartition_sink_topics=(between,)),
            _part("1", repartition_source_topics=(internal,)),
        ),
    )


def _part(subtopology_id: str, **topics: tuple[str, ...] | tuple[StreamsTopicInfo, ...]) -> StreamsSubtopology:
    none: dict[str, tuple[()]] = {
        "source_topics": (),
        "source_topic_regex": (),
        "state_changelog_topics": (),
        "repartition_sink_topics": (),
        "repartition_source_topics": (),
        "copartition_groups": (),
    }
    return StreamsSubtopology(subtopology_id=subtopology_id, **{**none, **topics})  # type: ignore[arg-type]


@dataclass(slots=True)
class Member:
    """A member, and the last assignment from the coordinator."""

    group_id: str
    member_id: str
    broker: Broker
    epoch: int = JOIN
    tasks: tuple[StreamsTaskIds, ...] = ()
    is_ready: bool = False

    def beat(self, topology: StreamsTopology | None = None) -> None:
        """Send a heartbeat with its tasks, and take the tasks of the response."""
        answer = self._ask(self.epoch, topology)
        self.epoch = answer.member_epoch
        has_news = answer.active_tasks is not None and answer.active_tasks != self.tasks
        self.tasks = self.tasks if answer.active_tasks is None else answer.active_tasks
        self.is_ready = not has_news and not answer.status and bool(self.tasks)

    def leave(self) -> None:
        """Leave the group."""
        self._ask(LEAVE, None)

    def _ask(self, epoch: int, topology: StreamsTopology | None) -> StreamsGroupHeartbeatResponse:
        request = StreamsGroupHeartbeatRequest(
            group_id=self.group_id,
            member_id=self.member_id,
            member_epoch=epoch,
            endpoint_information_epoch=-1,
            rebalance_timeout_ms=30_000 if topology else UNCHANGED,
            topology=topology,
            active_tasks=self.tasks,
            standby_tasks=(),
            warmup_tasks=(),
            process_id=f"process-{self.member_id}",
            shutdown_application=False,
        )
        deadline = _soon()
        answer = self.broker.ask(STREAMS_GROUP_HEARTBEAT, request, deadline)
        while answer.error_code == _LOADING and not deadline.passed():  # of a new cluster
            time.sleep(0.1)
            answer = self.broker.ask(STREAMS_GROUP_HEARTBEAT, request, deadline)
        assert not answer.error_code, answer
        return answer


@contextmanager
def streams_members(
    bootstrap_servers: str, group_id: str, source: str, member_ids: Sequence[str]
) -> Iterator[list[Member]]:
    """Run members that share all tasks of `topology`, and leave at the end."""
    with Cluster.connect(KafkaSettings(bootstrap_servers=bootstrap_servers), CLOCK, RequestStats(), _soon()) as cluster:
        broker = coordinator(cluster, group_id)
        members = [Member(group_id, member_id, broker) for member_id in member_ids]
        for member in members:
            member.beat(topology(group_id, source))
        deadline = _soon()
        while not all(one.is_ready for one in members) or len({one.epoch for one in members}) > 1:
            assert not deadline.passed(), members
            time.sleep(0.2)
            for member in members:
                member.beat()
        try:
            yield members
        finally:
            for member in members:
                member.leave()


def commit(member: Member, topic: str, offsets: dict[int, int]) -> None:
    """Commit offsets of partitions that the member reads."""
    partitions = tuple(
        OffsetCommitRequestPartition(partition_index=partition, committed_offset=offset, committed_metadata=None)
        for partition, offset in offsets.items()
    )
    request = OffsetCommitRequest(
        group_id=member.group_id,
        generation_id_or_member_epoch=member.epoch,
        member_id=member.member_id,
        topics=(OffsetCommitRequestTopic(name=topic, partitions=partitions),),
    )
    answer = member.broker.ask(OFFSET_COMMIT, request, _soon(), BY_NAME)
    assert {one.error_code for some in answer.topics for one in some.partitions} == {0}, answer


def coordinator(cluster: Cluster, group_id: str) -> Broker:
    """Look up the coordinator until there is one: a new cluster has to create __consumer_offsets."""
    deadline = _soon()
    while (node_id := cluster.coordinator_of(group_id)) is None and not deadline.passed():
        cluster.find_coordinators([group_id], deadline)
        time.sleep(0.1)
    assert node_id is not None
    return cluster.brokers[node_id]


def _soon() -> Deadline:
    return Deadline.after(CLOCK, _TIMEOUT_S * 1000)
