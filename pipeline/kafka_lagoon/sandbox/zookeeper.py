"""Runs the ZooKeeper in which a release of Kafka without KRaft keeps its state.

A broker is started once ZooKeeper answers and has forgotten the broker's last session: a killed broker stays registered until
its session ends, and a new one that finds its own name there ends itself.
"""

import socket
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kafka_lagoon import java_properties
from kafka_lagoon.jars.java import class_path, start_java

_TIMEOUT_S = 2.0


@dataclass(slots=True, kw_only=True)
class ZooKeeper:
    """One server and, while it runs, its process."""

    folder: Path
    port: int
    jars: Sequence[Path]
    process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    def name(self) -> str:
        """Its name in error messages."""
        return "ZooKeeper"

    def log(self) -> Path:
        """File that the server writes to."""
        return self.folder / "zookeeper.log"

    def start(self) -> int:
        """Start the server's process without waiting for answers; returns its process id."""
        self.folder.mkdir(parents=True, exist_ok=True)
        settings = self.folder / "zookeeper.properties"
        settings.write_text(java_properties.written(self._properties()))
        server = ("org.apache.zookeeper.server.ZooKeeperServerMain", str(settings))
        self.process = start_java("-cp", class_path(self.jars), *server, log=self.log())
        return self.process.pid

    def running(self) -> subprocess.Popen[bytes] | None:
        """The process, while it is there."""
        return self.process if self.process is not None and self.process.poll() is None else None

    def answers(self) -> bool:
        """Return true if the server answers that it is healthy."""
        return self._ask(b"ruok") == b"imok"

    def knows(self, node_id: int) -> bool:
        """Return true if a broker of that number is registered, alive or not yet expired."""
        return b"/brokers/ids/%d" % node_id in self._ask(b"dump").split()

    def _properties(self) -> dict[str, object]:
        return {
            "dataDir": self.folder / "zookeeper",
            "tickTime": 500,  # sessions end within a tick of their timeout
            "clientPort": self.port,
            "clientPortAddress": "127.0.0.1",
            "admin.enableServer": "false",
            "4lw.commands.whitelist": "ruok,dump",
        }

    def _ask(self, word: bytes) -> bytes:
        """The answer to a four-letter word; empty when there is none."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), _TIMEOUT_S) as connection:
                connection.sendall(word)
                with connection.makefile("rb") as answer:
                    return answer.read()
        except OSError:
            return b""
