"""Plays a history on a cluster: one method per verb, then the end, when every fault is over and the jobs run until exit 0."""

import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from confluent_kafka import IsolationLevel, KafkaException, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    ResourceType,
    TopicDescription,
)
from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError

from kafka_lagoon.sandbox.kafka import LocalKafka
from kafka_lagoon.sandbox.node import Listener
from tests.integration import every_broker
from tests.integration.state import commit
from tests.proof.brokers import Brokers, acl
from tests.proof.evidence import Evidence, Partition, Quiet, RestoredPartition, Row
from tests.proof.history import History, Step
from tests.proof.jobs import PASSWORD, USER, Jobs, Place
from tests.proof.judge import Verdict, judge
from tests.proof.load import Known, LiveTopic, Load, Loads
from tests.proof.network import Network, Rule
from tests.proof.oracle import Kafka, Tables, occurrences, topic_id

T = TypeVar("T")
CLIENTS = "CLIENTS"
QUIET, READERS, QUIET_PARTITIONS, QUIET_RECORDS, QUIET_COMMIT = "quiet", "readers", 3, 40, 15
_LAST_RUNS = 8
_TIMEOUT_S = 60
_CONFIGS = {
    "plain": {},
    "transactional": {},
    "compacted": {"cleanup.policy": "compact", "segment.ms": "1000", "min.cleanable.dirty.ratio": "0.01"},
    "short": {"segment.ms": "1000"},
    "unclean": {"min.insync.replicas": "1", "unclean.leader.election.enable": "true"},
}
_BEHIND, _AHEAD = 3, 2  # replicas of an unclean topic
_PROPERTIES = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",  # brokers, producers and the judge; jobs log in
    "log.initial.task.delay.ms": "1000",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
    "listener.name.clients.sasl.enabled.mechanisms": "PLAIN",
    "listener.name.clients.plain.sasl.jaas.config": "org.apache.kafka.common.security.plain.PlainLoginModule required "
    f'user_{USER}="{PASSWORD}";',
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster3:
    """Three brokers, and the proxies that jobs reach them through."""

    kafka: LocalKafka
    network: Network
    folder: Path


@contextmanager
def cluster(folder: Path) -> Iterator[Cluster3]:
    """Run three brokers for any number of histories."""
    with Network() as network:
        listener = Listener(CLIENTS, "SASL_PLAINTEXT", network.front)
        with LocalKafka(folder / "kafka", brokers=3, listeners=[listener], properties=_PROPERTIES) as kafka:
            kinds = ((ResourceType.TOPIC, "*"), (ResourceType.GROUP, "*"), (ResourceType.BROKER, "kafka-cluster"))
            every_broker.create_acls(kafka.bootstrap_servers, [acl(kind, name) for kind, name in kinds])
            yield Cluster3(kafka=kafka, network=network, folder=folder)


@dataclass(slots=True)
class Outcome:
    """The faults that happened in a history, its evidence, and the verdict of the judge."""

    history: History
    verdict: Verdict
    happened: Counter[str]
    acknowledged: int
    evidence: Evidence
    names: Mapping[str, str]  # of topics, by id
    recovery_s: float  # from the end of the faults until the jobs ended with exit 0
    seconds: float = 0.0


def play(on: Cluster3, history: History) -> Outcome:
    """Play a history to its end, and judge it. The cluster is whole before and after."""
    started = time.monotonic()
    player = Player(on, history)
    player.prepare()
    for step in history.steps:
        player.do(step)
    evidence = player.end()
    outcome = Outcome(
        history=history,
        verdict=judge(evidence),
        happened=player.happened,
        acknowledged=player.known.acknowledged,
        evidence=evidence,
        names=player.names,
        recovery_s=player.recovery_s,
        seconds=time.monotonic() - started,
    )
    player.remove_topics()
    return outcome


class Player:
    """A history that is played."""

    def __init__(self, on: Cluster3, history: History) -> None:
        self.happened: Counter[str] = Counter()
        self.known = Known()
        self._kafka = on.kafka
        self._brokers = Brokers(on.kafka, on.network, self.happened)
        self._servers = on.kafka.bootstrap_servers
        self._admin = AdminClient({"bootstrap.servers": self._servers, "log_level": 0})
        self.reader = Kafka(self._servers)
        self._chance = random.Random(str(history))
        self._prefix = f"{history.name}-"
        self.place = Place(
            bootstrap_servers=on.kafka.bootstrap(CLIENTS),
            warehouse=on.folder / history.name / "lake",
            prefix=self._prefix,
            started_at=time.time(),
        )
        self.jobs = Jobs(self.place)
        self.loads = Loads()
        self.topics: dict[str, LiveTopic] = {}
        self._ids: dict[str, str] = {}  # kind of every topic id there ever was
        self.names: dict[str, str] = {}
        self._deleted: dict[str, int] = {}
        self._loaded = 0
        self._restored: dict[str, LiveTopic] = {}
        self.recovery_s = 0.0
        self.last_slot = 0.0  # of the first snapshot after all faults; further ones are a minute later each
        self._is_complete = True
        self._is_compacted = False  # by another engine, which puts files together in any order

    def prepare(self) -> None:
        """Make the topic and the group that never change."""
        name = self._create(QUIET, "plain", QUIET_PARTITIONS)
        load = Load(name=name, topic=self.topics[QUIET], records=0, size=1, seconds=0, codec="none")
        producer = load.producer(self._servers)
        for partition in range(QUIET_PARTITIONS):
            for _ in range(QUIET_RECORDS):
                producer.produce(name, b"quiet", partition=partition)
        assert producer.flush(_TIMEOUT_S) == 0
        commits = {(name, partition): QUIET_COMMIT for partition in range(QUIET_PARTITIONS)}
        commit(self._servers, f"{self._prefix}{READERS}", commits)

    def do(self, step: Step) -> None:
        """Do a step."""
        VERBS[step.verb](self, **step.named())

    # Topics

    def topic(self, name: str, kind: str, partitions: int) -> None:
        """Create a topic."""
        self._create(name, kind, 1 if kind == "unclean" else partitions)

    def _create(self, name: str, kind: str, partitions: int) -> str:
        full = f"{self._prefix}{name}"
        if kind == "unclean":
            wanted = NewTopic(full, 1, replica_assignment=[[_AHEAD, _BEHIND]], config=_CONFIGS[kind])
        else:
            wanted = NewTopic(full, partitions, 3, config=_CONFIGS[kind])
        _retried(lambda: [future.result(30) for future in self._admin.create_topics([wanted]).values()])
        description = _retried(lambda: self._described(full, partitions))
        id_ = topic_id(description)
        self._ids[id_], self.names[id_] = kind, full
        self.topics[name] = LiveTopic(name=full, kind=kind, topic_id=id_, partitions=partitions)
        return full

    def _described(self, full: str, partitions: int) -> TopicDescription:
        description = self.reader.describe([full])[full]
        is_led = all(one.leader is not None and one.leader.id >= 0 for one in description.partitions)
        if len(description.partitions) < partitions or not is_led:
            raise KafkaException(f"{full} is not complete yet")
        return description

    def recreate(self, topic: str) -> None:
        """Delete a topic and create it again."""
        if topic not in self.topics or self._brokers.down:
            return
        old = self.topics[topic]
        self.loads.wait([topic])
        self._deleted[old.topic_id] = _now_ms()
        for future in self._admin.delete_topics([old.name], operation_timeout=30).values():
            future.result(30)
        every_broker.has_forgotten_topics(self._servers, [old.name])
        self._create(topic, old.kind, old.partitions)
        self.happened["topics re-created"] += 1

    def grow(self, topic: str, by: int) -> None:
        """Add partitions."""
        if topic not in self.topics or self.topics[topic].kind == "unclean":
            return
        old = self.topics[topic]
        wanted = NewPartitions(old.name, old.partitions + by)
        _retried(lambda: [future.result(30) for future in self._admin.create_partitions([wanted]).values()])
        _retried(lambda: self._described(old.name, old.partitions + by))
        self.topics[topic] = replace(old, partitions=old.partitions + by)
        self.happened["topics grown"] += 1

    def delete_records(self, topic: str, percent: int) -> None:
        """Delete a part of each partition."""
        if topic not in self.topics or self.topics[topic].kind == "unclean":
            return
        live = self.topics[topic]
        with suppress(KafkaException):
            starts, ends = self.reader.starts([live]), self.reader.ends([live], IsolationLevel.READ_UNCOMMITTED)
            wanted = [
                TopicPartition(live.name, at.partition, start + (ends[at] - start) * percent // 100)
                for at, start in starts.items()
            ]
            for partition, future in self._admin.delete_records(wanted).items():
                low = future.result(30).low_watermark
                self.happened["DeleteRecords"] += low > min(starts.values()) and low == partition.offset

    def expire(self, topic: str) -> None:
        """Let retention remove every closed segment, and wait until it has removed something."""
        if topic not in self.topics or self.topics[topic].kind != "short":
            return
        live = self.topics[topic]
        self.alter(live.name, "retention.ms", "1")
        with suppress(KafkaException):
            before = self.reader.starts([live])
            for _ in range(60):
                if any(self.reader.starts([live])[at] > start for at, start in before.items()):
                    self.happened["retention"] += 1
                    break
                time.sleep(0.1)
        self.alter(live.name, "retention.ms", "604800000")

    def alter(self, topic: str, name: str, value: str) -> None:
        """Set a config of a topic."""
        entry = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
        _retried(lambda: [one.result(30) for one in self._admin.incremental_alter_configs([resource]).values()])

    # Loads

    def load(self, topic: str, records: int, size: int, seconds: int, codec: str) -> None:
        """Send records in the background."""
        if load := self._new_load(topic, records, size, seconds, codec):
            self.loads.start(topic, partial(load.plain, self._servers, self.known))

    def transactions(self, topic: str, records: int, size: int, seconds: int, codec: str, each: int) -> None:
        """Send transactions in the background."""
        load = self._new_load(topic, records, size, seconds, codec)
        if load and load.topic.kind == "transactional":
            self.loads.start(topic, partial(load.transactions, self._servers, self.known, each))

    def _new_load(self, topic: str, records: int, size: int, seconds: int, codec: str) -> Load | None:
        if topic not in self.topics:
            return None
        self._loaded += 1
        name = f"{self._prefix}{self._loaded}"
        return Load(name=name, topic=self.topics[topic], records=records, size=size, seconds=seconds, codec=codec)

    # Jobs

    def ingest(
        self,
        by: str = "lagoon",
        master: str = "local",
        fetch_kb: int = 8192,
        task_mb: int = 256,
        by_executors: int = 1,
    ) -> None:
        """Start an ingest that reads on Spark's executors, or in the process of its driver."""
        options = {"fetch_kb": fetch_kb, "task_mb": task_mb, "by_executors": by_executors}
        self.jobs.start("ingest", self.acknowledged(), by, master, **options)

    def snapshot(self, slot: int, by: str = "lagoon") -> None:
        """Start a snapshot."""
        self.jobs.start("snapshot", {}, by, "local", slot=slot)

    def maintain(self, keep_hours: int = 168, by: str = "lagoon") -> None:
        """Start maintenance; it keeps no old files only if nothing else runs."""
        if (self.place.warehouse / "records").is_dir() and not (keep_hours == 0 and self.jobs.is_running()):
            self.jobs.start("maintain", {}, by, "local", keep_hours=keep_hours)

    def foreign(self, action: str, table: str) -> None:
        """Let another engine rewrite, remove or checkpoint files of a table, beside whatever runs."""
        folder = self.place.warehouse / table
        if not (folder / "_delta_log").is_dir():
            return
        opened = DeltaTable(str(folder))
        with suppress(CommitFailedError):
            match action:
                case "compact":
                    self._is_compacted |= table == "records"
                    done = opened.optimize.compact()["numFilesAdded"] > 0
                case "vacuum":
                    opened.vacuum(dry_run=False)
                    done = True
                case "checkpoint":
                    opened.create_checkpoint()
                    done = True
            self.happened[f"foreign {action}"] += done

    def restore(self, topic: str, by: str = "lagoon", master: str = "local") -> None:
        """Start a restore into another topic; its producer writes what the archive has when it begins."""
        if topic in self.topics and self.topics[topic].kind not in ("unclean", "short"):
            self._restored.setdefault(topic, self.topics[topic])
            self.jobs.start("restore", {}, by, master, topic=self.topics[topic].name)

    def kill(self, job: str, whom: str, step: str, ms: int) -> None:
        """Kill processes of a job, some time after it began a step."""
        if self.jobs.signalled(job, whom, signal.SIGKILL, step, ms, self._chance):
            self.happened[f"{job}: {whom} killed"] += 1

    def freeze(self, job: str, whom: str, step: str, ms: int) -> None:
        """Stop processes of a job until the round ends."""
        if self.jobs.signalled(job, whom, signal.SIGSTOP, step, ms, self._chance):
            self.happened[f"{job}: {whom} frozen"] += 1

    def acknowledged(self) -> dict[Partition, int]:
        """Return the next offsets after all that was acknowledged of the topics that jobs can read."""
        live = {topic.topic_id for topic in self.topics.values()} - set(self._brokers.revoked)
        return {partition: end for partition, end in dict(self.known.ends).items() if partition.topic_id in live}

    # Brokers and networks

    def broker(self, action: str, id: int) -> None:  # noqa: A002
        """Kill, stop or pause a broker, or the active controller (0), if all are up."""
        self._brokers.signal(action, id)

    def network(self, action: str, api: str, broker: int, ms: int, count: int) -> None:
        """Let proxies break what they pass on."""
        self._brokers.break_connections(Rule(action, api, broker, ms, count))

    def move(self, topic: str) -> None:
        """Let another replica lead each partition."""
        if topic in self.topics:
            self._brokers.move_leaders(self.topics[topic].name, "leaders moved")

    def move_coordinators(self) -> None:
        """Let other brokers coordinate groups and transactions."""
        for topic in ("__consumer_offsets", "__transaction_state"):
            self._brokers.move_leaders(topic, "coordinators moved")

    def revoke(self, topic: str, operation: str) -> None:
        """Deny jobs an operation on a topic until the round ends: without DESCRIBE lists lack it, and no broker says so."""
        live = self.topics.get(topic)
        if live and self._brokers.revoke(live.topic_id, live.name, operation):
            self.jobs.forget(live.topic_id)

    def quota(self, kb_per_second: int, percent: int) -> None:
        """Slow the brokers' answers to jobs down until the round ends."""
        self._brokers.slow_down(kb_per_second, percent)

    def unclean(self, topic: str, records: int) -> None:
        """Make a replica lead that lacks acknowledged records, and overwrite them."""
        if topic not in self.topics or self.topics[topic].kind != "unclean" or self._brokers.down:
            return
        live = self.topics[topic]
        self.loads.wait([topic])
        self._brokers.down |= {_BEHIND, _AHEAD}
        self._kafka.stop(_BEHIND)
        every_broker.names_leader(self._servers, [live.name], _AHEAD)
        self._now(topic, records)
        self._kafka.kill(_AHEAD)
        self._kafka.start(_BEHIND)
        every_broker.names_leader(self._servers, [live.name], _BEHIND)
        self.happened["unclean elections"] += 1
        self._now(topic, records // 2)
        self._kafka.start(_AHEAD)
        self._brokers.down -= {_BEHIND, _AHEAD}

    def _now(self, topic: str, records: int) -> None:
        load = self._new_load(topic, records, 200, 0, "none")
        assert load
        load.plain(self._servers, self.known)

    def wait(self, ms: int) -> None:
        """Let time pass."""
        time.sleep(ms / 1000)

    def jobs_end(self, seconds: int) -> None:
        """Wait until no job runs, or so long, while faults go on."""
        self.jobs.wait_beside_faults(seconds)

    def mend(self) -> None:
        """End every fault, while jobs go on."""
        self.jobs.thaw()
        self._brokers.mend()

    def rest(self) -> None:
        """End every fault, and wait until no job runs."""
        self.mend()
        self._is_complete &= self.jobs.wait()

    # The end

    def end(self) -> Evidence:
        """End every fault, run jobs until they have nothing to report, and collect the evidence."""
        self.rest()
        self.loads.wait()
        topics = list(self.topics.values())
        every_broker.wait_until(lambda: self._is_whole(topics), "a replica is not in sync, or a transaction is open")
        whole_at = time.monotonic()
        codes = [self._last("ingest", self.acknowledged()), self._last("snapshot", {})]
        self.recovery_s = time.monotonic() - whole_at
        # A topic that was re-created since its restore began has another archive: that would be another restore.
        self._restored = {
            name: one for name, one in self._restored.items() if self.topics[name].topic_id == one.topic_id
        }
        codes += [self._last("restore", {}, topic=topic.name) for topic in self._restored.values()]
        self._is_complete &= not any(codes)
        return self._evidence(topics)

    def _last(self, job: str, acknowledged: Mapping[Partition, int], **options: str) -> int:
        """Run a job until it ends with exit 0."""
        code = -1
        for number in range(_LAST_RUNS):
            code = self.jobs.undisturbed(job, acknowledged, slot=self.last_slot - number, **options).exit_code
            if code == 0:
                break
        return code

    def _is_whole(self, topics: Sequence[LiveTopic]) -> bool:
        """Return True if all replicas are in sync and no transaction is open."""
        with suppress(KafkaException):
            described = self.reader.describe([topic.name for topic in topics]).values()
            in_sync = all(len(one.isr) == len(one.replicas) for topic in described for one in topic.partitions)
            stable = self.reader.ends(topics, IsolationLevel.READ_COMMITTED)
            return in_sync and stable == self.reader.ends(topics, IsolationLevel.READ_UNCOMMITTED)
        return False

    def _evidence(self, topics: Sequence[LiveTopic]) -> Evidence:
        read = [topic for topic in topics if topic.name != f"{self._prefix}{QUIET}"]
        group = f"{self._prefix}{READERS}"
        tables = Tables(self.place.warehouse)
        in_log = self.reader.records(topics)
        quiet_id = self.topics[QUIET].topic_id
        for partition, records in in_log.items():
            if partition.topic_id == quiet_id:
                self.known.committed[partition] = records
        rows = tables.rows()
        kinds = {kind: [one for one, of in self._ids.items() if of == kind] for kind in _CONFIGS}
        compacted = [*kinds["compacted"]]
        removed = sum(
            offset not in in_log.get(partition, {})
            for partition, records in self.known.committed.items()
            for offset in records
            if partition.topic_id in compacted and partition.topic_id not in self._deleted
        )
        self.happened["compactions"] += removed > 0
        assert read or self.topics
        evidence = Evidence(
            committed=self.known.committed,
            aborted=self.known.aborted,
            sent=self.known.sent,
            in_log=in_log,
            log_starts=self.reader.starts(topics),
            deleted=self._deleted,
            compacted=compacted,
            unclean=kinds["unclean"],
            rows=rows,
            archived=tables.archived(),
            ranges=tables.ranges(),
            in_order=self._is_compacted or tables.is_in_order(),
            snapshots=tables.snapshots(),
            quiet=Quiet(partitions=QUIET_PARTITIONS, high_watermark=QUIET_RECORDS, committed_offset=QUIET_COMMIT),
            quiet_rows=tables.quiet_rows(f"{self._prefix}{QUIET}", group),
            differences=list(tables.differences(self.reader, topics, group)),
            restored=[*self._restorations(rows, tables)],
            runs=self.jobs.runs,
            is_complete=self._is_complete,
            secrets=[*self._secrets()],
        )
        tables.close()
        return evidence

    def _restorations(self, rows: Sequence[Row], tables: Tables) -> Iterator[RestoredPartition]:
        """Read what restores have written."""
        for topic in self._restored.values():
            target = self.place.restored(topic.name)
            described = self.reader.describe([target])[target]
            id_, count = topic_id(described), len(described.partitions)
            written = self.reader.records([LiveTopic(name=target, kind="plain", topic_id=id_, partitions=count)])
            receipts = tables.receipts(target)
            for number in range(count):
                archived = sorted(
                    (row for row in rows if row.partition == (topic.topic_id, number)), key=lambda row: row.offset
                )
                yield RestoredPartition(
                    name=f"{target}-{number}",
                    archived=[row.digest for row in archived],
                    written=[digest for _, digest in sorted(written.get(Partition(id_, number), {}).items())],
                    receipts=receipts.get(number, []),
                )

    def _secrets(self) -> Iterator[str]:
        secret = PASSWORD.encode()
        for number, run in enumerate(self.jobs.runs):
            if PASSWORD in run.output:
                yield f"output of run {number} ({run.job})"
        yield from occurrences(self.place.warehouse, {"password": secret})

    def remove_topics(self) -> None:
        """Delete the topics, so that the next history finds an empty cluster."""
        names = [topic.name for topic in self.topics.values()]
        self.delete([*names, *(self.place.restored(topic.name) for topic in self._restored.values())])

    def delete(self, names: Sequence[str]) -> None:
        """Delete topics by their whole names, as far as they exist."""
        for future in self._admin.delete_topics(list(names), operation_timeout=30).values():
            with suppress(KafkaException):  # no restore came so far as to create it
                future.result(30)


VERBS: Mapping[str, Callable[..., None]] = {
    "topic": Player.topic,
    "load": Player.load,
    "transactions": Player.transactions,
    "ingest": Player.ingest,
    "snapshot": Player.snapshot,
    "maintain": Player.maintain,
    "restore": Player.restore,
    "foreign": Player.foreign,
    "kill": Player.kill,
    "freeze": Player.freeze,
    "broker": Player.broker,
    "network": Player.network,
    "delete_records": Player.delete_records,
    "expire": Player.expire,
    "recreate": Player.recreate,
    "grow": Player.grow,
    "move": Player.move,
    "move_coordinators": Player.move_coordinators,
    "revoke": Player.revoke,
    "quota": Player.quota,
    "unclean": Player.unclean,
    "wait": Player.wait,
    "jobs_end": Player.jobs_end,
    "rest": Player.rest,
}


def _retried(call: Callable[[], T]) -> T:
    """Do something that fails for a moment while brokers come and go."""
    deadline = time.monotonic() + _TIMEOUT_S
    while True:
        try:
            return call()
        except KafkaException:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
