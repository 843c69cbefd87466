"""What the whole run shares: real brokers, started when the first test asks for them.

Tests on these clusters make topics and groups under names of their own and leave the brokers running; one that stops a
broker starts it again before it ends.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from pipeline.sandbox.kafka import LocalKafka
from tests.integration.secured import Secured, secured_kafka

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Machines that run these tests are shared: how long an example takes says nothing about the code.
settings.register_profile("shared machine", deadline=None)
settings.load_profile("shared machine")

# Files are shared out between workers in this order, what takes longest first, so that all end at about the same time.
_LONGEST_FIRST = ("jobs", "sandbox", "tables", "integration")

# A fixture that costs a broker or a JVM marks every test that uses it, so that `make quick` can leave those out.
_BROKERS = ("kafka", "kafka_392", "kafka_282", "secured", "secured_392", "secured_282")
_MARKED_BY_FIXTURE = {**dict.fromkeys(_BROKERS, "kafka"), "spark": "spark"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give tests the marker of what they use, and their place in the order."""
    items.sort(key=_place)
    for item in items:
        for fixture in getattr(item, "fixturenames", ()):
            if fixture in _MARKED_BY_FIXTURE:
                item.add_marker(_MARKED_BY_FIXTURE[fixture])


def _place(item: pytest.Item) -> int:
    folder = item.path.parent.name
    return _LONGEST_FIRST.index(folder) if folder in _LONGEST_FIRST else len(_LONGEST_FIRST)


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalKafka]:
    """Three brokers of Kafka 4.3.1 in three racks."""
    nearest = {"replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector"}  # KIP-392
    with LocalKafka(tmp_path_factory.mktemp("kafka"), racks=("a", "b", "c"), properties=nearest) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def kafka_392(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalKafka]:
    """One broker of Kafka 3.9.2, the last release that knows the oldest versions of all APIs."""
    with LocalKafka(tmp_path_factory.mktemp("kafka-3.9.2"), version="3.9.2") as cluster:
        yield cluster


@pytest.fixture(scope="session")
def kafka_282(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalKafka]:
    """One broker of Kafka 2.8.2 on ZooKeeper, the last release that writes the message formats before headers."""
    with LocalKafka(tmp_path_factory.mktemp("kafka-2.8.2"), version="2.8.2") as cluster:
        yield cluster


# A JVM that lives for a minute gains nothing from its second compiler: this halves the CPU that the tests take.
_SHORT_LIVED = '--driver-java-options "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC" pyspark-shell'


@pytest.fixture(scope="session")
def spark() -> Iterator["SparkSession"]:
    """The one session of the run, as the jobs make it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_SUBMIT_ARGS", _SHORT_LIVED)
        from pipeline.tables.session import session  # noqa: PLC0415  no cost for tests without Spark

        made = session("tests")
        made.sparkContext.setLogLevel("OFF")
        yield made
        made.stop()


@pytest.fixture(scope="session")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    """One broker of Kafka 4.3.1 with listeners of every kind that clients must authenticate at."""
    with secured_kafka(tmp_path_factory.mktemp("secured"), "4.3.1") as found:
        yield found


@pytest.fixture(scope="session")
def secured_392(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    """The same of Kafka 3.9.2."""
    with secured_kafka(tmp_path_factory.mktemp("secured-3.9.2"), "3.9.2") as found:
        yield found


@pytest.fixture(scope="session")
def secured_282(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    """The same of Kafka 2.8.2, with rights that ZooKeeper keeps, and without a check of signed tokens."""
    with secured_kafka(tmp_path_factory.mktemp("secured-2.8.2"), "2.8.2") as found:
        yield found
