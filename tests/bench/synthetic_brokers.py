"""Synthetic brokers of one cluster that answer at once with encoded messages, to measure the client's share of a snapshot.

They speak our own codec, so they prove nothing about it. `python -m tests.bench.synthetic_brokers TOPICS PARTITIONS BROKERS GROUPS
COMMITTED PROCESSES` prints the port of the first broker once all listen, and ends with its standard input.
"""

import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from multiprocessing import Process, Queue
from typing import Any

from kafka_lagoon.protocol.error_codes import UNKNOWN_TOPIC_OR_PARTITION
from kafka_lagoon.protocol.messages import (
    api_versions,
    describe_cluster,
    describe_configs,
    describe_groups,
    describe_log_dirs,
    describe_quorum,
    describe_topic_partitions,
    list_groups,
    list_offsets,
    metadata,
    offset_fetch,
    offset_for_leader_epoch,
)
from kafka_lagoon.wire.primitives import write_uvarint
from kafka_lagoon.wire.reading import decode
from kafka_lagoon.wire.schema import Api
from kafka_lagoon.wire.writing import encode
from tests.fake.answers import consumer_assignment, consumer_protocol

APIS: tuple[Api[Any, Any], ...] = (
    api_versions.API_VERSIONS,
    describe_cluster.DESCRIBE_CLUSTER,
    describe_configs.DESCRIBE_CONFIGS,
    describe_groups.DESCRIBE_GROUPS,
    describe_quorum.DESCRIBE_QUORUM,
    describe_topic_partitions.DESCRIBE_TOPIC_PARTITIONS,
    list_groups.LIST_GROUPS,
    list_offsets.LIST_OFFSETS,
    metadata.METADATA,
    offset_fetch.OFFSET_FETCH,
)
# Offered by a cluster without groups, for plans of archives; a snapshot would also request them.
_OF_AN_ARCHIVE: tuple[Api[Any, Any], ...] = (
    describe_log_dirs.DESCRIBE_LOG_DIRS,
    offset_for_leader_epoch.OFFSET_FOR_LEADER_EPOCH,
)
_BY_KEY = {api.key: api for api in (*APIS, *_OF_AN_ARCHIVE)}
_VERSIONS = {api.key: api.versions.highest for api in _BY_KEY.values()} | {offset_fetch.OFFSET_FETCH.key: 9}
_PAGE = 2_000  # partitions in a DescribeTopicPartitions response, as brokers limit it by default
_STABLE_OF_FIVE = 2  # groups with a member
_MOST_IN_LOG_DIRS = 10_000  # partitions


@dataclass(frozen=True)
class Size:
    """The size of the cluster; brokers are numbered from 1 and lead the partitions in turn."""

    topics: int
    partitions: int
    brokers: int
    groups: int
    committed_partitions: int = 40  # of each group

    @property
    def has_log_dirs(self) -> bool:
        """True if brokers describe their log dirs: those of a large cluster would take longer to encode than to measure."""
        return not self.groups or self.topics * self.partitions <= _MOST_IN_LOG_DIRS

    def leader(self, topic: int, partition: int) -> int:
        """Return the broker that leads a partition."""
        return (topic * self.partitions + partition) % self.brokers + 1

    def led(self, topic: int, node: int) -> range:
        """Return the partitions of a topic that a broker leads."""
        first = (node - 1 - topic * self.partitions) % self.brokers
        return range(first, self.partitions, self.brokers)

    def replicas(self, topic: int, partition: int) -> tuple[int, ...]:
        """Return three brokers, the leader first."""
        first = self.leader(topic, partition) - 1
        return tuple((first + place) % self.brokers + 1 for place in range(min(3, self.brokers)))

    def committed(self, group: int) -> Iterator[tuple[int, int]]:
        """Return the topics of a group, with the number of partitions that it has committed in each."""
        left, topic = self.committed_partitions, group
        while left > 0:
            yield topic % self.topics, min(left, self.partitions)
            left, topic = left - self.partitions, topic + 1


def topic_name(topic: int) -> str:
    """Return the name of a topic."""
    return f"team-{topic % 29:02}.events-{topic:05}"


def end_offset(topic: int, partition: int) -> int:
    """Return the end offset of a partition."""
    return 1_000_000 + topic * 7 + partition


def group_id(group: int) -> str:
    """Return the id of a group."""
    return f"application-{group % 97:02}.reader-{group:06}"


class Answers:
    """The messages of some brokers, by request."""

    def __init__(self, size: Size, nodes: list[int], first_port: int) -> None:
        self.size, self.nodes, self.first_port = size, nodes, first_port
        self.ends = {node: self._ends(self._led(node)) for node in nodes}
        self.partitions_led = {node: sum(len(led) for _, led in self._led(node)) for node in nodes}
        own = {node: [group for group in range(size.groups) if group % size.brokers + 1 == node] for node in nodes}
        self.listed = {node: self._listed(groups) for node, groups in own.items()}
        self.commits = {group_id(group): self._commits(group) for groups in own.values() for group in groups}
        self.described = {group_id(group): self._described(group) for groups in own.values() for group in groups}
        self.pages: dict[tuple[str, int], bytes] = {}
        self.dispatch: Mapping[int, Callable[[int, Any], bytes]] = {
            api_versions.API_VERSIONS.key: lambda _, __: self.versions,
            metadata.METADATA.key: lambda _, request: (
                self.everything if request.topics is None else self._named(request)
            ),
            list_offsets.LIST_OFFSETS.key: self._asked_ends,
            list_groups.LIST_GROUPS.key: lambda node, _: self.listed[node],
            describe_groups.DESCRIBE_GROUPS.key: lambda _, request: _many(
                self.described[one] for one in request.groups
            ),
            offset_fetch.OFFSET_FETCH.key: lambda _, request: _many(
                self.commits[one.group_id] for one in request.groups
            ),
            describe_cluster.DESCRIBE_CLUSTER.key: lambda _, __: self.cluster,
            describe_quorum.DESCRIBE_QUORUM.key: lambda _, __: self.quorum,
            describe_configs.DESCRIBE_CONFIGS.key: lambda _, request: self._configs(request),
            describe_topic_partitions.DESCRIBE_TOPIC_PARTITIONS.key: lambda _, request: self._page(request.cursor),
            describe_log_dirs.DESCRIBE_LOG_DIRS.key: lambda node, _: self.log_dirs[node],
            offset_for_leader_epoch.OFFSET_FOR_LEADER_EPOCH.key: lambda node, _: self.epoch_ends[node],
        }
        if size.has_log_dirs:
            self.log_dirs = {node: self._log_dirs(node) for node in nodes}
        if not size.groups:
            self.epoch_ends = {node: self._epoch_ends(node) for node in nodes}

    @cached_property
    def versions(self) -> bytes:
        """ApiVersions: all APIs, and the features that a snapshot reads."""
        keys = tuple(
            api_versions.OfferedApi(api_key=api.key, min_version=api.versions.lowest, max_version=_VERSIONS[api.key])
            for api in _BY_KEY.values()
            if self._is_offered(api)
        )
        eligible = api_versions.FinalizedFeature(
            name="eligible.leader.replicas.version", max_version_level=1, min_version_level=1
        )
        message = api_versions.ApiVersionsResponse(
            api_keys=keys, finalized_features_epoch=1, finalized_features=(eligible,)
        )
        return _encoded(api_versions.API_VERSIONS, message)

    def _is_offered(self, api: Api[Any, Any]) -> bool:
        if api is describe_log_dirs.DESCRIBE_LOG_DIRS:
            return self.size.has_log_dirs
        return not self.size.groups or api is not offset_for_leader_epoch.OFFSET_FOR_LEADER_EPOCH

    @cached_property
    def everything(self) -> bytes:
        """Metadata of all topics."""
        return self._metadata(tuple(self._topic(topic) for topic in range(self.size.topics)))

    def _named(self, request: metadata.MetadataRequest) -> bytes:
        """Metadata of the topics that a request names, with a broker's error for those that do not exist."""
        return self._metadata(
            tuple(
                self._topic(self._numbers[asked.name])
                if asked.name in self._numbers
                else metadata.MetadataTopic(error_code=UNKNOWN_TOPIC_OR_PARTITION, name=asked.name)
                for asked in request.topics or ()
            )
        )

    @cached_property
    def _numbers(self) -> Mapping[str | None, int]:
        return {topic_name(topic): topic for topic in range(self.size.topics)}

    def _topic(self, topic: int) -> metadata.MetadataTopic:
        return metadata.MetadataTopic(
            name=topic_name(topic),
            topic_id=(topic + 1).to_bytes(16, "big"),
            partitions=tuple(self._partition(topic, index) for index in range(self.size.partitions)),
        )

    def _partition(self, topic: int, index: int) -> metadata.MetadataPartition:
        replicas = self.size.replicas(topic, index)
        return metadata.MetadataPartition(
            partition_index=index, leader_id=replicas[0], leader_epoch=7, replica_nodes=replicas, isr_nodes=replicas
        )

    def _metadata(self, topics: tuple[metadata.MetadataTopic, ...]) -> bytes:
        brokers = tuple(
            metadata.MetadataBroker(node_id=node, host="127.0.0.1", port=self._port(node), rack=f"rack-{node % 3}")
            for node in range(1, self.size.brokers + 1)
        )
        message = metadata.MetadataResponse(brokers=brokers, cluster_id="synthetic", controller_id=1, topics=topics)
        return _encoded(metadata.METADATA, message)

    def _port(self, node: int) -> int:
        return self.first_port + node - 1

    def _asked_ends(self, node: int, request: list_offsets.ListOffsetsRequest) -> bytes:
        """The ends of the partitions that a request names; those of all that a broker leads are encoded already."""
        if sum(len(topic.partitions) for topic in request.topics) == self.partitions_led[node]:
            return self.ends[node]
        return self._ends(
            (self._numbers[topic.name], [partition.partition_index for partition in topic.partitions])
            for topic in request.topics
        )

    def _ends(self, some: Iterable[tuple[int, Sequence[int]]]) -> bytes:
        topics = tuple(
            list_offsets.ListOffsetsResponseTopic(
                name=topic_name(topic),
                partitions=tuple(
                    list_offsets.ListOffsetsResponsePartition(
                        partition_index=index,
                        timestamp=1_763_760_000_000,
                        offset=end_offset(topic, index),
                        leader_epoch=7,
                    )
                    for index in led
                ),
            )
            for topic, led in some
        )
        return _encoded(list_offsets.LIST_OFFSETS, list_offsets.ListOffsetsResponse(topics=topics))

    def _led(self, node: int) -> Iterator[tuple[int, range]]:
        """Return the topics with partitions that a broker leads, and these partitions."""
        for topic in range(self.size.topics):
            led = self.size.led(topic, node)
            if led:
                yield topic, led

    def _log_dirs(self, node: int) -> bytes:
        topics = tuple(
            describe_log_dirs.DescribeLogDirsTopic(
                name=topic_name(topic),
                partitions=tuple(
                    describe_log_dirs.DescribeLogDirsPartition(
                        partition_index=index, partition_size=1 << 20, offset_lag=0, is_future_key=False
                    )
                    for index in led
                ),
            )
            for topic, led in self._led(node)
        )
        result = describe_log_dirs.DescribeLogDirsResult(error_code=0, log_dir="/data", topics=topics)
        message = describe_log_dirs.DescribeLogDirsResponse(throttle_time_ms=0, results=(result,))
        return _encoded(describe_log_dirs.DESCRIBE_LOG_DIRS, message)

    def _epoch_ends(self, node: int) -> bytes:
        """Return the end of every log for epoch 7."""
        topics = tuple(
            offset_for_leader_epoch.OffsetForLeaderTopicResult(
                topic=topic_name(topic),
                partitions=tuple(
                    offset_for_leader_epoch.EpochEndOffset(
                        error_code=0, partition=index, leader_epoch=7, end_offset=end_offset(topic, index)
                    )
                    for index in led
                ),
            )
            for topic, led in self._led(node)
        )
        message = offset_for_leader_epoch.OffsetForLeaderEpochResponse(topics=topics)
        return _encoded(offset_for_leader_epoch.OFFSET_FOR_LEADER_EPOCH, message)

    def _listed(self, groups: list[int]) -> bytes:
        listed = tuple(
            list_groups.ListedGroup(
                group_id=group_id(group),
                protocol_type="consumer",
                group_state="Stable" if _has_member(group) else "Empty",
                group_type="classic",
            )
            for group in groups
        )
        return _encoded(list_groups.LIST_GROUPS, list_groups.ListGroupsResponse(groups=listed))

    def _commits(self, group: int) -> bytes:
        topics = tuple(
            offset_fetch.OffsetFetchResponseTopic(
                name=topic_name(topic),
                partitions=tuple(
                    offset_fetch.OffsetFetchResponsePartition(
                        partition_index=index,
                        committed_offset=900_000 + group + index,
                        committed_leader_epoch=7,
                        metadata="",
                    )
                    for index in range(count)
                ),
            )
            for topic, count in self.size.committed(group)
        )
        message = offset_fetch.OffsetFetchResponseGroup(group_id=group_id(group), topics=topics)
        return encode(message, _VERSIONS[offset_fetch.OFFSET_FETCH.key], True)

    def _described(self, group: int) -> bytes:
        names = [topic_name(topic) for topic, _ in self.size.committed(group)]
        member = describe_groups.DescribedMember(
            member_id=f"reader-{group}-6f1c2a34-8d0b-4a51-b7aa-1e9f{group:08}",
            client_id=f"reader-{group}",
            client_host="/10.1.2.3",
            member_metadata=consumer_protocol(names),
            member_assignment=consumer_assignment({name: tuple(range(self.size.partitions)) for name in names}),
        )
        message = describe_groups.DescribedGroup(
            group_id=group_id(group),
            group_state="Stable" if _has_member(group) else "Empty",
            protocol_type="consumer",
            protocol_data="range" if _has_member(group) else "",
            members=(member,) if _has_member(group) else (),
        )
        return encode(message, describe_groups.DESCRIBE_GROUPS.versions.highest, True)

    @cached_property
    def cluster(self) -> bytes:
        """DescribeCluster: every operation is allowed."""
        brokers = tuple(
            describe_cluster.DescribeClusterBroker(broker_id=node, host="127.0.0.1", port=self._port(node))
            for node in range(1, self.size.brokers + 1)
        )
        message = describe_cluster.DescribeClusterResponse(
            cluster_id="synthetic", controller_id=1, brokers=brokers, cluster_authorized_operations=8096
        )
        return _encoded(describe_cluster.DESCRIBE_CLUSTER, message)

    @cached_property
    def quorum(self) -> bytes:
        """DescribeQuorum: broker 1 leads."""
        partition = describe_quorum.QuorumPartition(leader_id=1, leader_epoch=3, high_watermark=5)
        topic = describe_quorum.QuorumTopic(topic_name="__cluster_metadata", partitions=(partition,))
        return _encoded(describe_quorum.DESCRIBE_QUORUM, describe_quorum.DescribeQuorumResponse(topics=(topic,)))

    def _configs(self, request: Any) -> bytes:
        entry = describe_configs.DescribeConfigsEntry(name="min.insync.replicas", value="2")
        results = tuple(
            describe_configs.DescribeConfigsResult(
                resource_type=one.resource_type, resource_name=one.resource_name, configs=(entry,)
            )
            for one in request.resources
        )
        return _encoded(describe_configs.DESCRIBE_CONFIGS, describe_configs.DescribeConfigsResponse(results=results))

    def _page(self, cursor: Any) -> bytes:
        key = (cursor.topic_name, cursor.partition_index) if cursor else (topic_name(0), 0)
        if key not in self.pages:
            self.pages[key] = self._made_page(int(key[0].rpartition("-")[2]), key[1])
        return self.pages[key]

    def _made_page(self, topic: int, first: int) -> bytes:
        topics, left = [], _PAGE
        while topic < self.size.topics and left:
            stop = min(first + left, self.size.partitions)
            some = tuple(self._eligible(topic, index) for index in range(first, stop))
            topics.append(
                describe_topic_partitions.DescribeTopicPartitionsTopic(name=topic_name(topic), partitions=some)
            )
            left -= stop - first
            topic, first = (topic + 1, 0) if stop == self.size.partitions else (topic, stop)
        there_is_more = topic < self.size.topics
        following = describe_topic_partitions.Cursor(topic_name=topic_name(topic), partition_index=first)
        message = describe_topic_partitions.DescribeTopicPartitionsResponse(
            topics=tuple(topics), next_cursor=following if there_is_more else None
        )
        return _encoded(describe_topic_partitions.DESCRIBE_TOPIC_PARTITIONS, message)

    def _eligible(self, topic: int, index: int) -> describe_topic_partitions.DescribeTopicPartitionsPartition:
        replicas = self.size.replicas(topic, index)
        return describe_topic_partitions.DescribeTopicPartitionsPartition(
            partition_index=index,
            leader_id=replicas[0],
            leader_epoch=7,
            replica_nodes=replicas,
            isr_nodes=replicas,
            eligible_leader_replicas=(),
            last_known_elr=(),
        )


def _has_member(group: int) -> bool:
    return group % 5 < _STABLE_OF_FIVE


def _encoded(api: Api[Any, Any], message: object) -> bytes:
    version = _VERSIONS[api.key]
    return encode(message, version, api.is_flexible(version))


def _many(groups: Iterator[bytes]) -> bytes:
    """Make a response without throttle time that lists encoded groups."""
    encoded = list(groups)
    out = bytearray(4)
    write_uvarint(out, len(encoded) + 1)
    return bytes(out) + b"".join(encoded) + b"\0"


def _serve(node: int, answers: Answers, connection: socket.socket) -> None:
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    stream = connection.makefile("rb", buffering=1 << 20)
    while len(size := stream.read(4)) == 4:
        frame = stream.read(struct.unpack(">i", size)[0])
        key, version, correlation_id, client = struct.unpack_from(">hhih", frame)
        api = _BY_KEY[key]
        body = 10 + max(client, 0) + api.is_flexible(version)
        request = decode(api.request, version, api.is_flexible(version), frame, body)
        answer = answers.dispatch[key](node, request)
        header = struct.pack(">i", correlation_id) + (b"\0" if api.flexible_response_header else b"")
        connection.sendall(struct.pack(">i", len(header) + len(answer)) + header + answer)


def _accept(node: int, answers: Answers, server: socket.socket) -> None:
    while True:
        connection, _ = server.accept()
        threading.Thread(target=_serve, args=(node, answers, connection), daemon=True).start()


def _run(size: Size, servers: dict[int, socket.socket], first_port: int, ready: "Queue[int]") -> None:
    answers = Answers(size, list(servers), first_port)
    for node, server in servers.items():
        threading.Thread(target=_accept, args=(node, answers, server), daemon=True).start()
    ready.put(len(servers))
    threading.Event().wait()


def _listening(brokers: int) -> list[socket.socket]:
    """Open neighbouring ports, so that a broker's address follows from its number."""
    while True:
        servers = [socket.create_server(("127.0.0.1", 0), backlog=64)]
        first = servers[0].getsockname()[1]
        try:
            servers += [socket.create_server(("127.0.0.1", first + place), backlog=64) for place in range(1, brokers)]
        except OSError:
            continue
        return servers


def main(arguments: list[str]) -> None:
    """Serve until standard input ends."""
    topics, partitions, brokers, groups, committed, processes = map(int, arguments)
    size, servers = Size(topics, partitions, brokers, groups, committed), _listening(brokers)
    first_port, ready = servers[0].getsockname()[1], Queue()
    children = []
    for number in range(processes):
        own = {node: servers[node - 1] for node in range(1, brokers + 1) if node % processes == number}
        child = Process(target=_run, args=(size, own, first_port, ready), daemon=True)
        child.start()
        children.append(child)
    for _ in children:
        ready.get()
    print(first_port, flush=True)
    sys.stdin.read()


@contextmanager
def synthetic_brokers(size: Size, processes: int = 2) -> Iterator[str]:
    """Start the brokers as processes; return the address of the first one."""
    numbers = (size.topics, size.partitions, size.brokers, size.groups, size.committed_partitions, processes)
    command = [sys.executable, "-m", "tests.bench.synthetic_brokers", *map(str, numbers)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdin
        yield f"127.0.0.1:{process.stdout.readline().strip()}"
        process.stdin.close()


if __name__ == "__main__":
    main(sys.argv[1:])
