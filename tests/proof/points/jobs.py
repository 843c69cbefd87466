"""The jobs whose points are tried: how each is started, and how readers that are not ours judge its result."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import deltalake
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from kafka_lagoon.delta.open_warehouse import open_alone
from kafka_lagoon.delta.plain_jvm import plain_kernel
from kafka_lagoon.tables.schema import TABLES
from kafka_lagoon.tables.table import CHECKPOINT_INTERVAL
from tests.clock import CLOCK
from tests.delta.dated import day_of_snapshots, publish_all
from tests.delta.test_old_rows import STEPWISE, archive
from tests.integration.kafka_tools import CONFIGS
from tests.integration.state import commit, create_topics
from tests.integration.test_restore import check_map, read_all
from tests.jobs.archived import archived, assert_tiled, consumed
from tests.jobs.commands import rows
from tests.librdkafka import wait_until_stable
from tests.proof.points.processes import spark_environment
from tests.proof.points.world import Attempt, Verdict, World, copied
from tests.warehouses import settings

WAIT_MS = 120_000
_TIMES = ("00:01", "00:02", "05:01")


class Job(Protocol):
    """A job: its name, and attempts of it, each over a copy of one template."""

    name: str

    def attempt(self, *, retries: bool, place: str | None = None) -> Attempt:
        """A new attempt, over a copy of the template or the one at `place`; with `retries` Spark runs a killed task again."""


def fill(world: World, topic: str, records: int, name: str) -> None:
    """Write records to two partitions in a transaction, and as many in one that is aborted."""
    producer = Producer({"bootstrap.servers": world.servers, "transactional.id": f"{topic}-{name}"})
    producer.init_transactions(30)
    for ends in (producer.commit_transaction, producer.abort_transaction):
        producer.begin_transaction()
        for number in range(records):
            producer.produce(topic, key=b"%d" % number, value=f"{name} {number}".encode(), partition=number % 2)
        producer.flush(30)
        ends(30)
    wait_until_stable(world.servers, [topic])


def delete_records(world: World, topic: str, before: int) -> None:
    """Delete the records of partition 1 before an offset."""
    admin = AdminClient({"bootstrap.servers": world.servers})
    place = TopicPartition(topic, 1, before)
    for future in admin.delete_records([place]).values():
        future.result(30)


def checkpoint_always(lake: Path, *tables: str) -> None:
    """Let the next commit of these tables be followed by a checkpoint."""
    with plain_kernel(str(lake)) as kernel:
        for table in tables:
            state = kernel.load(kernel.storage.qualified(f"{lake}/{table}"))
            assert state
            kernel.set_properties(state, {CHECKPOINT_INTERVAL: "1"})


def checked(check: Any, *arguments: Any) -> tuple[str, ...]:
    """The complaint of a check that asserts, if it has one."""
    try:
        check(*arguments)
    except AssertionError as error:
        return (f"{check.__name__}: {str(error) or 'not so'}"[:500],)
    return ()


@dataclass
class Ingest:
    """An ingest of a topic whose archive exists, with aborted records and a loss that the run has to report."""

    world: World
    name: str = "ingest"
    settings: tuple[str, ...] = ()

    @property
    def topic(self) -> str:
        """The archived topic."""
        return f"{self.name}-points"

    @cached_property
    def template(self) -> Path:
        """A lake with a first ingest; then records were added, and some of them deleted."""
        lake = self.world.new_folder()
        create_topics(self.world.servers, [NewTopic(self.topic, 2, 1)])
        fill(self.world, self.topic, 300, "first")
        self.world.run(self._command(lake), spark_environment())
        fill(self.world, self.topic, 300, "second")
        next_offset = max(int(str(row["to_offset"])) for row in rows(lake, "record_ranges") if row["partition"] == 1)
        self._lost = next_offset, next_offset + 50
        written = consumed(self.world.servers, [self.topic])
        self._expected = Counter({key: 1 for key in written if not (key[1] == 1 and key[2] in range(*self._lost))})
        delete_records(self.world, self.topic, self._lost[1])
        checkpoint_always(lake, "records", "record_ranges")
        return lake

    def attempt(self, *, retries: bool, place: str | None = None) -> Attempt:
        """Archive the new records."""
        lake = place or copied(self.template, self.world)
        command = self._command(lake)
        return Attempt(
            command=command,
            second=command,
            environ=spark_environment("local[2,4]" if retries else "local[2]"),
            root=lake,
            accepted=frozenset({0, 3}),  # 3: the loss
            judge=self._judge,
        )

    def _command(self, lake: Path | str) -> list[str]:
        settings = [f"--set={setting.format(lake=lake)}" for setting in self.settings]
        wait = f"--set=ingest.lock_wait_ms={WAIT_MS}"
        return self.world.lagoon("ingest", lake, "--topics", self.topic, wait, *settings)

    def _judge(self, lake: Path) -> Verdict:
        reported = sum(int(str(row["lost"])) for row in rows(lake, "record_ranges", "lost"))
        wrong = () if reported == 50 else (f"{reported} offsets are reported as lost, not 50",)
        left = [str(path) for path in (*lake.glob("records/_lagoon/*/*"), *lake.glob("_staging/*/_lagoon/*/*"))]
        pending = (f"{len(left)} pending files are left, such as {left[0]}",) if left else ()
        return Verdict.of(self._expected, archived(lake), *checked(assert_tiled, lake), *wrong, *pending)  # type: ignore[arg-type]


@dataclass
class IdleIngest(Ingest):
    """An ingest without new records, which stores that it has examined a RESTORE by others that took nothing away."""

    name: str = "ingest-without-records"

    @cached_property
    def template(self) -> Path:
        """A lake with an ingest, and the RESTORE."""
        lake = self.world.new_folder()
        create_topics(self.world.servers, [NewTopic(self.topic, 2, 1)])
        fill(self.world, self.topic, 300, "all")
        self.world.run(self._command(lake), spark_environment())
        self._expected = Counter(dict.fromkeys(consumed(self.world.servers, [self.topic]), 1))
        log = lake / "records" / "_delta_log"
        version = max(int(path.stem) for path in log.glob("*.json") if path.stem.isdigit())
        restore = {"operation": "RESTORE", "operationParameters": {"version": version}, "engineInfo": "another"}
        (log / f"{version + 1:020d}.json").write_text(json.dumps({"commitInfo": {"timestamp": 1, **restore}}) + "\n")
        return lake

    def _judge(self, lake: Path) -> Verdict:
        return Verdict.of(self._expected, archived(lake), *checked(assert_tiled, lake))  # type: ignore[arg-type]


@dataclass
class Snapshot:
    """A snapshot of a quiet cluster whose slot nobody has published; the first one also creates the tables."""

    world: World
    name: str = "snapshot"
    is_first: bool = False

    @cached_property
    def topic(self) -> str:
        """A topic with records, and a group that has read some of them."""
        topic = f"{self.name}-points"
        create_topics(self.world.servers, [NewTopic(topic, 2, 1)])
        fill(self.world, topic, 100, "all")
        commit(self.world.servers, f"{topic}-group", {(topic, 0): 20, (topic, 1): 30})
        return topic

    @cached_property
    def template(self) -> Path:
        """A lake with an earlier snapshot, or nothing."""
        lake = self.world.new_folder()
        if self.topic and not self.is_first:
            self.world.run(self.world.lagoon("snapshot", lake), {})
            checkpoint_always(lake, "partition_offsets", "snapshots")
        return lake

    def attempt(self, *, retries: bool, place: str | None = None) -> Attempt:  # noqa: ARG002  it has no tasks
        """Publish a slot."""
        lake = place or copied(self.template, self.world)
        slot = datetime.now(UTC).replace(microsecond=0).isoformat()
        command = self.world.lagoon("snapshot", lake, "--slot", slot, "--set", f"snapshot.lock_wait_ms={WAIT_MS}")
        return Attempt(command=command, second=command, root=lake, judge=lambda tables: self._judge(tables, slot))

    def _judge(self, lake: Path, slot: str) -> Verdict:
        published: list[dict[str, Any]] = rows(lake, "snapshots")
        of_slot = [row for row in published if row["slot"] == datetime.fromisoformat(slot)]
        expected = Counter({("published", slot): 1})
        actual = Counter({("published", slot): len(of_slot)})
        ids = {row["snapshot_id"] for row in published}
        return Verdict.of(expected, actual, *self._incomplete(lake, published), *self._differing(lake, ids))  # type: ignore[arg-type]

    def _incomplete(self, lake: Path, published: Sequence[Mapping[str, Any]]) -> list[str]:
        """Tables that do not have the rows that a published snapshot says."""
        counts = {
            table: Counter(row["snapshot_id"] for row in rows(lake, table, "snapshot_id"))
            for table in {state["table_name"] for row in published for state in row["tables"]}
        }
        return [
            f"{state['table_name']}: {counts[state['table_name']][state['stored_in']]} rows of {state['row_count']}"
            for row in published
            for state in row["tables"]
            if counts[state["table_name"]][state["stored_in"]] != state["row_count"]
        ]

    def _differing(self, lake: Path, ids: set[Any]) -> list[str]:
        """Published offsets and lag that are not what librdkafka's client says."""
        consumer = Consumer({"bootstrap.servers": self.world.servers, "group.id": f"{self.topic}-group"})
        places = [TopicPartition(self.topic, partition) for partition in range(2)]
        ends = {place.partition: consumer.get_watermark_offsets(place, timeout=30)[1] for place in places}
        committed = {place.partition: place.offset for place in consumer.committed(places, timeout=30)}
        consumer.close()
        problems = []
        for snapshot in sorted(ids):
            offsets = {
                row["partition"]: row["high_watermark"]
                for row in rows(lake, "partition_offsets", "snapshot_id", "topic", "partition", "high_watermark")
                if (row["snapshot_id"], row["topic"]) == (snapshot, self.topic)
            }
            lag = {
                row["partition"]: row["lag"]
                for row in rows(lake, "consumer_lag", "snapshot_id", "topic", "partition", "lag")
                if (row["snapshot_id"], row["topic"]) == (snapshot, self.topic)
            }
            if offsets != ends or lag != {partition: end - committed[partition] for partition, end in ends.items()}:
                problems.append(f"snapshot {snapshot}: ends {offsets} of {ends}, lag {lag}, committed {committed}")
        return problems


@dataclass
class Restore:
    """A restore of a topic with its configs and the offsets of a group, into a topic of another name."""

    world: World
    name: str = "restore"
    form: tuple[str, ...] = ("--with-offsets",)
    settings: tuple[str, ...] = ()

    @cached_property
    def topic(self) -> str:
        """The archived topic."""
        return f"{self.name}-points"

    @cached_property
    def template(self) -> Path:
        """A lake with an ingest and a snapshot."""
        lake = self.world.new_folder()
        create_topics(self.world.servers, [NewTopic(self.topic, 2, 1, config={"max.message.bytes": "65536"})])
        fill(self.world, self.topic, 300, "all")
        commit(self.world.servers, f"{self.topic}-group", {(self.topic, 0): 20, (self.topic, 1): 30})
        self.world.run(self.world.lagoon("ingest", lake, "--topics", self.topic), spark_environment())
        self.world.run(self.world.lagoon("snapshot", lake), {})
        return lake

    def attempt(self, *, retries: bool, place: str | None = None) -> Attempt:
        """Restore into a topic that does not exist."""
        lake = place or copied(self.template, self.world)
        target = f"{self.topic}-{name_of(lake)}"
        names = ("--from-cluster", "default", "--to-cluster", "default", "--topics", self.topic)
        more = ("--rename", f"{self.topic}={target}", "--with-configs", *self.form)
        settings = [f"--set={setting}" for setting in (f"restore.lock_wait_ms={WAIT_MS}", *self.settings)]
        command = self.world.lagoon("restore", lake, "--yes", *names, *more, *settings)
        return Attempt(
            command=command,
            second=command,
            environ=spark_environment("local[2,4]" if retries else "local[2]"),
            root=lake,
            judge=lambda tables: self._judge(tables, target),
        )

    def _judge(self, lake: Path, target: str) -> Verdict:
        kafka: Any = _Cluster(self.world.servers)
        source, written = read_all(kafka, self.topic)[0], read_all(kafka, target)[0]
        expected, actual = (
            Counter((partition, *record) for partition, some in read.items() for record in map(_hashable, some))
            for read in (source, written)
        )
        problems = [] if source == written else ["the order differs"]
        problems += checked(check_map, lake, kafka, kafka, self.topic, target)
        receipts = [row for row in rows(lake, "restore_receipts") if row["target_topic"] == target]
        problems += [f"receipt: {row['problem']}" for row in receipts if row["problem"]]
        problems += [] if len({row["target_partition"] for row in receipts}) == 2 else ["receipts are missing"]
        if "--with-offsets" in self.form:
            group = f"{self.topic}-group"
            theirs = [next_of(self.world.servers, topic, group) for topic in (self.topic, target)]
            problems += [] if theirs[0] == theirs[1] else [f"the group reads {theirs[1]} instead of {theirs[0]} next"]
        config = self.world.kafka.tool(
            CONFIGS, "--bootstrap-server", self.world.servers, "--describe", "--topic", target
        )
        problems += [] if "max.message.bytes=65536" in config else [f"the topic has not the archived configs: {config}"]
        return Verdict.of(expected, actual, *problems)  # type: ignore[arg-type]


def name_of(location: str) -> str:
    """The last part of a warehouse's location."""
    return location.rpartition("/")[2]


def _hashable(record: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(tuple(value) if isinstance(value, list) else value for value in record)


@dataclass(frozen=True)
class _Cluster:
    bootstrap_servers: str


def next_of(servers: str, topic: str, group: str) -> dict[int, Any]:
    """The record that a group reads next of each of two partitions; None at the end."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": group,
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
            "auto.offset.reset": "error",
        }
    )
    results: dict[int, Any] = {}
    try:
        consumer.assign([TopicPartition(topic, partition) for partition in range(2)])
        while len(results) < 2:
            message: Any = consumer.poll(30)
            if message is None:
                return results
            results.setdefault(message.partition(), str(message.error()) if message.error() else message.value())
    finally:
        consumer.close()
    return results


@dataclass
class Apply:
    """A state of two new topics, a changed config and a topic that is removed, which `lagoon apply` brings about."""

    world: World
    name: str = "apply"

    @cached_property
    def template(self) -> Path:
        """A lake with tables."""
        lake = self.world.new_folder()
        self.world.run(self.world.lagoon("snapshot", lake), {})
        return lake

    def attempt(self, *, retries: bool, place: str | None = None) -> Attempt:  # noqa: ARG002  it has no tasks
        """Apply the state to topics of this attempt."""
        lake = place or copied(self.template, self.world)
        prefix = f"apply-{name_of(lake)}"
        create_topics(self.world.servers, [NewTopic(f"{prefix}-{role}", 1, 1) for role in ("old", "kept")])
        file = self.world.new_folder().with_suffix(".toml")
        cluster_id = AdminClient({"bootstrap.servers": self.world.servers}).list_topics(timeout=30).cluster_id
        file.write_text(
            f'cluster_id = "{cluster_id}"\n[owns]\ntopics = ["{prefix}-.*"]\n'
            f'[topics.{prefix}-a]\npartitions = 2\nconfigs = {{ "retention.ms" = 86400000 }}\n'
            f"[topics.{prefix}-b]\npartitions = 1\n"
            f'[topics.{prefix}-kept]\npartitions = 3\nconfigs = {{ "max.message.bytes" = 4321 }}\n'
        )
        command = self.world.lagoon("apply", lake, str(file), "--yes", "--allow-deletions")
        return Attempt(command=command, second=command, root=lake, judge=lambda tables: self._judge(tables, prefix))

    def _judge(self, lake: Path, prefix: str) -> Verdict:
        """Compare with Kafka's tools, and the table with what was done."""
        tool = "org.apache.kafka.tools.TopicCommand", "--bootstrap-server", self.world.servers, "--describe"
        lines = [line for line in self.world.kafka.tool(*tool).splitlines() if f"Topic: {prefix}-" in line]
        described = [
            dict(pair.split(": ", 1) for pair in line.split("\t")) for line in lines if "PartitionCount" in line
        ]
        actual = {one["Topic"]: (one["PartitionCount"], *one["Configs"].split(",")) for one in described}
        wanted = {"a": ("2", "retention.ms=86400000"), "b": ("1",), "kept": ("3", "max.message.bytes=4321")}
        expected = {f"{prefix}-{name}": set(facts) for name, facts in wanted.items()}
        different = [name for name, facts in expected.items() if not facts <= set(actual.get(name, ()))]
        problems = [f"{name} is {actual.get(name)}" for name in different + sorted(actual.keys() - expected.keys())]
        actions = [row for row in rows(lake, "admin_actions") if str(row["resource_name"]).startswith(prefix)]
        started = Counter((row["kind"], row["resource_name"]) for row in actions if row["event"] == "started")
        done = Counter((row["kind"], row["resource_name"]) for row in actions if row["outcome"] == "done")
        problems += [f"{key} was done {number} times" for key, number in done.items() if number > 1]
        problems += [f"{number} changes of 5 are recorded" for number in [len(started)] if number != 5]
        return Verdict(len(different), 0, tuple(problems))


@dataclass
class Sink:
    """A stream that copies a topic to another in micro-batches, with transactions of tasks or of the run."""

    world: World
    name: str = "sink"
    transactions: str = "task"

    @cached_property
    def topic(self) -> str:
        """The topic that is copied in three micro-batches."""
        topic = f"{self.name}-points"
        create_topics(self.world.servers, [NewTopic(topic, 2, 1)])
        for name in ("first", "second"):
            fill(self.world, topic, 250, name)
        return topic

    def attempt(self, *, retries: bool, place: str | None = None) -> Attempt:  # noqa: ARG002  it has no warehouse
        """Copy the topic to a new one."""
        folder = self.world.new_folder()
        source, target = self.topic, f"{self.topic}-{folder.name}"
        create_topics(self.world.servers, [NewTopic(target, 1, 1)])
        script = ("python", "-m", "tests.proof.points.copying", self.world.servers, source, target)
        command = [*script, self.transactions, str(folder / "checkpoint"), "local[2,4]" if retries else "local[2]"]
        return Attempt(command=command, environ=spark_environment(), judge=lambda _: self._judge(target))

    def _judge(self, target: str) -> Verdict:
        kafka: Any = _Cluster(self.world.servers)
        expected, actual = (
            Counter(value for some in read_all(kafka, topic)[0].values() for _, value, *_ in some)
            for topic in (self.topic, target)
        )
        return Verdict.of(expected, actual)


@dataclass
class Maintain:
    """Maintenance that removes old snapshots, joins the files of days, and rewrites records by Spark."""

    world: World
    name: str = "maintain"

    @cached_property
    def template(self) -> Path:
        """A lake with snapshots of two days and ingests of three."""
        lake = self.world.new_folder()
        with plain_kernel(str(lake)) as kernel:
            warehouse = open_alone(kernel, settings(f"warehouse={lake}"), TABLES, CLOCK)
            publish_all(warehouse, (made for days in (5, 10) for made in day_of_snapshots(days, *_TIMES)))
            for number in range(1, 7):
                archive(warehouse, 12 - number // 3, number)
        expected = Path(copied(lake, self.world))
        for _ in range(2):
            self.world.run(self._command(expected), spark_environment())
        self._before, self._expected = seen(lake), seen(expected)
        assert self._before != self._expected
        return lake

    def attempt(self, *, retries: bool, place: str | None = None) -> Attempt:  # noqa: ARG002  the tasks of OPTIMIZE write through Java
        """Maintain some tables, each in another way."""
        lake = place or copied(self.template, self.world)
        command = self._command(lake)
        return Attempt(
            command=command,
            second=command,
            environ=spark_environment(),
            root=lake,
            judge=self._judge,
        )

    def _command(self, lake: Path | str) -> list[str]:
        kept = [f"--set=retention.{name}={days}" for name, days in STEPWISE if days is not None]
        tables = "snapshots,consumer_lag,acls,records,record_ranges,record_problems"
        return [
            "lagoon",
            "maintain",
            "--warehouse",
            str(lake),
            "--keep-hours",
            "0",
            "--force",
            "--tables",
            tables,
            *kept,
        ]

    def _judge(self, lake: Path) -> Verdict:
        """The rows are those of a lake that was maintained undisturbed, and no file is left that no version names."""
        self.world.run(self._command(lake), spark_environment())  # rows of snapshots go a run after them
        unnamed = [
            str(path)
            for table in lake.iterdir()
            if (table / "_delta_log").is_dir()
            for path in {str(path) for path in table.glob("*=*/*.parquet")}
            - set(deltalake.DeltaTable(str(table)).file_uris())
        ]
        left = [f"{len(unnamed)} files are named by no version, such as {unnamed[0]}"] if unnamed else []
        return Verdict.of(self._expected, seen(lake), *left)


def seen(lake: Path) -> Counter[Any]:
    """The rows of the tables that are maintained."""
    return Counter(
        (table, repr(row))
        for table in ("snapshots", "consumer_lag", "acls", "records", "record_ranges", "record_problems")
        for row in rows(lake, table)
    )


def new_jobs(world: World) -> dict[str, Job]:
    """All jobs by name; a template is made when its job is first tried."""
    jobs: list[Job] = [
        Snapshot(world),
        Snapshot(world, name="first-snapshot", is_first=True),
        Ingest(world),
        IdleIngest(world),
        Ingest(world, name="ingest-on-executors", settings=("ingest.local_max_bytes=0",)),
        Ingest(world, name="ingest-by-spark", settings=("records.writer=spark", "records.staging={lake}/_staging")),
        Maintain(world),
        Apply(world),
        Restore(world),
        Restore(world, name="restore-on-executors", settings=("restore.local_max_bytes=0",)),
        Restore(
            world, name="restore-transactional", form=("--transactional",), settings=("restore.local_max_bytes=0",)
        ),
        Sink(world),
        Sink(world, name="sink-run", transactions="run"),
    ]
    return {job.name: job for job in jobs}
