"""Runs a member of a consumer group in a thread.

A member leaves its group when it is closed, so that the group becomes Empty at once instead of after a session timeout.
"""

import threading
from collections.abc import Sequence
from typing import Any

from confluent_kafka import Consumer

_BATCH = 500
_WAIT_S = 0.1


def client(bootstrap_servers: str, client_id: str = "kafka-lagoon-demo") -> dict[str, Any]:
    """Configuration that every client of the demo has; librdkafka's own log stays off the terminal."""
    return {"bootstrap.servers": bootstrap_servers, "client.id": client_id, "log_level": 0}


def consumer(bootstrap_servers: str, group_id: str, client_id: str, protocol: str = "classic") -> Consumer:
    """A consumer that starts at the beginning and commits only by an explicit call."""
    config = client(bootstrap_servers, client_id)
    config |= {"group.id": group_id, "group.protocol": protocol}
    config |= {"auto.offset.reset": "earliest", "enable.auto.commit": False}
    if protocol == "classic":  # in the other protocol the broker says how often
        config["heartbeat.interval.ms"] = 500
    return Consumer(config)


class Member(threading.Thread):
    """A member that `reads` and commits as fast as it can, or that only stays alive with its partitions."""

    def __init__(self, consumer: Consumer, topics: Sequence[str], *, reads: bool) -> None:
        super().__init__(daemon=True)
        self._consumer, self._topics, self._reads = consumer, list(topics), reads
        self._leaving = threading.Event()
        self.has_partitions = threading.Event()

    def run(self) -> None:
        """Stay in the group until `leave` is called."""
        self._consumer.subscribe(self._topics)
        try:
            while not self._leaving.is_set():
                (self._read if self._reads else self._idle)()
                if self._consumer.assignment():
                    self.has_partitions.set()
        finally:
            self._consumer.close()

    def leave(self) -> None:
        """Leave the group soon; `join` waits for it."""
        self._leaving.set()

    def _read(self) -> None:
        records = self._consumer.consume(_BATCH, _WAIT_S)
        if any(record.error() is None for record in records):
            self._consumer.commit(asynchronous=False)

    def _idle(self) -> None:
        self._consumer.pause(self._consumer.assignment())  # again and again: a rebalance wakes partitions
        self._consumer.poll(_WAIT_S)
