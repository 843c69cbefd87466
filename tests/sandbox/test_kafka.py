"""Real Kafka brokers on the loopback interface: they answer, can be killed and restarted, and never outlive their parent."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_lagoon import java_properties
from kafka_lagoon.errors import NotStarted, ToolFailed
from kafka_lagoon.sandbox import kafka as sandbox
from kafka_lagoon.sandbox.kafka import LocalKafka
from kafka_lagoon.sandbox.node import Listener
from kafka_lagoon.sandbox.probe import answers, known_brokers
from kafka_lagoon.sandbox.watchdog import Watchdog
from tests.integration import every_broker

TOPICS = "org.apache.kafka.tools.TopicCommand"


@pytest.fixture(scope="module")
def single(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalKafka]:
    """One broker that the tests of this file may break."""
    with LocalKafka(tmp_path_factory.mktemp("one")) as broker:
        yield broker


def topics(kafka: LocalKafka) -> list[str]:
    """Return the output of `kafka-topics --list`."""
    return kafka.tool(TOPICS, "--bootstrap-server", kafka.bootstrap_servers, "--list").split()


def create(kafka: LocalKafka, topic: str) -> None:
    """Create a topic with Kafka's own tool, and wait until the broker knows it."""
    kafka.tool(TOPICS, "--bootstrap-server", kafka.bootstrap_servers, "--create", "--topic", topic)
    every_broker.knows_topics(kafka.bootstrap_servers, [topic])


def test_every_broker_knows_every_other(kafka: LocalKafka) -> None:
    """Three brokers have three addresses, and each of them returns all three to clients."""
    assert kafka.node_ids == [1, 2, 3]
    assert [kafka.known_brokers(node_id) for node_id in kafka.node_ids] == [{1, 2, 3}] * 3
    assert len(set(kafka.bootstrap_servers.split(","))) == 3


def test_older_release_answers(kafka_392: LocalKafka) -> None:
    """Kafka 3.9.2 starts and answers its own tool."""
    create(kafka_392, "sandbox-older")
    assert "sandbox-older" in topics(kafka_392)
    assert any("kafka-clients-3.9.2.jar" in part for part in _command_line(kafka_392))


def test_tool_that_fails_says_why(single: LocalKafka) -> None:
    """The error has the tool's message, and a tool that hangs is killed."""
    with pytest.raises(ToolFailed, match="does not exist"):
        single.tool(TOPICS, "--bootstrap-server", single.bootstrap_servers, "--describe", "--topic", "sandbox-nowhere")
    with pytest.raises(ToolFailed, match=r"no end within 0\.1 s"):
        single.tool(TOPICS, "--bootstrap-server", single.bootstrap_servers, "--list", timeout_s=0.1)


@pytest.mark.proof
@pytest.mark.kafka
def test_killed_broker_comes_back(single: LocalKafka) -> None:
    """A killed broker does not answer; after a restart it has the same port, topics and log file."""
    create(single, "sandbox-kept")
    host, port = single.address(1)
    single.kill(1)
    assert single.pid(1) is None
    assert not answers(port)
    log_size = single.log(1).stat().st_size
    single.start(1)
    assert single.address(1) == (host, port)
    assert topics(single) == ["sandbox-kept"]
    assert single.log(1).stat().st_size > log_size


@pytest.mark.proof
@pytest.mark.kafka
def test_stopped_broker_ends_in_order(single: LocalKafka) -> None:
    """A broker that is stopped by SIGTERM logs its shutdown."""
    single.stop(1)
    assert single.pid(1) is None
    assert "shut down completed" in single.log(1).read_text()
    single.start(1)
    assert single.known_brokers(1) == {1}


@pytest.mark.kafka
def test_paused_broker_is_silent(single: LocalKafka) -> None:
    """A paused broker keeps its port and does not answer until it is resumed."""
    single.pause(1)
    assert single.pid(1) is not None
    socket.create_connection(single.address(1), timeout=5).close()
    assert single.known_brokers(1) == frozenset()
    single.resume(1)
    assert single.known_brokers(1) == {1}


@pytest.mark.kafka
def test_broker_that_cannot_start_names_its_log(tmp_path: Path) -> None:
    """If a broker ends at once, the error names the log file with the reason, and no process is left."""
    cluster = LocalKafka(tmp_path, properties={"num.io.threads": "0"})
    started = time.monotonic()
    with pytest.raises(NotStarted) as failure, cluster:
        pass
    assert failure.value.log is not None
    assert "num.io.threads" in Path(failure.value.log).read_text()
    assert time.monotonic() - started < 30
    assert all(cluster.pid(node_id) is None for node_id in cluster.node_ids)


@pytest.mark.proof
@pytest.mark.kafka
def test_taken_port_is_tried_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If another process takes a port between the check and the broker's bind, other ports are used."""
    choices = [sandbox._free_ports(2), sandbox._free_ports(2)]
    monkeypatch.setattr(sandbox, "_free_ports", lambda _: choices.pop(0))
    with socket.create_server(("127.0.0.1", choices[0][0])), LocalKafka(tmp_path) as cluster:
        assert choices == []
        assert cluster.known_brokers(1) == {1}


class InterruptedStart:
    """A broker's process has begun when Ctrl-C comes, and nobody knows its id yet."""

    process: subprocess.Popen[bytes] | None = None

    def start(self) -> int:
        started = subprocess.Popen(["/bin/sleep", "600"], start_new_session=True)
        os.kill(os.getpid(), signal.SIGINT)
        self.process = started
        return started.pid


@pytest.mark.usefixtures("ctrl_c")
def test_no_broker_outlives_an_interrupted_start(tmp_path: Path) -> None:
    """Ctrl-C waits until the watchdog knows the broker, which was left running."""
    cluster, server = LocalKafka(tmp_path), InterruptedStart()
    cluster._watchdog = Watchdog()
    with pytest.raises(KeyboardInterrupt):
        cluster._launch(server)
    assert server.process
    cluster._watchdog.close()
    assert server.process.wait(30) == -signal.SIGKILL


@pytest.mark.proof
@pytest.mark.kafka
@pytest.mark.parametrize("version", ["4.4.0", pytest.param("2.8.2", marks=pytest.mark.proof)])
def test_no_broker_outlives_a_killed_parent(tmp_path: Path, version: str) -> None:
    """If the parent of brokers is killed, the brokers and their ZooKeeper end, too."""
    program = (
        "import sys, time; from pathlib import Path; from kafka_lagoon.sandbox.kafka import LocalKafka\n"
        "with LocalKafka(Path(sys.argv[1]), version=sys.argv[2]) as kafka:\n"
        "    place = kafka._nodes[1].layout; print(place.port, place.controller_port, flush=True); time.sleep(600)\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path), version]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        ports = [int(port) for port in parent.stdout.readline().split()]
        assert len(ports) == 2
        assert all(map(_accepts, ports))
        parent.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 10
    while any(map(_accepts, ports)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(_accepts, ports))


def test_release_on_zookeeper_comes_back(kafka_282: LocalKafka) -> None:
    """Kafka 2.8.2 has its own ZooKeeper; a killed broker is restarted once ZooKeeper has forgotten it."""
    kafka_282.kill(1)
    kafka_282.start(1)
    assert kafka_282.known_brokers(1) == {1}
    assert any("kafka-clients-2.8.2.jar" in part for part in _command_line(kafka_282))


@pytest.mark.parametrize("version", ["4.4.0", "2.8.2"])
def test_every_broker_has_every_listener(tmp_path: Path, version: str) -> None:
    """Beside the plain listener each listener has its own port, and a name that certificates can have."""
    listeners = (Listener("LOGIN", "SASL_SSL"), Listener("MUTUAL", "SSL"))
    cluster = LocalKafka(tmp_path, version=version, brokers=2, listeners=listeners)
    ports = iter(range(20_001, 20_009))
    layouts = [cluster._layout(node_id, None, ports) for node_id in (1, 2)]
    cluster._nodes = {layout.node_id: cluster._node(layout) for layout in layouts}
    cluster._nodes[2].write_properties(layouts, {})
    written = dict(line.split("=", 1) for line in layouts[1].properties_file().read_text().splitlines())
    ours = [listener for listener in written["listeners"].split(",") if not listener.startswith("CONTROLLER")]
    assert ours == ["PLAINTEXT://127.0.0.1:20005", "LOGIN://127.0.0.1:20007", "MUTUAL://127.0.0.1:20008"]
    assert "LOGIN://localhost:20007,MUTUAL://localhost:20008" in written["advertised.listeners"]
    assert "PLAINTEXT:PLAINTEXT,LOGIN:SASL_SSL,MUTUAL:SSL" in written["listener.security.protocol.map"]
    assert written["inter.broker.listener.name"] == "PLAINTEXT"
    assert cluster.bootstrap("MUTUAL") == "localhost:20004,localhost:20008"


@pytest.mark.parametrize("dynamic_quorum", [False, True])
def test_controllers_behind_proxies(tmp_path: Path, dynamic_quorum: bool) -> None:
    """Voters and leaders are named by the ports of the proxies; each node listens on its own port."""
    cluster = LocalKafka(
        tmp_path, brokers=2, controllers=lambda node_id, port: port + 100 * node_id, dynamic_quorum=dynamic_quorum
    )
    ports = iter(range(20_001, 20_005))
    layouts = [cluster._layout(node_id, None, ports) for node_id in (1, 2)]
    cluster._node(layouts[1]).write_properties(layouts, {})
    written = dict(line.split("=", 1) for line in layouts[1].properties_file().read_text().splitlines())
    voters = "127.0.0.1:20102,127.0.0.1:20204" if dynamic_quorum else "1@127.0.0.1:20102,2@127.0.0.1:20204"
    assert written[f"controller.quorum.{'bootstrap.servers' if dynamic_quorum else 'voters'}"] == voters
    assert written["listeners"].endswith("CONTROLLER://127.0.0.1:20004")
    assert written["advertised.listeners"] == "PLAINTEXT://127.0.0.1:20003,CONTROLLER://127.0.0.1:20204"


def test_folders_of_any_letters(tmp_path: Path) -> None:
    """The folder of a broker's data is the one that its properties name, also below a home with an umlaut."""
    cluster = LocalKafka(tmp_path / "jörg \\ 1")
    layout = cluster._layout(1, None, iter((20_001, 20_002)))
    cluster._node(layout).write_properties([layout], {})
    assert java_properties.read(layout.properties_file().read_text("latin-1"))["log.dirs"] == str(layout.data())


def test_no_folder_with_a_comma(tmp_path: Path) -> None:
    """Brokers would write to other folders, whose names are the parts between the commas."""
    with pytest.raises(NotStarted, match="comma"), LocalKafka(tmp_path / "a,b"):
        pass


def test_probe_of_something_else() -> None:
    """A port with another protocol, and a port without a listener, are not brokers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        other = threading.Thread(target=_answer_once, args=(server, b"HTTP/1.1 400 Bad Request\r\n\r\n"))
        other.start()
        assert not answers(port)
        other.join()
    assert not answers(port)
    assert known_brokers(port) == frozenset()


def _answer_once(server: socket.socket, answer: bytes) -> None:
    connection, _ = server.accept()
    with connection:
        connection.recv(64)
        connection.sendall(answer)


def _accepts(port: int) -> bool:
    with socket.socket() as connection:
        return connection.connect_ex(("127.0.0.1", port)) == 0


def _command_line(kafka: LocalKafka) -> list[str]:
    return Path(f"/proc/{kafka.pid(1)}/cmdline").read_text().split("\0")
