"""Metadata (api key 3): brokers, topics, partitions, and who leads them.

Any broker answers, from its own view, which may be older than another's: leader_epoch tells which of two is newer.
Surprises:

- No topics at all are asked for by an empty list from v1 on, all topics by null. In v0 an empty list means all.
- v0 to v3 create topics that are asked for by name and do not exist. Later versions have a flag, which defaults to
  true.
- Topics that we may not see are left out of an answer to "all" without an error; asked by name they carry error 29.
- The controller id is the true controller only under ZooKeeper. KRaft brokers name one of themselves: DescribeQuorum
  knows.
"""

from collections.abc import Collection

from kafka_lagoon.protocol.acls import NOT_ASKED
from kafka_lagoon.wire.schema import LATEST, Api, Bool, Int16, Int32, String, Uuid, Versions, struct, wire

NO_LEADER = -1
WITH_OFFLINE_REPLICAS = 5  # KIP-112
CREATES_NOTHING = Versions(4, LATEST)  # before Kafka 0.11 a request for a topic may create it


@struct
class MetadataRequestTopic:
    """A topic by name, or by id from v12 on: v10 and v11 have the field, and brokers refuse it with error 42."""

    topic_id: Uuid = wire(since=10, ignorable=True)  # KIP-516
    name: String | None = wire(nullable_since=10)


@struct
class MetadataRequest:
    """The topics to describe."""

    topics: tuple[MetadataRequestTopic, ...] | None = wire(nullable_since=1)
    allow_auto_topic_creation: Bool = wire(since=4, default=True)
    include_cluster_authorized_operations: Bool = wire(since=8, until=10)  # KIP-430; now in DescribeCluster (KIP-700)
    include_topic_authorized_operations: Bool = wire(since=8)


@struct
class MetadataBroker:
    """A broker that is alive, at its address for the listener that was asked."""

    node_id: Int32
    host: String
    port: Int32
    rack: String | None = wire(since=1, ignorable=True, default=None)


@struct
class MetadataPartition:
    """A partition. Error 5 without a leader; the replica lists are filled all the same."""

    error_code: Int16
    partition_index: Int32
    leader_id: Int32
    leader_epoch: Int32 = wire(since=7, default=-1, ignorable=True)  # KIP-320
    replica_nodes: tuple[Int32, ...]
    isr_nodes: tuple[Int32, ...]
    offline_replicas: tuple[Int32, ...] = wire(since=WITH_OFFLINE_REPLICAS, ignorable=True)


@struct
class MetadataTopic:
    """A topic. An id that no topic has comes back with error 100 and null for a name (v12)."""

    error_code: Int16
    name: String | None = wire(nullable_since=12)
    topic_id: Uuid = wire(since=10, ignorable=True)  # KIP-516; zero where brokers have no ids
    is_internal: Bool = wire(since=1, ignorable=True)
    partitions: tuple[MetadataPartition, ...]
    topic_authorized_operations: Int32 = wire(since=8, least=NOT_ASKED, default=NOT_ASKED)


@struct
class MetadataResponse:
    """Brokers and topics as one broker sees them."""

    throttle_time_ms: Int32 = wire(since=3, ignorable=True)
    brokers: tuple[MetadataBroker, ...]
    cluster_id: String | None = wire(since=2, ignorable=True, default=None)  # KIP-78
    controller_id: Int32 = wire(since=1, default=-1, ignorable=True)
    topics: tuple[MetadataTopic, ...]
    cluster_authorized_operations: Int32 = wire(since=8, until=10, least=NOT_ASKED, default=NOT_ASKED)
    error_code: Int16 = wire(since=13, ignorable=True)  # KIP-1102: 129, start again from the bootstrap servers


METADATA = Api(
    key=3,
    versions=Versions(0, 13),
    flexible=9,
    request=MetadataRequest,
    response=MetadataResponse,
)


def metadata_request(topics: Collection[str] | None) -> MetadataRequest:
    """The request about the brokers and some topics (None: all); in a version of CREATES_NOTHING it creates no topic."""
    requested = None if topics is None else tuple(MetadataRequestTopic(name=name) for name in sorted(topics))
    return MetadataRequest(topics=requested, allow_auto_topic_creation=False)
