"""Runs a Kafka cluster of some release and number of brokers on free loopback ports.

When `LocalKafka` is entered every broker answers and knows every other; when it is left, or this process dies, no broker runs.
The brokers' folders and logs stay where the caller wanted them.
"""

import os
import random
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from kafka_lagoon.deferred_signals import deferred_signals
from kafka_lagoon.errors import NotStarted
from kafka_lagoon.jars.locked_jars import jar_paths
from kafka_lagoon.sandbox.node import Listener, Node, NodeLayout, Server, new_uuid
from kafka_lagoon.sandbox.probe import answers, known_brokers, listens
from kafka_lagoon.sandbox.tools import run_tool
from kafka_lagoon.sandbox.watchdog import Watchdog
from kafka_lagoon.sandbox.zookeeper import ZooKeeper

DEFAULT_VERSION = "4.4.0"
_BEFORE_KRAFT = "2."
_START_TIMEOUT_S = 120
_STOP_TIMEOUT_S = 30
_POLL_S = 0.05
# Below the ports that systems hand out by themselves: else a client that knocks at a stopped broker's port can be given
# that very port as its own, and the broker never gets it back.
_PORTS = range(15_000, 32_000)
_PORTS_TAKEN = "Address already in use"


class LocalKafka:
    """A cluster of `brokers` brokers of one release, numbered from 1, each of them a controller too (2.8: on ZooKeeper).

    `directory` gets one folder per broker with its properties, data and log, and must be empty or absent. `racks` names
    the brokers' racks in order; `properties` are settings of the brokers beyond ours, `java_options` those of their JVM.
    Everything here talks to the brokers in the clear; `listeners` are further addresses for clients, with TLS or SASL.
    `controllers` returns the port at which other nodes reach a node's controller, by node id and its own port: that of a proxy.
    With `dynamic_quorum` the voters of the metadata quorum can change (kraft.version 1); all nodes are voters at first.
    """

    def __init__(  # noqa: PLR0913  by name, and each has a default
        self,
        directory: Path,
        *,
        version: str = DEFAULT_VERSION,
        brokers: int = 1,
        racks: Sequence[str] = (),
        listeners: Sequence[Listener] = (),
        properties: Mapping[str, str] | None = None,
        java_options: Sequence[str] = (),
        heap_mb: int = 320,
        log_dirs: int = 1,
        dynamic_quorum: bool = False,
        controllers: Callable[[int, int], int] | None = None,
    ) -> None:
        self.directory = directory
        self.version = version
        self._on_zookeeper = version.startswith(_BEFORE_KRAFT)
        self._racks: Sequence[str | None] = racks or [None] * brokers
        self._listeners = tuple(listeners)
        self._properties = dict(properties or {})
        self._java_options = tuple(java_options)
        self._heap_mb = heap_mb
        self._log_dirs, self._dynamic_quorum, self._controllers = log_dirs, dynamic_quorum, controllers
        self._jars: list[Path] = []
        self._nodes: dict[int, Node] = {}
        self._zookeeper: ZooKeeper | None = None
        self._watchdog: Watchdog | None = None
        self._paused: set[int] = set()

    def __enter__(self) -> Self:
        if "," in str(self.directory):
            raise NotStarted(f"{self.directory}: Kafka would take a comma for the end of a folder's name (log.dirs)")
        self._jars = jar_paths(f"kafka-{self.version}")
        self._watchdog = Watchdog()
        try:
            self._start_cluster()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    @property
    def bootstrap_servers(self) -> str:
        """Addresses of all brokers, as clients take them."""
        return ",".join(f"127.0.0.1:{node.layout.port}" for node in self._nodes.values())

    def bootstrap(self, listener: str) -> str:
        """Addresses of all brokers at one of the further listeners, by its name, as they advertise them."""
        ports = [
            one.advertised(node_id, port)
            for node_id, node in self._nodes.items()
            for one, port in node.layout.others.items()
            if one.name == listener
        ]
        return ",".join(f"localhost:{port}" for port in ports)

    @property
    def node_ids(self) -> list[int]:
        """Numbers of all brokers, running or not."""
        return list(self._nodes)

    def address(self, node_id: int) -> tuple[str, int]:
        """Host and port of one broker."""
        return "127.0.0.1", self._nodes[node_id].layout.port

    def data_folders(self, node_id: int) -> Sequence[Path]:
        """The log directories of one broker."""
        return self._nodes[node_id].layout.data_folders()

    def log(self, node_id: int) -> Path:
        """Return the log of one broker."""
        return self._nodes[node_id].layout.log()

    def pid(self, node_id: int) -> int | None:
        """Process id of one broker; None while it does not run."""
        process = self._nodes[node_id].running()
        return process.pid if process else None

    def kill(self, node_id: int) -> None:
        """End one broker at once (SIGKILL); it leaves its files as they are."""
        self._end([self._nodes[node_id]], signal.SIGKILL)

    def stop(self, node_id: int) -> None:
        """End one broker in order (SIGTERM): it gives its leaderships away first."""
        self._end([self._nodes[node_id]], signal.SIGTERM)

    def start(self, node_id: int) -> None:
        """Start one broker again, on its old port and data, and wait until the running brokers know it."""
        zookeeper = self._zookeeper
        if zookeeper:
            _wait_until(lambda: not zookeeper.knows(node_id), zookeeper)
        self._launch(self._nodes[node_id])
        self._wait_until_known(self._answering())

    def pause(self, node_id: int) -> None:
        """Freeze one broker (SIGSTOP): its connections stay open and it does not answer."""
        self._paused.add(node_id)
        self._signal(node_id, signal.SIGSTOP)
        if process := self._nodes[node_id].running():
            # A signal takes effect after it is sent: on a busy machine the broker may answer once more.
            os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def resume(self, node_id: int) -> None:
        """Continue a frozen broker (SIGCONT)."""
        self._paused.discard(node_id)
        self._signal(node_id, signal.SIGCONT)

    def known_brokers(self, node_id: int) -> frozenset[int]:
        """Brokers that one broker names to clients; empty when it does not answer."""
        return known_brokers(self._nodes[node_id].layout.port)

    def tool(self, main_class: str, *arguments: str, timeout_s: float = 60) -> str:
        """Return the output of a command-line tool, by its class name: org.apache.kafka.tools.TopicCommand.

        The arguments are the tool's own, `--bootstrap-server` included. ToolFailed when it fails or takes too long.
        """
        return run_tool(self._jars, main_class, *arguments, timeout_s=timeout_s)

    def close(self) -> None:
        """End all brokers; harmless when they have ended already."""
        self._end_all()
        if self._watchdog is not None:
            self._watchdog.close()
            self._watchdog = None

    def _start_cluster(self) -> None:
        ports_each = 2 + len(self._listeners)
        try:
            self._start_on(_free_ports(ports_each * len(self._racks)))
        except NotStarted:
            if not any(_PORTS_TAKEN in log.read_text() for log in self.directory.glob("*/*.log")):
                raise
            self._end_all()  # another process took a port: once more with other ports
            self._start_on(_free_ports(ports_each * len(self._racks)))

    def _start_on(self, ports: Sequence[int]) -> None:
        free = iter(ports)
        places = [self._layout(node_id, rack, free) for node_id, rack in enumerate(self._racks, 1)]
        self._nodes = {layout.node_id: self._node(layout) for layout in places}
        for node in self._nodes.values():
            shutil.rmtree(node.layout.folder, ignore_errors=True)
            node.write_properties(places, self._properties)
        if self._on_zookeeper:
            self._start_zookeeper(places[0].controller_port)
        else:
            self._format()
        for node in self._nodes.values():
            self._launch(node)
        self._wait_until_known(self._answering())

    def _layout(self, node_id: int, rack: str | None, ports: Iterator[int]) -> NodeLayout:
        return NodeLayout(
            node_id=node_id,
            port=next(ports),
            controller_port=next(ports),
            rack=rack,
            folder=self.directory / f"broker-{node_id}",
            others={listener: next(ports) for listener in self._listeners},
            log_dirs=self._log_dirs,
            voter_directory_id=new_uuid() if self._dynamic_quorum else None,
            **({"advertised": self._controllers} if self._controllers else {}),
        )

    def _node(self, layout: NodeLayout) -> Node:
        return Node(
            layout=layout,
            jars=self._jars,
            heap_mb=self._heap_mb,
            on_zookeeper=self._on_zookeeper,
            options=self._java_options,
        )

    def _start_zookeeper(self, port: int) -> None:
        folder = self.directory / "zookeeper"
        shutil.rmtree(folder, ignore_errors=True)
        self._zookeeper = ZooKeeper(folder=folder, port=port, jars=self._jars)
        self._launch(self._zookeeper)
        _wait_until(self._zookeeper.answers, self._zookeeper)

    def _format(self) -> None:
        first, *others = self._nodes.values()
        voters = [node.layout.voter() for node in self._nodes.values()] if self._dynamic_quorum else []
        process = first.start_format(new_uuid(), voters)
        _wait(process)
        if process.returncode:
            raise NotStarted(f"broker {first.layout.node_id} could not be formatted", str(first.layout.log()))
        for node in others:
            node.copy_format(first)

    def _launch(self, server: Server) -> None:
        with deferred_signals():  # the broker is in a session of its own, where no Ctrl-C reaches it
            pid = server.start()
            if self._watchdog:
                self._watchdog.add(pid)

    def _end_all(self) -> None:
        self._end(self._nodes.values(), signal.SIGKILL)
        if self._zookeeper:
            self._end([self._zookeeper], signal.SIGKILL)

    def _end(self, servers: Iterable[Server], number: signal.Signals) -> None:
        processes = [process for server in servers if (process := server.running())]
        for process in processes:
            process.send_signal(number)
        for process in processes:
            _wait(process)
            if self._watchdog:
                self._watchdog.remove(process.pid)

    def _signal(self, node_id: int, number: signal.Signals) -> None:
        process = self._nodes[node_id].running()
        if process:
            process.send_signal(number)

    def _answering(self) -> list[Node]:
        return [node for node_id, node in self._nodes.items() if node.running() and node_id not in self._paused]

    def _wait_until_known(self, nodes: Sequence[Node]) -> None:
        """Wait until each of the nodes answers and knows all of them."""
        wanted = {node.layout.node_id for node in nodes}
        for node in nodes:
            _wait_until(partial(_is_up, node.layout, wanted), node)


def _is_up(layout: NodeLayout, wanted: set[int]) -> bool:
    return answers(layout.port) and known_brokers(layout.port) >= wanted and all(map(listens, layout.others.values()))


def _wait_until(is_true: Callable[[], bool], server: Server) -> None:
    """Wait for something that the server does; NotStarted when it ends instead, or takes too long."""
    deadline = time.monotonic() + _START_TIMEOUT_S
    while not is_true():
        if not server.running():
            raise NotStarted(f"{server.name()} ended while it started", str(server.log()))
        if time.monotonic() > deadline:
            raise NotStarted(f"{server.name()} was not ready within {_START_TIMEOUT_S} s", str(server.log()))
        time.sleep(_POLL_S)


def _wait(process: subprocess.Popen[bytes]) -> None:
    """Wait until a process that is about to end has ended; one that hangs is killed."""
    try:
        process.wait(_STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _free_ports(count: int) -> list[int]:
    """Ports of the loopback that nobody listens on at this moment."""
    free: list[int] = []
    for port in random.sample(_PORTS, len(_PORTS)):
        with socket.socket() as candidate, suppress(OSError):
            candidate.bind(("127.0.0.1", port))
            free.append(port)
        if len(free) == count:
            return free
    raise NotStarted(f"no {count} free ports between {_PORTS.start} and {_PORTS.stop}")
