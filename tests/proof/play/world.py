"""Everything that the verbs of a history share: the cluster, the jobs, the loads, and what is known until now."""

import random
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)

from tests.object_store import ObjectStore
from tests.proof.brokers import Brokers
from tests.proof.clocks import Clocks
from tests.proof.credentials import Credentials
from tests.proof.history import History
from tests.proof.jobs import Jobs, Place
from tests.proof.lake import BucketLake, Lake
from tests.proof.load import Known, Loads
from tests.proof.oracle import Kafka
from tests.proof.play.cluster import CLIENTS, Cluster3

T = TypeVar("T")
TIMEOUT_S = 60


class World:
    """The cluster of a history, and what its verbs have started, seen and counted."""

    def __init__(self, on: Cluster3, history: History) -> None:
        self.happened: Counter[str] = Counter()
        self.known = Known()
        self.kafka = on.kafka
        self.servers = on.kafka.bootstrap_servers
        self.brokers = Brokers(on.kafka, on.networks, self.happened)
        self._admin: AdminClient | None = None
        self.cluster_id = str(self.admin.describe_cluster().result(TIMEOUT_S).cluster_id)
        self.reader = Kafka(self.servers)
        self.chance = random.Random(str(history))
        self.prefix = f"{history.name}-"
        folder = on.folder / history.name
        in_bucket = any(step.verb == "bucket" for step in history.steps)
        self.store = on.store() if in_bucket else None
        self.place = Place(
            bootstrap_servers=on.kafka.bootstrap(CLIENTS),
            lake=_lake(folder, self.store),
            folder=folder,
            prefix=self.prefix,
            started_at=time.time(),
        )
        self.clocks = Clocks(on.folder / f"clock-{history.name}")
        # Without a step of it jobs have the clock of the machine, not one that a library passes on.
        has_clock = any(step.verb in ("clock", "retain") for step in history.steps)
        self.jobs = Jobs(self.place, self.clocks if has_clock else None)
        self.credentials = Credentials(self.servers)
        self.jobs.password = self.credentials.rotate()
        self.loads = Loads()

    @property
    def admin(self) -> AdminClient:
        """A new client: one that has worked before may ask a broker that is down, until its requests time out."""
        self._admin = AdminClient({"bootstrap.servers": self.servers, "log_level": 0})
        return self._admin

    def create(self, wanted: NewTopic) -> None:
        """Create a topic; one that is there is of an attempt whose answer was lost."""

        def attempt() -> None:
            (future,) = self.admin.create_topics([wanted]).values()
            try:
                future.result(30)
            except KafkaException as error:
                if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                    raise

        retried(attempt)

    def alter(self, topic: str, name: str, value: str) -> None:
        """Set a config of a topic."""
        entry = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
        retried(lambda: [one.result(30) for one in self.admin.incremental_alter_configs([resource]).values()])


def _lake(folder: Path, store: ObjectStore | None) -> Lake:
    """The tables of a history in its folder, or below a prefix of the bucket that no history had before."""
    if store is None:
        return Lake(folder / "lake")
    prefix = f"{folder.name}-{time.time_ns()}"
    return BucketLake(folder / "lake", store, prefix, store.spark_conf(folder / "conf"))


def retried(call: Callable[[], T]) -> T:
    """Do something that fails for a moment while brokers come and go."""
    deadline = time.monotonic() + TIMEOUT_S
    while True:
        try:
            return call()
        except (KafkaException, TimeoutError):  # the latter of a future: no answer yet
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)
