"""The topics of a history: they are written, grow, lose records, are re-created, and led by replicas that lack records."""

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import ClassVar

from confluent_kafka import IsolationLevel, KafkaException, TopicPartition
from confluent_kafka.admin import (
    NewPartitions,
    NewTopic,
    TopicDescription,
)

from tests.integration import every_broker
from tests.integration.state import commit
from tests.proof.evidence import Partition
from tests.proof.load import TRANSACTION_TIMEOUT_MS, LiveTopic, Load
from tests.proof.oracle import topic_id
from tests.proof.play.world import TIMEOUT_S, World, retried

QUIET, READERS, QUIET_PARTITIONS, QUIET_RECORDS, QUIET_COMMIT = "quiet", "readers", 3, 40, 15
_MARKERS_WRITTEN_S = 5  # after a transaction's timeout
CONFIGS = {
    "plain": {},
    "transactional": {},
    "compacted": {"cleanup.policy": "compact", "segment.ms": "1000", "min.cleanable.dirty.ratio": "0.01"},
    "short": {"segment.ms": "1000"},
    "unclean": {"min.insync.replicas": "1", "unclean.leader.election.enable": "true"},
}
_BEHIND, _AHEAD = 3, 2  # replicas of an unclean topic


class Topics:
    """The topics as they are now, by their names in the history, and what they were before."""

    verbs: ClassVar = (
        "topic",
        "load",
        "transactions",
        "delete_records",
        "expire",
        "recreate",
        "grow",
        "unclean",
        "move",
        "move_coordinators",
    )

    def __init__(self, world: World) -> None:
        self._world = world
        self.live: dict[str, LiveTopic] = {}
        self.kinds: dict[str, str] = {}  # of every topic id there ever was
        self.names: dict[str, str] = {}
        self.deleted: dict[str, int] = {}
        self._loaded = 0
        self.markers_until = 0.0  # by the monotonic clock: until then a marker may be written to a topic that is quiet

    def prepare(self) -> None:
        """Make the topic and the group that never change."""
        servers = self._world.servers
        name = self._create(QUIET, "plain", QUIET_PARTITIONS)
        load = Load(name=name, topic=self.live[QUIET], records=0, size=1, seconds=0, codec="none")
        producer = load.producer(servers)
        for partition in range(QUIET_PARTITIONS):
            for _ in range(QUIET_RECORDS):
                producer.produce(name, b"quiet", partition=partition)
        assert producer.flush(TIMEOUT_S) == 0
        commits = {(name, partition): QUIET_COMMIT for partition in range(QUIET_PARTITIONS)}
        commit(servers, f"{self._world.prefix}{READERS}", commits)

    def topic(self, name: str, kind: str, partitions: int) -> None:
        """Create a topic."""
        self._create(name, kind, 1 if kind == "unclean" else partitions)

    def _create(self, name: str, kind: str, partitions: int) -> str:
        full = f"{self._world.prefix}{name}"
        if kind == "unclean":
            wanted = NewTopic(full, 1, replica_assignment=[[_AHEAD, _BEHIND]], config=CONFIGS[kind])
        else:
            wanted = NewTopic(full, partitions, 3, config=CONFIGS[kind])
        self._world.create(wanted)
        description = retried(lambda: self._described(full, partitions))
        id_ = topic_id(description)
        self.kinds[id_], self.names[id_] = kind, full
        self.live[name] = LiveTopic(name=full, kind=kind, topic_id=id_, partitions=partitions)
        return full

    def _described(self, full: str, partitions: int) -> TopicDescription:
        description = self._world.reader.describe([full])[full]
        is_led = all(one.leader is not None and one.leader.id >= 0 for one in description.partitions)
        if len(description.partitions) < partitions or not is_led:
            raise KafkaException(f"{full} is not complete yet")
        return description

    def recreate(self, topic: str) -> None:
        """Delete a topic and create it again."""
        world = self._world
        if topic not in self.live or world.brokers.down:
            return
        old = self.live[topic]
        world.loads.wait([topic])
        self.deleted[old.topic_id] = _now_ms()
        for future in world.admin.delete_topics([old.name], operation_timeout=30).values():
            future.result(30)
        every_broker.has_forgotten_topics(world.servers, [old.name])
        self._create(topic, old.kind, old.partitions)
        # The last transaction of a load is left to its timeout. Its marker goes to the topic that has the name by then.
        self.markers_until = time.monotonic() + TRANSACTION_TIMEOUT_MS / 1000 + _MARKERS_WRITTEN_S
        world.happened["topics re-created"] += 1

    def grow(self, topic: str, by: int) -> None:
        """Add partitions."""
        if topic not in self.live or self.live[topic].kind == "unclean":
            return
        old, world = self.live[topic], self._world
        wanted = NewPartitions(old.name, old.partitions + by)
        retried(lambda: [future.result(30) for future in world.admin.create_partitions([wanted]).values()])
        retried(lambda: self._described(old.name, old.partitions + by))
        self.live[topic] = replace(old, partitions=old.partitions + by)
        world.happened["topics grown"] += 1

    def delete_records(self, topic: str, percent: int) -> None:
        """Delete a part of each partition."""
        if topic not in self.live or self.live[topic].kind == "unclean":
            return
        live, reader = self.live[topic], self._world.reader
        with suppress(KafkaException, TimeoutError):  # the latter of a future: no answer yet
            starts, ends = reader.starts([live]), reader.ends([live], IsolationLevel.READ_UNCOMMITTED)
            wanted = [
                TopicPartition(live.name, at.partition, start + (ends[at] - start) * percent // 100)
                for at, start in starts.items()
            ]
            for partition, future in self._world.admin.delete_records(wanted).items():
                low = future.result(30).low_watermark
                self._world.happened["DeleteRecords"] += low > min(starts.values()) and low == partition.offset

    def expire(self, topic: str) -> None:
        """Let retention remove every closed segment, and wait until it has removed something."""
        if topic not in self.live or self.live[topic].kind != "short":
            return
        live, reader = self.live[topic], self._world.reader
        self._world.alter(live.name, "retention.ms", "1")
        with suppress(KafkaException):
            before = reader.starts([live])
            for _ in range(60):
                if any(reader.starts([live])[at] > start for at, start in before.items()):
                    self._world.happened["retention"] += 1
                    break
                time.sleep(0.1)
        self._world.alter(live.name, "retention.ms", "604800000")

    def move(self, topic: str) -> None:
        """Let another replica lead each partition."""
        if topic in self.live:
            self._world.brokers.move_leaders(self.live[topic].name, "leaders moved")

    def move_coordinators(self) -> None:
        """Let other brokers coordinate groups and transactions."""
        for topic in ("__consumer_offsets", "__transaction_state"):
            self._world.brokers.move_leaders(topic, "coordinators moved")

    def unclean(self, topic: str, records: int) -> None:
        """Make a replica lead that lacks acknowledged records, and overwrite them."""
        world, brokers, kafka = self._world, self._world.brokers, self._world.kafka
        if topic not in self.live or self.live[topic].kind != "unclean" or brokers.down:
            return
        live = self.live[topic]
        world.loads.wait([topic])
        brokers.down |= {_BEHIND, _AHEAD}
        kafka.stop(_BEHIND)
        every_broker.names_leader(world.servers, [live.name], _AHEAD)
        self._now(topic, records)
        kafka.kill(_AHEAD)
        kafka.start(_BEHIND)
        every_broker.names_leader(world.servers, [live.name], _BEHIND)
        world.happened["unclean elections"] += 1
        self._now(topic, records // 2)
        kafka.start(_AHEAD)
        brokers.down -= {_BEHIND, _AHEAD}

    # Loads

    def load(self, topic: str, records: int, size: int, seconds: int, codec: str) -> None:
        """Send records in the background."""
        world = self._world
        if load := self._new_load(topic, records, size, seconds, codec):
            world.loads.start(topic, partial(load.plain, world.servers, world.known))

    def transactions(self, topic: str, records: int, size: int, seconds: int, codec: str, each: int) -> None:
        """Send transactions in the background."""
        world = self._world
        load = self._new_load(topic, records, size, seconds, codec)
        if load and load.topic.kind == "transactional":
            world.loads.start(topic, partial(load.transactions, world.servers, world.known, each))

    def _now(self, topic: str, records: int) -> None:
        load = self._new_load(topic, records, 200, 0, "none")
        assert load
        load.plain(self._world.servers, self._world.known)

    def _new_load(self, topic: str, records: int, size: int, seconds: int, codec: str) -> Load | None:
        if topic not in self.live:
            return None
        self._loaded += 1
        name = f"{self._world.prefix}{self._loaded}"
        return Load(name=name, topic=self.live[topic], records=records, size=size, seconds=seconds, codec=codec)

    def acknowledged(self) -> dict[Partition, int]:
        """Return the next offsets after all that was acknowledged of the topics that jobs can read."""
        live = {topic.topic_id for topic in self.live.values()} - set(self._world.brokers.revoked)
        return {partition: end for partition, end in dict(self._world.known.ends).items() if partition.topic_id in live}

    def of_kind(self, kind: str) -> list[str]:
        """Return the ids of all topics of a kind that there ever were."""
        return [one for one, of in self.kinds.items() if of == kind]

    def delete(self, names: Sequence[str]) -> None:
        """Delete topics by their whole names, as far as they exist."""
        if not names:
            return
        for future in self._world.admin.delete_topics(list(names), operation_timeout=30).values():
            with suppress(KafkaException):  # no restore came so far as to create it
                future.result(30)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
