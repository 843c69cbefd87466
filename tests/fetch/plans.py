"""Plans of fake clusters: what the tests of fetch/planning.py and its steps share."""

from collections.abc import Callable, Mapping

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.clock import Deadline
from kafka_lagoon.fetch.accounting import RunIdentity
from kafka_lagoon.fetch.archived import Archived
from kafka_lagoon.fetch.offset_specs import EARLIEST, LATEST, AtOffset, AtTime, OffsetSpec, OffsetSpecs
from kafka_lagoon.fetch.plan import Plan
from kafka_lagoon.fetch.planning import plan
from kafka_lagoon.fetch.ranges import (
    Position,
)
from kafka_lagoon.fetch.read_spec import ReadSpec
from kafka_lagoon.fetch.split import READ_COMMITTED
from kafka_lagoon.protocol.messages.metadata import METADATA, MetadataResponse, MetadataTopic
from kafka_lagoon.topic_partition import TopicPartition
from kafka_lagoon.wire.primitives import uuid_text
from tests.clock import CLOCK
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Altered, Fault

Connect = Callable[..., Cluster]
RUN = RunIdentity(ingest_id="id", sequence=1, cluster="name", cluster_id="cluster")


def spec(
    *topics: str,
    pattern: str | None = None,
    start: OffsetSpec = EARLIEST,
    offsets: Mapping[TopicPartition, int] | None = None,
    until_ms: int | None = None,
    isolation_level: str = READ_COMMITTED,
) -> ReadSpec:
    return ReadSpec(
        topics=topics,
        pattern=pattern,
        start=OffsetSpecs(
            name="start",
            default=start,
            by_partition={partition: AtOffset(offset) for partition, offset in (offsets or {}).items()},
        ),
        end=OffsetSpecs(name="--until", default=LATEST if until_ms is None else AtTime(until_ms)),
        isolation_level=isolation_level,
    )


def planned(connect: Connect, read_spec: ReadSpec, archived: Mapping[str, Archived] | None = None) -> Plan:
    return plan(connect(), read_spec, archived or {}, Deadline.after(CLOCK, 10_000))


def archived_to(state: FakeCluster, *offsets: int, topic: str = "t", epoch: int = 0) -> dict[str, Archived]:
    """Make a topic that is archived up to these offsets of its partitions."""
    positions = {n: Position(next_offset=offset, leader_epoch=epoch) for n, offset in enumerate(offsets)}
    return {topic: Archived(topic_id=uuid_text(state.topics[topic].topic_id), partitions=positions)}


def spans(result: Plan) -> list[tuple[str, int, int, int]]:
    return [(one.topic, one.partition, one.from_offset, one.to_offset) for one in result.ranges]


def events(result: Plan) -> list[tuple[str, int, int, int, str | None]]:
    return [(one.topic, one.partition, one.from_offset, one.to_offset, one.problem) for one in result.events]


def stale(state: FakeCluster, change: Callable[[MetadataTopic], None], *brokers: int | None) -> None:
    """Make these brokers describe the earlier state of topic t from now on."""

    def altered(answer: MetadataResponse) -> MetadataResponse:
        for topic in answer.topics:
            if topic.name == "t":
                change(topic)
        return answer

    state.faults += [Fault(METADATA.key, Altered(altered), node_id=node_id, times=1000) for node_id in brokers]


def of_another_id(topic: MetadataTopic) -> None:
    """Describe an earlier or later topic with the name."""
    topic.topic_id = (99).to_bytes(16, "big")  # type: ignore[misc]
