"""Runs one broker: its folder, its process and its log.

A broker is stopped by the handle of the process that was started here, never by a name or a port.
"""

import base64
import shutil
import subprocess
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from kafka_lagoon import java_properties
from kafka_lagoon.frozen import frozen
from kafka_lagoon.jars.class_archives import archive_options
from kafka_lagoon.jars.java import class_path, start_java

_BROKER_LOG = ("-Dorg.slf4j.simpleLogger.showDateTime=true", "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS")


class Server(Protocol):
    """A process of a cluster: a broker, or its ZooKeeper."""

    def name(self) -> str:
        """Its name in error messages."""

    def log(self) -> Path:
        """File that the process writes to."""

    def start(self) -> int:
        """Start the process without waiting for answers; returns its process id."""

    def running(self) -> subprocess.Popen[bytes] | None:
        """The process, while it is there."""


def _own_port(_: int, port: int) -> int:
    return port


@frozen(kw_only=False)
class Listener:
    """Another address of every broker: its name, and its protocol as `security.protocol` has it.

    How it authenticates is in properties that begin with `listener.name.` and the name in small letters. `advertised` returns
    the port that clients are given instead of a broker's own, by node id and that port: the port of a proxy.
    """

    name: str
    protocol: str
    advertised: Callable[[int, int], int] = _own_port


@frozen
class NodeLayout:
    """Folder and loopback ports of one broker, which is a controller too.

    Without KRaft, ZooKeeper is at the controller port of the first broker.
    """

    node_id: int
    port: int
    controller_port: int
    rack: str | None
    folder: Path
    others: Mapping[Listener, int]  # ports beside the plain one
    log_dirs: int = 1
    voter_directory_id: str | None = None  # of a quorum whose voters can change (KIP-853)
    advertised: Callable[[int, int], int] = _own_port  # as of a listener, but of the controllers

    def data(self) -> Path:
        """Folder of the broker's data, the first of log.dirs; the metadata log is there."""
        return self.folder / "data"

    def data_folders(self) -> Sequence[Path]:
        """All of log.dirs."""
        return [self.data(), *(self.folder / f"data-{number}" for number in range(2, self.log_dirs + 1))]

    def voter(self) -> str:
        """The voter as `kafka-storage format --initial-controllers` takes it."""
        return f"{self.node_id}@{self.controller()}:{self.voter_directory_id}"

    def controller(self) -> str:
        """Address of its controller for the other nodes."""
        return f"127.0.0.1:{self.advertised(self.node_id, self.controller_port)}"

    def log(self) -> Path:
        """File that the broker's process writes to."""
        return self.folder / "broker.log"

    def properties_file(self) -> Path:
        """The broker's server.properties."""
        return self.folder / "server.properties"


@dataclass(slots=True, kw_only=True)
class Node:
    """One broker: its layout and, while it runs, its process."""

    layout: NodeLayout
    jars: Sequence[Path]
    heap_mb: int
    on_zookeeper: bool = False
    options: Sequence[str] = ()  # of the JVM
    process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    def name(self) -> str:
        """Its name in error messages."""
        return f"broker {self.layout.node_id}"

    def log(self) -> Path:
        """File that the process writes to."""
        return self.layout.log()

    def write_properties(self, cluster: Sequence[NodeLayout], extra: Mapping[str, str]) -> None:
        """Write server.properties; `extra` wins over what we would set."""
        self.layout.folder.mkdir(parents=True, exist_ok=True)
        controller = (_on_zookeeper if self.on_zookeeper else _on_kraft)(self.layout, cluster)
        properties = {**_properties(self.layout, cluster), **_listeners(self.layout), **controller, **extra}
        self.layout.properties_file().write_text(java_properties.written(properties))

    def start_format(self, cluster_uuid: str, voters: Sequence[str] = ()) -> subprocess.Popen[bytes]:
        """Begin to format the empty data folder, which takes a second of processor time; the caller waits for the end."""
        tool = ("kafka.tools.StorageTool", "format", "-t", cluster_uuid, "-c", str(self.layout.properties_file()))
        first_voters = ("--initial-controllers", ",".join(voters)) if voters else ()
        return self._java(*archive_options(archive_of(self.jars)), "-cp", class_path(self.jars), *tool, *first_voters)

    def copy_format(self, formatted: "Node") -> None:
        """Format the empty data folders like those of another node, whose ids alone are replaced: that needs no JVM."""
        for theirs, ours in zip(formatted.layout.data_folders(), self.layout.data_folders(), strict=True):
            shutil.copytree(theirs, ours)
            voter = self.layout.voter_directory_id if ours == self.layout.data() else None
            ids = {"node.id": str(self.layout.node_id), "directory.id": voter or new_uuid()}
            properties = ours / "meta.properties"
            read = dict(line.split("=", 1) for line in properties.read_text().splitlines() if "=" in line)
            properties.write_text("".join(f"{name}={value}\n" for name, value in {**read, **ids}.items()))

    def start(self) -> int:
        """Start the broker's process without waiting for answers; returns its process id."""
        broker = ("kafka.Kafka", str(self.layout.properties_file()))
        options = [*archive_options(archive_of(self.jars)), *self.options]
        self.process = self._java(*options, "-cp", class_path(self.jars), *_BROKER_LOG, *broker)
        return self.process.pid

    def _java(self, *arguments: str) -> subprocess.Popen[bytes]:
        return start_java(*arguments, log=self.log(), heap_mb=self.heap_mb)

    def running(self) -> subprocess.Popen[bytes] | None:
        """The process, while it is there; a paused one is."""
        return self.process if self.process is not None and self.process.poll() is None else None


def archive_of(jars: Sequence[Path]) -> str:
    """Name of the archive of classes that brokers with these jars start from (sandbox/archive.py)."""
    return f"{jars[0].parent.name}.jsa"


def new_uuid() -> str:
    """An id in Kafka's spelling, which must not begin with a dash: the tool would take it for an option."""
    while True:
        spelled = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        if not spelled.startswith("-"):
            return spelled


def _properties(layout: NodeLayout, cluster: Sequence[NodeLayout]) -> dict[str, str]:
    replicas, in_sync = min(3, len(cluster)), min(2, len(cluster))
    properties = {
        "log.dirs": ",".join(map(str, layout.data_folders())),
        "auto.create.topics.enable": "false",
        "default.replication.factor": replicas,
        "min.insync.replicas": in_sync,
        **_internal_topics(replicas, in_sync),
        **_FAST_FAULTS,
    }
    if layout.rack is not None:
        properties["broker.rack"] = layout.rack
    return {key: str(value) for key, value in properties.items()}


def _listeners(layout: NodeLayout) -> dict[str, str]:
    """The plain listener, through which brokers talk too, and the others, whose certificates may name `localhost`."""
    plain = f"PLAINTEXT://127.0.0.1:{layout.port}"
    others = layout.others.items()
    protocols = {"PLAINTEXT": "PLAINTEXT", **{one.name: one.protocol for one in layout.others}}
    return {
        "listeners": ",".join([plain, *(f"{one.name}://127.0.0.1:{port}" for one, port in others)]),
        "advertised.listeners": ",".join(
            [plain, *(f"{one.name}://localhost:{one.advertised(layout.node_id, port)}" for one, port in others)]
        ),
        "listener.security.protocol.map": ",".join(f"{name}:{protocol}" for name, protocol in protocols.items()),
        "inter.broker.listener.name": "PLAINTEXT",
    }


def _on_kraft(layout: NodeLayout, cluster: Sequence[NodeLayout]) -> dict[str, str]:
    plain = _listeners(layout)
    # Leaders name their addresses themselves, which would lead past a proxy.
    proxied = {"advertised.listeners": f"{plain['advertised.listeners']},CONTROLLER://{layout.controller()}"}
    return {
        **(proxied if layout.advertised is not _own_port else {}),
        "process.roles": "broker,controller",
        "node.id": str(layout.node_id),
        **_quorum(layout, cluster),
        "listeners": f"{plain['listeners']},CONTROLLER://127.0.0.1:{layout.controller_port}",
        "listener.security.protocol.map": f"{plain['listener.security.protocol.map']},CONTROLLER:PLAINTEXT",
        "controller.listener.names": "CONTROLLER",
        "metadata.max.idle.interval.ms": "0",  # no-op records every half second are a third of what an idle broker costs
    }


def _quorum(layout: NodeLayout, cluster: Sequence[NodeLayout]) -> dict[str, str]:
    if layout.voter_directory_id is None:
        return {"controller.quorum.voters": ",".join(f"{one.node_id}@{one.controller()}" for one in cluster)}
    servers = ",".join(one.controller() for one in cluster)
    return {"controller.quorum.bootstrap.servers": servers, "metadata.log.dir": str(layout.data())}


def _on_zookeeper(layout: NodeLayout, cluster: Sequence[NodeLayout]) -> dict[str, str]:
    return {
        "broker.id": str(layout.node_id),
        "zookeeper.connect": f"127.0.0.1:{cluster[0].controller_port}",
        "zookeeper.session.timeout.ms": "6000",
    }


def _internal_topics(replicas: int, in_sync: int) -> dict[str, int]:
    prefixes = ("offsets.topic", "transaction.state.log", "share.coordinator.state.topic")
    return {
        **{f"{prefix}.num.partitions": 4 for prefix in prefixes},
        **{f"{prefix}.replication.factor": replicas for prefix in prefixes},
        **{f"{prefix}.min.isr": in_sync for prefix in prefixes[1:]},
    }


# What Kafka notices after half a minute or more by default, so that a test that breaks something need not wait.
_FAST_FAULTS = {
    "broker.session.timeout.ms": 6000,
    "broker.heartbeat.interval.ms": 1000,
    "group.initial.rebalance.delay.ms": 0,
    "group.consumer.min.heartbeat.interval.ms": 500,
    "group.consumer.heartbeat.interval.ms": 500,
    "log.segment.delete.delay.ms": 500,
    "log.retention.check.interval.ms": 2000,
    "log.cleaner.backoff.ms": 500,
}
