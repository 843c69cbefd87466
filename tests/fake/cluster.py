"""The state of a fake cluster: topics, groups and their brokers, of any size, changed by tests while it runs.

It knows no bytes. Defaults describe health; a test sets what it wants to see reported.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.fake.faults import Fault


@dataclass(slots=True)
class FakeBatch:
    """A batch of the log as Fetch returns it; `aborted` for an aborted transaction."""

    base_offset: int
    last_offset: int
    data: bytes
    leader_epoch: int = 0
    aborted_producer: int | None = None


@dataclass(slots=True)
class FakePartition:
    """A partition's leader and log; `error_code` is the leader's error for ListOffsets."""

    leader_id: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader_epoch: int = 0
    log_start_offset: int = 0
    local_log_start_offset: int | None = None  # of a log whose begin is in remote storage
    high_watermark: int = 0
    last_stable_offset: int | None = None
    error_code: int = 0
    # Requested (timestamp, isolation level) -> error code.
    refused: dict[tuple[int, int], int] = field(default_factory=dict)
    log: list[FakeBatch] = field(default_factory=list)
    # First offsets of segments; no response goes beyond one segment.
    segments: list[int] = field(default_factory=lambda: [0])
    epoch_ends: dict[int, int] = field(default_factory=dict)  # leader epoch -> offset after its last record
    times: tuple[tuple[int, int], ...] = ()  # (timestamp, offset) of some records, ascending
    size: int = 0
    produce_errors: list[int] = field(default_factory=list)  # of the next Produce requests; 7 and 20 write all the same
    preferred: dict[str, int] = field(default_factory=dict)  # rack -> replica that the leader names for readers in it

    @property
    def local_start(self) -> int:
        """The first offset on the leader's disk."""
        return self.log_start_offset if self.local_log_start_offset is None else self.local_log_start_offset

    def append(self, *batches: FakeBatch) -> None:
        """Append batches to the log; they are replicated at once."""
        self.log += batches
        self.high_watermark = batches[-1].last_offset + 1


@dataclass(slots=True)
class FakeTopic:
    """A topic with its id and partitions."""

    topic_id: bytes
    partitions: list[FakePartition]
    min_insync_replicas: int = 1
    max_message_bytes: int | None = None


@dataclass(slots=True)
class FakeCommit:
    """A commit as OffsetFetch returns it; `pending` stands for a transaction that will replace it."""

    offset: int
    error_code: int = 0
    pending: bool = False
    leader_epoch: int = -1
    metadata: str = ""


@dataclass(slots=True)
class FakeMember:
    """A member with its subscription and assignment as names and numbers."""

    member_id: str
    topics: tuple[str, ...] = ()
    assignment: dict[str, tuple[int, ...]] = field(default_factory=dict)
    raw_metadata: bytes | None = None


@dataclass(slots=True)
class FakeGroup:
    """A group, its coordinator, its commits by (topic, partition)."""

    coordinator_id: int
    commits: dict[tuple[str, int], FakeCommit] = field(default_factory=dict)
    members: list[FakeMember] = field(default_factory=list)
    group_type: str = "classic"
    state: str = "Empty"
    protocol_type: str = "consumer"
    error_code: int = 0
    share_topics: tuple[Any, ...] = ()  # for DescribeShareGroupOffsets
    has_names: bool = True  # ids of topics in the assignments of members; brokers may return only ids


@dataclass(slots=True)
class FakeTransaction:
    """A transactional id: its coordinator, its description, and the time for which its transaction is open."""

    coordinator_id: int
    described: Any
    open_for_ms: int = 0


@dataclass(slots=True)
class FakeCluster:
    """The state from which the brokers of a cluster answer, and their next faults."""

    topics: dict[str, FakeTopic] = field(default_factory=dict)
    groups: dict[str, FakeGroup] = field(default_factory=dict)
    racks: dict[int, str] = field(default_factory=dict)
    addresses: dict[int, tuple[str, int]] = field(default_factory=dict)
    highest: dict[int, int] = field(default_factory=dict)  # api key -> highest version, if not our own
    offered: Mapping[int, tuple[int, int]] | None = None  # api key -> versions, if of another release than our own
    missing: dict[int, set[int]] = field(default_factory=dict)  # node -> API keys that this broker does not offer
    controller_id: int = 1  # name of the controller in metadata
    cluster_operations: int = 8096
    acls: tuple[Any, ...] | None = None  # for DescribeAcls, by resource; None: there is no authorizer
    quotas: tuple[Any, ...] = ()  # for DescribeClientQuotas
    scram_users: tuple[Any, ...] = ()  # for DescribeUserScramCredentials
    tokens: tuple[Any, ...] | None = None  # for DescribeDelegationToken; None: tokens are disabled
    quorum: Any = None  # for DescribeQuorum: the partition of the metadata log
    transactions: dict[str, FakeTransaction] = field(default_factory=dict)
    producers: dict[tuple[str, int], tuple[Any, ...]] = field(default_factory=dict)  # for DescribeProducers
    markers: list[Any] = field(default_factory=list)  # directory, by (node, topic, partition), if moved
    # Explicitly set, by (type, name).
    configs: dict[tuple[int, str], dict[str, str | None]] = field(default_factory=dict)
    # Log directory, by (node, topic, partition), if moved.
    log_dirs: dict[tuple[int, str, int], str] = field(default_factory=dict)
    reassignments: tuple[Any, ...] = ()  # for ListPartitionReassignments, by topic
    faults: list[Fault] = field(default_factory=list)
    requests: list[tuple[int, int, int]] = field(default_factory=list)  # (node, api key, version), in order of arrival
    permission_requests: int = 0  # DescribeCluster requests for what we may do with the cluster
    fetches: list[Any] = field(default_factory=list)  # FetchRequests, in order of arrival
    received: list[int] = field(default_factory=list)  # bytes of each request
    sent: list[int] = field(default_factory=list)  # bytes of each complete response

    def add_topic(self, name: str, partitions: int, *, nodes: int = 3, end: int = 100) -> FakeTopic:
        """Add a healthy topic; brokers 1 to `nodes` lead its partitions in turn."""
        number = len(self.topics) + 1
        some = []
        for partition in range(partitions):
            replicas = tuple((partition + i) % nodes + 1 for i in range(min(3, nodes)))
            some.append(FakePartition(leader_id=replicas[0], replicas=replicas, isr=replicas, high_watermark=end))
        topic = FakeTopic(topic_id=number.to_bytes(16, "big"), partitions=some)
        self.topics[name] = topic
        return topic

    def count(self, api_key: int, node_id: int | None = None) -> int:
        """Count the requests of one API, at one broker or at all."""
        return sum(1 for node, key, _ in self.requests if key == api_key and node_id in (None, node))
